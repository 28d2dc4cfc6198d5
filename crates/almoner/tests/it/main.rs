//! The real binary, driven as a user drives it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod agents;
mod approvals;
mod attacks;
mod audit;
mod backup;
mod bad_input;
mod between;
mod between_hostile;
mod bytes;
mod cards_of_code;
mod closing;
mod code_counted;
mod crash;
mod crash_again;
mod crash_asked;
mod creating;
mod directories;
mod doubt;
mod endo;
mod eval;
mod examples;
mod findings;
mod gateway;
mod handed;
mod holding;
mod holes;
mod home;
mod hosts;
mod journey;
mod kill_sweep;
mod load;
mod mcp;
mod mcp_web;
#[cfg(feature = "local")]
mod model_host;
mod modules;
mod origin;
mod policy;
mod programs;
mod providers;
mod races;
mod sends;
mod staging;
mod starting;
mod surfaces;
mod telling;
mod terminal;
#[cfg(feature = "local")]
#[path = "../../../model/tests/it/tiny.rs"]
mod tiny;
mod undo;
mod vault;
mod wire;
mod worker_files;
