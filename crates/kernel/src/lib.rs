//! The capability kernel: a pure state machine over formulas, names, mail, grants and runs.
//!
//! Every durable change of the system is one [`command::Command`]. [`apply`] applies it in one transaction, and the
//! result depends only on the state, the environment and the command. Work that must happen in the world is a row of
//! the outbox. The same transaction writes the row, and only the command that records the outcome removes it. Every
//! observable change appends an event.
//!
//! The kernel has no I/O, no clock, no randomness and no threads. Module [`txn`] gives access to the state, and
//! module [`env`] gives the rest.
#![forbid(unsafe_code)]

#[macro_use]
pub mod env;

pub mod collect;
pub mod command;
mod commands;
pub mod facet;
mod model;
#[cfg(feature = "planted")]
pub mod planted;
pub mod query;
#[cfg(feature = "schema")]
mod schema;
mod state;
pub mod table;
pub mod time;
pub mod txn;

pub use commands::{apply, genesis, relocate, reopen};
pub use model::guard::{Interface, Method, Param, Pattern};
pub use model::id::{BlobHash, FormulaId, GrantNumber, HostRun, MessageNumber, Number, RunNumber, StepRef};
pub use model::name::NamePath;
pub use model::proposal::Value;
pub use model::{
    blob_list, budget, event, formula, grant, id, message, modules, name, outcome, proposal, provenance,
    relocation, run, run_key, slot, started_effect,
};
pub use query::{agent_journal, audit, code, confusables, grant_usage, name_lookup, partial_rows, timer};
