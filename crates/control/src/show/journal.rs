//! The journals of runs, as text for a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kernel::RunNumber;
use kernel::budget::LimitKind;
use kernel::proposal::{Decision, Finding};
use kernel::run::{
    CallSite, Completion, ConversationView, Entry, Phase, Run, RunOutcome, Shape, State, Step, Trouble,
};
use passable::{Quoting, visible_line};

use super::{budget_request, value};

/// Returns the state of a run, in a word or a short phrase.
pub fn state(run: &Run) -> String {
    match &run.state {
        State::Ready => "at work".to_owned(),
        State::Waiting => {
            let asked = run
                .open
                .values()
                .filter_map(|p| match p {
                    Phase::AwaitingApproval { message } | Phase::Questioned { message, .. } => {
                        Some(message.0)
                    }
                    _ => None,
                })
                .min();
            match asked {
                Some(message) => format!("waits for you: message {message}"),
                None if run.is_paused() => format!(
                    "waits until {}: its model's server asks to slow down",
                    kernel::time::shown(wakes(run).unwrap_or_default())
                ),
                None if wakes(run).is_some() => {
                    format!("waits until {}", kernel::time::shown(wakes(run).unwrap_or_default()))
                }
                None if run.is_agent_journal() => "what it does without a run".to_owned(),
                None => match &run.exhausted {
                    Some(exhausted) if exhausted.limit == Some(LimitKind::Refusals) => {
                        format!("keeps asking for what you refuse: message {}", exhausted.message)
                    }
                    Some(exhausted) => format!("asks for more: message {}", exhausted.message),
                    None if run.shape == Shape::Chat && run.open.is_empty() => {
                        "waits for you to say something".to_owned()
                    }
                    None => "waits for its children".to_owned(),
                },
            }
        }
        State::Stalled { trouble } => format!("stalled: {}", trouble.message.visible_line()),
        State::Finished { outcome: RunOutcome::Done(_) } => "done".to_owned(),
        State::Finished { outcome: RunOutcome::Failed(trouble) } => {
            format!("{}: {}", ended(run), trouble.message.visible_line())
        }
    }
}

/// Returns the word for the end of a run without a result: cancelled if a person ended it, and otherwise failed.
pub fn ended(run: &Run) -> &'static str {
    if run.cancelled.is_some() { "cancelled" } else { "failed" }
}

/// Returns the time of the next timer that a run waits for, in milliseconds since 1970.
fn wakes(run: &Run) -> Option<i64> {
    let times = run.open.values().filter_map(|phase| match phase {
        Phase::Sleeping { until_ms } | Phase::Paused { until_ms } => Some(*until_ms),
        _ => None,
    });
    times.min()
}

/// Returns a run's journal as text: one line per step, with its findings below.
pub fn render(run: &Run, steps: &[Step]) -> String {
    written(run, steps, &|_| None)
}

/// Returns a run and its descendants as text. The journal of each child is below the step that started it. The root
/// comes first in `family`.
pub fn tree(family: &[(Run, Vec<Step>)]) -> String {
    let of = |number: RunNumber| family.iter().find(|(run, _)| run.number == number);
    family.first().map(|(root, _)| nested(root.number, &of)).unwrap_or_default()
}

fn nested<'a>(number: RunNumber, of: &dyn Fn(RunNumber) -> Option<&'a (Run, Vec<Step>)>) -> String {
    let Some((run, steps)) = of(number) else { return String::new() };
    // Children have higher numbers than the runs that started them, so the recursion ends.
    let below = |step: &Step| {
        let child = child(&step.entry).filter(|child| *child > number)?;
        Some(nested(child, of).lines().map(|line| format!("    {line}\n")).collect())
    };
    written(run, steps, &below)
}

/// Returns the run that a step has started.
pub fn child(entry: &Entry) -> Option<RunNumber> {
    match entry {
        Entry::EffectStarted { child, .. } => *child,
        Entry::Spawned { child, .. } => Some(*child),
        _ => None,
    }
}

/// Returns the journal as text. Below each step is the text that `below` returns for it.
fn written(run: &Run, steps: &[Step], below: &dyn Fn(&Step) -> Option<String>) -> String {
    let mut out = String::new();
    if run.is_agent_journal() {
        let _ = writeln!(out, "{} `{}`  {}", run.number, visible_line(&run.name), state(run));
    } else {
        let _ = writeln!(
            out,
            "{} `{}`  {}  model {}  {}+{} tokens{}{}",
            run.number,
            visible_line(&run.name),
            state(run),
            visible_line(&run.model),
            run.used.input_tokens,
            run.used.output_tokens,
            super::usage::estimated_suffix(run.used.estimated_tokens),
            super::money::cost_suffix(run.used.usd_micros)
        );
    }
    // If a call is refused for the findings of a gate, the findings are not repeated.
    let mut shown: BTreeMap<u64, &[Finding]> = BTreeMap::new();
    for step in steps {
        let _ = writeln!(
            out,
            "  {:<8} {:>7.2} s  {:<10} {}",
            format!("{}#{}", run.number, step.number),
            (step.at_ms - run.started_ms) as f64 / 1000.0,
            step.entry.name(),
            visible_line(&detail(&step.entry))
        );
        out += &below(step).unwrap_or_default();
        let (about, found) = findings(&step.entry);
        if about.is_some_and(|about| shown.insert(about, found) == Some(found)) {
            continue;
        }
        for finding in found {
            let _ = writeln!(out, "      · {}", finding_line(finding));
        }
    }
    out
}

