//! The state machine driven from outside, over a store that is a map.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod agents;
mod alike;
mod approvals;
mod attacks;
mod cancel;
mod code;
mod define;
mod doubt;
mod evidence;
mod facet;
mod fingerprint;
mod forget;
mod form;
mod grants;
mod hosts;
mod mail;
mod making;
mod map_store;
mod message_directory;
mod modules;
mod names;
mod nested;
mod retention;
mod runs;
mod standing;
mod talking;
mod timers;
mod transcript;
mod vats;
mod who_may;
mod world;
