//! CapTP without a network: frames, sessions by the message, two sessions with each other, and hostile input.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod frames;
mod fuzz;
mod pair;
mod talk;
