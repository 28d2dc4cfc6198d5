//! Spans: a run, a call of a tool, and a request to a model, each sent when it has ended.

use kernel::event::{Change, Event};
use kernel::run::{Completion, Entry, Run, RunOutcome, State, WaitReason};
use kernel::{RunNumber, StepRef};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::attributes::{self as attribute, list, number, text};
use super::identity::LogId;
use super::journal::JournalReader;
use super::model_name::ModelName;
use super::nanoseconds;
use control::exit::Failure;

/// The flag of a trace that is sampled.
pub(super) const SAMPLED: u32 = 1;

/// Returns the span that ends with an event, or `None` if none does, or its records are gone.
///
/// # Errors
/// When the daemon cannot read the store.
pub(super) fn span_of(journal: &mut JournalReader<'_>, event: &Event) -> Result<Option<Span>, Failure> {
    match &event.change {
        Change::RunFinished { run, .. } => run_span(journal, *run, event),
        Change::Step { run, step, entry, .. } if entry == "completed" || entry == "replied" => {
            step_span(journal, StepRef { run: *run, step: *step }, event)
        }
        _ => Ok(None),
    }
}

fn run_span(
    journal: &mut JournalReader<'_>,
    ended: RunNumber,
    event: &Event,
) -> Result<Option<Span>, Failure> {
    let (Some(run), Some(root)) = (journal.run(ended)?, journal.root(ended)?) else { return Ok(None) };
    let log = journal.log()?;
    let model = ModelName::of(&run.model);
    let mut attributes = vec![
        text(attribute::OPERATION_NAME, "invoke_agent"),
        text(attribute::AGENT_NAME, &run.name),
        text(attribute::AGENT_ID, run.worker.to_string()),
        text(attribute::CONVERSATION_ID, root.to_string()),
        number(attribute::INPUT_TOKENS, run.used.input_tokens),
        number(attribute::OUTPUT_TOKENS, run.used.output_tokens),
    ];
    attributes.extend(model.attributes());
    let error = match &run.state {
        State::Finished { outcome: RunOutcome::Failed(trouble) } => Some(trouble.code.clone()),
        _ => None,
    };
    Ok(Some(
        SpanParts {
            trace: log.trace(root),
            id: log.run_span(ended),
            parent: parent_span(&log, &run),
            name: format!("invoke_agent {}", run.name),
            kind: SpanKind::Internal,
            begin_ms: run.started_ms,
            attributes,
            error,
            at: StepRef { run: ended, step: 0 },
        }
        .ending_with(event),
    ))
}

/// Returns the identifier of the span in which a run began: a call of another run, or a batch. It is empty for a run
/// of a user.
fn parent_span(log: &LogId, run: &Run) -> Vec<u8> {
    match run.parent {
        None => vec![],
        Some(parent) => match parent.place {
            WaitReason::Call { proposal } => log.step_span(parent.run, proposal),
            WaitReason::Item { .. } => log.run_span(parent.run),
        },
    }
}

