//! The card as text for a terminal: in short, or in full.
//!
//! In short, it has its title, one warning, the beginning of the task, and each call with its arguments. The sources of
//! passages and the rules that asked are folded. A card that fits on a screen shows every byte of its calls. Only in a
//! longer one, a long argument is cut to its first rows: then the card counts as folded, and a client shows it in full
//! before it takes a yes.
//!
//! Every line with words of a model or a document begins with a mark, or has these words in quotation marks behind a
//! label. Continued lines begin with another mark.

use std::fmt::Write as _;

use kernel::message::Answer;
use kernel::proposal::Finding;
use passable::{Quoting, Untrusted, visible_line, visible_name};

use super::card::{Card, CardEntry, MODEL_TEXT_HEADING, WorkerPreview, untrusted_sources};
use super::foreign_words::{self, without_backticks};
use super::grant_heading::GRANT_HEADING;
use super::journal::finding_quoting;
use super::lines::{self, Marks};
use super::task::{Screen, TaskLength};
use super::{call_words, danger, giver, headline};

/// The maximum number of lines of a card that stays on the screen as a whole.
const SCREEN: usize = 40;

/// The maximum number of rows of one argument of a card that does not stay on the screen as a whole.
const MAX_ARGUMENT_ROWS: usize = 8;

/// The maximum number of rows of the model's own words in the short form.
const MAX_MODEL_ROWS: usize = 3;

/// The maximum size of an argument that is repeated below a long card, in bytes.
const SHORT: usize = 400;

/// The text of a card that asks whether a call happened.
const IN_DOUBT: &str = "It had begun when the daemon went down, and nothing but you can tell whether it happened. \
                        Look at what it was to change, then say so; only if you say that it did not, it is done now.";

/// The marks before a line of the warning.
const WARNING: Marks<'_> = Marks::each("  ▲ ");

/// The rows of a text that are shown, and the number of texts that were cut.
struct RowLimit {
    columns: usize,
    max_rows: usize,
    cuts: usize,
}

impl Card {
    /// Returns the card in short for a screen of so many columns. The sources of passages and the rules that asked are
    /// left out.
    pub fn render(&self, columns: usize) -> String {
        self.short_form(columns).0
    }

    /// Returns whether the short form leaves out any byte of the calls. Such a card is shown in full before a yes.
    pub fn is_folded(&self, columns: usize) -> bool {
        self.short_form(columns).1
    }

    /// Returns the card in full: also the sources of passages, the rules that asked, and all lines of a long task.
    pub fn render_whole(&self, columns: usize) -> String {
        let mut out = String::new();
        self.write_head(&danger::all_of_card(self), columns, &mut out);
        let rests = self.render_task(Screen { columns, length: TaskLength::Whole }, &mut out);
        if let Some(more) = &self.more {
            more.render(columns, &mut out);
            self.render_rest_of_task(&rests, columns, &mut out);
            return out;
        }
        for (i, entry) in self.entries.iter().enumerate() {
            out.push('\n');
            entry.write_title(i + 1, true, columns, &mut out);
            entry.render_body(columns, &mut out);
        }
        let untrusted = untrusted_sources(&self.read);
        if !untrusted.is_empty() {
            out.push('\n');
            let shown = format!("This run has been shown: {}", untrusted.join(", "));
            lines::write(&mut out, Marks::each("  "), &shown, columns);
        }
        self.render_rest_of_task(&rests, columns, &mut out);
        self.write_asked(columns, &mut out);
        if let Some(said) = &self.said {
            out.push('\n');
            lines::write(&mut out, Marks::each("  "), MODEL_TEXT_HEADING, columns);
            lines::write_foreign(&mut out, said, columns);
        }
        if out.lines().count() > SCREEN {
            out.push_str("\n── in short ──\n\n");
            for (i, entry) in self.entries.iter().enumerate() {
                entry.write_title(i + 1, false, columns, &mut out);
                entry.repeat_arguments(columns, &mut out);
            }
        }
        out
    }

    /// Returns the short form, and whether it leaves out any byte of the calls.
    fn short_form(&self, columns: usize) -> (String, bool) {
        let mut limit = RowLimit { columns, max_rows: usize::MAX, cuts: 0 };
        let text = self.write_short(&mut limit);
        if text.lines().count() <= SCREEN {
            return (text, false);
        }
        let mut limit = RowLimit { columns, max_rows: MAX_ARGUMENT_ROWS, cuts: 0 };
        let text = self.write_short(&mut limit);
        (text, limit.cuts > 0)
    }

