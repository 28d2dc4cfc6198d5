//! The real binary, driven as a user drives it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod agents;
mod alarms;
mod approval_history;
mod approvals;
mod ask_directory;
mod attacks;
mod audit;
mod audit_follow;
mod backup;
mod bad_input;
mod batch;
mod between;
mod between_hostile;
mod budgets;
mod bytes;
mod cards_of_code;
mod cases;
mod chat;
mod closing;
mod code_counted;
mod confined_documents;
mod confined_processes;
mod crash;
mod crash_again;
mod crash_asked;
mod crash_writes;
mod creating;
mod damaged_store;
mod directories;
mod doubt;
mod embedding;
mod endo;
mod eval;
mod every_step;
mod examples;
mod findings;
mod foreign_cases;
mod foreign_text;
mod gateway;
mod git;
mod givers;
mod granted_directory;
mod guides;
mod handovers;
mod holding;
mod holes;
mod housekeeping;
mod hunks;
mod inspecting;
mod integers;
mod journey;
mod kept_bytes;
mod kill_sweep;
mod kinds;
mod load;
mod mail_quota;
mod mailing;
mod managed;
mod mcp;
mod mcp_import;
mod mcp_protocol;
mod mcp_web;
mod media_types;
#[cfg(feature = "local")]
mod model_host;
mod model_keys;
mod model_limits;
mod model_quirks;
mod model_slots;
mod modules;
mod moving_home;
mod narrowing;
mod nested;
mod network;
mod newcomer;
mod oauth;
mod origin;
mod places;
mod policy;
mod ports;
mod private;
mod programs;
mod protected_files;
mod protocol;
mod providers;
mod python_client;
mod questions;
mod races;
mod rate_limits;
mod rates;
mod redo;
mod refusals;
mod run_keys;
mod saving;
mod secrets_of_programs;
mod sends;
mod service;
mod shared_directories;
mod slow_servers;
mod spilling;
mod staged_programs;
mod staging;
mod starting;
mod sub_hosts;
mod telling;
mod terminal;
mod test_home;
#[cfg(feature = "local")]
#[path = "../../../model/tests/it/tiny.rs"]
mod tiny;
mod tracing;
mod trust;
mod unconfined;
mod undo;
mod upgrades;

mod vault;
mod waiting;
mod web;
mod wire;
mod worker_files;
