//! The count of earlier approvals of the same method, and the suggested rule that would end the questions.

use passable::visible_line;
use serde::{Deserialize, Serialize};

use super::lines::{self, Marks};

/// The number of times that a person was asked about a method of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalCount {
    /// The slot, as the worker that asks now names it.
    pub slot: String,
    /// The method.
    pub method: String,
    /// The target, in the host's words.
    pub target: String,
    /// The name of the worker that asks.
    pub worker: String,
    /// The number of earlier questions, by this worker or by a run of this family.
    pub times: u64,
    /// The number of times that the answer was yes.
    pub yes: u64,
    /// The number of times that the answer was no.
    pub no: u64,
    /// The time of the first question, in milliseconds since 1970.
    pub since_ms: i64,
    /// The suggested rule that would end the questions.
    pub instead: RuleSuggestion,
}

/// A rule that would end the questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "instead", rename_all = "snake_case")]
pub enum RuleSuggestion {
    /// A rule for the option `--allow` of the next run.
    Allow {
        /// The rule as it is written, such as `out.append`.
        rule: String,
    },
    /// A policy for the user's own policy file.
    Permit {
        /// The text of the policy.
        policy: String,
    },
    /// No suggestion.
    Nothing {
        /// The reason.
        why: String,
    },
}

impl ApprovalCount {
    /// Returns the counts in one sentence, which is safe to show.
    pub fn in_words(&self) -> String {
        let times = |count: u64| match count {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            _ => format!("{count} times"),
        };
        let mut answers = Vec::new();
        if self.yes > 0 {
            answers.push(format!("you said yes {}", times(self.yes)));
        }
        if self.no > 0 {
            answers.push(format!("{} {}", if self.yes > 0 { "no" } else { "you said no" }, times(self.no)));
        }
        let open = self.times.saturating_sub(self.yes + self.no);
        if open > 0 {
            answers.push(format!("{} it got no answer", times(open)));
        }
        let since = kernel::time::iso(self.since_ms);
        let since = since.get(..16).unwrap_or(&since).replace('T', " ");
        format!(
            "`{}` or a run of this family has asked you about `{}.{}` on {} {} before, since {since} UTC: {}.",
            visible_line(&self.worker),
            visible_line(&self.slot),
            visible_line(&self.method),
            visible_line(&self.target),
            times(self.times),
            answers.join(", ")
        )
    }

    /// Writes the count as lines of a card. Each line begins with a mark, since names in it may be foreign text.
    pub fn render(&self, columns: usize, out: &mut String) {
        let mut line = |mark: &str, text: &str| lines::write(out, Marks::each(mark), text, columns);
        line("    · ", &self.in_words());
        match &self.instead {
            RuleSuggestion::Allow { rule } => {
                line("    · ", &format!("{ALLOW_HEADING} `--allow {}`.", visible_line(rule)));
            }
            RuleSuggestion::Permit { policy } => {
                line("    · ", &format!("{PERMIT_HEADING}:"));
                line("      │ ", &visible_line(policy));
            }
            RuleSuggestion::Nothing { why } => {
                line("    · ", &format!("{NO_RULE_HEADING}: {}.", visible_line(why)))
            }
        }
    }
}

/// The text before a rule for `--allow`.
pub const ALLOW_HEADING: &str = "To be asked about it no more, begin the next run with";

/// The text before a suggested policy.
pub const PERMIT_HEADING: &str =
    "To be asked about it no more, write this into your policy file (`almoner policy` says where it is)";

/// The text before the reason why no rule is suggested.
pub const NO_RULE_HEADING: &str = "No rule is offered that would stop the asking";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_count_shows_answers_and_suggested_rule() {
        let asked = |times, yes, no, instead| {
            let text = |text: &str| text.to_owned();
            let (slot, method, target) = (text("out"), text("append"), text("directory /x"));
            let worker = text("papers");
            let asked = ApprovalCount { slot, method, target, worker, times, yes, no, since_ms: 0, instead };
            let mut out = String::new();
            asked.render(200, &mut out);
            out
        };
        let allow = || RuleSuggestion::Allow { rule: "out.append".to_owned() };
        let head = "    · `papers` or a run of this family has asked you about `out.append` on directory /x";
        for (times, yes, no, expected) in [
            (1, 1, 0, "once before, since 1970-01-01 00:00 UTC: you said yes once."),
            (14, 13, 1, "14 times before, since 1970-01-01 00:00 UTC: you said yes 13 times, no once."),
            (
                3,
                0,
                2,
                "3 times before, since 1970-01-01 00:00 UTC: you said no twice, once it got no answer.",
            ),
        ] {
            let shown = asked(times, yes, no, allow());
            let rule = "    · To be asked about it no more, begin the next run with `--allow out.append`.\n";
            assert_eq!(shown, format!("{head} {expected}\n{rule}"));
        }
        let shown = asked(1, 1, 0, RuleSuggestion::Nothing { why: "it sends".to_owned() });
        assert!(
            shown.ends_with("    · No rule is offered that would stop the asking: it sends.\n"),
            "{shown}"
        );
        let shown = asked(1, 1, 0, RuleSuggestion::Permit { policy: "permit (\nx);".to_owned() });
        assert!(shown.ends_with("is):\n      │ permit (\\u{A}x);\n"), "{shown}");
    }
}
