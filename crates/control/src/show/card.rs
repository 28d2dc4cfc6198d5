//! The card: everything that a user sees before answering an approval. It is made from the stored bytes.

use kernel::message::Answer;
use kernel::proposal::{ArgumentGiver, Caller, Effect, Finding, Trace};
use kernel::provenance::Source;
use kernel::{MessageNumber, RunNumber, StepRef};
use passable::{Quoting, Untrusted, quoting, visible_line, visible_name};
use serde::{Deserialize, Serialize};

use crate::powers::SlotFill;

use super::approval_count::ApprovalCount;
use super::budget_request::BudgetRequest;
use super::task::Task;

/// The maximum number of arguments in the sentence about a call.
const MAX_IN_GIST: usize = 4;

/// The maximum size of an argument that the sentence about a call quotes, in bytes.
const MAX_GIST_BYTES: usize = 80;

/// An approval with everything that it would permit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Card {
    /// The message's number.
    pub number: MessageNumber,
    /// The run that asks.
    pub run: RunNumber,
    /// The worker's name.
    pub worker: String,
    /// Whether the card asks if a call happened, instead of whether it may be made.
    #[serde(default)]
    pub in_doubt: bool,
    /// The task of the run that a user began, then the task that another run's model gave to the run that asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task: Vec<Task>,
    /// The proposals.
    pub entries: Vec<CardEntry>,
    /// The requested raise, if the run has reached a limit and asks for more. The card has no entries then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<BudgetRequest>,
    /// The sources that the run's model has been shown.
    pub read: Vec<Source>,
    /// The earlier approvals of the same methods. The digest to which an answer is bound does not include them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<ApprovalCount>,
    /// The model's text beside the calls that it proposes. Nothing in it is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Untrusted>,
}

/// One proposal on a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CardEntry {
    /// The step that proposed the call.
    pub step: StepRef,
    /// The slot.
    pub slot: String,
    /// The kind of the slot's content, as worker files name it, such as `outbox`. `None` for a call of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The target of the slot, in the host's own words.
    pub target: String,
    /// The method.
    pub method: String,
    /// The effect of the method on the world.
    pub effect: Effect,
    /// The party outside this machine that learns the arguments, if the call otherwise only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tells: Option<Untrusted>,
    /// The origin of the arguments.
    pub caller: Caller,
    /// The complete arguments, each with its parameter name and its text.
    pub arguments: Vec<(String, Untrusted)>,
    /// The findings of the gates.
    pub findings: Vec<Finding>,
    /// The places where the run has read words of arguments that the user did not give.
    pub traces: Vec<Trace>,
    /// The giver of each argument: the user, what the run has read, or nobody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub givers: Vec<ArgumentGiver>,
    /// The description of the content that the call would replace, if any.
    pub replaces: Option<String>,
    /// The result of an edit: the removed and the added lines of the file.
    #[serde(default)]
    pub difference: Option<Untrusted>,
    /// The title of the difference. `None` means the file.
    #[serde(default)]
    pub difference_of: Option<String>,
    /// The changes since an earlier card with the same call was approved.
    #[serde(default)]
    pub changed: Vec<ChangedDependency>,
    /// A preview of the worker that the call makes, if it makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub making: Option<WorkerPreview>,
    /// The times of a call whose outcome is unknown, if the card asks about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<CutOff>,
    /// The reason why an approval would have no effect, if so: the grant has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Untrusted>,
    /// The answer, if there is one.
    pub answer: Option<Answer>,
    /// The reasons why an approved call was not performed, if it was not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<Finding>,
}

/// The times of a call with an unknown outcome, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutOff {
    /// The time at which the call began.
    pub began_ms: i64,
    /// The time at which the next daemon found the call.
    pub found_ms: i64,
}

/// A worker that a call makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerPreview {
    /// The digest of the worker's text.
    pub digest: String,
    /// The slots of the worker, in the order of its file.
    pub slots: Vec<MadeSlot>,
    /// The difference between the proposed text and the user's text, if the user has edited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Untrusted>,
}

/// A slot of a worker that a call makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MadeSlot {
    /// The name of the slot.
    pub name: String,
    /// The kind of content that may fill the slot, such as `dir rw`.
    pub wants: String,
    /// The description of the slot in the worker file. Foreign text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Untrusted>,
    /// The maker's slot that fills this slot, and the part that the worker gets. `None` if a user must fill the slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<(String, SlotFill)>,
    /// The content that the user chose for the slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled: Option<SlotFill>,
}

/// A dependency of a call that has changed since the call was approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedDependency {
    /// The kind and the name of the dependency.
    pub what: String,
    /// The short hash at the time of the approval, or `None` if the dependency did not exist.
    pub was: Option<String>,
    /// The short hash now, or `None` if the dependency does not exist.
    pub is: Option<String>,
    /// The removed and the added lines, if the dependency is text and was stored.
    pub lines: Option<Untrusted>,
}

