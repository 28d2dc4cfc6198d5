//! `almoner runs`.

use passable::visible_line;

use super::output;
use crate::cli::RunsArgs;
use crate::control::client::{Client, unexpected};
use crate::control::protocol::{Request, Response};
use crate::exit::{Ended, Exit};
use crate::place::Place;
use crate::show::journal::state;

/// `almoner runs`.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn runs(place: &Place, args: &RunsArgs) -> Ended {
    let limit = if args.all { args.limit } else { usize::MAX };
    let mut runs = match Client::connect(place)?.ask(&Request::Runs { limit })? {
        Response::Runs(runs) => runs,
        other => return Err(unexpected(&other)),
    };
    if !args.all {
        runs.retain(|run| run.parent.is_none());
        runs.truncate(args.limit);
    }
    if args.json.json {
        output::json(&runs)?;
    } else if runs.is_empty() {
        output::note("there are no runs yet; try `almoner demo`");
    } else {
        let lines: String = runs
            .iter()
            .map(|run| {
                format!("{:<6} {:<16} {}\n", run.number.to_string(), visible_line(&run.name), state(run))
            })
            .collect();
        output::listing(&lines)?;
    }
    Ok(Exit::Ok)
}
