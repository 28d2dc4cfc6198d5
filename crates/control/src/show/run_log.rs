//! The progress of a run as lines that a person can read in a log, one for each thing that the run does.

use std::collections::{BTreeMap, BTreeSet};

use kernel::RunNumber;
use kernel::event::Change;
use kernel::proposal::{Decision, Effect, Proposal};
use kernel::run::{Completion, Entry};
use passable::{Quoting, Untrusted, visible_line};
use resource::Row;

use super::foreign_words;
use crate::binding::{SlotBinding, SlotContent};

/// The maximum number of characters of an argument in a line.
const MAX_OBJECT_CHARS: usize = 60;

/// The names and the calls of the runs that a reader follows.
#[derive(Debug, Default)]
pub struct RunLog {
    names: BTreeMap<RunNumber, String>,
    /// The proposed calls in words, each by its run and step, and whether the call only reads.
    calls: BTreeMap<(RunNumber, u64), (String, bool)>,
    /// The calls that a gate has refused.
    refused: BTreeSet<(RunNumber, u64)>,
}

impl RunLog {
    /// Adds a run whose start was not followed.
    pub fn add_run(&mut self, run: RunNumber, name: &str) {
        self.names.insert(run, visible_line(name).into_owned());
    }

    /// Returns the step whose entry [`RunLog::line`] needs, if it needs one.
    pub fn needed_step(&self, change: &Change) -> Option<(RunNumber, u64)> {
        match change {
            Change::Step { run, step, entry, .. } => {
                let has_call = ["proposed", "judged", "answered", "completed"].contains(&entry.as_str());
                has_call.then_some((*run, *step))
            }
            _ => None,
        }
    }

    /// Returns the proposal that an entry is about, if this log has not seen it.
    pub fn unknown_proposal(&self, run: RunNumber, entry: &Entry) -> Option<u64> {
        proposal_of(entry).filter(|step| !self.calls.contains_key(&(run, *step)))
    }

    /// Notes a proposed call.
    pub fn add_proposal(&mut self, run: RunNumber, step: u64, proposal: &Proposal) {
        let is_read = proposal.effect == Effect::Observe;
        self.calls.insert((run, step), (call_words(proposal), is_read));
    }

    /// Returns the line for a change, or `None` if the change is not reported. `entry` is that of
    /// [`RunLog::needed_step`], if it could be read.
    pub fn line(&mut self, change: &Change, entry: Option<&Entry>) -> Option<String> {
        match change {
            Change::RunStarted { run, name, parent } => {
                self.add_run(*run, name);
                let of = parent.map(|parent| format!(", for {parent}")).unwrap_or_default();
                Some(format!("{} begins{of}", self.subject(*run)))
            }
            Change::Step { run, step, entry: kind, line, .. } => {
                if let Some(Entry::Proposed { proposal, .. }) = entry {
                    self.add_proposal(*run, *step, proposal);
                }
                let said = match entry {
                    Some(entry) => self.call(*run, entry)?,
                    None => step_words(kind, line)?,
                };
                Some(format!("{} {said}", self.subject(*run)))
            }
            _ => None,
        }
    }

    /// Returns the words for a step about a call.
    fn call(&mut self, run: RunNumber, entry: &Entry) -> Option<String> {
        let of = (run, proposal_of(entry)?);
        let (call, is_read) = match self.calls.get(&of) {
            Some((call, is_read)) => (call.as_str(), *is_read),
            None => ("a call", false),
        };
        match entry {
            Entry::Judged { verdict, message, .. } => match (verdict.decision, message) {
                (Decision::Allow, _) | (Decision::Ask, None) => Some(format!("calls {call}")),
                (Decision::Ask, Some(number)) => Some(format!("asks you about {call}: message {number}")),
                (Decision::Deny, _) => {
                    let why = reason(verdict.findings.first().map(|finding| finding.message.as_str()));
                    let said = format!("may not call {call}{why}");
                    self.refused.insert(of);
                    Some(said)
                }
            },
            Entry::Answered { approved: true, .. } => Some(format!("has your yes to {call}")),
            Entry::Answered { approved: false, .. } => Some(format!("has your no to {call}")),
            Entry::Completed { completion: Completion::Done { .. }, .. } => {
                (!is_read).then(|| format!("has done {call}"))
            }
            Entry::Completed { completion: Completion::Refused(findings), .. } => {
                let why = reason(findings.first().map(|finding| finding.message.as_str()));
                (!self.refused.contains(&of)).then(|| format!("was refused {call}{why}"))
            }
            Entry::Completed { completion: Completion::Failed(finding), .. } => {
                Some(format!("failed at {call}{}", reason(Some(finding.message.as_str()))))
            }
            _ => None,
        }
    }

    fn subject(&self, run: RunNumber) -> String {
        match self.names.get(&run) {
            Some(name) => format!("{run} `{name}`"),
            None => run.to_string(),
        }
    }
}

/// Returns the step that proposed the call of an entry.
fn proposal_of(entry: &Entry) -> Option<u64> {
    match entry {
        Entry::Judged { proposal, .. }
        | Entry::Answered { proposal, .. }
        | Entry::Completed { proposal, .. } => Some(*proposal),
        _ => None,
    }
}

