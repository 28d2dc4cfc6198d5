//! Our values and patterns, judged by the published implementations of the formats that they are translated to.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "these are tests"
)]

#[path = "../../../passable/tests/it/arbitrary.rs"]
#[allow(dead_code, reason = "the tests of passable use the rest")]
mod arbitrary;
mod laws;
mod protocol;
mod schemas;
