//! `almoner forget` and `almoner gc`.

use passable::{Untrusted, visible_line};

use crate::cli::JsonArg;
use crate::cli::maintenance::ForgetArgs;
use crate::session::Session;
use crate::session::command_line::command_line;
use crate::session::questions;
use crate::ui::output;
use crate::ui::prompt;
use crate::ui::prompt::PromptInput;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{FreedSpace, Request, Response};

/// The note that recently written bytes are not freed yet.
const RECENT_BYTES_NOTE: &str = "what was written in the last quarter of an hour goes later, by itself";

/// Runs `almoner forget`.
///
/// # Errors
/// When the run does not exist or is not over, or no person is here to confirm.
pub fn forget(acting: &Session<'_>, args: &ForgetArgs) -> ExitResult {
    let run = questions::named_run(acting, Some(&args.run))?;
    let found = questions::run(acting, run)?;
    if !args.yes && !confirm(&found)? {
        output::note("nothing was forgotten");
        return Ok(Exit::Denied);
    }
    let request = Request::Forget { text: Untrusted::new(command_line()), run };
    let runs = match acting.ask(request)? {
        Response::Forgotten(runs) => runs,
        other => return Err(unexpected(&other)),
    };
    let freed = sweep(acting)?;
    if args.json.json {
        output::json(&serde_json::json!({ "version": 1, "forgotten": runs, "freed": freed }))?;
        return Ok(Exit::Ok);
    }
    let others = match runs.len() {
        0 | 1 => String::new(),
        2 => " and the run that it started".to_owned(),
        more => format!(" and the {} runs that it started", more - 1),
    };
    output::note(&format!(
        "what {run}{others} worked on is forgotten; {}; {RECENT_BYTES_NOTE}",
        freed.describe()
    ));
    Ok(Exit::Ok)
}

/// Shows the data that would be deleted, and asks the user to confirm.
fn confirm(run: &kernel::run::Run) -> Result<bool, Failure> {
    if !output::can_ask() {
        return Err(Failure::new(
            Exit::NeedsYou,
            "what is forgotten cannot be had back, and nobody is here to say so",
        )
        .help("`--yes` says so"));
    }
    let documents = run.input.attachments.len() + run.input.items.len();
    output::note(&format!(
        "{} `{}`: its {documents} documents, its requests and replies, and those of all that it started, go for good. \
         Its journal stays, and so does what others have too. It cannot be undone or retried afterwards, and an export says which bytes are gone.",
        run.number,
        visible_line(&run.name)
    ));
    match prompt::line("forget it? [y/N] ", &[])? {
        PromptInput::Line(line) => Ok(["y", "yes"].contains(&line.to_lowercase().as_str())),
        PromptInput::End => Ok(false),
    }
}

fn sweep(acting: &Session<'_>) -> Result<FreedSpace, Failure> {
    match acting.ask(Request::Gc)? {
        Response::Freed(freed) => Ok(freed),
        other => Err(unexpected(&other)),
    }
}

/// Runs `almoner gc`.
///
/// # Errors
/// When the store cannot be read.
pub fn gc(acting: &Session<'_>, args: JsonArg) -> ExitResult {
    let freed = sweep(acting)?;
    if args.json {
        output::json(&serde_json::json!({ "version": 1, "freed": freed }))?;
        return Ok(Exit::Ok);
    }
    output::note(&format!("{}; {RECENT_BYTES_NOTE}", freed.describe()));
    Ok(Exit::Ok)
}
