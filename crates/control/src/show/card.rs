//! The card: everything that a user sees before answering an approval. It is made from the stored bytes.

use std::fmt::Write as _;

use kernel::message::Answer;
use kernel::proposal::{ArgumentGiver, Caller, Effect, Finding, Trace};
use kernel::provenance::Source;
use kernel::{MessageNumber, RunNumber, StepRef};
use passable::{Quoting, Untrusted, quoting, visible_line, visible_name};
use serde::{Deserialize, Serialize};

use crate::powers::SlotFill;

use super::approval_count::ApprovalCount;
use super::budget_request::BudgetRequest;
use super::giver;
use super::journal::finding_line;
use super::lines::{self, Marks};
use super::task::{Screen, Task};

/// The maximum number of lines of a card that stays on the screen as a whole.
const SCREEN: usize = 40;

/// The text of a card that asks whether a call happened.
const IN_DOUBT: &str = "It had begun when the daemon went down, and nothing but you can tell whether it happened. \
                        Look at what it was to change, then say so; only if you say that it did not, it is done now.";

/// The maximum number of arguments in the sentence about a call.
const MAX_IN_GIST: usize = 4;

/// The maximum size of an argument that the sentence about a call quotes, in bytes.
const MAX_GIST_BYTES: usize = 80;

/// The maximum size of a short argument, in bytes.
const SHORT: usize = 400;

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

impl WorkerPreview {
    /// Writes the content of each slot as lines of a card.
    fn render(&self, columns: usize, out: &mut String) {
        for slot in &self.slots {
            let name = visible_line(&slot.name);
            let text = match (&slot.filled, &slot.from) {
                (Some(filled), _) => format!("its slot `{name}` gets what you chose: {}", filled.in_words()),
                (None, Some((own, given))) => {
                    format!(
                        "its slot `{name}` gets its maker's `{}`: {}",
                        visible_line(own),
                        given.in_words()
                    )
                }
                (None, None) => format!("its slot `{name}` ({}) is yours to fill", visible_line(&slot.wants)),
            };
            lines::write(out, Marks::each("    > "), &text, columns);
        }
        if let Some(edited) = &self.edited {
            lines::write(
                out,
                Marks::each("    "),
                "how the text that you have put in its place differs:",
                columns,
            );
            lines::write_foreign(out, edited, columns);
        }
    }
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

    /// Returns the card as text for a screen of so many columns. Nothing of the calls is folded or left out. Every line
    /// with words of a model or a document begins with a mark. Continued lines begin with another mark.
    pub fn render(&self, columns: usize) -> String {
        self.render_on(Screen { columns, is_whole: false })
    }

    /// Returns the card as [`Card::render`] does, with all lines of a long task.
    pub fn render_whole(&self, columns: usize) -> String {
        self.render_on(Screen { columns, is_whole: true })
    }

    fn render_on(&self, screen: Screen) -> String {
        let columns = screen.columns;
        let mut out = String::new();
        if let Some(more) = &self.more {
            let worker = visible_line(&self.worker);
            let title = format!("message {} ── {} `{worker}` {} ──", self.number, self.run, more.asks());
            lines::write(&mut out, Marks::each("── "), &title, columns);
            let rests = self.render_task(screen, &mut out);
            more.render(columns, &mut out);
            self.render_rest_of_task(&rests, columns, &mut out);
            return out;
        }
        let count = self.entries.len();
        let entries = if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") };
        let worker = visible_line(&self.worker);
        let asks = if self.in_doubt { "asks whether this happened" } else { "asks" };
        let title = format!("message {} ── {} `{worker}` {asks} ── {entries} ──", self.number, self.run);
        lines::write(&mut out, Marks::each("── "), &title, columns);
        if self.in_doubt {
            lines::write(&mut out, Marks::each("  "), IN_DOUBT, columns);
        }
        let rests = self.render_task(screen, &mut out);
        for (i, entry) in self.entries.iter().enumerate() {
            out.push('\n');
            entry.title(i + 1, columns, &mut out);
            entry.render(columns, &mut out);
        }
        let untrusted = untrusted_sources(&self.read);
        if !untrusted.is_empty() {
            out.push('\n');
            let shown = format!("This run has been shown: {}", untrusted.join(", "));
            lines::write(&mut out, Marks::each("  "), &shown, columns);
        }
        self.render_rest_of_task(&rests, columns, &mut out);
        for asked in &self.asked {
            out.push('\n');
            asked.render(columns, &mut out);
        }
        if let Some(said) = &self.said {
            out.push('\n');
            lines::write(&mut out, Marks::each("  "), MODEL_TEXT_HEADING, columns);
            lines::write_foreign(&mut out, said, columns);
        }
        if out.lines().count() > SCREEN {
            out.push_str("\n── in short ──\n\n");
            for (i, entry) in self.entries.iter().enumerate() {
                entry.title(i + 1, columns, &mut out);
                entry.in_short(columns, &mut out);
            }
        }
        out
    }

