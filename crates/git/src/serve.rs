//! The work of the confined process: one order and one reply.

use std::io::{self, Read, Write};

use framing::Frames;

use crate::key_search::KeySearch;
use crate::order::{Answer, Call, Order, Reply};
use crate::refusal::Refusal;
use crate::{add, blame, branch, commit, diff, log, open, show, status, switch};

/// The maximum size of an order, in bytes.
const MAX_ORDER: usize = 8 << 20;

/// The maximum size of a reply, in bytes. A longer reply fits no model's context.
pub const MAX_REPLY: usize = 24 << 20;

/// The frame format of orders.
pub const ORDERS: Frames = Frames::up_to(MAX_ORDER);

/// The frame format of replies.
pub const REPLIES: Frames = Frames::up_to(MAX_REPLY);

/// Reads an order, executes it, and writes the reply. `search` finds keys in the texts that an answer shows.
///
/// # Errors
/// When the streams break, or the input is no order.
pub fn serve(mut input: impl Read, mut output: impl Write, search: KeySearch<'_>) -> io::Result<()> {
    let order: Order = ORDERS.read(&mut input)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let reply = match answer(&order, search) {
        Ok(answer) => Reply::Done { answer },
        Err(refusal) => Reply::Refused { refusal },
    };
    Ok(REPLIES.write(&mut output, &reply)?)
}

/// Executes an order. `search` finds keys in the texts that the answer shows.
///
/// # Errors
/// When the order is refused. Nothing was changed then.
pub fn answer(order: &Order, search: KeySearch<'_>) -> Result<Answer, Refusal> {
    carry_out(order, search).map_err(|refusal| refusal.without_outside_names(&order.root))
}

fn carry_out(order: &Order, search: KeySearch<'_>) -> Result<Answer, Refusal> {
    let repository = open::open(&order.root)?;
    match &order.call {
        Call::Status => status::status(&repository),
        Call::Log { range, path, skip, most } => {
            log::log(&repository, range.as_deref(), path.as_deref(), *skip, *most)
        }
        Call::Diff { between, path, offset } => {
            diff::diff(&repository, between, path.as_deref(), *offset, search)
        }
        Call::Show { revision, path, offset } => {
            show::show(&repository, revision, path.as_deref(), *offset, search)
        }
        Call::Blame { path, from, lines } => blame::blame(&repository, path, *from, *lines, search),
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
        Call::Settled { pinned } => add::check_settled(&repository, &order.root, pinned),
        Call::Find { trailer, head } => commit::find(&repository, trailer, head),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_longer_than_limit_is_refused_unread() {
        let head = u32::try_from(MAX_ORDER + 1).unwrap().to_le_bytes();
        let refused = serve(&head[..], io::sink(), &|_| None).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        assert_eq!(serve(&b""[..], io::sink(), &|_| None).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
