//! `almoner sessions`.

use crate::cli::maintenance::SessionsArgs;
use crate::session::Session;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult};
use control::protocol::{Request, Response};
use control::sessions::{self, SessionAct};

/// Runs `almoner sessions`: lists the browsers that were let in, or ends the sessions of one or all.
///
/// # Errors
/// When no session has this number, or the daemon cannot be reached.
pub fn sessions(acting: &Session<'_>, args: &SessionsArgs) -> ExitResult {
    let act = match args.revoke {
        Some(number) => SessionAct::Revoke { number },
        None if args.all => SessionAct::RevokeAll,
        None => SessionAct::List,
    };
    let left = match acting.ask(Request::Sessions { act })? {
        Response::Sessions(left) => left,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&sessions::json(&left))?;
    } else {
        output::listing(&sessions::render(&left))?;
    }
    Ok(Exit::Ok)
}