    fn write_short(&self, limit: &mut RowLimit) -> String {
        let columns = limit.columns;
        let mut out = String::new();
        self.write_head(&danger::of_card(self), columns, &mut out);
        self.render_task(Screen { columns, length: TaskLength::Short }, &mut out);
        if let Some(more) = &self.more {
            more.render(columns, &mut out);
            return out;
        }
        for (i, entry) in self.entries.iter().enumerate() {
            out.push('\n');
            entry.write_title(i + 1, false, columns, &mut out);
            entry.write_short(limit, &mut out);
        }
        self.write_asked(columns, &mut out);
        if let Some(said) = &self.said {
            out.push('\n');
            lines::write(&mut out, Marks::each("  "), MODEL_TEXT_HEADING, columns);
            let mut of_model = RowLimit { columns, max_rows: limit.max_rows.min(MAX_MODEL_ROWS), cuts: 0 };
            of_model.write(&mut out, |out| lines::write_foreign(out, said, columns));
        }
        let number = self.number;
        if limit.cuts > 0 {
            let text = format!("(… cut: `almoner inbox {number} --full` shows every line)");
            lines::write(&mut out, Marks::each("    "), &text, columns);
        }
        if let Some(folded) = self.folded() {
            out.push('\n');
            let text = format!("{folded}: `almoner inbox {number} --full`");
            lines::write(&mut out, Marks::each("  ▸ "), &text, columns);
        }
        out
    }

    /// Writes the title, and below it the warning, if there is a danger.
    fn write_head(&self, dangers: &[Quoting], columns: usize, out: &mut String) {
        let title = headline::of_card(self);
        let title = format!("message {} ({}) ── {} ──", self.number, self.run, visible_line(title.text()));
        lines::write(out, Marks::each("── "), &title, columns);
        if self.in_doubt {
            lines::write(out, Marks::each("  "), IN_DOUBT, columns);
        }
        write_warning(danger::heading(self), dangers, columns, out);
    }

