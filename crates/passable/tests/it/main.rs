//! Integration tests, in one binary because linking is slow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "these are tests"
)]

mod arbitrary;
mod differential;
mod form;
mod hostile;
mod interface;
mod laws;
mod projections;
mod syntax;
mod typed;
mod vectors;
