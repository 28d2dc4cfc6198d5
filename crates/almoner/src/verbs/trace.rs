//! `almoner trace`: the journal of a run, or of code.

use kernel::RunNumber;

use super::sent_request::sent_request;
use crate::cli::TraceArgs;
use crate::session::Session;
use crate::session::questions;
use crate::ui::output;
use config::clock;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Look, Response};
use control::show::{code, journal, timeline};
use control::view::CodePage;

/// Runs `almoner trace`.
///
/// # Errors
/// When the run does not exist.
pub fn trace(acting: &Session<'_>, args: &TraceArgs) -> ExitResult {
    let run = match &args.run {
        Some(text) if text == questions::LAST_RUN => questions::latest(acting)?,
        Some(text) => match text.parse() {
            Ok(run) => run,
            Err(_) if args.request.is_some() => questions::named_run(acting, Some(text))?,
            // A text that is no run number is a name.
            Err(_) => return trace_code(acting, text, args.json.json),
        },
        None => questions::latest(acting)?,
    };
    if let Some(which) = &args.request {
        return sent_request(acting, run, which, args);
    }
    if args.tree || args.timeline || args.raw {
        return family(acting, run, args);
    }
    let found = questions::run(acting, run)?;
    let steps = questions::journal(acting, run)?;
    if args.json.json {
        output::json(&serde_json::json!({ "version": 1, "run": found, "steps": steps }))?;
    } else {
        output::listing(&journal::render(&found, &steps))?;
    }
    Ok(Exit::Ok)
}

/// Prints a run with all runs that it started.
fn family(acting: &Session<'_>, run: RunNumber, args: &TraceArgs) -> ExitResult {
    let family = questions::family(acting, run)?;
    if args.raw {
        for (run, steps) in &family {
            for step in steps {
                output::json(
                    &serde_json::json!({ "version": 1, "run": run.number.to_string(), "step": step }),
                )?;
            }
        }
    } else if args.timeline {
        output::listing(&timeline::render(&family, clock::now_ms()))?;
    } else {
        output::listing(&journal::tree(&family))?;
    }
    Ok(Exit::Ok)
}

fn trace_code(acting: &Session<'_>, thing: &str, json: bool) -> ExitResult {
    let page = code_journal(acting, thing)?;
    if json {
        output::json(&serde_json::json!({ "version": 1, "code": page }))?;
    } else {
        output::listing(&code::render(&page))?;
    }
    Ok(Exit::Ok)
}

/// Returns the whole journal of the code whose result is `thing`.
///
/// # Errors
/// When `thing` is no result of code, or another agent endowed the code.
pub fn code_journal(acting: &Session<'_>, thing: &str) -> Result<CodePage, Failure> {
    let mut all: Option<CodePage> = None;
    loop {
        let from = all.as_ref().map_or(0, |page| page.entries.len() as u64);
        let mut page = match acting.look_up(Look::Code { thing: thing.to_owned(), from })? {
            Response::Code(page) => page,
            other => return Err(unexpected(&other)),
        };
        let is_last = page.entries.is_empty();
        match &mut all {
            Some(all) => all.entries.append(&mut page.entries),
            None => all = Some(page),
        }
        match all {
            Some(all) if is_last => return Ok(all),
            so_far => all = so_far,
        }
    }
}
