//! Reasons: the chain from a thing back to what caused it.

use kernel::id::BadId;
use passable::{Quoted, Quoting, Untrusted, visible_line};
use serde::{Deserialize, Serialize};

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// What it is about: a file, a step, a message, a grant, a command.
    pub what: String,
    /// What is said of it.
    pub says: Untrusted,
    /// What of that is quoted; all of it may be where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Vec<Quoted>>,
}

impl Reason {
    /// A link.
    pub fn new(what: impl Into<String>, says: impl Into<Quoting>) -> Reason {
        let (says, quoted) = says.into().into_text();
        Reason { what: what.into(), says: Untrusted::new(says), quoted: Some(quoted) }
    }

    /// What is said, with what it quotes apart.
    pub fn told(&self) -> Quoting {
        Quoting::kept(self.says.raw(), self.quoted.as_deref())
    }

    /// The same, saying something more.
    #[must_use]
    pub fn and(self, more: impl Into<Quoting>) -> Reason {
        let says = self.told().then(&more.into());
        Reason::new(self.what, says)
    }

    /// The same for a reader who does not set apart what is quoted.
    #[must_use]
    pub fn plain(self) -> Reason {
        Reason { quoted: None, ..self }
    }
}

/// The most lines of a chain. What is left out of a longer one stands in its middle: the thing itself and what it all
/// began with are what people look for.
const LINES: usize = 10;

/// The chain as text, each link under the one that it explains.
pub fn render(reasons: &[Reason]) -> String {
    if reasons.len() > LINES {
        let (first, rest) = reasons.split_at(LINES - 4);
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

/// What a person may ask about, by its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A run: `r17`.
    Run(kernel::RunNumber),
    /// A step: `r17#9`.
    Step(kernel::StepRef),
    /// A message: `7`.
    Message(kernel::MessageNumber),
    /// Anything else: a file, or a name.
    Name(String),
}

impl std::str::FromStr for Thing {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Thing, BadId> {
        Ok(if let Ok(step) = text.parse() {
            Thing::Step(step)
        } else if let Ok(run) = text.parse() {
            Thing::Run(run)
        } else if let Ok(message) = text.parse() {
            Thing::Message(message)
        } else {
            Thing::Name(text.to_owned())
        })
    }
}
