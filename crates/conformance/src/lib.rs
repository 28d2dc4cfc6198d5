//! Tests that hold our crates against implementations by others, and nothing else.
//!
//! They stand in a crate of their own because those implementations bring two hundred packages with them. The tests
//! of the lowest crates must not wait for these.
#![forbid(unsafe_code)]
