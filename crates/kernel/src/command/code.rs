//! What happens to endowed code. All of it is the daemon's to say.

use std::collections::BTreeMap;

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use super::Act;
use crate::code::{CodePromise, Entry, Reference};
use crate::facet::Then;
use crate::id::FormulaId;
use crate::proposal::Value;
use crate::run::RunOutcome;
use crate::used::Used;

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
        /// What follows.
        entries: Vec<Entry>,
    },
    /// One of its sends has come to a command: that is applied, and its answer kept, in one transaction.
    Do {
        /// The code.
        eval: FormulaId,
        /// Which of its sends; `None` for what follows from a message that others sent to one of its objects: that is
        /// never repeated.
        send: Option<u32>,
        /// Who acts: an agent whose powers it has, or the code itself, by what it was endowed with.
        actor: FormulaId,
        /// What the reply means.
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
        objects: Vec<Exported>,
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
        /// Which, and with what.
        settled: Vec<(CodePromise, RunOutcome)>,
    },
    /// Something that somebody holds goes to code, or from code to somebody: the recipient gets a grant of its own. The
    /// same handed over again is the same grant, and stays revoked if it was.
    Hand {
        /// An agent, or code.
        giver: FormulaId,
        /// What it hands over.
        id: FormulaId,
        /// The grants through which it was found.
        through: Vec<FormulaId>,
        /// An agent, or code.
        to: FormulaId,
        /// What it is to whoever gets it, in one word.
        name: String,
    },
    /// It ends itself.
    Cancel {
        /// The code.
        eval: FormulaId,
        /// Why.
        reason: Untrusted,
    },
    /// Somebody agrees that what it has made is made again by an engine other than the one in which it began.
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
        /// Each grant, and what it was used for since this was said last.
        used: BTreeMap<FormulaId, Used>,
    },
}

/// An object that code has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    /// The number by which the code's heap knows it.
    pub number: u32,
    /// What it says its interface is called.
    pub interface: String,
    /// Its guard, if it has one that its maker gave it: what its methods take and give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Value>,
}
