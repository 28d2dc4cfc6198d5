//! `almoner cancel`, and `almoner remake` for code that a cancellation or an upgrade ended.

use kernel::command::Cancel;
use passable::Untrusted;

use crate::cli::agents::{CancelArgs, RemakeArgs};
use crate::session;
use crate::session::{Session, print_reply};
use control::exit::ExitResult;
use control::protocol::AgentAct;

/// Runs `almoner cancel`.
///
/// # Errors
/// When the run or the name does not exist, or nothing of it can be ended.
pub fn cancel(acting: &Session<'_>, args: &CancelArgs) -> ExitResult {
    let what = match args.thing.parse() {
        Ok(run) => Cancel::Run { run },
        Err(_) => Cancel::Name { path: session::parse_path(&args.thing)? },
    };
    let act = AgentAct::Cancel { what, reason: Untrusted::new(args.reason.clone()) };
    print_reply(&acting.act("cancel", act)?, args.json.json)
}

/// Runs `almoner remake`.
///
/// # Errors
/// When the thing was not made by code, or another agent endowed that code.
pub fn remake(acting: &Session<'_>, args: &RemakeArgs) -> ExitResult {
    let act = AgentAct::Remake { path: session::parse_path(&args.name)? };
    print_reply(&acting.act("remake", act)?, args.json.json)
}
