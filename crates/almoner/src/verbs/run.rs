//! `almoner run`.

use kernel::RunNumber;
use kernel::command::Reply;
use kernel::run::{Run, Shape};
use passable::{Untrusted, visible_line};
use worker::definition::{self, Bundle, Report, Severity};

use super::{models, run_config};
use crate::cli;
use crate::cli::{FollowArgs, RunArgs};
use crate::follow::run_outcome;
use crate::session::Session;
use crate::session::command_line::command_line;
use crate::session::questions;
use crate::ui::diagnostics::render_finding;
use crate::ui::output;
use crate::ui::piped_input::announce_stdin;
use config::model_choice;
use config::worker_file;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{ModelChoice, Plan, Request, Response, RunRequest, StartShape, StartSpec};
use control::show::{document_notes, run_log};
use resource::ResourceSpec;

/// Runs `almoner run`.
///
/// # Errors
/// When the command is wrong, or the run fails.
pub fn run(acting: &Session<'_>, args: &RunArgs) -> ExitResult {
    let bundle = worker_file::load(&args.worker)?;
    let definition = check(&bundle)?;
    let retry =
        args.retry_failed.map(|of| of.map_or_else(|| last_batch(acting, &bundle.name), Ok)).transpose()?;
    if let (Some(_), Some(None)) = (&args.key, &args.retry_failed) {
        return Err(Failure::new(Exit::Usage, "cannot use `--key` with the last run: the last run changes")
            .help("name the run: `--retry-failed=RUN`"));
    }
    let notice = announce_stdin(&args.inputs);
    // A retry uses the recorded documents and inputs, because the files may have changed.
    let inputs = match (retry, args.each) {
        (Some(_), _) => cli::Inputs::default(),
        (None, true) => cli::read_batch_inputs(&args.inputs, &args.exclude)?,
        (None, false) => cli::read_inputs(&args.inputs)?,
    };
    drop(notice);
    inputs.notes.iter().for_each(|note| output::note(note));
    if let (Some(old), false) = (retry, args.inputs.is_empty()) {
        output::note(&format!("the documents and inputs of {old} are used, as they were then"));
    }
    let worker = (&bundle, &definition);
    let given =
        run_config::load(acting, &args.worker, worker, args.model.as_deref(), &args.endow, &args.allow)?;
    let mut text = command_line() + &given.transcript_suffix;
    if let Some(old) = retry {
        text += &format!(" (what failed in {old})");
    }
    let model =
        models::choose(acting.place, given.model.as_deref(), definition.model.as_deref(), args.dry_run)?;
    let request = RunRequest {
        text: Untrusted::new(text),
        worker: worker_file::source_of(bundle, worker_file::beside(&args.worker)),
        spec: StartSpec {
            values: inputs.values,
            read_from: inputs.read_from,
            documents: acting.readable_documents(inputs.documents)?,
            shape: match args.each {
                true => StartShape::Each {
                    jobs: args.jobs.unwrap_or_else(|| model_choice::jobs(&model)),
                    waiting: args.waiting,
                },
                false => StartShape::Single,
            },
            private: args.private,
            limits: given.limits,
            endow: given.endow,
            allow: given.allow,
            model: ModelChoice::Reference(model),
            dry_run: args.dry_run,
            retry,
        },
        key: args.key.clone(),
    };
    if args.dry_run {
        return plan(acting, request, given.from, &args.follow);
    }
    start(acting, request, &args.follow)
}

/// Returns the last run of a worker that was started with `--each`.
fn last_batch(acting: &Session<'_>, name: &str) -> Result<RunNumber, Failure> {
    let mut below = None;
    loop {
        let page = match acting.ask(Request::Runs { limit: 100, below, roots: true })? {
            Response::Runs(page) => page,
            other => return Err(unexpected(&other)),
        };
        let is_one = |run: &&Run| run.name == name && matches!(run.shape, Shape::Each { .. });
        if let Some(run) = page.iter().find(is_one) {
            return Ok(run.number);
        }
        below = page.last().map(|run| run.number);
        if below.is_none() {
            let message = format!("there is no run of `{}` with `--each`", visible_line(name));
            return Err(Failure::new(Exit::NotFound, message).help("`--retry-failed=RUN` names one"));
        }
    }
}

