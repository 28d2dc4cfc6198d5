//! The capability kernel: a pure state machine over formulas, names, mail, grants and runs.
//!
//! Every durable change of the system is one [`command::Command`]. [`apply`] applies it in one transaction,
//! deterministic in (state, env, command). Work that must happen in the world is a row of the outbox. The same
//! transaction writes the row, and only the command that records the outcome removes it. Every observable change
//! appends an event.
//!
//! No I/O, no clock, no randomness, no threads: see [`txn`] for how state is reached and [`env`] for the rest.
#![forbid(unsafe_code)]

#[macro_use]
pub mod env;

pub mod agent_journal;
pub mod audit;
pub mod budget;
pub mod code;
pub mod collect;
pub mod command;
mod commands;
pub mod confusables;
mod entry;
pub mod event;
pub mod facet;
pub mod formula;
pub mod grant;
pub mod grant_usage;
pub mod id;
mod line;
pub mod message;
pub mod modules;
pub mod name;
pub mod name_lookup;
pub mod outcome;
pub mod partial_rows;
#[cfg(feature = "planted")]
pub mod planted;
pub mod proposal;
pub mod provenance;
pub mod query;
pub mod run;
pub mod slot;
pub mod started_effect;
mod state;
pub mod table;
pub mod time;
pub mod timer;
pub mod txn;

pub use commands::{apply, genesis, reopen};
pub use id::{BlobHash, FormulaId, GrantNumber, HostRun, MessageNumber, Number, RunNumber, StepRef};
pub use name::NamePath;
pub use proposal::Value;

/// A pattern of durable values.
pub type Pattern = passable::Pattern<FormulaId>;
/// An interface whose arguments are durable values.
pub type Interface = passable::Interface<FormulaId>;
/// A method whose arguments are durable values.
pub type Method = passable::Method<FormulaId>;
/// A parameter of a [`Method`].
pub type Param = passable::Param<FormulaId>;
