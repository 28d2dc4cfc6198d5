//! `almoner daemon`, `status` and `stop`.

use std::time::Duration;

use crate::cli::{DaemonArgs, JsonArg};
use crate::client::{self, Client};
use crate::session::Session;
use crate::ui::output;
use config::place::Place;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use daemon::DaemonOptions;

/// The time after which an idle daemon ends if a command started it, in seconds.
const IDLE_TIMEOUT_SECONDS: u64 = 600;

/// Runs `almoner daemon`.
///
/// # Errors
/// When the store cannot be opened, or the socket cannot be made.
pub fn daemon(place: &Place, args: &DaemonArgs) -> ExitResult {
    let idle = match (args.idle, args.on_demand) {
        (Some(0), _) | (None, false) => None,
        (Some(seconds), _) => Some(seconds),
        (None, true) => Some(IDLE_TIMEOUT_SECONDS),
    };
    daemon::run(place, DaemonOptions { on_demand: args.on_demand, idle: idle.map(Duration::from_secs) })
}

/// Runs `almoner status`.
///
/// # Errors
/// When the daemon cannot be started.
pub fn status(acting: &Session<'_>, args: JsonArg) -> ExitResult {
    let status = match acting.ask(Request::Status)? {
        Response::Status(status) => status,
        other => return Err(unexpected(&other)),
    };
    if args.json {
        output::json(&status)?;
    } else {
        let mut at_work: Vec<String> = status.at_work.iter().map(ToString::to_string).collect();
        if status.others_at_work > 0 {
            at_work.push(format!("({} of other hosts)", status.others_at_work));
        }
        let code = match status.code {
            code if code.all() == 0 => String::new(),
            code => format!(
                "\ncode    {} running, {} asleep, {} not begun",
                code.running, code.asleep, code.waiting
            ),
        };
        let waiting: String = status
            .waiting
            .iter()
            .map(|(run, why)| format!("\nwaiting {run} {}", passable::visible_line(why)))
            .collect();
        let stalled: String = status.stalled.iter().map(|run| format!("\nstalled {}", run.line())).collect();
        output::result(&format!(
            "daemon {} (process {})\nstore   {}\nat work {}{waiting}{code}\ninbox   {} waiting for you{stalled}",
            status.build,
            status.pid,
            status.store,
            if at_work.is_empty() { "nothing".to_owned() } else { at_work.join(" ") },
            status.needs_you
        ))?;
    }
    Ok(Exit::Ok)
}

/// Runs `almoner stop`.
///
/// # Errors
/// When the daemon does not end.
pub fn stop(place: &Place) -> ExitResult {
    if halt(place)? {
        output::note("stopped; runs go on when the daemon starts again");
    } else {
        output::note("no daemon runs");
    }
    Ok(Exit::Ok)
}

/// Ends the daemon, and waits until it has released its store. Returns `false` if no daemon ran.
///
/// # Errors
/// When the daemon does not end.
pub fn halt(place: &Place) -> Result<bool, Failure> {
    if client::end_foreign_daemon(place)? {
        return Ok(true);
    }
    let Some(mut client) = Client::connect_if_running(place)? else { return Ok(false) };
    let pid = match client.ask(Request::Status)? {
        Response::Status(status) => status.pid,
        other => return Err(unexpected(&other)),
    };
    client.ask(Request::Stop)?;
    client::wait_for_end(place, pid).map(|()| true)
}
