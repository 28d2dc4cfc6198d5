//! `almoner undo`.

use passable::Untrusted;

use crate::cli::UndoArgs;
use crate::session::Session;
use crate::session::command_line::command_line;
use crate::session::questions;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult};
use control::protocol::{Request, Response};

/// Runs `almoner undo`.
///
/// # Errors
/// When the run does not exist, or is not over.
pub fn undo(acting: &Session<'_>, args: &UndoArgs) -> ExitResult {
    let run = questions::named_run(acting, args.run.as_deref())?;
    let text = Untrusted::new(command_line());
    let request =
        Request::Undo { text, run, only: args.only.clone(), dry_run: args.dry_run, gives_up: args.yes };
    let undone = match acting.ask(request)? {
        Response::UndoReport(undone) => undone,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&undone)?;
    } else {
        output::listing(&undone.render())?;
    }
    Ok(if undone.is_partial() { Exit::Conflict } else { Exit::Ok })
}
