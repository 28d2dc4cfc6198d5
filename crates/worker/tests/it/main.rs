//! Workers from outside, in one binary because linking is slow.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests make files, take times and stop at the first surprise"
)]

mod definition;
