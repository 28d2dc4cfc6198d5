//! The outcome of a finished run, as the user reads it: the result, its file, the summary of a batch, or the failure.

use kernel::run::{Run, RunOutcome, Shape, State};
use kernel::{MessageNumber, RunNumber};
use serde_json::json;

use super::follow_run::{self, EventOutput, FollowOutcome};
use super::pending::needs_you;
use crate::cli::FollowArgs;
use crate::session::Session;
use crate::session::questions;
use crate::ui::output;
use crate::ui::result_file::ResultFile;
use control::exit::{Exit, ExitResult, Failure};
use control::show::batch::Batch;
use control::show::value;

/// Returns the results of a run over many documents, or `None` for any other run.
fn batch(acting: &Session<'_>, run: &Run) -> Result<Option<Batch>, Failure> {
    match run.shape {
        Shape::Each { .. } => Ok(Batch::of(run, &questions::journal(acting, run.number)?)),
        _ => Ok(None),
    }
}

/// Returns the target of the exact bytes of the result, if the user has named one.
///
/// # Errors
/// When the file cannot be written, or standard output would get the result and JSON.
pub fn result_file(how: &FollowArgs) -> Result<Option<ResultFile>, Failure> {
    let target = how.output.as_deref().map(ResultFile::new).transpose()?;
    if matches!(target, Some(ResultFile::StandardOutput)) && (how.json || how.events) {
        let message = "cannot write the result and JSON to standard output";
        return Err(Failure::new(Exit::Usage, message).help("leave `-o -` out: the JSON has the result"));
    }
    Ok(target)
}

/// Follows a run to its end, or until it waits for a person who is not here, and prints the outcome.
///
/// # Errors
/// When the run fails, stalls, or needs a person who is not here. When the user interrupts, or the daemon cannot be
/// reached.
pub fn follow(acting: &Session<'_>, run: RunNumber, after: Option<u64>, how: &FollowArgs) -> ExitResult {
    let telling = if how.events { EventOutput::Events } else { EventOutput::Lines };
    report(acting, run, follow_run::follow(acting, run, after, how.on_ask.into(), telling), how)
}

/// Prints the state in which a run was left.
///
/// # Errors
/// When the run has failed or stalled, or needs a person. When the following of the run has failed, or its time was
/// over.
pub fn report(
    acting: &Session<'_>,
    run: RunNumber,
    followed: Result<FollowOutcome, Failure>,
    how: &FollowArgs,
) -> ExitResult {
    let is_json = how.json || how.events;
    let numbers = |pending: &[MessageNumber]| pending.iter().map(|number| number.0).collect::<Vec<_>>();
    if let (Err(failure), true) = (&followed, is_json) {
        report_stalled(acting, run, failure)?;
    }
    match followed? {
        FollowOutcome::Finished(run) => print_outcome(acting, &run, how),
        FollowOutcome::NeedsYou(pending) => {
            if is_json {
                output::json(&envelope(run, "waiting", json!({ "pending": numbers(&pending) })))?;
            }
            Err(needs_you(acting, run, &pending))
        }
        FollowOutcome::TimedOut(pending) => {
            if is_json {
                output::json(&envelope(run, "running", json!({ "pending": numbers(&pending) })))?;
            }
            let failure = Failure::new(Exit::TimedOut, format!("the time is over, and {run} goes on"));
            Err(failure.help(format!("{} waits again", acting.command(&format!("wait {run}")))))
        }
        FollowOutcome::Paused => {
            output::note(&format!("{run} waits for you to say something: `almoner chat --continue {run}`"));
            Ok(Exit::Ok)
        }
        FollowOutcome::Ended => Ok(Exit::Ok),
    }
}

/// Prints the JSON envelope of a run that cannot go on by itself.
fn report_stalled(acting: &Session<'_>, run: RunNumber, failure: &Failure) -> Result<(), Failure> {
    if matches!(failure.exit, Exit::NoDaemon | Exit::Interrupted) {
        return Ok(());
    }
    let code = match questions::run(acting, run)?.state {
        State::Stalled { trouble } => trouble.code,
        _ => "child/stalled".to_owned(),
    };
    let trouble = json!({ "code": code, "message": failure.message.raw(), "help": failure.help });
    output::json(&envelope(run, "stalled", json!({ "trouble": trouble })))
}

/// Returns the JSON envelope of a run in a state, with more fields.
fn envelope(run: RunNumber, state: &str, more: serde_json::Value) -> serde_json::Value {
    let mut envelope = json!({ "version": 1, "run": run.to_string(), "state": state });
    if let (Some(fields), serde_json::Value::Object(more)) = (envelope.as_object_mut(), more) {
        fields.extend(more);
    }
    envelope
}

/// Prints the outcome of a finished run.
///
/// # Errors
/// When the run failed, or is not over.
pub fn print_outcome(acting: &Session<'_>, run: &Run, how: &FollowArgs) -> ExitResult {
    let State::Finished { outcome } = &run.state else {
        return Err(Failure::new(Exit::Failure, format!("{} is not over", run.number)));
    };
    let batch = batch(acting, run)?;
    if let Some(batch) = &batch {
        output::report(&batch.render());
    }
    if let (RunOutcome::Done(result), Some(file)) = (outcome, &result_file(how)?) {
        file.write(&value::exact(result)).map_err(|failure| {
            let again = acting.command(&format!("resume {} --output FILE", run.number));
            failure.help(format!("the result is kept: {again} writes it"))
        })?;
    }
    if how.json || how.events {
        let mut envelope = json!({
            "version": 1,
            "run": run.number.to_string(),
            "usage": {
                "input_tokens": run.used.input_tokens,
                "output_tokens": run.used.output_tokens,
                "model_ms": run.used.model_ms,
            },
        });
        if let Some(batch) = &batch {
            envelope["batch"] = json!(batch);
        }
        match outcome {
            RunOutcome::Done(value) => {
                envelope["state"] = json!("done");
                envelope["value"] = value.to_json();
            }
            RunOutcome::Failed(trouble) => {
                envelope["state"] = json!("failed");
                envelope["trouble"] =
                    json!({ "code": trouble.code, "message": trouble.message.raw(), "help": trouble.help });
            }
        }
        output::json(&envelope)?;
    }
    match outcome {
        RunOutcome::Done(result) => {
            if !how.json && !how.events && how.output.is_none() {
                output::text(&value::result(result, output::reader()))?;
            }
            match batch.filter(|batch| !batch.is_complete()) {
                None => Ok(Exit::Ok),
                Some(batch) => Err(incomplete(run.number, &batch)),
            }
        }
        RunOutcome::Failed(trouble) => Err(Failure::of_trouble(trouble)),
    }
}

/// Returns the failure of a batch of which some items failed. The others are done.
fn incomplete(run: RunNumber, batch: &Batch) -> Failure {
    let (items, failed) = (batch.items, batch.failed.len());
    let message = match batch.files.len() {
        0 => format!("{failed} of {items} items failed"),
        files => format!("{failed} of {items} items failed, and {files} files for all items are not written"),
    };
    Failure::new(Exit::Failure, message).help(format!("the same command with `--retry-failed={run}`"))
}
