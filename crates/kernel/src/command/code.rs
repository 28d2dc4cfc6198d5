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
#[serde(tag = "code", rename_all = "snake_case")]
pub enum CodeAct {
    /// Its journal grows. Refused unless it has `from` entries.
    Record {
        /// The code.
        eval: FormulaId,
        /// How many entries there are.
        from: u64,
        /// The new entries.
        entries: Vec<CodeEntry>,
    },
    /// One of its sends has come to a command: that is applied, and its answer kept, in one transaction.
    Do {
        /// The code.
        eval: FormulaId,
        /// The number of the send. `None` for a command that follows from another party's message to one of its
        /// objects; such a command is never repeated.
        send: Option<u32>,
        /// The actor: an agent whose powers the code has, or the code itself, with its endowments.
        actor: FormulaId,
        /// The meaning of the reply.
        then: Then,
        /// As whom, and through which grants, the answer is reached.
        reach: Box<Reference>,
        /// The command.
        act: Box<Act>,
    },
    /// Objects that it has made get an identity, so that others can hold them.
    Export {
        /// The code.
        eval: FormulaId,
        /// Which.
        objects: Vec<ExportedObject>,
    },
    /// Promises that it has made get an identity: they are promises of the store's until it settles them.
    Promise {
        /// The code.
        eval: FormulaId,
        /// Which.
        promises: Vec<CodePromise>,
    },
    /// Some of those are settled, with data, or objects and promises that code has made. With anything else they are
    /// rejected.
    Settle {
        /// The code.
        eval: FormulaId,
        /// The promises, each with its outcome.
        settled: Vec<(CodePromise, RunOutcome)>,
    },
    /// Something that somebody holds goes to code, or from code to somebody: the recipient gets a grant of its own. The
    /// same handed over again is the same grant, and stays revoked if it was.
    Give {
        /// An agent, or code.
        giver: FormulaId,
        /// The formula that the giver passes on.
        id: FormulaId,
        /// The grants through which it was found.
        through: Vec<FormulaId>,
        /// An agent, or code.
        to: FormulaId,
        /// One word that names it for the recipient.
        name: String,
    },
    /// It ends itself.
    Cancel {
        /// The code.
        eval: FormulaId,
        /// Why.
        reason: Untrusted,
    },
    /// The user agrees that an engine other than the one in which the code began makes its objects again.
    Remake {
        /// The code.
        eval: FormulaId,
        /// The engine.
        engine: String,
    },
    /// It keeps a value under a name of its own, or no longer.
    Keep {
        /// The code.
        eval: FormulaId,
        /// The name.
        name: String,
        /// The value: data.
        value: Option<Value>,
    },
    /// Code and clients have called something through grants, outside of runs.
    Use {
        /// Each grant, and its usage since the last report.
        used: BTreeMap<FormulaId, GrantUsage>,
    },
}

/// An object that code has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedObject {
    /// The number by which the code's heap knows it.
    pub number: u32,
    /// The name of its interface, as the object states it.
    pub interface: String,
    /// The guard that its maker gave it, if any: the arguments and results of its methods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Value>,
}
