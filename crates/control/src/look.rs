//! What agents look at.

use kernel::{FormulaId, GrantNumber, MessageNumber, NamePath};
use serde::{Deserialize, Serialize};

use super::narrow::Narrowing;

/// What to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum Look {
    /// The names in a directory; the agent's own without a path.
    Names {
        /// Which.
        path: Option<NamePath>,
    },
    /// A page of the names in a directory, as it is looked through.
    NamePage {
        /// Which; the agent's own without one.
        path: Option<NamePath>,
        /// Only names with this in them, whatever the case of its letters.
        #[serde(default)]
        find: String,
        /// How many come before.
        #[serde(default)]
        from: usize,
        /// How many at most. An answer has a limit of its own.
        limit: usize,
    },
    /// What a name stands for.
    Thing {
        /// The name.
        path: NamePath,
    },
    /// Which formula has a name, whether it can be used or not.
    Identifier {
        /// The name.
        path: NamePath,
    },
    /// Grants that the agent gave.
    Grants,
    /// One message in full.
    Letter {
        /// Which.
        number: MessageNumber,
    },
    /// What a promise has come to; with `wait`, as soon as it has come to anything.
    Promise {
        /// Which.
        promise: FormulaId,
        /// Whether to wait for it.
        wait: bool,
    },
    /// Where something comes from that has a name.
    Origin {
        /// A name or an identifier.
        thing: String,
    },
    /// The journal of endowed code: a page of it.
    Code {
        /// The name or the identifier of its result, or of an object that it has made.
        thing: String,
        /// The number of the first entry that is wanted.
        #[serde(default)]
        from: u64,
    },
    /// What the agent has names for that can be picked where a capability is asked for.
    Picks,
    /// What can be taken away of something that the agent has a name for, and what would be left of it.
    Narrowable {
        /// The name.
        path: NamePath,
        /// What is taken away; without it nothing is said of what would be left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<Narrowing>>,
    },
    /// What a message proposes, with what it would do with what it is given.
    Proposed {
        /// The message.
        number: MessageNumber,
    },
    /// What came of a definition each time that it was endowed.
    Endowed {
        /// The message.
        number: MessageNumber,
    },
    /// Why something is kept.
    Kept {
        /// A name or an identifier.
        thing: String,
    },
    /// What the agent calls these, and what they are; of what is gone, nothing is said.
    Called {
        /// Which.
        ids: Vec<FormulaId>,
    },
    /// A formula with what it refers to, and what refers to it.
    Formula {
        /// Which.
        id: FormulaId,
    },
    /// A grant that the agent gave, with what it was used for and what falls with it.
    Grant {
        /// Which.
        grant: GrantNumber,
    },
    /// What the agent's names, grants and open runs lead to.
    Graph {
        /// Where to begin, instead of the agent itself: a run (`r17`), a name, or an identifier.
        #[serde(default)]
        focus: Option<String>,
    },
}