/// Prints the plan of a run. `from` holds the parts that come from the project's file.
fn plan(acting: &Session<'_>, request: RunRequest, from: Vec<String>, follow: &FollowArgs) -> ExitResult {
    match acting.ask(Request::Run(Box::new(request)))? {
        Response::Plan(plan) => {
            let new = plan.grants.iter().filter(|grant| grant.is_new).map(|grant| {
                format!(
                    "`{}` is not there, and the run would make it: {}",
                    grant.slot,
                    grant.what.visible_line()
                )
            });
            let notes = new.chain(plan.notes.iter().cloned()).collect();
            let plan = Plan { from, notes, ..plan };
            if follow.json {
                output::json(&plan)?;
            } else {
                output::listing(&render(&plan))?;
            }
            Ok(Exit::Ok)
        }
        other => Err(unexpected(&other)),
    }
}

/// Checks a worker file, and prints all its problems, each with its place.
///
/// # Errors
/// When the file has an error.
pub fn check(bundle: &Bundle) -> Result<definition::Definition, Failure> {
    let (definition, diagnostics) = definition::parse(bundle);
    let failed = diagnostics.iter().any(|d| d.severity == Severity::Error);
    if !diagnostics.is_empty() {
        output::report(&render_finding(&Report::new(bundle, diagnostics)));
    }
    definition.filter(|_| !failed).ok_or_else(|| Failure::silent(Exit::Invalid))
}

/// Starts the requested run and follows it.
///
/// # Errors
/// When the request is wrong, or the run fails.
pub fn start(acting: &Session<'_>, request: RunRequest, follow: &FollowArgs) -> ExitResult {
    run_outcome::result_file(follow)?;
    let after = acting.last_event()?;
    let has_paths = request.spec.endow.iter().any(|given| matches!(given.fill, ResourceSpec::Path(_)));
    if has_paths && !acting.shares_files()? {
        output::note(
            "the daemon sees other files than this command (another container, root or group): a path after `-e` \
             means the daemon's file",
        );
    }
    let is_staged =
        request.spec.endow.iter().any(|given| matches!(&given.fill, ResourceSpec::Path(path) if path.stage));
    let has_documents = !request.spec.documents.is_empty() || request.spec.retry.is_some();
    let response = acting.ask(Request::Run(Box::new(request)))?;
    if let Response::Reply(Reply::Started { run }) = &response {
        if !follow.json && !follow.events && !follow.detach {
            show_permissions(acting, *run);
        }
        if has_documents {
            show_document_notes(acting, *run)?;
        }
    }
    let (run, after) = match response {
        Response::Reply(Reply::Started { run }) => (run, Some(after)),
        Response::Reply(Reply::AlreadyStarted { run }) => {
            output::note(&format!("{run} was started before with this key"));
            (run, None)
        }
        other => return Err(unexpected(&other)),
    };
    if follow.detach {
        output::result(&run.to_string())?;
        return Ok(Exit::Ok);
    }
    let ended = run_outcome::follow(acting, run, after, follow)?;
    if is_staged {
        output::note(&format!(
            "changes are staged: `almoner diff {run}` shows them, then `almoner apply {run}` or `almoner discard {run}`"
        ));
    }
    Ok(ended)
}

/// Prints what the text of a run's documents lacks, on standard error.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn show_document_notes(acting: &Session<'_>, run: RunNumber) -> Result<(), Failure> {
    for line in document_notes::of_run(&questions::run(acting, run)?) {
        output::note(&line);
    }
    Ok(())
}

/// Prints what a run may touch, on standard error. If that cannot be read, only this line is lost.
fn show_permissions(acting: &Session<'_>, run: RunNumber) {
    let Ok(Response::Bindings(bindings)) = acting.ask(Request::Bindings { run }) else { return };
    let Ok(found) = questions::run(acting, run) else { return };
    if let Some(line) = run_log::permissions(run, &found.name, &bindings) {
        output::report(&line);
    }
}

fn render(plan: &Plan) -> String {
    let mut out = format!(
        "would run `{}` ({}) with {}\n",
        visible_line(&plan.worker),
        &plan.digest[..plan.digest.len().min(8)],
        visible_line(&plan.model)
    );
    for (title, lines) in [
        ("from", &plan.from),
        ("slots", &plan.slots),
        ("tools", &plan.tools),
        ("documents", &plan.documents),
        ("notes", &plan.notes),
    ] {
        for line in lines {
            out += &format!("  {title}: {}\n", visible_line(line));
        }
    }
    out + "the model would be told:\n" + &indent(&plan.prompt.visible())
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  │ {line}\n")).collect()
}
