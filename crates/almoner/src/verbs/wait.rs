//! `almoner wait`.

use std::time::{Duration, Instant};

use kernel::RunNumber;

use crate::cli::WaitArgs;
use crate::client::Client;
use crate::follow::follow_run::{self, FollowOutcome};
use crate::follow::run_outcome;
use crate::session::Session;
use crate::session::questions;
use crate::ui::output;
use control::exit::{Exit, ExitResult, Failure};

/// Runs `almoner wait`. The run is only watched: an interrupted wait leaves it alone.
///
/// # Errors
/// When the run does not exist, has failed or stalled, or needs a person. When the time is over.
pub fn wait(acting: &Session<'_>, args: &WaitArgs) -> ExitResult {
    let how = args.follow();
    run_outcome::result_file(&how)?;
    // A time that is too long to be counted has no end.
    let deadline = args.timeout.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    // If no daemon can be reached at first, none is waited for.
    acting.last_event()?;
    let run = questions::named_run(acting, Some(&args.run))?;
    let waited = match wait_for(acting, run, deadline) {
        // A conversation waits for a person, without a message that asks.
        Ok(FollowOutcome::Paused) => Ok(FollowOutcome::NeedsYou(vec![])),
        waited => waited,
    };
    run_outcome::report(acting, run, waited, &how)
}

/// Waits for a run, also across the ends of daemons.
fn wait_for(
    acting: &Session<'_>,
    run: RunNumber,
    deadline: Option<Instant>,
) -> Result<FollowOutcome, Failure> {
    loop {
        match follow_run::wait(acting, run, deadline) {
            Err(failure) if failure.exit == Exit::NoDaemon => {
                output::note(&format!("{}; waiting for the next daemon", failure.message.visible_line()));
                match Client::await_daemon(acting.place, deadline) {
                    Ok(_) => {}
                    Err(failure) if failure.exit == Exit::TimedOut => {
                        return Ok(FollowOutcome::TimedOut(vec![]));
                    }
                    Err(failure) => return Err(failure),
                }
            }
            waited => return waited,
        }
    }
}
