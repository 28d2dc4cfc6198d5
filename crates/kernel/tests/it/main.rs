//! The state machine driven from outside, over a store that is a map.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod agent_journal;
mod agents;
mod approvals;
mod attacks;
mod batches;
mod cancel;
mod code;
mod confusables;
mod define;
mod doubt;
mod evidence;
mod facet;
mod families;
mod fingerprint;
mod fixture;
mod forget;
mod form;
mod grants;
mod mail;
mod mail_quota;
mod map_store;
mod message_directory;
mod modules;
mod names;
mod nested;
mod recorders;
mod relocation;
mod retention;
mod run_keys;
mod runs;
mod sub_hosts;
mod talking;
mod timers;
mod transcript;
mod vats;
mod who_may;
mod worker_creation;
