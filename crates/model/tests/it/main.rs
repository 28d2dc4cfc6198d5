//! Tests of the model crate from outside. All of them in one binary, because linking is what takes time.
//!
//! Some talk to other people's programs, which `cargo xtask test` installs in the directory that it names in
//! `ALMONER_TEST_TOOLS`. Without that variable these tests are skipped. By hand:
//!
//! ```text
//! export ALMONER_TEST_TOOLS=$PWD/target/test-tools
//! npm install --prefix $ALMONER_TEST_TOOLS --no-save @copilotkit/aimock@1.43.0
//! python3 -m venv $ALMONER_TEST_TOOLS/venv
//! $ALMONER_TEST_TOOLS/venv/bin/pip install xllamacpp==2026.10.11549
//! ```

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
