//! Events of endowed code. Only the daemon reports them.

use std::collections::BTreeMap;

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use super::Act;
use crate::code::{CodeEntry, CodePromise, Reference};
use crate::grant_usage::GrantUsage;
use crate::id::FormulaId;
use crate::model::reply::Then;
use crate::proposal::Value;
use crate::run::RunOutcome;

/// Something that happens to endowed code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum CodeAct {
    /// Adds entries to the code's journal. Refused unless the journal has `from` entries.
    Record {
        /// The code.
        eval: FormulaId,
        /// The number of entries in the journal so far.
        from: u64,
        /// The new entries.
        entries: Vec<CodeEntry>,
    },
    /// Applies the command that a send of the code leads to, and keeps the answer, in one transaction.
    Do {
        /// The code.
        eval: FormulaId,
        /// The number of the send. `None` for a command that follows from another party's message to one of the
        /// code's objects. Such a command is never repeated.
        send: Option<u32>,
        /// The actor: an agent whose powers the code has, or the code itself, with its endowments.
        actor: FormulaId,
        /// The meaning of the reply.
        then: Then,
        /// The party and the grants through which the answer is reached.
        reach: Box<Reference>,
        /// The command.
        act: Box<Act>,
    },
    /// Gives an identity to objects that the code has made, so that others can hold them.
    Export {
        /// The code.
        eval: FormulaId,
        /// The objects.
        objects: Vec<ExportedObject>,
    },
    /// Gives an identity to promises that the code has made. They are promises of the store until the code settles
    /// them.
    Promise {
        /// The code.
        eval: FormulaId,
        /// The promises.
        promises: Vec<CodePromise>,
    },
    /// Settles some of those promises. The outcome must be data, or objects and promises that code has made. With any
    /// other outcome, the promise is rejected.
    Settle {
        /// The code.
        eval: FormulaId,
        /// The promises, each with its outcome.
        settled: Vec<(CodePromise, RunOutcome)>,
    },
    /// Gives a capability to code, or from code to an agent or other code. The recipient gets a grant of its own. A
    /// repeated gift leads to the same grant, which stays revoked if it was.
    Give {
        /// An agent, or code.
        giver: FormulaId,
        /// The formula that the giver passes on.
        id: FormulaId,
        /// The grants through which the giver found the formula.
        through: Vec<FormulaId>,
        /// An agent, or code.
        to: FormulaId,
        /// The recipient's name for the gift, one word.
        name: String,
    },
    /// Ends the code, at its own request.
    Cancel {
        /// The code.
        eval: FormulaId,
        /// The reason.
        reason: Untrusted,
    },
    /// Records that the user lets another engine make the code's objects again. The code began in a different engine.
    Remake {
        /// The code.
        eval: FormulaId,
        /// The engine.
        engine: String,
    },
    /// Keeps a value under a name of the code's own, or removes the name.
    Keep {
        /// The code.
        eval: FormulaId,
        /// The name.
        name: String,
        /// The value, which must be data. `None` removes the name.
        value: Option<Value>,
    },
    /// Records the use of grants by code and clients, outside of runs.
    Use {
        /// Each grant, and its usage since the last report.
        used: BTreeMap<FormulaId, GrantUsage>,
    },
}

/// An object that code has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExportedObject {
    /// The number by which the code's heap knows the object.
    pub number: u32,
    /// The name of the object's interface, as the object states it.
    pub interface: String,
    /// The guard that the object's maker gave it, if any: the arguments and results of its methods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Value>,
}