/// Returns the span of a call or of a request, from the step that ended it.
fn step_span(journal: &mut JournalReader<'_>, at: StepRef, event: &Event) -> Result<Option<Span>, Failure> {
    let Some(end) = journal.step(at)? else { return Ok(None) };
    let begun = match &end.entry {
        Entry::Completed { proposal, .. } => *proposal,
        Entry::Replied { prompted, .. } => *prompted,
        _ => return Ok(None),
    };
    let Some(begin) = journal.step(StepRef { run: at.run, step: begun })? else { return Ok(None) };
    let (log, root) = (journal.log()?, journal.root(at.run)?);
    let (name, kind, mut attributes, error) = match (&begin.entry, &end.entry) {
        (Entry::Proposed { proposal, .. }, Entry::Completed { completion, .. }) => {
            let tool = format!("{}.{}", proposal.slot, proposal.method);
            let (mut attributes, error) = completion_attributes(completion);
            attributes.extend([
                text(attribute::OPERATION_NAME, "execute_tool"),
                text(attribute::TOOL_NAME, &tool),
                text(attribute::TOOL_TYPE, "function"),
                text(attribute::TOOL_CALL_ID, StepRef { run: at.run, step: begun }.to_string()),
                text(attribute::EFFECT, effect_name(proposal.effect)),
            ]);
            (format!("execute_tool {tool}"), SpanKind::Internal, attributes, error)
        }
        (Entry::Prompted { model, .. }, Entry::Replied { usage, model: answered, .. }) => {
            let asked = ModelName::of(model);
            let answered = answered.as_deref().map_or_else(|| asked.clone(), ModelName::of);
            let mut attributes = asked.attributes();
            attributes.extend([
                text(attribute::OPERATION_NAME, "chat"),
                text(attribute::RESPONSE_MODEL, &answered.name),
                number(attribute::INPUT_TOKENS, usage.input_tokens),
                number(attribute::OUTPUT_TOKENS, usage.output_tokens),
            ]);
            (format!("chat {}", asked.name), SpanKind::Client, attributes, None)
        }
        _ => return Ok(None),
    };
    let (trace, parent) = match root {
        Some(root) => {
            attributes.push(text(attribute::CONVERSATION_ID, root.to_string()));
            (log.trace(root), log.run_span(at.run))
        }
        None => (log.step_trace(at.run, begun), vec![]),
    };
    Ok(Some(
        SpanParts {
            trace,
            id: log.step_span(at.run, begun),
            parent,
            name,
            kind,
            begin_ms: begin.at_ms,
            attributes,
            error,
            at: StepRef { run: at.run, step: begun },
        }
        .ending_with(event),
    ))
}

/// Returns the attributes of the end of a call, and its error if it was not made.
pub(super) fn completion_attributes(completion: &Completion) -> (Vec<KeyValue>, Option<String>) {
    let (word, rules): (&str, Vec<String>) = match completion {
        Completion::Done { .. } => ("done", vec![]),
        Completion::Refused(findings) => {
            ("refused", findings.iter().map(|finding| finding.rule.clone()).collect())
        }
        Completion::Failed(finding) => ("failed", vec![finding.rule.clone()]),
    };
    let error = (word != "done").then(|| rules.first().cloned().unwrap_or_else(|| word.to_owned()));
    let mut attributes = vec![text(attribute::COMPLETION, word)];
    if !rules.is_empty() {
        attributes.push(list(attribute::RULES, rules));
    }
    (attributes, error)
}

/// Returns the name of an effect class.
pub(super) fn effect_name(effect: kernel::proposal::Effect) -> &'static str {
    use kernel::proposal::Effect;
    match effect {
        Effect::Observe => "observe",
        Effect::Modify => "modify",
        Effect::Commit => "commit",
    }
}

/// The parts of a span.
struct SpanParts {
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    kind: SpanKind,
    begin_ms: i64,
    attributes: Vec<KeyValue>,
    /// The error with which the work ended.
    error: Option<String>,
    /// The run, and the step that began the work. Step 0 stands for the run itself.
    at: StepRef,
}

impl SpanParts {
    fn ending_with(self, event: &Event) -> Span {
        let SpanParts { trace, id, parent, name, kind, begin_ms, mut attributes, error, at } = self;
        attributes.push(text(attribute::RUN, at.run.to_string()));
        if at.step > 0 {
            attributes.push(number(attribute::STEP, at.step));
        }
        attributes.push(number(attribute::EVENT_SEQ, event.seq));
        let status = error.as_ref().map(|_| Status {
            code: StatusCode::Error.into(),
            // The words of an error can quote documents, and its type cannot.
            message: String::new(),
        });
        attributes.extend(error.map(|error| text(attribute::ERROR_TYPE, error)));
        Span {
            trace_id: trace,
            span_id: id,
            parent_span_id: parent,
            flags: SAMPLED,
            name,
            kind: kind.into(),
            start_time_unix_nano: nanoseconds(begin_ms),
            end_time_unix_nano: nanoseconds(event.at_ms.max(begin_ms)),
            attributes,
            status,
            ..Span::default()
        }
    }
}
