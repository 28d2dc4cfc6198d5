//! `almoner gateway`.

use crate::cli::JsonArg;
use crate::session::Session;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult};
use control::protocol::{Request, Response};

/// Runs `almoner gateway`: prints a token with which a client of the gateway becomes the agent.
///
/// # Errors
/// When the daemon has no gateway, or the agent does not exist.
pub fn gateway(acting: &Session<'_>, args: JsonArg) -> ExitResult {
    let pass = match acting.ask(Request::Pass)? {
        Response::Pass(pass) => pass,
        other => return Err(unexpected(&other)),
    };
    if args.json {
        output::json(&pass)?;
    } else {
        output::result(&format!("{}\n{}", pass.url, pass.token))?;
        output::note(&format!(
            "whoever shows this token there within {} minutes becomes {}; it works once",
            pass.seconds / 60,
            acting.agent.unwrap_or("you")
        ));
    }
    Ok(Exit::Ok)
}
