//! CapTP without a network: frames, sessions by the message, and two sessions with each other.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod frames;
mod pair;
mod talk;