    /// Returns what the short form leaves out, in words.
    fn folded(&self) -> Option<String> {
        let passages: usize = self.entries.iter().map(|entry| giver::passages(&entry.traces).count()).sum();
        let has_rules = self.entries.iter().any(|entry| !entry.findings.is_empty());
        let mut parts = Vec::new();
        match passages {
            0 => {}
            1 => parts.push("1 passage of a document".to_owned()),
            _ => parts.push(format!("{passages} passages of documents")),
        }
        if has_rules {
            parts.push("why you are asked".to_owned());
        }
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    fn write_asked(&self, columns: usize, out: &mut String) {
        for asked in &self.asked {
            out.push('\n');
            asked.render(columns, out);
        }
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

/// Writes a warning: its heading, and one line for each danger. Without a danger, there is no warning.
pub(super) fn write_warning(heading: &str, dangers: &[Quoting], columns: usize, out: &mut String) {
    if dangers.is_empty() {
        return;
    }
    lines::write(out, WARNING, heading, columns);
    for danger in dangers {
        lines::write(out, WARNING, &visible_line(danger.text()), columns);
    }
}

impl RowLimit {
    /// Writes a text with its first rows. If there are more, a line counts them.
    fn write(&mut self, out: &mut String, text: impl FnOnce(&mut String)) {
        let mut all = String::new();
        text(&mut all);
        let rows = all.lines().count();
        if rows <= self.max_rows {
            out.push_str(&all);
            return;
        }
        self.cuts += 1;
        let shown = self.max_rows.saturating_sub(1);
        for line in all.lines().take(shown) {
            let _ = writeln!(out, "{line}");
        }
        let more = rows - shown;
        lines::write(out, Marks::each("    "), &format!("(… {more} more lines)"), self.columns);
    }
}

impl CardEntry {
    /// Writes the title: the call in words, then its effect, its method and its target, and the step if it is wanted.
    fn write_title(&self, number: usize, has_step: bool, columns: usize, out: &mut String) {
        let said = call_words::of_entry(self);
        lines::write(out, Marks::each(&format!("[{number}] ")), &visible_line(said.text()), columns);
        let step = if has_step { format!("    {}", self.step) } else { String::new() };
        let target = format!(
            "{} {}.{} → {}{step}",
            visible_line(self.effect_quoting().text()),
            visible_line(&self.slot),
            visible_line(&self.method),
            visible_line(&self.target),
        );
        lines::write(out, Marks::each("    "), &target, columns);
    }

    /// Writes the title of calls that look alike.
    pub(super) fn render_head(&self, number: usize, columns: usize, out: &mut String) {
        let target = format!(
            "{} {}.{} → {}",
            visible_line(self.effect_quoting().text()),
            visible_line(&self.slot),
            visible_line(&self.method),
            visible_line(&self.target),
        );
        lines::write(out, Marks::each(&format!("[{number}] ")), &target, columns);
    }

    /// Writes the arguments, each in as few lines as it needs, and the changes.
    fn write_short(&self, limit: &mut RowLimit, out: &mut String) {
        let columns = limit.columns;
        // The title of the call has some arguments word for word. They are not written twice.
        let in_title = call_words::arguments_in_title(self);
        for (name, text) in self.arguments.iter().filter(|(name, _)| !in_title.contains(&name.as_str())) {
            limit.write(out, |out| write_argument(out, name, text, columns));
        }
        if let Some(replaced) = &self.replaces {
            let text = format!("replaces what is there now ({})", visible_line(replaced));
            lines::write(out, Marks::each("    ! "), &text, columns);
        }
        if let Some(difference) = &self.difference {
            limit.write(out, |out| self.write_difference(difference, columns, out));
        }
        if let Some(making) = &self.making {
            making.render(columns, out);
        }
        for changed in &self.changed {
            limit.write(out, |out| write_changed(changed, columns, out));
        }
        self.write_state(columns, out);
    }

    fn write_difference(&self, difference: &Untrusted, columns: usize, out: &mut String) {
        let title = self.difference_of.as_deref().unwrap_or("what becomes of the file");
        lines::write(out, Marks::each("    "), &format!("{}:", visible_line(title)), columns);
        lines::write_foreign(out, difference, columns);
    }

    /// Writes everything but the title, in full.
    pub(super) fn render_body(&self, columns: usize, out: &mut String) {
        if let Some(all) = giver::of_all(&self.givers) {
            lines::write(out, Marks::each("    "), all, columns);
        }
        for (name, text) in &self.arguments {
            let giver = giver::of_argument(&self.givers, name).map(giver::quoting);
            let giver = giver.map(|giver| format!(", {}", visible_name(giver.text()))).unwrap_or_default();
            let title = format!("{} ({}){giver}:", visible_line(name), bytes(text.raw().len()));
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
            self.write_difference(difference, columns, out);
        }
        if let Some(making) = &self.making {
            making.render(columns, out);
        }
        for changed in &self.changed {
            write_changed(changed, columns, out);
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
            lines::write(out, Marks::each("    · "), &reason_line(finding), columns);
        }
        self.write_state(columns, out);
    }

    /// Writes the times of a call in doubt, the answer, and the reasons why nothing was done.
    fn write_state(&self, columns: usize, out: &mut String) {
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
            let text = format!("nothing was done: {}", reason_line(finding));
            lines::write(out, Marks::each("    ! "), &text, columns);
        }
    }

    /// Writes the arguments once more, but long ones only by their size. Otherwise the recipient of a message could
    /// scroll out of sight above a long text.
    fn repeat_arguments(&self, columns: usize, out: &mut String) {
        for (name, text) in &self.arguments {
            let name = visible_line(name);
            let shown = match text.raw() {
                raw if raw.len() > SHORT || raw.contains('\n') => {
                    format!("{name}: {}, above", bytes(raw.len()))
                }
                _ => format!("{name}: {}", text.visible_name()),
            };
            lines::write(out, Marks::each("      │ "), &shown, columns);
        }
    }
}

impl WorkerPreview {
    /// Writes the content of each slot as lines of a card.
    fn render(&self, columns: usize, out: &mut String) {
        if !self.slots.is_empty() {
            lines::write(out, Marks::each("    "), GRANT_HEADING, columns);
        }
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

/// Writes an argument. A single line stands in quotation marks behind its name.
fn write_argument(out: &mut String, name: &str, text: &Untrusted, columns: usize) {
    let name = foreign_words::name(name);
    let name = visible_line(name.text());
    if text.raw().contains('\n') {
        let count = text.raw().lines().count();
        let unit = if count == 1 { "line" } else { "lines" };
        lines::write(out, Marks::each("    "), &format!("{name} ({count} {unit}):"), columns);
        lines::write_foreign(out, text, columns);
    } else {
        lines::write_labelled(out, &name, text, columns);
    }
}

fn write_changed(changed: &super::card::ChangedDependency, columns: usize, out: &mut String) {
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

/// Returns a finding with its rule, in the words of the gate without backticks.
pub(super) fn reason_line(finding: &Finding) -> String {
    visible_line(without_backticks(&finding_quoting(finding)).text()).into_owned()
}

/// Returns a number of bytes in words.
pub(super) fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

#[cfg(test)]
pub(super) mod tests {
    use kernel::proposal::{ArgumentGiver, Caller, Effect, Giver};
    use kernel::provenance::Source;
    use kernel::{MessageNumber, RunNumber, StepRef};

    use super::*;
    use crate::show::task::{Task, TaskGiver};

    pub(in crate::show) fn entry(arguments: &[(&str, &str)]) -> CardEntry {
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
        let card = card(vec![one]);
        let shown = card.render(40);
        // Where a line is continued, the space at its end stays.
        let shown: Vec<_> = shown.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        ── message 3 (r1) ── clerk wants
              ┆ to send a mail to
              ┆ “archive@records-backup.examp
              ┆ le” ──
          Your task for r1 `clerk`:
              │ Send the invoice.

        [1] Send a mail to
              ┆ “archive@records-backup.examp
              ┆ le”
            sends outbox.send → mail spool
              ┆ /home/me/outbox
            body (2 lines):
              │ one
              │         two
            ! replaces what is there now
              ┆ (a.md, 1234)

          ▸ why you are asked:
              ┆ `almoner inbox 3 --full`
        ");
        let whole = card.render_whole(40).replace("\n      ┆ ", "");
        for part in [
            "to (30 bytes), from the text “a.txt”:\n      │ archive@records-backup.example",
            "body (9 bytes), from the model alone:\n",
            "    · “outbox.send” is seen outside [effects/commit]",
            "This run has been shown: “a.txt” (07070707)",
        ] {
            assert!(whole.contains(part), "{part}: {whole}");
        }
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
            assert_eq!((starts("[1] "), starts("[2] "), starts("[3] ")), (1, 0, 0), "{shown}");
            assert_eq!((starts("    ✓"), starts("    ! "), starts("    · ")), (0, 0, 0), "{shown}");
            assert_eq!((starts("── "), starts("  ▲ "), starts("  ▸ ")), (1, 3, 1), "{shown}");
            assert_eq!((starts("    to"), starts("    body: “")), (1, 1), "{shown}");
            let whole = hostile.render_whole(columns);
            let starts = |mark: &str| whole.lines().filter(|line| line.starts_with(mark)).count();
            // The title is repeated below a long card.
            let titles = 1 + usize::from(whole.contains("in short"));
            assert_eq!((starts("[1] "), starts("[2] "), starts("[3] ")), (titles, 0, 0), "{whole}");
            assert_eq!((starts("    ✓"), starts("    ! "), starts("    · ")), (0, 1, 1), "{whole}");
            assert_eq!(starts("── "), titles, "{whole}");
        }
    }

    #[test]
    fn recipient_is_repeated_below_long_text() {
        let body = "line\n".repeat(200);
        let long = card(vec![entry(&[("to", "a@b.example"), ("body", &body)])]);
        let shown = long.render_whole(80);
        let end = shown.split("── in short ──").nth(1).unwrap();
        assert!(end.contains("sends outbox.send") && end.contains("│ to: a@b.example"), "{end}");
        assert!(end.contains("│ body: 1000 bytes, above"), "{end}");
        assert_eq!(shown.matches("│ line").count(), 200, "nothing is folded");
        assert!(!card(vec![entry(&[("to", "a@b.example")])]).render_whole(80).contains("in short"));
    }

    #[test]
    fn long_argument_is_cut_and_the_card_says_so() {
        let body = "line\n".repeat(200);
        let long = card(vec![entry(&[("to", "a@b.example"), ("body", &body)])]);
        let shown = long.render(80);
        assert!(long.is_folded(80) && shown.lines().count() < SCREEN, "{shown}");
        assert!(shown.contains("mail to “a@b.example”") && shown.contains("(… 194 more lines)"), "{shown}");
        assert!(shown.contains("`almoner inbox 3 --full` shows every line"), "{shown}");
        // A card that fits on a screen is shown with every byte.
        let short = card(vec![entry(&[("to", "a@b.example"), ("body", &"line\n".repeat(20))])]);
        assert!(!short.is_folded(80), "{}", short.render(80));
        assert_eq!(short.render(80).matches("│ line").count(), 20);
    }
}
