//! Tests that compare our crates with implementations by others. The crate contains nothing else.
//!
//! These tests have a crate of their own because the other implementations depend on two hundred packages. The tests
//! of the lowest crates must not wait until those are built.
#![forbid(unsafe_code)]
