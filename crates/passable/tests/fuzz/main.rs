//! Fuzzing of every decoder and parser, with a fuzzer that runs on the stable toolchain.
//!
//! A target runs for half a second in `cargo test`, and for 20 seconds in `cargo xtask test`. `cargo xtask fuzz
//! SECONDS` sets another time. Each target begins with its corpus in `__fuzz__`: inputs that once crashed, and inputs
//! that reached new code.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

/// A target: its name, the seeds of its inputs, and the check that each of them must pass.
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
