//! Vats from the outside: orders in, reports out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a host does, and says so by panicking when something is wrong"
)]

mod archives;
mod corpus;
mod differential;
mod eventual;
mod exos;
mod frames;
mod limits;
mod lockdown;
mod modules;
mod passing;
mod semantics;
mod source_maps;
mod test_host;
