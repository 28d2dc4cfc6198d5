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

    /// The card as text: nothing folded, nothing left out.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let count = self.entries.len();
        let entries = if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") };
        let _ = writeln!(
            out,
            "── message {} ── {} `{}` asks ── {entries} ──",
            self.number,
            self.run,
            visible_line(&self.worker)
        );
        for (i, entry) in self.entries.iter().enumerate() {
            entry.render(i + 1, &mut out);
        }
        let untrusted: Vec<String> = self.read.iter().filter(|s| !s.is_trusted()).map(source).collect();
        if !untrusted.is_empty() {
            let _ = writeln!(out, "\n  This run has been shown: {}", untrusted.join(", "));
        }
        out
    }
}

impl CardEntry {
    fn render(&self, number: usize, out: &mut String) {
        let _ = writeln!(
            out,
            "\n[{number}] {} {}.{}  →  {}    {}",
            self.effect.as_words(),
            visible_line(&self.slot),
            visible_line(&self.method),
            visible_line(&self.target),
            self.step
        );
        for (name, text) in &self.arguments {
            let shown = text.visible();
            if shown.contains('\n') {
                let _ = writeln!(out, "    {name} ({} bytes):", text.raw().len());
                for line in shown.lines() {
                    let _ = writeln!(out, "      │ {line}");
                }
            } else {
                let _ = writeln!(out, "    {name}: {shown}");
            }
        }
        if let Some(replaced) = &self.replaces {
            let _ = writeln!(out, "    ! replaces what is there now ({})", visible_line(replaced));
        }
        for trace in &self.traces {
            let _ = writeln!(
                out,
                "    ! {} “{}” came from {} ({})",
                visible_line(&trace.argument),
                visible_line(&trace.text),
                visible_line(&trace.document),
                visible_line(&trace.how)
            );
        }
        for finding in &self.findings {
            let _ =
                writeln!(out, "    · {} [{}]", visible_line(&finding.message), visible_line(&finding.rule));
        }
        match &self.answer {
            Some(Answer::Approved { for_run, .. }) => {
                let _ = writeln!(out, "    ✓ approved{}", if *for_run { " for this run" } else { "" });
            }
            Some(Answer::Denied { reason, .. }) => {
                let _ = writeln!(out, "    ✗ denied: {}", reason.visible_line());
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
    }
}
