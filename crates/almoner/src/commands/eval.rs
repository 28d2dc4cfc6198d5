//! `almoner eval`.

use kernel::command::{MailAct, Reply};
use passable::Untrusted;

use super::acting::{self, Acting};
use super::define::{code, stands_for};
use super::output;
use crate::cli::agents::EvalArgs;
use crate::control::client::unexpected;
use crate::control::protocol::Response;
use crate::exit::{Ended, Exit};

/// `almoner eval`.
///
/// # Errors
/// When a name stands for nothing; when the code throws, or passes a limit.
pub fn eval(acting: &Acting<'_>, args: &EvalArgs) -> Ended {
    let source = code(&args.source)?;
    let (names, paths) = stands_for(&args.names)?;
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