/// Returns a finding in one line, which is safe to show.
pub fn finding_line(finding: &Finding) -> String {
    visible_line(finding_quoting(finding).text()).into_owned()
}

/// Returns a finding in one line, with foreign words marked as quoted. The line is not escaped for a terminal.
pub fn finding_quoting(finding: &Finding) -> Quoting {
    // The author of a policy chooses its name; all other rules are named by this program.
    let rule = match finding.rule.split_once('/') {
        Some(("operator", name)) => Quoting::ours("operator/").quote(name),
        _ => Quoting::ours(&*finding.rule),
    };
    let mut told = finding.message_quoting().and(" [").then(&rule).and("]");
    if let Some(at) = &finding.at {
        told = told.and(" at ").quote(at);
    }
    if let Some(example) = &finding.counter_example {
        told = told.and(" got ").quote(example);
    }
    match finding.allowed_quoting() {
        Some(allowed) => told.and("; allowed: ").then(&allowed),
        None => told,
    }
}

/// Returns the findings of a step, and the number of the proposal that they concern.
pub fn findings(entry: &Entry) -> (Option<u64>, &[Finding]) {
    match entry {
        Entry::Judged { proposal, verdict, .. } => (Some(*proposal), &verdict.findings),
        Entry::Rejected { findings, .. } => (None, findings),
        Entry::Completed { proposal, completion: Completion::Failed(finding) } => {
            (Some(*proposal), std::slice::from_ref(finding))
        }
        Entry::Completed { proposal, completion: Completion::Refused(findings) } => {
            (Some(*proposal), findings)
        }
        _ => (None, &[]),
    }
}

/// Returns the details of a step in one line, without its name.
pub fn detail(entry: &Entry) -> String {
    match entry {
        Entry::Prompted { request, model } => format!("{model}  request {}", request.short()),
        Entry::Replied { usage, reply, model, .. } => format!(
            "{}{} tokens in, {} out{}, {:.1} s{}  reply {}",
            model.as_ref().map(|model| format!("{model}  ")).unwrap_or_default(),
            usage.input_tokens,
            usage.output_tokens,
            super::usage::estimated_suffix(usage.estimated_tokens),
            usage.model_ms as f64 / 1000.0,
            super::money::cost_suffix(usage.usd_micros),
            reply.short()
        ),
        Entry::Rejected { site, .. } => match site {
            Some(CallSite::Turn { index, .. }) => format!("call {}", index + 1),
            _ => "the answer".to_owned(),
        },
        Entry::Proposed { proposal, .. } => {
            let args: Vec<String> = proposal.args.iter().map(|a| shorten(&value::argument(a))).collect();
            format!("{}.{}({})", proposal.slot, proposal.method, args.join(", "))
        }
        Entry::Judged { proposal, verdict, message } => {
            let decision = match verdict.decision {
                Decision::Allow => "allow",
                Decision::Ask => "ask",
                Decision::Deny => "deny",
            };
            match message {
                Some(message) => format!("#{proposal} {decision}: message {message}"),
                None => format!("#{proposal} {decision}"),
            }
        }
        Entry::Answered { proposal, message, approved } => {
            format!("#{proposal} {} in message {message}", if *approved { "approved" } else { "denied" })
        }
        Entry::Slept { proposal, until_ms } => {
            format!("#{proposal} until {}", kernel::time::shown(*until_ms))
        }
        Entry::Questioned { proposal, message } => format!("#{proposal} asked in message {message}"),
        Entry::OutcomeUnknown { proposal, message } => {
            format!("#{proposal} did it happen? message {message}")
        }
        Entry::OutcomeConfirmed { proposal, message } => {
            format!("#{proposal} it happened, said in answer to message {message}")
        }
        Entry::EffectStarted { proposal, child } => match child {
            Some(child) => format!("#{proposal} as {child}"),
            None => format!("#{proposal}"),
        },
        Entry::Completed { proposal, completion } => match completion {
            Completion::Done { value, .. } => format!("#{proposal} {}", shorten(&value::argument(value))),
            Completion::Refused(findings) => {
                format!("#{proposal} refused: {}", findings.first().map_or("", |f| f.message.as_str()))
            }
            Completion::Failed(_) => format!("#{proposal} failed"),
        },
        Entry::Spilled { proposal, whole, bytes } => {
            format!("#{proposal} {bytes} bytes, kept as {}", whole.short())
        }
        Entry::Paged { of, from, bytes, .. } => format!("#{of} {bytes} bytes from {from} on"),
        Entry::Shrunk { view, why } => format!("{}: {why}", conversation_view(*view)),
        Entry::Spawned { index, child } => format!("item {} as {child}", index + 1),
        Entry::Yielded { index, why } => format!("item {} {}", index + 1, why.in_words()),
        Entry::Collected { index, outcome } => format!("item {}: {}", index + 1, outcome_line(outcome)),
        Entry::Said { text, documents, .. } => {
            let names: String =
                documents.iter().map(|one| format!(", with {}", visible_line(&one.name))).collect();
            shorten(&text.visible_line()) + &names
        }
        Entry::Exhausted { trouble, message, .. } => {
            format!("{}: message {message}", trouble.message.visible_line())
        }
        Entry::Held { message, .. } => format!("no more, in answer to message {message}"),
        Entry::Raised { message, by } => {
            format!("{} more, in answer to message {message}", budget_request::describe_raise(*by))
        }
        Entry::Suspended { why } | Entry::Resumed { why } => why.clone(),
        Entry::Stalled { trouble } => trouble.message.visible_line().into_owned(),
        Entry::Finished { outcome } => outcome_line(outcome),
        Entry::Reverted { files } => {
            let paths: Vec<_> = files.iter().map(|file| visible_line(&file.path).into_owned()).collect();
            // When an undo is complete, it is recorded a second time.
            let is_done = files.iter().all(|file| file.from == file.to);
            let words = if is_done { "is put back" } else { "you had put back" };
            format!("{words}: {}", paths.join(", "))
        }
        Entry::Applied { files } => {
            let paths: Vec<_> = files.iter().map(|file| visible_line(&file.path).into_owned()).collect();
            format!("you had put in place: {}", paths.join(", "))
        }
        Entry::Discarded { files } if files.is_empty() => "you had the staged copy thrown away".to_owned(),
        Entry::Discarded { files } => {
            let paths: Vec<_> = files
                .iter()
                .map(|file| match file.left {
                    None => visible_line(&file.path).into_owned(),
                    Some(_) => format!("a part of {}", visible_line(&file.path)),
                })
                .collect();
            format!("you had thrown away of the staged copy: {}", paths.join(", "))
        }
        Entry::Forgotten => "you had forgotten what it worked on: documents, requests, replies".to_owned(),
    }
}

