//! The daemon. It owns the store, drives runs, and answers requests on `control.sock`.
//!
//! The modules form layers. Each may use those below it in this list, and none above:
//!
//! - [`api`] answers requests;
//! - [`maintenance`] does work that no client waits for;
//! - [`home_backup`] copies a whole home to one file, and makes a home of it again;
//! - [`captp`] serves Endo's clients;
//! - [`code`] runs guest code;
//! - [`objects`] holds the objects of clients and of code;
//! - [`runs`] starts and drives runs;
//! - [`files`] reads and changes directories for guests;
//! - [`queries`] reads the store;
//! - [`state`] holds the store;
//! - [`processes`] starts the confined processes.
#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "few modules are public, and `pub` says what a module offers to the others"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the daemon is where clocks, files, processes and the environment are"
)]

mod api;
mod captp;
mod code;
mod files;
pub mod home_backup;
mod maintenance;
mod objects;
pub mod processes;
mod queries;
mod runs;
mod state;
#[cfg(test)]
mod testing;

pub use api::examine::examine_without_daemon;
pub use api::main_loop::{DaemonOptions, run};
pub use state::confinement::note as confinement_note;
pub use state::policies::row as policy_row;
