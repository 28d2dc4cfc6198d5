//! The life of the confined process: one order, one reply.

use std::io::{self, Read, Write};

use crate::order::{Answer, Call, Order, Reply};
use crate::refusal::Refusal;
use crate::{add, blame, branch, commit, diff, log, open, show, status, switch};

/// The longest order, in bytes.
const LONGEST: u64 = 8 << 20;

/// Reads an order, does it, and writes the reply.
///
/// # Errors
/// When the streams break, or what comes in is no order.
pub fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut text = Vec::new();
    input.take(LONGEST).read_to_end(&mut text)?;
    let order: Order = serde_json::from_slice(&text)?;
    let reply = match answer(&order) {
        Ok(answer) => Reply::Done { answer },
        Err(refusal) => Reply::Refused { refusal },
    };
    output.write_all(&serde_json::to_vec(&reply)?)?;
    output.flush()
}

/// Does what an order says.
///
/// # Errors
/// Why it is not done. Then nothing was changed.
pub fn answer(order: &Order) -> Result<Answer, Refusal> {
    let repository = open::open(&order.root)?;
    match &order.call {
        Call::Status => status::status(&repository),
        Call::Log { range, path, skip, most } => {
            log::log(&repository, range.as_deref(), path.as_deref(), *skip, *most)
        }
        Call::Diff { between, path, offset } => diff::diff(&repository, between, path.as_deref(), *offset),
        Call::Show { revision, path, offset } => show::show(&repository, revision, path.as_deref(), *offset),
        Call::Blame { path, from, lines } => blame::blame(&repository, path, *from, *lines),
        Call::Branches => branch::branches(&repository),
        Call::Add { paths, pinned } => add::add(&repository, &order.root, paths, pinned.as_deref()),
        Call::Unstage { paths, pinned } => add::unstage(&repository, paths, pinned.as_deref()),
        Call::Commit { message, author, trailer, pinned } => {
            commit::commit(&repository, message, author, trailer, pinned.as_deref())
        }
        Call::Branch { name, at, pinned } => {
            branch::branch(&repository, name, at.as_deref(), pinned.as_deref())
        }
        Call::Switch { name, pinned } => switch::switch(&repository, name, pinned.as_deref()),
        Call::Settled { pinned } => add::settled(&repository, &order.root, pinned),
        Call::Find { trailer, head } => commit::find(&repository, trailer, head),
    }
}
