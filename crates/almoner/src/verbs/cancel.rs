//! `almoner cancel`, and `almoner remake` for code that a cancellation or an upgrade ended.

use kernel::command::Cancel;
use passable::Untrusted;

use crate::cli::agents::{CancelArgs, RemakeArgs};
use crate::session;
use crate::session::{Acting, done};
use control::exit::Ended;
use control::protocol::AgentAct;

/// `almoner cancel`.
///
/// # Errors
/// When there is no such run or name, or nothing of it can be ended.
pub fn cancel(acting: &Acting<'_>, args: &CancelArgs) -> Ended {
    let what = match args.thing.parse() {
        Ok(run) => Cancel::Run { run },
        Err(_) => Cancel::Name { path: session::path(&args.thing)? },
    };
    let act = AgentAct::Cancel { what, reason: Untrusted::new(args.reason.clone()) };
    done(&acting.act("cancel", act)?, args.json.json)
}

/// `almoner remake`.
///
/// # Errors
/// When no code has come to this, or somebody else endowed it.
pub fn remake(acting: &Acting<'_>, args: &RemakeArgs) -> Ended {
    let act = AgentAct::Remake { path: session::path(&args.name)? };
    done(&acting.act("remake", act)?, args.json.json)
}