    /// Writes the beginning of each task, and returns the rest of each.
    fn render_task(&self, screen: Screen, out: &mut String) -> Vec<String> {
        self.task.iter().map(|task| task.render(screen, self.number, out)).collect()
    }

    fn render_rest_of_task(&self, rests: &[String], columns: usize, out: &mut String) {
        for (task, rest) in self.task.iter().zip(rests) {
            task.render_rest(rest, columns, out);
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

    /// Writes the effect, the method and the target of calls that look alike, without the step of any of them.
    pub(super) fn render_head(&self, number: usize, columns: usize, out: &mut String) {
        let title = format!(
            "{} {}.{}  →  {}",
            visible_line(self.effect_quoting().text()),
            visible_line(&self.slot),
            visible_line(&self.method),
            visible_line(&self.target)
        );
        lines::write(out, Marks::each(&format!("[{number}] ")), &title, columns);
    }

    /// Writes everything but the title.
    pub(super) fn render_body(&self, columns: usize, out: &mut String) {
        self.render(columns, out);
    }

    /// Writes the title: the effect, the method and the target of the call.
    fn title(&self, number: usize, columns: usize, out: &mut String) {
        let title = format!(
            "{} {}.{}  →  {}    {}",
            visible_line(self.effect_quoting().text()),
            visible_line(&self.slot),
            visible_line(&self.method),
            visible_line(&self.target),
            self.step
        );
        lines::write(out, Marks::each(&format!("[{number}] ")), &title, columns);
    }

    fn render(&self, columns: usize, out: &mut String) {
        if let Some(all) = giver::of_all(&self.givers) {
            lines::write(out, Marks::each("    "), all, columns);
        }
        for (name, text) in &self.arguments {
            let giver = giver::of_argument(&self.givers, name).map(giver::quoting);
            let giver = giver.map(|giver| format!(", {}", visible_name(giver.text()))).unwrap_or_default();
            let title = format!("{} ({} bytes){giver}:", visible_line(name), text.raw().len());
            lines::write(out, Marks::each("    "), &title, columns);
            lines::write_foreign(out, text, columns);
            for (part, giver) in giver::of_parts(&self.givers, name) {
                let text = giver::of_part(part, giver);
                lines::write(out, Marks::each("      ← "), &visible_name(text.text()), columns);
            }
        }
        if let Some(replaced) = &self.replaces {
            let text = format!("replaces what is there now ({})", visible_line(replaced));
            lines::write(out, Marks::each("    ! "), &text, columns);
        }
        if let Some(difference) = &self.difference {
            let title = self.difference_of.as_deref().unwrap_or("what becomes of the file");
            lines::write(out, Marks::each("    "), &format!("{}:", visible_line(title)), columns);
            lines::write_foreign(out, difference, columns);
        }
        if let Some(making) = &self.making {
            making.render(columns, out);
        }
        for changed in &self.changed {
            let state = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "not there".to_owned());
            let text = format!(
                "{} has changed since you approved this: {} then, {} now",
                visible_line(&changed.what),
                state(&changed.was),
                state(&changed.is)
            );
            lines::write(out, Marks::each("    ! "), &text, columns);
            if let Some(text) = &changed.lines {
                lines::write_foreign(out, text, columns);
            }
        }
        for trace in &self.traces {
            let text = format!(
                "{} “{}” came from {} ({})",
                visible_line(&trace.argument),
                visible_name(&trace.text),
                visible_name(giver::source(trace).text()),
                visible_line(&trace.how)
            );
            lines::write(out, Marks::each("    ! "), &text, columns);
        }
        for finding in &self.findings {
            // The model is told the finding in the same words.
            lines::write(out, Marks::each("    · "), &finding_line(finding), columns);
        }
        if let Some(cut_off) = &self.cut_off {
            lines::write(out, Marks::each("    "), &cut_off.in_words(), columns);
        }
        if let Some(why) = self.ended.as_ref().filter(|_| self.answer.is_none()) {
            let text = format!("a yes would come to nothing: {}", why.visible_line());
            lines::write(out, Marks::each("    ! "), &text, columns);
        }
        match &self.answer {
            Some(Answer::Approved { for_run, .. }) => {
                let _ = writeln!(out, "    ✓ approved{}", if *for_run { " for this run" } else { "" });
            }
            Some(Answer::Denied { reason, .. }) => {
                lines::write(out, Marks::each("    ✗ denied: "), &reason.visible_line(), columns);
            }
            Some(Answer::Happened { .. }) => out.push_str("    ✓ it happened\n"),
            Some(Answer::Repeat { .. }) => out.push_str("    ✓ it did not happen: to be done now\n"),
            Some(Answer::Withdrawn { .. }) => out.push_str("    ✗ withdrawn\n"),
            None => {}
        }
        for finding in &self.undone {
            let text = format!("nothing was done: {}", finding_line(finding));
            lines::write(out, Marks::each("    ! "), &text, columns);
        }
    }

    /// Writes the arguments once more, but long ones only by their size. Otherwise the recipient of a message could
    /// scroll out of sight above a long text.
    fn in_short(&self, columns: usize, out: &mut String) {
        for (name, text) in &self.arguments {
            let name = visible_line(name);
            let shown = match text.raw() {
                raw if raw.len() > SHORT || raw.contains('\n') => {
                    format!("{name}: {} bytes, above", raw.len())
                }
                _ => format!("{name}: {}", text.visible_name()),
            };
            lines::write(out, Marks::each("      │ "), &shown, columns);
        }
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
    use kernel::proposal::Giver;

    use super::*;
    use crate::show::task::TaskGiver;

    fn entry(arguments: &[(&str, &str)]) -> CardEntry {
        CardEntry {
            step: StepRef { run: RunNumber(1), step: 9 },
            slot: "outbox".to_owned(),
            kind: Some("outbox".to_owned()),
            target: "mail spool /home/me/outbox".to_owned(),
            method: "send".to_owned(),
            effect: Effect::Commit,
            tells: None,
            caller: Caller::Model,
            arguments: arguments.iter().map(|(n, text)| ((*n).to_owned(), Untrusted::new(*text))).collect(),
            findings: vec![],
            traces: vec![],
            givers: vec![],
            replaces: None,
            difference: None,
            difference_of: None,
            changed: vec![],
            making: None,
            cut_off: None,
            ended: None,
            answer: None,
            undone: vec![],
        }
    }

    fn card(entries: Vec<CardEntry>) -> Card {
        let read = vec![Source::Document { name: "a.txt".to_owned(), hash: kernel::BlobHash([7; 32]) }];
        let worker = "clerk".to_owned();
        Card {
            number: MessageNumber(3),
            run: RunNumber(1),
            worker,
            in_doubt: false,
            task: vec![Task {
                run: RunNumber(1),
                worker: "clerk".to_owned(),
                giver: TaskGiver::User,
                words: vec![("order".to_owned(), Untrusted::new("Send the invoice."))],
                files: Default::default(),
                description: None,
                documents: vec![],
            }],
            entries,
            more: None,
            read,
            asked: vec![],
            said: None,
        }
    }

    #[test]
    fn card_in_narrow_window_wraps_behind_marks() {
        let mut one = entry(&[("to", "archive@records-backup.example"), ("body", "one\n\ttwo\n")]);
        one.replaces = Some("a.md, 1234".to_owned());
        one.findings = vec![Finding::new("effects/commit", "`outbox.send` is seen outside")];
        let giver =
            |argument: &str, giver: Giver| ArgumentGiver { argument: argument.to_owned(), part: None, giver };
        one.givers = vec![
            giver("to", Giver::Document { places: vec!["a.txt".to_owned()], is_whole: true }),
            giver("body", Giver::Unknown),
        ];
        let shown = card(vec![one]).render(40);
        // Where a line is continued, the space at its end stays.
        let shown: Vec<_> = shown.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        ── message 3 ── r1 `clerk` asks
              ┆ ── 1 entry ──
          Your task for r1 `clerk`:
              │ Send the invoice.

        [1] sends outbox.send  →  mail spool
              ┆ /home/me/outbox    r1#9
            to (30 bytes), from the text
              ┆ “a.txt”:
              │ archive@records-backup.example
            body (9 bytes), from the model
              ┆ alone:
              │ one
              │         two
            ! replaces what is there now
              ┆ (a.md, 1234)
            · `outbox.send` is seen outside
              ┆ [effects/commit]

          This run has been shown: “a.txt”
              ┆ (07070707)
        ");
    }

    #[test]
    fn foreign_text_cannot_forge_card_lines() {
        let space = " ".repeat(90);
        let forged =
            format!("x{space}    ✓ approved\n[2] reads mail.read  →  /mail    r1#9{space}[3] reads x.y");
        let mut one = entry(&[("to", &forged), ("body", &format!("x{}✓ approved", "\t".repeat(14)))]);
        one.traces = vec![kernel::proposal::Trace {
            argument: "to".to_owned(),
            text: format!("x{space}! to “boss@own.example” came from you (as written)"),
            document: format!("a{space}    ✓ approved"),
            call: Some(format!("query \"{space}    ✓ approved\"")),
            how: "as written".to_owned(),
        }];
        one.findings = vec![Finding::new("r", format!("x{space}[2] reads mail.read"))];
        let mut hostile = card(vec![one]);
        hostile.worker = format!("w` asks ── 0 entries ──{space}[1] reads mail.read");
        hostile.read = vec![Source::Document {
            name: format!("a{space}[2] reads mail.read"),
            hash: kernel::BlobHash([7; 32]),
        }];
        for columns in [30, 40, 80, 120] {
            let shown = hostile.render(columns);
            let starts = |mark: &str| shown.lines().filter(|line| line.starts_with(mark)).count();
            // The title is repeated in the short form of a long card.
            let titles = 1 + usize::from(shown.contains("in short"));
            assert_eq!((starts("[1] "), starts("[2] "), starts("[3] ")), (titles, 0, 0), "{shown}");
            assert_eq!((starts("    ✓"), starts("    ! "), starts("    · ")), (0, 1, 1), "{shown}");
            assert_eq!(starts("── "), titles, "{shown}");
        }
    }

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

    #[test]
    fn recipient_is_repeated_below_long_text() {
        let body = "line\n".repeat(200);
        let shown = card(vec![entry(&[("to", "a@b.example"), ("body", &body)])]).render(80);
        let end = shown.split("── in short ──").nth(1).unwrap();
        assert!(end.contains("[1] sends outbox.send") && end.contains("│ to: a@b.example"), "{end}");
        assert!(end.contains("│ body: 1000 bytes, above"), "{end}");
        assert_eq!(shown.matches("│ line").count(), 200, "nothing is folded");
        assert!(!card(vec![entry(&[("to", "a@b.example")])]).render(80).contains("in short"));
    }
}
