//! Fuzzing of every decoder and parser, with a fuzzer that runs on the stable toolchain.
//!
//! A target runs for half a second in `cargo test`, for 20 seconds in `cargo xtask test`, and for as long as is asked
//! for in `cargo xtask fuzz SECONDS`. Each target begins with its corpus in `__fuzz__`: what once crashed, and what
//! reached code that nothing before it had reached.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

/// A target: its name, what its inputs are made from, and what must hold for each of them.
macro_rules! target {
    ($name:ident, $seeds:expr, $holds:expr) => {
        #[test]
        fn $name() {
            bolero::check!()
                .with_test_time(std::time::Duration::from_millis(500))
                .for_each(|input: &[u8]| $holds(&crate::input::text($seeds, input)));
        }
    };
}

mod codecs;
mod input;
mod patterns;
