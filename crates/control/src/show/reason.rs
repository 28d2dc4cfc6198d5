//! The explanation of an object: the chain from the object back to its causes.

use kernel::id::BadId;
use passable::{Quoted, Quoting, Untrusted, visible_line};
use serde::{Deserialize, Serialize};

/// One link of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// The subject: a file, a step, a message, a grant, a command.
    pub what: String,
    /// The statement about the subject.
    pub says: Untrusted,
    /// The quoted parts of the statement. `None` means that they are unknown, so that all of it may be quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Vec<Quoted>>,
}

impl Reason {
    /// Returns a link with a subject and a statement about it.
    pub fn new(what: impl Into<String>, says: impl Into<Quoting>) -> Reason {
        let (says, quoted) = says.into().into_text();
        Reason { what: what.into(), says: Untrusted::new(says), quoted: Some(quoted) }
    }

    /// Returns the statement, with its quoted parts marked.
    pub fn quoting(&self) -> Quoting {
        Quoting::from_stored(self.says.raw(), self.quoted.as_deref())
    }

    /// Returns the same link with more text added to the statement.
    #[must_use]
    pub fn and(self, more: impl Into<Quoting>) -> Reason {
        let says = self.quoting().then(&more.into());
        Reason::new(self.what, says)
    }

    /// Returns the same link without the information which parts are quoted, for a reader that does not mark quoted
    /// parts.
    #[must_use]
    pub fn plain(self) -> Reason {
        Reason { quoted: None, ..self }
    }
}

/// The maximum number of lines of a chain. A longer chain is cut in its middle, since users look for the object and
/// its first cause.
const MAX_LINES: usize = 10;

/// Returns the chain as text. Each link is below the one that it explains.
pub fn render(reasons: &[Reason]) -> String {
    if reasons.len() > MAX_LINES {
        let (first, rest) = reasons.split_at(MAX_LINES - 4);
        let (between, last) = rest.split_at(rest.len() - 3);
        let more = format!("{} more links (`--json` has all)", between.len());
        let more = Reason::new("…", Quoting::ours(more));
        return render(&[first, &[more], last].concat());
    }
    let width = reasons.iter().map(|r| r.what.chars().count()).max().unwrap_or(0).min(28);
    reasons
        .iter()
        .enumerate()
        .map(|(i, r)| {
            let arrow = if i == 0 { "  " } else { "← " };
            format!("{arrow}{:width$}  {}\n", visible_line(&r.what), r.says.visible_line())
        })
        .collect()
}

/// The object that a user asks about, recognized by the form of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyTarget {
    /// A run: `r17`.
    Run(kernel::RunNumber),
    /// A step: `r17#9`.
    Step(kernel::StepRef),
    /// A message: `7`.
    Message(kernel::MessageNumber),
    /// Anything else: a file, or a name.
    Name(String),
}

impl std::str::FromStr for WhyTarget {
    type Err = BadId;

    fn from_str(text: &str) -> Result<WhyTarget, BadId> {
        Ok(if let Ok(step) = text.parse() {
            WhyTarget::Step(step)
        } else if let Ok(run) = text.parse() {
            WhyTarget::Run(run)
        } else if let Ok(message) = text.parse() {
            WhyTarget::Message(message)
        } else {
            WhyTarget::Name(text.to_owned())
        })
    }
}
