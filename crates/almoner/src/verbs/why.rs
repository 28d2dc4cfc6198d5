//! `almoner why`.

use kernel::{FormulaId, StepRef};

use passable::visible_line;

use crate::cli::WhyArgs;
use crate::session::Session;
use crate::session::questions;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Look, Request, Response};
use control::show::object_view;
use control::show::reason::{self, Reason, WhyTarget};

/// Runs `almoner why`.
///
/// # Errors
/// When nothing is known about the thing.
pub fn why(acting: &Session<'_>, args: &WhyArgs) -> ExitResult {
    let named = match args.thing.as_deref() {
        Some(thing) if thing != questions::LAST_RUN => thing.to_owned(),
        // A file or a name of this word is meant itself.
        Some(thing)
            if std::fs::exists(thing).unwrap_or(false) || acting.names().iter().any(|n| n == thing) =>
        {
            thing.to_owned()
        }
        _ => questions::latest(acting)?.to_string(),
    };
    if args.kept {
        return print_retention(args, &named, acting.look_up(Look::RetentionPaths { thing: named.clone() })?);
    }
    // A relative path starts from the directory of this process, not from the daemon's.
    let file = std::fs::canonicalize(&named).ok();
    let is_name = file.is_none()
        && named.parse::<StepRef>().is_err()
        && matches!(named.parse(), Ok(WhyTarget::Name(_)) | Err(_));
    let origin = || acting.look_up(Look::Origin { thing: named.clone() }).and_then(reasons);
    if is_name || named.parse::<FormulaId>().is_ok() {
        match origin() {
            Ok(reasons) => return print_reasons(args, &reasons),
            // The text is no name, but may be a slot.
            Err(failure)
                if is_name && matches!(failure.exit, Exit::NotFound | Exit::Usage | Exit::Invalid) => {}
            Err(failure) => return Err(failure),
        }
    }
    let thing = file.map_or_else(|| named.clone(), |path| path.to_string_lossy().into_owned());
    match acting.ask(Request::Why { thing }) {
        Ok(response) => print_reasons(args, &reasons(response)?),
        // A guest has no runs, so for a guest the text can only be a name.
        Err(failure) if failure.exit == Exit::Denied && acting.agent.is_some() => {
            print_reasons(args, &origin()?)
        }
        Err(failure) => Err(failure),
    }
}

fn reasons(response: Response) -> Result<Vec<Reason>, Failure> {
    match response {
        Response::Why(reasons) => Ok(reasons),
        other => Err(unexpected(&other)),
    }
}

fn print_reasons(args: &WhyArgs, reasons: &[Reason]) -> ExitResult {
    if args.json.json {
        let plain: Vec<Reason> = reasons.iter().cloned().map(Reason::plain).collect();
        output::json(&plain)?;
    } else {
        output::listing(&reason::render(reasons))?;
    }
    Ok(Exit::Ok)
}

/// Prints the ways from the store's root on which an object is kept.
fn print_retention(args: &WhyArgs, named: &str, response: Response) -> ExitResult {
    let ways = match response {
        Response::RetentionPaths(ways) => ways,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&ways)?;
    } else if ways.is_empty() {
        return Err(Failure::new(
            Exit::NotFound,
            format!("nothing keeps `{}`: it waits to be collected", visible_line(named)),
        )
        .help("`almoner name ID NAME` keeps what you hold"));
    } else {
        output::result(&object_view::retention_paths(&ways))?;
    }
    Ok(Exit::Ok)
}
