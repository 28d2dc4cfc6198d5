//! The queries of agents.

use kernel::{FormulaId, GrantNumber, MessageNumber, NamePath};
use serde::{Deserialize, Serialize};

use super::narrow::Narrowing;

/// A query of an agent.
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
        /// Only names that contain this text, in upper or lower case.
        #[serde(default)]
        find: String,
        /// How many come before.
        #[serde(default)]
        from: usize,
        /// How many at most. An answer has a limit of its own.
        limit: usize,
    },
    /// The object of a name.
    Object {
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
    Message {
        /// Which.
        number: MessageNumber,
    },
    /// The state of a promise; with `wait`, as soon as the promise is settled.
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
    /// The agent's named objects that can be picked for a capability.
    Picks,
    /// The restrictions that a named object of the agent's can take, and the rest that would be left of it.
    Narrowable {
        /// The name.
        path: NamePath,
        /// The restrictions; without them the answer does not describe the rest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<Narrowing>>,
    },
    /// The program that a message proposes, with its use of the objects that it would receive.
    Proposed {
        /// The message.
        number: MessageNumber,
    },
    /// The outcomes of a definition, one for each time that it was endowed.
    Endowed {
        /// The message.
        number: MessageNumber,
    },
    /// Why something is kept.
    RetentionPaths {
        /// A name or an identifier.
        thing: String,
    },
    /// The agent's names for these formulas, and their descriptions; formulas that are gone are left out.
    FormulaSummaries {
        /// Which.
        ids: Vec<FormulaId>,
    },
    /// A formula with its references, and with the formulas that refer to it.
    Formula {
        /// Which.
        id: FormulaId,
    },
    /// A grant that the agent gave, with its usage and with the grants that end with it.
    Grant {
        /// Which.
        grant: GrantNumber,
    },
    /// The formulas that the agent's names, grants and open runs lead to.
    Graph {
        /// Where to begin, instead of the agent itself: a run (`r17`), a name, or an identifier.
        #[serde(default)]
        focus: Option<String>,
    },
}
