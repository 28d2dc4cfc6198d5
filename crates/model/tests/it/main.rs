//! Tests of the model crate from outside. All of them are in one binary, because linking takes the most time.
//!
//! Some talk to other people's programs, which `cargo xtask tools` installs; without them these tests fail.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests start programs, read clocks, write scratch files and fail where something is wrong"
)]

mod detect;
mod emulator;
mod formats;
mod llama;
#[cfg(feature = "local")]
mod local;
mod pull;
mod quirks;
mod recordings;
mod reports;
mod served;
mod server;
mod table;
mod tiny;
mod tools;
