//! Tests of the calls that the gates find and let pass, measured on files of examples.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a user does, and says so by panicking when something is wrong"
)]

mod key_layouts;
mod lists;
mod secrets;

/// Returns the folder of the public lists and packages, which `cargo xtask tools` installs.
fn tools() -> std::path::PathBuf {
    let beside = || {
        let mut path = std::env::current_exe().unwrap();
        while path.file_name().is_some_and(|name| name != "debug" && name != "release") {
            path.pop();
        }
        path.parent().unwrap().join("test-tools")
    };
    std::env::var_os("ALMONER_TEST_TOOLS").map_or_else(beside, std::path::PathBuf::from)
}
