//! The queries of agents.

use kernel::{FormulaId, GrantNumber, MessageNumber, NamePath};
use serde::{Deserialize, Serialize};

use super::narrow::Narrowing;

/// A query of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum Look {
    /// The names in a directory. Without a path, they are the agent's own names.
    Names {
        /// The directory.
        path: Option<NamePath>,
    },
    /// A page of the names in a directory.
    NamePage {
        /// The directory. Without a path, the agent's own names are meant.
        path: Option<NamePath>,
        /// A text that the names must contain, in upper or lower case.
        #[serde(default)]
        find: String,
        /// The number of names before the page.
        #[serde(default)]
        from: usize,
        /// The maximum number of names on the page. An answer also has a limit of its own.
        limit: usize,
    },
    /// The object of a name.
    Object {
        /// The name.
        path: NamePath,
    },
    /// The formula that has a name, whether or not it can be used.
    Identifier {
        /// The name.
        path: NamePath,
    },
    /// The grants that the agent gave.
    Grants,
    /// One message in full.
    Message {
        /// The number of the message.
        number: MessageNumber,
    },
    /// The state of a promise. With `wait`, the answer comes as soon as the promise is settled.
    Promise {
        /// The promise.
        promise: FormulaId,
        /// Whether to wait until the promise is settled.
        wait: bool,
    },
    /// The origin of a named object.
    Origin {
        /// A name or an identifier.
        thing: String,
    },
    /// A page of the journal of endowed code.
    Code {
        /// The name or the identifier of the code's result, or of an object that the code has made.
        thing: String,
        /// The number of the first requested entry.
        #[serde(default)]
        from: u64,
    },
    /// The agent's named objects that can be picked as a capability.
    Picks,
    /// The possible restrictions of one of the agent's named objects, and the result of applying some of them.
    Narrowable {
        /// The name.
        path: NamePath,
        /// The restrictions to apply. Without them, the answer does not describe a result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<Narrowing>>,
    },
    /// The program that a message proposes, with its use of the objects that it would receive.
    Proposed {
        /// The message.
        number: MessageNumber,
    },
    /// The outcomes of a definition, one for each endowment.
    Endowed {
        /// The message.
        number: MessageNumber,
    },
    /// The reasons why an object is kept in the store.
    RetentionPaths {
        /// A name or an identifier.
        thing: String,
    },
    /// The agent's names for formulas, and their descriptions. Formulas that no longer exist are left out.
    FormulaSummaries {
        /// The formulas.
        ids: Vec<FormulaId>,
    },
    /// A formula with its references, and with the formulas that refer to it.
    Formula {
        /// The formula.
        id: FormulaId,
    },
    /// A grant that the agent gave, with its usage and with the grants that end with it.
    Grant {
        /// The number of the grant.
        grant: GrantNumber,
    },
    /// The formulas that can be reached from the agent's names, grants and open runs.
    Graph {
        /// The starting point instead of the agent itself: a run (`r17`), a name, or an identifier.
        #[serde(default)]
        focus: Option<String>,
    },
}
