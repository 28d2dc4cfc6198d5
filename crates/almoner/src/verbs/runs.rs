//! `almoner runs`.

use kernel::run::Run;
use passable::visible_line;

use crate::cli::RunsArgs;
use crate::session::Session;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use control::show::journal::state;
use control::show::money;

/// Runs `almoner runs`.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn runs(acting: &Session<'_>, args: &RunsArgs) -> ExitResult {
    let runs = newest_runs(acting, args.limit, !args.all)?;
    if args.json.json {
        output::json(&runs)?;
    } else if runs.is_empty() {
        output::empty("there are no runs yet; try `almoner demo`");
    } else {
        let lines: String = runs
            .iter()
            .map(|run| {
                let tokens = run.used.input_tokens.saturating_add(run.used.output_tokens);
                let figures = match tokens {
                    0 => String::new(),
                    tokens => format!(" ({tokens} tokens{})", money::cost_suffix(run.used.usd_micros)),
                };
                let (number, name) = (run.number.to_string(), visible_line(&run.name));
                format!("{number:<6} {name:<16} {}{figures}\n", state(run))
            })
            .collect();
        output::listing(&lines)?;
    }
    Ok(Exit::Ok)
}

/// Returns the newest runs, at most `limit`. With `roots`, runs that other runs started are left out.
fn newest_runs(acting: &Session<'_>, limit: usize, roots: bool) -> Result<Vec<Run>, Failure> {
    let mut runs: Vec<Run> = Vec::new();
    while runs.len() < limit {
        let below = runs.last().map(|run| run.number);
        match acting.ask(Request::Runs { limit: limit - runs.len(), below, roots })? {
            Response::Runs(page) if page.is_empty() => break,
            Response::Runs(page) => runs.extend(page),
            other => return Err(unexpected(&other)),
        }
    }
    Ok(runs)
}