impl Card {
    /// Returns whether the card or any of its entries waits for an answer.
    pub fn is_open(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.answer.is_none())
            || self.entries.iter().any(|entry| entry.answer.is_none())
    }

    /// Returns the reason with which `--on-ask deny` answers the card. A run that keeps asking ends with it, so it names
    /// the way out.
    pub fn unattended_denial(&self) -> String {
        match self.more.as_ref().filter(|more| more.offer.is_after_refusals()) {
            Some(more) => format!(
                "--on-ask deny ended the run: {} (use `--allow SLOT.METHOD` or `--on-ask wait`)",
                more.why.visible_line()
            ),
            None => "nobody is there to be asked".to_owned(),
        }
    }
}

impl CutOff {
    /// Returns the two times in one sentence.
    pub fn in_words(self) -> String {
        let time = |ms: i64| {
            let iso = kernel::time::iso(ms);
            iso.get(..19).unwrap_or(&iso).replace('T', " ")
        };
        let (began, found) = (time(self.began_ms), time(self.found_ms));
        format!("It began {began} UTC and was cut off after that: the next daemon found it {found} UTC.")
    }
}

/// The text before the model's own words about its proposal.
pub const MODEL_TEXT_HEADING: &str = "In its own words, which nobody has checked:";

impl CardEntry {
    /// Returns the effect in words, such as `reads, and tells the server shop its arguments`. The name of the party is
    /// marked as quoted.
    pub fn effect_quoting(&self) -> Quoting {
        match &self.tells {
            Some(to) => {
                quoting!("{}, and tells ", self.effect.as_words()).quote(to.raw()).and(" its arguments")
            }
            None => self.effect.as_words().into(),
        }
    }

    /// Returns the call in one sentence: the method, short arguments, and the size of long ones.
    pub fn gist(&self) -> Quoting {
        let mut gist = Quoting::theirs(&self.method);
        for (at, (name, text)) in self.arguments.iter().take(MAX_IN_GIST).enumerate() {
            gist = gist.and(if at == 0 { ": " } else { ", " }).quote(name);
            let raw = text.raw();
            gist = match raw.lines().count() {
                lines if lines > 1 => gist.and(format!(" of {lines} lines")),
                _ if raw.len() > MAX_GIST_BYTES => gist.and(format!(" of {} bytes", raw.len())),
                _ => gist.and(" ").then(&Quoting::name(raw)),
            };
        }
        if self.arguments.len() > MAX_IN_GIST {
            gist = gist.and(", …");
        }
        if self.replaces.is_some() { gist.and("; it replaces what is there now") } else { gist }
    }
}

/// Returns the untrusted sources as text that is safe to show. Several texts of the same name are one. A document may
/// have any name, such as `you`, so its name stands in quotation marks.
pub fn untrusted_sources(read: &[Source]) -> Vec<String> {
    let mut counts: Vec<(&str, Vec<&Source>)> = Vec::new();
    for one in read.iter().filter(|one| !one.is_trusted()) {
        let name = match one {
            Source::Document { name, .. } => Some(name.as_str()),
            _ => None,
        };
        match name.and_then(|name| counts.iter_mut().find(|(other, _)| *other == name)) {
            Some((_, same)) => same.push(one),
            None => counts.push((name.unwrap_or_default(), vec![one])),
        }
    }
    let line = |(name, same): (&str, Vec<&Source>)| {
        let said = match same.as_slice() {
            [Source::Document { name, hash }] => Quoting::name(name).and(format!(" ({})", hash.short())),
            [one] => return source(one),
            several => Quoting::name(name).and(format!(" ({} texts)", several.len())),
        };
        visible_name(said.text()).into_owned()
    };
    counts.into_iter().map(line).collect()
}

/// Returns a source as text that is safe to show.
pub fn source(source: &Source) -> String {
    visible_line(source_quoting(source).text()).into_owned()
}

/// Returns a source as text, with foreign names marked as quoted. The text is not escaped for a terminal.
pub fn source_quoting(source: &Source) -> Quoting {
    match source {
        Source::Host => "you".into(),
        Source::Model(name) => quoting!("the model {}", name),
        Source::Document { name, hash } => Quoting::theirs(name).and(format!(" ({})", hash.short())),
        Source::Run(run) => Quoting::ours(run.to_string()),
        Source::Agent(_) => "another agent".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::card_text::tests::entry;

    #[test]
    fn gist_of_a_call_names_its_arguments_and_line_counts() {
        let mut one =
            entry(&[("path", "a”.txt"), ("content", "one\ntwo\nthree\n"), ("note", &"x".repeat(99))]);
        one.method = "write".to_owned();
        let gist = r"write: path “a\u{201D}.txt”, content of 3 lines, note of 99 bytes";
        assert_eq!(one.gist().text(), gist);
        one.replaces = Some("a.txt, 5".to_owned());
        assert_eq!(one.gist().text(), [gist, "; it replaces what is there now"].concat());
    }

    #[test]
    fn texts_of_one_name_are_one_source() {
        let of =
            |name: &str, byte| Source::Document { name: name.to_owned(), hash: kernel::BlobHash([byte; 32]) };
        let read = [of("mcp:web/search", 1), of("a.txt", 2), of("mcp:web/search", 3), Source::Host];
        assert_eq!(untrusted_sources(&read), ["“mcp:web/search” (2 texts)", "“a.txt” (02020202)"]);
    }
}
