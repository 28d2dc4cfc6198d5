//! Log records: one for each event, so that the numbers of the records have no gap.

use kernel::event::{Change, Event, Surface};
use kernel::proposal::{Decision, Finding};
use kernel::run::{Entry, RunOutcome};
use kernel::{MessageNumber, RunNumber, StepRef};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};

use super::attributes::{self as attribute, flag, list, number, text, text_value};
use super::journal::JournalReader;
use super::nanoseconds;
use super::spans::{SAMPLED, completion_attributes, effect_name};
use control::exit::Failure;

/// The part of a record that depends on the change.
#[derive(Default)]
struct Details {
    attributes: Vec<KeyValue>,
    /// The error, if the event tells of a refusal or a failure.
    error: Option<String>,
    run: Option<RunNumber>,
}

/// Returns the log record of an event.
///
/// # Errors
/// When the daemon cannot read the store.
pub(super) fn record_of(journal: &mut JournalReader<'_>, event: &Event) -> Result<LogRecord, Failure> {
    let name = event_name(&event.change);
    let Details { mut attributes, error, run } = details(journal, &event.change)?;
    attributes.push(number(attribute::EVENT_SEQ, event.seq));
    attributes.push(text(attribute::EVENT_HASH, event.hash.to_string()));
    if let Some(by) = &event.by {
        attributes.push(text(attribute::USER_NAME, by.user.raw()));
        attributes.push(text(attribute::HOST_NAME, by.host.raw()));
    }
    attributes.extend(run.map(|run| text(attribute::RUN, run.to_string())));
    let severity = if error.is_some() { SeverityNumber::Warn } else { SeverityNumber::Info };
    attributes.extend(error.map(|error| text(attribute::ERROR_TYPE, error)));
    let root = run.map(|run| journal.root(run)).transpose()?.flatten();
    let (trace_id, span_id) = match run.zip(root) {
        Some((run, root)) => (journal.log()?.trace(root), journal.log()?.run_span(run)),
        None => (vec![], vec![]),
    };
    Ok(LogRecord {
        time_unix_nano: nanoseconds(event.at_ms),
        observed_time_unix_nano: nanoseconds(event.at_ms),
        severity_number: severity.into(),
        severity_text: if severity == SeverityNumber::Warn { "WARN" } else { "INFO" }.to_owned(),
        body: Some(text_value(name.replace(['.', '_'], " "))),
        attributes,
        flags: if trace_id.is_empty() { 0 } else { SAMPLED },
        trace_id,
        span_id,
        event_name: format!("almoner.{name}"),
        ..LogRecord::default()
    })
}

/// Returns the name of an event, without its prefix. An entry's name is one of a fixed list.
fn event_name(change: &Change) -> String {
    match change {
        Change::Genesis { .. } => "store.made".to_owned(),
        Change::Opened { .. } => "store.opened".to_owned(),
        Change::Relocated { .. } => "directories.moved".to_owned(),
        Change::RunStarted { .. } => "run.started".to_owned(),
        Change::RunFinished { .. } => "run.finished".to_owned(),
        Change::Granted { .. } => "grant.made".to_owned(),
        Change::Revoked { .. } => "grant.revoked".to_owned(),
        Change::Named { .. } => "name.given".to_owned(),
        Change::Unnamed { .. } => "name.removed".to_owned(),
        Change::Settled { .. } => "promise.settled".to_owned(),
        Change::Cancelled { .. } => "work.cancelled".to_owned(),
        Change::Step { entry, .. } => format!("step.{entry}"),
        Change::Message { .. } => "message.arrived".to_owned(),
        Change::Answered { .. } => "message.answered".to_owned(),
        Change::Dismissed { .. } => "message.dismissed".to_owned(),
        Change::CommandCompleted { .. } => "command.completed".to_owned(),
    }
}

