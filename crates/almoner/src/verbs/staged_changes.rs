//! `almoner diff`, `almoner apply`, `almoner discard`: the changes that a run made in a staged copy.

use kernel::BlobHash;
use passable::Untrusted;

use crate::cli::{ApplyArgs, DiscardArgs, StagedArgs};
use crate::session::Session;
use crate::session::command_line::command_line;
use crate::session::questions;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use control::undo_report::Part;

/// Runs `almoner diff`.
///
/// # Errors
/// When the run does not exist, is not over, or has no staged copy.
pub fn diff(acting: &Session<'_>, args: &StagedArgs) -> ExitResult {
    let request =
        Request::Diff { run: questions::named_run(acting, args.run.as_deref())?, only: args.only.clone() };
    match acting.ask(request)? {
        Response::Diff(diff) if args.json.json => output::json(&diff)?,
        Response::Diff(diff) => output::listing(&diff.render())?,
        other => return Err(unexpected(&other)),
    }
    Ok(Exit::Ok)
}

/// Runs `almoner apply`.
///
/// # Errors
/// When the run does not exist, is not over, or has no staged copy.
pub fn apply(acting: &Session<'_>, ApplyArgs { staged: args, hunk }: &ApplyArgs) -> ExitResult {
    let text = Untrusted::new(command_line());
    let (run, only) = (questions::named_run(acting, args.run.as_deref())?, args.only.clone());
    let parts = match hunk.is_empty() {
        true => vec![],
        false => vec![selected_hunks(acting.ask(Request::Diff { run, only: only.clone() })?, hunk)?],
    };
    let applied = match acting.ask(Request::Apply { text, run, only, parts })? {
        Response::UndoReport(applied) => applied,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&applied)?;
    } else {
        output::listing(&applied.render_applied())?;
    }
    Ok(if applied.is_partial() { Exit::Conflict } else { Exit::Ok })
}

/// Returns the selected hunks of the only file in a diff.
fn selected_hunks(diff: Response, hunks: &[usize]) -> Result<Part, Failure> {
    let diff = match diff {
        Response::Diff(diff) => diff,
        other => return Err(unexpected(&other)),
    };
    match diff.files.as_slice() {
        [file] => Ok(Part {
            path: file.entry.path.raw().to_owned(),
            hunks: hunks.iter().copied().collect(),
            shown: BlobHash::of(file.text.raw().as_bytes()),
        }),
        _ => Err(Failure::new(Exit::Usage, "cannot apply hunks: they are counted within one file")
            .help("name it, and no other: `almoner apply RUN --only PATH --hunk 1`")),
    }
}

/// Runs `almoner discard`.
///
/// # Errors
/// When the run does not exist, is not over, or has no staged copy.
pub fn discard(acting: &Session<'_>, args: &DiscardArgs) -> ExitResult {
    let (run, only) = (questions::named_run(acting, args.run.as_deref())?, args.only.clone());
    let parts = match args.hunk.is_empty() {
        true => vec![],
        false => vec![selected_hunks(acting.ask(Request::Diff { run, only: only.clone() })?, &args.hunk)?],
    };
    let request = Request::Discard { text: Untrusted::new(command_line()), run, only, parts };
    match acting.ask(request)? {
        Response::Reply(_) if !args.only.is_empty() => {
            output::note(&format!("thrown away; `almoner diff {run}` shows what is left"))
        }
        Response::Reply(_) => {
            output::note("thrown away: nothing of it was put in place that was not applied before")
        }
        other => return Err(unexpected(&other)),
    }
    Ok(Exit::Ok)
}
