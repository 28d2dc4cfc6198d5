//! `almoner eval`.

use kernel::FormulaId;
use kernel::command::{MailAct, Reply};
use passable::Untrusted;

use super::define::{parse_names, read_code};
use super::trace;
use crate::cli::agents::EvalArgs;
use crate::session;
use crate::session::Session;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult};
use control::protocol::Response;
use control::show::code::console;

/// Runs `almoner eval`.
///
/// # Errors
/// When a name does not exist, or the code throws or exceeds a limit.
pub fn eval(acting: &Session<'_>, args: &EvalArgs) -> ExitResult {
    let source = read_code(&args.source)?;
    let (names, paths) = parse_names(&args.names)?;
    let act = MailAct::Evaluate {
        vat: None,
        source: Untrusted::new(source),
        names,
        paths,
        result_name: session::parse_optional_path(args.result.as_deref())?,
    };
    let response = acting.mail("eval", act)?;
    let Response::Reply(Reply::CodeQueued { promise, .. }) = response else {
        return Err(unexpected(&response));
    };
    print_result(acting, &response, promise, args.detach, args.json.json)
}

/// Prints the result of code and its console output. With `detach`, prints the promise instead, without waiting.
///
/// # Errors
/// When the code fails.
pub fn print_result(
    acting: &Session<'_>,
    response: &Response,
    promise: FormulaId,
    detach: bool,
    json: bool,
) -> ExitResult {
    if detach {
        if json {
            output::json(response)?;
        } else {
            output::result(&promise.to_string())?;
        }
        return Ok(Exit::Ok);
    }
    let state = acting.wait(promise)?;
    // The console output is for the user at the terminal, and no part of the result.
    if let Ok(page) = trace::code_journal(acting, &promise.to_string()) {
        console(&page).iter().for_each(|line| output::note(line));
    }
    session::print_promise(&state, json)
}
