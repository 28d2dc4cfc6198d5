//! The daemon: owns the store, drives runs, answers on `control.sock`.

mod additions;
pub mod agents;
mod as_it_is;
pub mod audit;
mod card;
mod changes;
mod desk;
pub mod documents;
mod endo;
mod endow_git;
mod endow_mcp;
mod endow_paths;
mod endow_programs;
pub mod engine;
mod export;
pub mod forget;
pub mod gardener;
pub mod handed;
pub mod journal_of_code;
pub mod keys;
pub mod listing;
pub mod log;
pub mod look;
pub mod main_loop;
pub mod modules;
mod mounts;
mod nested;
pub mod news;
pub mod notify;
mod origin;
pub mod own;
pub mod passes;
pub mod policies;
mod private;
pub mod request;
mod requested;
mod retry;
pub mod scratch;
pub mod secrets;
pub mod serve;
mod stage;
pub mod start_run;
pub mod stats;
mod stream;
pub mod sweeper;
pub mod timekeeper;
pub mod tree;
mod undo;
pub mod vats;
pub mod vault;
pub mod why;
pub mod world;

/// The stack of every thread that reads what comes from outside, in bytes: values and patterns may nest as deep as
/// their limits allow, also in a build without optimisation. Only what is used is ever taken.
pub const STACK: usize = 16 << 20;
