//! The one-line description of a journal entry, for users who follow a run.

use passable::Untrusted;

use crate::proposal::{Decision, Finding};
use crate::run::{CallSite, Completion, Entry, RunOutcome};

fn first(findings: &[Finding]) -> &str {
    findings.first().map_or("", |f| f.message.as_str())
}

fn outcome(outcome: &RunOutcome) -> String {
    match outcome {
        RunOutcome::Done(_) => "done".to_owned(),
        RunOutcome::Failed(trouble) => format!("failed: {}", trouble.message.raw()),
    }
}

/// Returns the line about a journal entry that followers read. The type marks the line as foreign text, because
/// entries contain some.
pub(crate) fn describe(entry: &Entry) -> Untrusted {
    Untrusted::new(match entry {
        Entry::Prompted { model, .. } => format!("asks {model}"),
        Entry::Replied { usage, model, .. } => {
            let by = model.as_ref().map(|model| format!("{model}: ")).unwrap_or_default();
            format!("{by}{} tokens in, {} out", usage.input_tokens, usage.output_tokens)
        }
        Entry::Rejected { site, findings } => match site {
            Some(CallSite::Turn { index, .. }) => format!("call {}: {}", index + 1, first(findings)),
            _ => format!("answer: {}", first(findings)),
        },
        Entry::Proposed { proposal, .. } => format!("{}.{}", proposal.slot, proposal.method),
        Entry::Judged { verdict, message, .. } => match (verdict.decision, message) {
            (Decision::Allow, _) => "allow".to_owned(),
            (Decision::Ask, Some(number)) => format!("ask: message {number}"),
            (Decision::Ask, None) => "ask: permitted before".to_owned(),
            (Decision::Deny, _) => format!("deny: {}", first(&verdict.findings)),
        },
        Entry::Answered { approved: true, message, .. } => format!("approved in message {message}"),
        Entry::Answered { approved: false, message, .. } => format!("denied in message {message}"),
        Entry::Slept { until_ms, .. } => format!("until {}", crate::time::shown(*until_ms)),
        Entry::Questioned { message, .. } => format!("asked in message {message}"),
        Entry::OutcomeUnknown { message, .. } => format!("did it happen? message {message}"),
        Entry::OutcomeConfirmed { message, .. } => {
            format!("it happened: said in answer to message {message}")
        }
        Entry::EffectStarted { child: Some(child), .. } => format!("as {child}"),
        Entry::EffectStarted { child: None, .. } => String::new(),
        Entry::Completed { completion, .. } => match completion {
            Completion::Done { .. } => "done".to_owned(),
            Completion::Refused(findings) => format!("refused: {}", first(findings)),
            Completion::Failed(finding) => format!("failed: {}", finding.message),
        },
        Entry::Spilled { bytes, .. } => format!("{bytes} bytes kept beside the journal"),
        Entry::Paged { of, from, .. } => format!("#{of} from byte {from}"),
        Entry::Shrunk { why, .. } => why.clone(),
        Entry::Spawned { index, child } => format!("item {} as {child}", index + 1),
        Entry::Yielded { index, why } => format!("item {} {}", index + 1, why.in_words()),
        Entry::Collected { index, outcome: o } => format!("item {}: {}", index + 1, outcome(o)),
        Entry::Said { text, .. } => text.raw().lines().next().unwrap_or_default().to_owned(),
        Entry::Exhausted { trouble, message, .. } => {
            format!("{}: message {message}", trouble.message.raw())
        }
        Entry::Raised { message, .. } => format!("given more in message {message}"),
        Entry::Held { message, .. } => format!("given no more in message {message}"),
        Entry::Suspended { why } | Entry::Resumed { why } => why.clone(),
        Entry::Stalled { trouble } => trouble.message.raw().to_owned(),
        Entry::Finished { outcome: o } => outcome(o),
        Entry::Reverted { files } => format!("{} put back", files.len()),
        Entry::Applied { files } => format!("{} put in place", files.len()),
        Entry::Discarded { files } if !files.is_empty() => format!("{} thrown away", files.len()),
        Entry::Discarded { .. } | Entry::Forgotten => String::new(),
    })
}