/// Returns the parts of a conversation that the model is shown in a shorter form, in words.
fn conversation_view(view: ConversationView) -> String {
    let mut parts = vec![format!("results before #{} are shown as references", view.results_before)];
    if view.turns_before > 0 {
        parts.push(format!("turns before #{} as one line each", view.turns_before));
    }
    if let Some(most) = view.max_bytes {
        parts.push(format!("{most} bytes of each later result"));
    }
    parts.join(", ")
}

/// Returns the details of a step, with foreign words marked as quoted.
pub fn detail_quoting(entry: &Entry) -> Quoting {
    match entry {
        Entry::Exhausted { trouble, message, .. } => {
            Quoting::theirs(trouble.message.raw()).and(format!(": message {message}"))
        }
        Entry::Said { message, .. } => Quoting::theirs(detail(entry)).and(format!(" (message {message})")),
        Entry::Judged { .. }
        | Entry::Answered { .. }
        | Entry::Slept { .. }
        | Entry::Questioned { .. }
        | Entry::OutcomeUnknown { .. }
        | Entry::OutcomeConfirmed { .. }
        | Entry::EffectStarted { .. }
        | Entry::Spilled { .. }
        | Entry::Paged { .. }
        | Entry::Shrunk { .. }
        | Entry::Spawned { .. }
        | Entry::Yielded { .. }
        | Entry::Held { .. }
        | Entry::Raised { .. }
        | Entry::Suspended { .. }
        | Entry::Resumed { .. }
        | Entry::Forgotten => Quoting::ours(detail(entry)),
        _ => Quoting::theirs(detail(entry)),
    }
}

/// Returns the outcome of a run in one line. The line may quote foreign text.
pub fn outcome_line(outcome: &RunOutcome) -> String {
    match outcome {
        RunOutcome::Done(value) => shorten(&value::argument(value)),
        RunOutcome::Failed(trouble) => {
            format!("{}: {}", failure_word(trouble), trouble.message.visible_line())
        }
    }
}

/// Returns the word for a run without a result: cancelled or failed.
pub fn failure_word(trouble: &Trouble) -> &'static str {
    if trouble.code == "run/cancelled" { "cancelled" } else { "failed" }
}

/// Returns the beginning of a text in one line, with the size of the whole text if it was cut.
pub fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}… ({} bytes)", &line[..at], text.len()),
        None => line,
    }
}
