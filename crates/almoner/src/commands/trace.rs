//! `almoner trace`.

use kernel::RunNumber;
use kernel::id::BadId;

use super::{attend, output};
use crate::cli::TraceArgs;
use crate::control::client::{Client, unexpected};
use crate::control::protocol::{Request, Response};
use crate::exit::{Ended, Exit, Failure};
use crate::place::Place;
use crate::show::journal;

/// `almoner trace`.
///
/// # Errors
/// When there is no such run.
pub fn trace(place: &Place, args: &TraceArgs) -> Ended {
    let run = match &args.run {
        Some(text) => text
            .parse()
            .map_err(|e: BadId| Failure::new(Exit::Usage, e.to_string()).help("see `almoner runs`"))?,
        None => latest(place)?,
    };
    let found = attend::get_run(place, run)?;
    let steps = match Client::connect(place)?.ask(&Request::Journal { run })? {
        Response::Journal(steps) => steps,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&serde_json::json!({ "version": 1, "run": found, "steps": steps }))?;
    } else {
        output::listing(&journal::render(&found, &steps))?;
    }
    Ok(Exit::Ok)
}

/// The newest run that no other run started.
///
/// # Errors
/// When there is none.
pub fn latest(place: &Place) -> Result<RunNumber, Failure> {
    match Client::connect(place)?.ask(&Request::Runs { limit: usize::MAX })? {
        Response::Runs(runs) => {
            runs.iter().find(|run| run.parent.is_none()).map(|run| run.number).ok_or_else(|| {
                Failure::new(Exit::NotFound, "there are no runs yet").help("try `almoner demo`")
            })
        }
        other => Err(unexpected(&other)),
    }
}