/// Returns the words for a step that is about no call, or whose entry could not be read.
fn step_words(kind: &str, line: &Untrusted) -> Option<String> {
    let line = line.visible_line();
    Some(match kind {
        "proposed" | "effect_started" | "answered" | "spawned" | "yielded" | "resumed" | "spilled"
        | "paged" => {
            return None;
        }
        "prompted" => line.into_owned(),
        "replied" => format!("has a reply: {line}"),
        "rejected" => format!("has made a wrong call: {line}"),
        "suspended" => format!("waits {line}"),
        "slept" => format!("waits {line}"),
        "questioned" => format!("has a question: {line}"),
        "shrunk" => format!("shows its model less of the conversation: {line}"),
        "collected" => format!("has {line}"),
        "said" => format!("was told: {line}"),
        "exhausted" => format!("asks for more: {line}"),
        "raised" | "held" => format!("was {line}"),
        "stalled" => format!("has stalled: {line}"),
        "finished" if &*line == "done" => "is done".to_owned(),
        "finished" => format!("has ended: {line}"),
        kind => format!("{kind} {line}"),
    })
}

fn reason(message: Option<&str>) -> String {
    message.map(|message| format!(": {}", visible_line(message))).unwrap_or_default()
}

/// Returns a call in words: the method, and its first argument if that is text.
fn call_words(proposal: &Proposal) -> String {
    let method = format!("{}.{}", visible_line(&proposal.slot), visible_line(&proposal.method));
    let Some(object) = proposal.args.first().and_then(|value| value.as_str()).filter(|text| !text.is_empty())
    else {
        return method;
    };
    let mut short: String = object.chars().take(MAX_OBJECT_CHARS).collect();
    if short.len() < object.len() {
        short.push('…');
    }
    format!("{method} {}", visible_line(Quoting::name(&short).text()))
}

/// Returns one sentence about the things that a run may touch, or `None` if it has no slot.
pub fn permissions(run: RunNumber, worker: &str, bindings: &[SlotBinding]) -> Option<String> {
    let mut uses: Vec<String> = Vec::new();
    for binding in bindings {
        let Some(row) = binding.kind.as_deref().and_then(Row::of) else {
            uses.push(format!("use {}", slot_name(&binding.slot)));
            continue;
        };
        let words = match binding.content {
            SlotContent::BuiltIn => row.verb.to_owned(),
            _ => format!("{} {}", row.verb, slot_name(&binding.slot)),
        };
        if !uses.contains(&words) {
            uses.push(words);
        }
    }
    let says = || format!("{run} `{}` may {}", visible_line(worker), uses.join(", "));
    (!uses.is_empty()).then(says)
}

fn slot_name(slot: &str) -> String {
    visible_line(foreign_words::name(slot).text()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: u64, entry: &str, line: &str) -> Change {
        let digest = kernel::BlobHash::of(b"");
        let (entry, line) = (entry.to_owned(), Untrusted::new(line));
        Change::Step { run: RunNumber(1), step, entry, line, digest }
    }

    #[test]
    fn steps_without_a_call_are_read_as_sentences() {
        let mut log = RunLog::default();
        let begins = |run, name: &str, parent| Change::RunStarted { run, name: name.to_owned(), parent };
        let changes = [
            begins(RunNumber(1), "cle\u{1b}rk", None),
            step(1, "prompted", "asks ollama:qwen3"),
            step(2, "replied", "31 tokens in, 25 out"),
            step(3, "rejected", "call 4: this worker was not given such a tool"),
            step(4, "suspended", "for an answer to message 1"),
            step(5, "resumed", "message 1"),
            begins(RunNumber(2), "extract", Some(RunNumber(1))),
            step(6, "collected", "item 3: done"),
            step(7, "stalled", "the server does not answer\u{202e}"),
            step(8, "finished", "done"),
        ];
        let lines: Vec<String> = changes.iter().filter_map(|change| log.line(change, None)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        r1 `cle\u{1B}rk` begins
        r1 `cle\u{1B}rk` asks ollama:qwen3
        r1 `cle\u{1B}rk` has a reply: 31 tokens in, 25 out
        r1 `cle\u{1B}rk` has made a wrong call: call 4: this worker was not given such a tool
        r1 `cle\u{1B}rk` waits for an answer to message 1
        r2 `extract` begins, for r1
        r1 `cle\u{1B}rk` has item 3: done
        r1 `cle\u{1B}rk` has stalled: the server does not answer\u{202E}
        r1 `cle\u{1B}rk` is done
        ");
    }

    #[test]
    fn permissions_name_each_slot_with_its_verb() {
        let bind = |slot: &str, kind: Option<&str>, content| SlotBinding {
            slot: slot.to_owned(),
            kind: kind.map(str::to_owned),
            content,
            allow: BTreeSet::new(),
        };
        let named = || SlotContent::Untyped { words: "something".to_owned() };
        let bindings = [
            bind("mail", Some("dir"), named()),
            bind("out", Some("dir rw"), named()),
            bind("outbox", Some("outbox"), named()),
            bind("tick", Some("timer"), SlotContent::BuiltIn),
            bind("nothing", None, named()),
        ];
        assert_eq!(
            permissions(RunNumber(3), "clerk", &bindings).as_deref(),
            Some("r3 `clerk` may read mail, write out, send through outbox, wait, use “nothing”")
        );
        assert_eq!(permissions(RunNumber(3), "hello", &[]), None);
    }
}
