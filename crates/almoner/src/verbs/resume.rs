//! `almoner resume`.

use kernel::RunNumber;
use kernel::run::State;
use passable::Untrusted;

use crate::cli::ResumeArgs;
use crate::follow::run_outcome;
use crate::session::Session;
use crate::session::command_line::command_line;
use crate::session::questions;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};

/// Runs `almoner resume`.
///
/// # Errors
/// When the run does not exist, fails, or needs a person who is not here.
pub fn resume(acting: &Session<'_>, args: &ResumeArgs) -> ExitResult {
    let run: Option<RunNumber> =
        args.run.as_deref().map(|text| questions::named_run(acting, Some(text))).transpose()?;
    // The run to follow is chosen before the runs are resumed, because afterwards no run is stopped.
    let followed = match run {
        Some(run) => run,
        None => latest_stopped(acting)?.map_or_else(|| questions::latest(acting), Ok)?,
    };
    run_outcome::result_file(&args.follow)?;
    let text = Untrusted::new(command_line());
    acting.ask(Request::Resume { text, run })?;
    let run = followed;
    if args.follow.detach {
        output::result(&run.to_string())?;
        return Ok(Exit::Ok);
    }
    let found = questions::run(acting, run)?;
    if found.is_finished() {
        output::note(&format!("{run} is over"));
        return run_outcome::print_outcome(acting, &found, &args.follow);
    }
    run_outcome::follow(acting, run, None, &args.follow)
}

/// Returns the newest root run that has stalled or is at work, or that has started such a run.
fn latest_stopped(acting: &Session<'_>) -> Result<Option<RunNumber>, Failure> {
    let mut below = None;
    // The walk goes from newer to older runs, so a child comes before its parent. If a child has stalled or is at
    // work, its root run counts.
    let mut wanted: Option<RunNumber> = None;
    loop {
        let page = match acting.ask(Request::Runs { limit: usize::MAX, below, roots: false })? {
            Response::Runs(page) => page,
            other => return Err(unexpected(&other)),
        };
        let Some(last) = page.last() else { return Ok(None) };
        below = Some(last.number);
        for run in page {
            let moves = matches!(run.state, State::Ready | State::Stalled { .. }) || run.is_paused();
            match run.parent {
                None if moves || wanted == Some(run.number) => return Ok(Some(run.number)),
                // From the newest such run, the walk follows the parents up to the root.
                Some(parent) if wanted == Some(run.number) || (wanted.is_none() && moves) => {
                    wanted = Some(parent.run);
                }
                _ => {}
            }
        }
    }
}
