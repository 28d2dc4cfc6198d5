//! `almoner cancel`, and `almoner remake` for code that a cancellation or an upgrade ended.

use kernel::command::Cancel;
use passable::Untrusted;

use crate::cli::agents::{CancelArgs, RemakeArgs};
use crate::session;
use crate::session::{Session, print_reply};
use control::exit::ExitResult;
use control::protocol::AgentAct;

/// `almoner cancel`.
///
/// # Errors
/// When there is no such run or name, or nothing of it can be ended.
pub fn cancel(acting: &Session<'_>, args: &CancelArgs) -> ExitResult {
    let what = match args.thing.parse() {
        Ok(run) => Cancel::Run { run },
        Err(_) => Cancel::Name { path: session::parse_path(&args.thing)? },
    };
    let act = AgentAct::Cancel { what, reason: Untrusted::new(args.reason.clone()) };
    print_reply(&acting.act("cancel", act)?, args.json.json)
}

/// `almoner remake`.
///
/// # Errors
/// When no code has come to this, or somebody else endowed it.
pub fn remake(acting: &Session<'_>, args: &RemakeArgs) -> ExitResult {
    let act = AgentAct::Remake { path: session::parse_path(&args.name)? };
    print_reply(&acting.act("remake", act)?, args.json.json)
}
