//! `almoner cancel`, and `almoner remake` for code that a cancellation or an upgrade ended.

use kernel::RunNumber;
use kernel::command::Cancel;
use passable::Untrusted;

use crate::cli::agents::{CancelArgs, RemakeArgs};
use crate::session;
use crate::session::questions::LAST_RUN;
use crate::session::{Session, print_reply, questions};
use crate::ui::output;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::AgentAct;

/// Runs `almoner cancel`.
///
/// # Errors
/// When the run or the name does not exist, or nothing of it can be ended.
pub fn cancel(acting: &Session<'_>, args: &CancelArgs) -> ExitResult {
    let what = match (args.thing.as_str(), args.thing.parse()) {
        (LAST_RUN, _) => Cancel::Run { run: questions::latest(acting)? },
        (_, Ok(run)) => Cancel::Run { run },
        (_, Err(_)) => Cancel::Name { path: session::parse_path(&args.thing)? },
    };
    if let Cancel::Run { run } = &what
        && let Some(ended) = refuse_ended(acting, *run)?
    {
        output::note(&ended);
        return Ok(Exit::Ok);
    }
    let act = AgentAct::Cancel { what, reason: Untrusted::new(args.reason.clone()) };
    print_reply(&acting.act("cancel", act)?, args.json.json)
}

/// Returns the words about a run that was cancelled before, or `None` if the run is not over.
///
/// # Errors
/// When the run is over for another reason, so that nothing of it can be cancelled.
fn refuse_ended(acting: &Session<'_>, run: RunNumber) -> Result<Option<String>, Failure> {
    let found = questions::run(acting, run)?;
    match (&found.cancelled, found.is_finished()) {
        (Some(_), true) => Ok(Some(format!("{run} was cancelled before; nothing changed"))),
        (_, false) => Ok(None),
        (None, true) => Err(Failure::new(Exit::Conflict, format!("cannot cancel {run}: it is over"))
            .help(format!("{} shows what came of it", acting.command(&format!("trace {run}"))))),
    }
}

/// Runs `almoner remake`.
///
/// # Errors
/// When the thing was not made by code, or another agent endowed that code.
pub fn remake(acting: &Session<'_>, args: &RemakeArgs) -> ExitResult {
    let act = AgentAct::Remake { path: session::parse_path(&args.name)? };
    print_reply(&acting.act("remake", act)?, args.json.json)
}
