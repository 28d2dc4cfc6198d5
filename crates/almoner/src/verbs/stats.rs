//! `almoner stats`.

use crate::cli::StatsArgs;
use crate::session::Session;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult};
use control::protocol::{Request, Response};
use control::show::stats;

/// Runs `almoner stats`.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn stats(acting: &Session<'_>, args: &StatsArgs) -> ExitResult {
    let since_ms = args.since.map(|ago| {
        let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
        config::clock::now_ms().saturating_sub(ago)
    });
    let stats = match acting.ask(Request::Stats { since_ms })? {
        Response::Stats(stats) => *stats,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&stats::json(&stats))?;
    } else {
        output::listing(&stats::render(&stats))?;
    }
    Ok(Exit::Ok)
}
