//! `almoner eval`.

use kernel::command::{MailAct, Reply};
use passable::{Untrusted, visible_line};

use super::acting::{self, Acting};
use super::define::{code, stands_for};
use super::output;
use crate::cli::agents::EvalArgs;
use crate::control::client::unexpected;
use crate::control::protocol::{Look, Response};
use crate::exit::{Ended, Exit, Failure};

/// What code can be handed in this version.
const DATA: [&str; 3] = ["data", "marshal", "promise"];

/// `almoner eval`.
///
/// # Errors
/// When a name stands for nothing, or for something that can act; when the code throws, or passes a limit.
pub fn eval(acting: &Acting<'_>, args: &EvalArgs) -> Ended {
    let source = code(&args.source)?;
    let (names, paths) = stands_for(&args.names)?;
    for (name, path) in names.iter().zip(&paths) {
        let Response::Thing(thing) = acting.look(Look::Thing { path: path.clone() })? else { continue };
        if !DATA.contains(&thing.kind.as_str()) {
            let what = format!(
                "`{}` is {}: code that holds what can act does not run in this version",
                visible_line(name),
                thing.words.visible_line()
            );
            return Err(Failure::new(Exit::Invalid, what).help("hand it data: values and results"));
        }
    }
    let act = MailAct::Evaluate {
        vat: None,
        source: Untrusted::new(source),
        names,
        paths,
        result_name: acting::maybe_path(args.result.as_deref())?,
    };
    let response = acting.mail("eval", act)?;
    let Response::Reply(Reply::Parked { promise, .. }) = response else {
        return Err(unexpected(&response));
    };
    if args.detach {
        if args.json.json {
            output::json(&response)?;
        } else {
            output::result(&promise.to_string())?;
        }
        return Ok(Exit::Ok);
    }
    acting::settled(&acting.wait(promise)?, args.json.json)
}
