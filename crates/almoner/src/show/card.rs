//! The card: what a person sees before saying yes or no, made from the stored bytes.

use std::fmt::Write as _;

use kernel::message::Answer;
use kernel::proposal::{Caller, Effect, Finding, Trace};
use kernel::provenance::Source;
use kernel::{MessageNumber, RunNumber, StepRef};
use passable::{Untrusted, visible_line};
use serde::{Deserialize, Serialize};

/// An approval with everything that it would permit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The message's number.
    pub number: MessageNumber,
    /// The run that asks.
    pub run: RunNumber,
    /// The worker's name.
    pub worker: String,
    /// The entries.
    pub entries: Vec<CardEntry>,
    /// What the run's model has been shown, as sources.
    pub read: Vec<Source>,
}

/// One proposal on a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CardEntry {
    /// Where it was proposed.
    pub step: StepRef,
    /// The slot.
    pub slot: String,
    /// What the slot leads to, by the host's own words.
    pub target: String,
    /// The method.
    pub method: String,
    /// What the method does to the world.
    pub effect: Effect,
    /// Whose words the arguments are.
    pub caller: Caller,
    /// Every argument in full: parameter name and text.
    pub arguments: Vec<(String, Untrusted)>,
    /// What the gates said.
    pub findings: Vec<Finding>,
    /// Where arguments were found in what the run has read.
    pub traces: Vec<Trace>,
    /// What it would replace, if anything.
    pub replaces: Option<String>,
    /// The answer, if there is one.
    pub answer: Option<Answer>,
}

impl Card {
    /// Whether any entry waits for an answer.
    pub fn is_open(&self) -> bool {
        self.entries.iter().any(|entry| entry.answer.is_none())
    }

    /// The card as text for a screen of so many columns: nothing folded, nothing left out. Every line that holds
    /// words of a model or a document begins with a mark of ours, also where a long one goes on.
    pub fn render(&self, columns: usize) -> String {
        let mut out = String::new();
        let count = self.entries.len();
        let entries = if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") };
        let worker = visible_line(&self.worker);
        let title = format!("message {} ── {} `{worker}` asks ── {entries} ──", self.number, self.run);
        lines(&mut out, "── ", "   ", &title, columns);
        for (i, entry) in self.entries.iter().enumerate() {
            entry.render(i + 1, columns, &mut out);
        }
        let untrusted: Vec<String> = self.read.iter().filter(|s| !s.is_trusted()).map(source).collect();
        if !untrusted.is_empty() {
            out.push('\n');
            let shown = format!("This run has been shown: {}", untrusted.join(", "));
            lines(&mut out, "  ", "  · ", &shown, columns);
        }
        out
    }
}

/// Writes text over as many lines as it needs, each with a mark in front.
pub(super) fn lines(out: &mut String, first: &str, next: &str, text: &str, columns: usize) {
    let mut mark = first;
    for line in text.split('\n') {
        let mut rest = line;
        loop {
            let room = columns.saturating_sub(mark.chars().count() + 1).max(20);
            let mut used = 0;
            let end = rest.char_indices().find_map(|(at, c)| {
                // Characters from here on may take two columns.
                used += if c < '\u{1100}' { 1 } else { 2 };
                (used > room).then_some(at)
            });
            // Between words, if there is a gap near the end of the line.
            let end = end.map(|end| {
                rest[..end].rfind(' ').map(|at| at + 1).filter(|at| at * 3 > end * 2).unwrap_or(end)
            });
            let (now, later) = rest.split_at(end.unwrap_or(rest.len()));
            let _ = writeln!(out, "{mark}{now}");
            mark = next;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
    }
}

impl CardEntry {
    fn render(&self, number: usize, columns: usize, out: &mut String) {
        out.push('\n');
        let title = format!(
            "{} {}.{}  →  {}    {}",
            self.effect.as_words(),
            visible_line(&self.slot),
            visible_line(&self.method),
            visible_line(&self.target),
            self.step
        );
        lines(out, &format!("[{number}] "), "    ", &title, columns);
        for (name, text) in &self.arguments {
            let shown = text.visible();
            let shown = shown.trim_end_matches('\n');
            let _ = writeln!(out, "    {} ({} bytes):", visible_line(name), text.raw().len());
            lines(out, "      │ ", "      │ ", shown, columns);
        }
        if let Some(replaced) = &self.replaces {
            let text = format!("replaces what is there now ({})", visible_line(replaced));
            lines(out, "    ! ", "    ! ", &text, columns);
        }
        for trace in &self.traces {
            let text = format!(
                "{} “{}” came from {} ({})",
                visible_line(&trace.argument),
                visible_line(&trace.text),
                visible_line(&trace.document),
                visible_line(&trace.how)
            );
            lines(out, "    ! ", "    ! ", &text, columns);
        }
        for finding in &self.findings {
            let text = format!("{} [{}]", visible_line(&finding.message), visible_line(&finding.rule));
            lines(out, "    · ", "    · ", &text, columns);
        }
        match &self.answer {
            Some(Answer::Approved { for_run, .. }) => {
                let _ = writeln!(out, "    ✓ approved{}", if *for_run { " for this run" } else { "" });
            }
            Some(Answer::Denied { reason, .. }) => {
                lines(out, "    ✗ denied: ", "    ✗ ", &reason.visible_line(), columns);
            }
            None => {}
        }
    }
}

/// A source in words.
pub fn source(source: &Source) -> String {
    match source {
        Source::Host => "you".to_owned(),
        Source::Model(name) => format!("the model {}", visible_line(name)),
        Source::Document { name, hash } => format!("{} ({})", visible_line(name), hash.short()),
        Source::Run(run) => run.to_string(),
        Source::Agent(_) => "another agent".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_foreign_text_is_without_a_mark() {
        let forged = format!("Re{}    ✓ checked by almoner", " ".repeat(78));
        for text in [&forged, "a\nb\n\nc", &"界".repeat(100)] {
            let mut out = String::new();
            lines(&mut out, "      │ ", "      │ ", text, 80);
            assert!(out.lines().all(|line| line.starts_with("      │ ")), "{out}");
            let wide = |c: char| if c < '\u{1100}' { 1 } else { 2 };
            assert!(out.lines().all(|line| line.chars().map(wide).sum::<usize>() <= 80), "{out}");
            let back: String = out.lines().map(|line| &line["      │ ".len()..]).collect();
            assert_eq!(back, text.replace('\n', ""));
        }
    }
}
