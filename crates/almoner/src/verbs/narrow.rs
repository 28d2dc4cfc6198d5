//! `almoner narrow`.

use crate::cli::narrow::NarrowArgs;
use crate::session;
use crate::session::{Session, print_reply};
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult};
use control::protocol::{AgentAct, Look, Response};

/// Runs `almoner narrow`: prints the authority that remains, and makes the narrowed thing.
///
/// # Errors
/// When the thing does not exist, or the result would have more authority than the thing.
pub fn narrow(acting: &Session<'_>, args: &NarrowArgs) -> ExitResult {
    let (path, to, by) =
        (session::parse_path(&args.from)?, session::parse_path(&args.to)?, Box::new(args.narrowing()));
    let thing = match acting.look_up(Look::Narrowable { path: path.clone(), by: Some(by.clone()) })? {
        Response::Narrowable(thing) => thing,
        other => return Err(unexpected(&other)),
    };
    if args.dry_run && args.json.json {
        return output::json(&thing).map(|()| Exit::Ok);
    }
    if let Some(left) = thing.left.filter(|_| !args.json.json) {
        output::note(&left.visible_line());
    }
    if args.dry_run {
        return Ok(Exit::Ok);
    }
    // The daemon narrows exactly the thing that was described, or refuses.
    let act = AgentAct::Narrow { path, is: Some(thing.id), by, to, force: args.force };
    print_reply(&acting.act("narrow", act)?, args.json.json)
}
