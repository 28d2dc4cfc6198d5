//! Tests of the model crate from outside. All of them in one binary, because linking is what takes time.
//!
//! Some talk to other people's programs, which have to be installed once (`cargo xtask test` does it):
//!
//! ```text
//! npm install --prefix target/test-tools --no-save --no-audit --no-fund @copilotkit/aimock@1.43.0
//! python3 -m pip install --target target/test-tools/python --no-deps --only-binary :all: xllamacpp==2026.10.11549
//! ```
//!
//! They are looked for in the directory that `ALMONER_TEST_TOOLS` names, else in `target/test-tools` of the
//! workspace. A test whose tool is missing fails and says so.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests start programs, read clocks, write scratch files and fail where something is wrong"
)]

mod compat;
mod detect;
mod emulator;
mod llama;
#[cfg(feature = "local")]
mod local;
mod pull;
mod server;
mod tiny;
mod tools;
