//! Tests that hold our crates against what others have written, and nothing else.
//!
//! They stand in a crate of their own because their judges bring two hundred packages with them, for which the tests
//! of the lowest crates must not wait.
#![forbid(unsafe_code)]