/// Returns what a record tells of a change: identifiers, classes and rules, and no text of a prompt, a document or a
/// result.
fn details(journal: &mut JournalReader<'_>, change: &Change) -> Result<Details, Failure> {
    let message = |message: &MessageNumber| text(attribute::MESSAGE, message.to_string());
    let plain = |attributes: Vec<KeyValue>| Details { attributes, ..Details::default() };
    Ok(match change {
        Change::Genesis { .. }
        | Change::Opened { .. }
        | Change::Relocated { .. }
        | Change::Named { .. }
        | Change::Unnamed { .. }
        | Change::Cancelled { .. } => Details::default(),
        Change::RunStarted { run, name, parent } => {
            let mut attributes = vec![text(attribute::AGENT_NAME, name)];
            attributes.extend(parent.map(|parent| text(attribute::PARENT_RUN, parent.to_string())));
            Details { attributes, run: Some(*run), ..Details::default() }
        }
        Change::RunFinished { run, ok } => Details {
            attributes: vec![flag(attribute::HAS_RESULT, *ok)],
            error: match ok {
                true => None,
                false => Some(run_error(journal, *run)?),
            },
            run: Some(*run),
        },
        Change::Granted { number, slot, run, .. } => Details {
            attributes: vec![text(attribute::GRANT, number.to_string()), text(attribute::SLOT, slot)],
            run: *run,
            error: None,
        },
        Change::Revoked { number } => plain(vec![text(attribute::GRANT, number.to_string())]),
        Change::Settled { ok, .. } => plain(vec![flag(attribute::HAS_RESULT, *ok)]),
        Change::Dismissed { number } | Change::CommandCompleted { number } => plain(vec![message(number)]),
        Change::Answered { number, needs_you, over } => {
            let mut attributes = vec![message(number), flag(attribute::NEEDS_PERSON, *needs_you)];
            attributes.extend(over.map(|over| text(attribute::SURFACE, surface_name(over))));
            plain(attributes)
        }
        Change::Message { number, kind, run, needs_you, .. } => Details {
            attributes: vec![
                message(number),
                text(attribute::MESSAGE_KIND, kind),
                flag(attribute::NEEDS_PERSON, *needs_you),
            ],
            run: *run,
            error: None,
        },
        Change::Step { run, step, entry, .. } => {
            let mut details = step_details(journal, StepRef { run: *run, step: *step }, entry)?;
            details.attributes.push(number(attribute::STEP, *step));
            details.attributes.push(text(attribute::ENTRY, entry));
            Details { run: Some(*run), ..details }
        }
    })
}

fn surface_name(surface: Surface) -> &'static str {
    match surface {
        Surface::Control => "control",
        Surface::Web { .. } => "web",
    }
}

/// Returns the error with which a run ended.
fn run_error(journal: &mut JournalReader<'_>, run: RunNumber) -> Result<String, Failure> {
    let state = journal.run(run)?.map(|run| run.state);
    Ok(match state {
        Some(kernel::run::State::Finished { outcome: RunOutcome::Failed(trouble) }) => trouble.code,
        _ => "unknown".to_owned(),
    })
}

/// The entries of which a record tells more than their names.
const DETAILED: [&str; 7] =
    ["proposed", "judged", "answered", "completed", "rejected", "stalled", "finished"];

fn step_details(journal: &mut JournalReader<'_>, at: StepRef, entry: &str) -> Result<Details, Failure> {
    if !DETAILED.contains(&entry) {
        return Ok(Details::default());
    }
    let Some(step) = journal.step(at)? else { return Ok(Details::default()) };
    let rules =
        |findings: &[Finding]| list(attribute::RULES, findings.iter().map(|finding| finding.rule.clone()));
    let first_rule = |findings: &[Finding], usual: &str| {
        findings.first().map_or_else(|| usual.to_owned(), |finding| finding.rule.clone())
    };
    let message = |message: MessageNumber| text(attribute::MESSAGE, message.to_string());
    let (attributes, error) = match step.entry {
        Entry::Proposed { proposal, .. } => (
            vec![
                text(attribute::TOOL_NAME, format!("{}.{}", proposal.slot, proposal.method)),
                text(attribute::EFFECT, effect_name(proposal.effect)),
            ],
            None,
        ),
        Entry::Judged { verdict, message: asked, .. } => {
            let word = match verdict.decision {
                Decision::Allow => "allow",
                Decision::Ask => "ask",
                Decision::Deny => "deny",
            };
            let mut attributes = vec![text(attribute::DECISION, word), rules(&verdict.findings)];
            attributes.extend(asked.map(message));
            let is_denied = verdict.decision == Decision::Deny;
            (attributes, is_denied.then(|| first_rule(&verdict.findings, "denied")))
        }
        Entry::Answered { message: answered, approved, .. } => {
            (vec![message(answered), flag(attribute::APPROVED, approved)], None)
        }
        Entry::Completed { completion, .. } => completion_attributes(&completion),
        Entry::Rejected { findings, .. } => (vec![rules(&findings)], Some(first_rule(&findings, "rejected"))),
        Entry::Stalled { trouble } | Entry::Finished { outcome: RunOutcome::Failed(trouble) } => {
            (vec![], Some(trouble.code))
        }
        _ => (vec![], None),
    };
    Ok(Details { attributes, error, run: None })
}
