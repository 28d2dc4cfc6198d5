//! The request of a run that has reached a limit and asks for more.

use kernel::budget::Raise;
use kernel::message::Answer;
use kernel::run::Usage;
use passable::Untrusted;
use resource::units;
use serde::{Deserialize, Serialize};

use super::grant_heading::GRANT_HEADING;
use super::lines::{self, Marks};
use super::money;
use super::usage;

/// A run's request for more budget, as its card shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetRequest {
    /// The limit that was reached, as text.
    pub why: Untrusted,
    /// The usage so far of the run and the runs that it has started.
    pub used: Usage,
    /// The raise that is granted if the answer names no other.
    pub offer: Raise,
    /// The answer, if there is one.
    pub answer: Option<Answer>,
}

/// The amounts that a user can raise: the name of the command-line option, the title, and an example value.
pub const AMOUNTS: [(&str, &str, &str); 7] = [
    ("turns", "Turns", "5"),
    ("calls", "Calls", "50"),
    ("depth", "Levels of workers", "2"),
    ("tokens", "Tokens", "50k"),
    ("usd", "Dollars", "0.50"),
    ("wall", "Time at work", "10m"),
    ("kept", "Bytes kept", "64MiB"),
];

/// The question of a run whose calls the user keeps refusing.
pub const REFUSALS_QUESTION: &str = "This run keeps asking for what you refuse. Stop it, or let it go on.";

impl BudgetRequest {
    /// Returns what the run asks for, to follow its name.
    pub fn asks(&self) -> &'static str {
        if self.offer.is_after_refusals() { "keeps asking for what you refuse" } else { "asks for more" }
    }

    /// Returns what a yes and a no do.
    pub fn answers(&self) -> String {
        if self.offer.is_after_refusals() {
            return format!(
                "A yes lets it go on until {} more refusals of one kind; a no stops it.",
                self.offer.refusals
            );
        }
        let no =
            if self.offer.depth > 0 { "after a no the run goes on without it" } else { "a no ends the run" };
        format!("A yes adds {}; {no}.", describe_raise(self.offer))
    }

    /// Writes the request as lines of a card.
    pub fn render(&self, columns: usize, out: &mut String) {
        let mut line = |mark: &str, text: &str| lines::write(out, Marks::each(mark), text, columns);
        if self.offer.is_after_refusals() {
            line("  ", REFUSALS_QUESTION);
        }
        line("  ! ", &self.why.visible_line());
        line("  ", &format!("So far: {}.", usage::describe(&self.used)));
        if !self.offer.is_after_refusals() {
            line("  ", GRANT_HEADING);
        }
        line("  ", &self.answers());
        match &self.answer {
            Some(Answer::Denied { reason, .. }) if self.offer.is_after_refusals() => {
                line("  ✗ stopped: ", &reason.visible_line());
            }
            Some(Answer::Denied { reason, .. }) => line("  ✗ denied: ", &reason.visible_line()),
            Some(Answer::Withdrawn { .. }) => line("  ✗ ", "withdrawn"),
            Some(_) if self.offer.is_after_refusals() => line("  ✓ ", "it goes on"),
            Some(_) => line("  ✓ ", "given more"),
            None => {}
        }
    }
}

/// Returns a raise in words.
pub fn describe_raise(by: Raise) -> String {
    let counted = [
        (by.turns, "turn", "turns"),
        (by.calls, "call", "calls"),
        (by.depth, "level of workers", "levels of workers"),
        (by.tokens, "token", "tokens"),
        (by.refusals, "refusal", "refusals"),
        (by.cards, "question about calls", "questions about calls"),
    ];
    let mut all: Vec<String> = counted
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, several)| format!("{count} {}", if count == 1 { one } else { several }))
        .collect();
    if by.usd_micros > 0 {
        all.push(money::dollars(by.usd_micros));
    }
    if by.wall_ms > 0 {
        all.push(format!("{} s of work", by.wall_ms.div_ceil(1000)));
    }
    if by.kept > 0 {
        all.push(format!("{} kept", units::rounded_bytes(by.kept)));
    }
    all.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_card_shows_limit_usage_and_offer() {
        let offer = Raise { turns: 20, ..Raise::default() };
        let used =
            Usage { input_tokens: 900, output_tokens: 70, model_ms: 5, usd_micros: 1234, ..Usage::default() };
        let why = Untrusted::new("the limit of 20 turns is reached");
        let mut more = BudgetRequest { why, used, offer, answer: None };
        let shown = |more: &BudgetRequest| {
            let mut out = String::new();
            more.render(80, &mut out);
            out
        };
        insta::assert_snapshot!(shown(&more), @r"
          ! the limit of 20 turns is reached
          So far: 900 tokens in, 70 out, $0.0013.
          What you would grant:
          A yes adds 20 turns; a no ends the run.
        ");
        let refusals = Raise { refusals: 3, ..Raise::default() };
        let why = Untrusted::new("`outbox.send` was refused 3 times");
        let mut refused = BudgetRequest { why, offer: refusals, ..more.clone() };
        insta::assert_snapshot!(shown(&refused), @r"
          This run keeps asking for what you refuse. Stop it, or let it go on.
          ! `outbox.send` was refused 3 times
          So far: 900 tokens in, 70 out, $0.0013.
          A yes lets it go on until 3 more refusals of one kind; a no stops it.
        ");
        refused.answer = Some(Answer::Approved { for_run: false, at_ms: 0 });
        assert!(shown(&refused).ends_with("  ✓ it goes on\n"), "{}", shown(&refused));
        more.answer = Some(Answer::Denied { reason: Untrusted::new("x\n  ✓ given more"), at_ms: 0 });
        assert!(!shown(&more).lines().any(|line| line.starts_with("  ✓")), "{}", shown(&more));
    }

    #[test]
    fn raise_description_lists_every_amount() {
        let all = Raise {
            turns: 1,
            calls: 7,
            depth: 8,
            tokens: 2,
            usd_micros: 3,
            wall_ms: 4500,
            refusals: 3,
            cards: 1,
            kept: 3 << 19,
        };
        assert_eq!(
            describe_raise(all),
            "1 turn and 7 calls and 8 levels of workers and 2 tokens and 3 refusals and 1 question about calls and \
             $0.0001 and 5 s of work and 1.5 MiB kept"
        );
    }
}
