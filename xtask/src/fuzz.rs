//! `cargo xtask fuzz`: every fuzz target of the workspace for as long as is asked for.
//!
//! A target is a test of a crate's binary `tests/fuzz`. The fuzzer runs on the stable toolchain and needs no other build
//! than the tests.

use std::process::Command;

use anyhow::Result;

use crate::CommandStatus;
use crate::process::{cargo, run, shown};
use crate::workspace::Workspace;

/// For how long `cargo xtask test --deep` runs each target. The short check runs each for half a second, as a test.
pub(crate) const SECONDS: u32 = 12;

/// Makes the targets that the command runs go on for so many seconds.
pub(crate) fn timed(command: &mut Command, seconds: u32) {
    command.env("BOLERO_RANDOM_TEST_TIME_MS", (u64::from(seconds) * 1000).to_string());
}

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let (seconds, target) = match arguments {
        [] => (SECONDS, None),
        [seconds] => (seconds.parse().unwrap_or(0), None),
        [seconds, target] => (seconds.parse().unwrap_or(0), Some(target)),
        _ => (0, None),
    };
    if seconds == 0 {
        return Ok(CommandStatus::Usage(
            "`fuzz` takes a number of seconds and the name of a target".to_owned(),
        ));
    }
    let workspace = Workspace::read()?;
    let mut command = cargo(&workspace.root, &["test", "--no-fail-fast", "--workspace", "--test", "fuzz"]);
    timed(&mut command, seconds);
    command.args(["--", "--test-threads=2"]).args(target);
    println!("{}", shown(&command));
    Ok(if run(&mut command)? { CommandStatus::Success } else { CommandStatus::Failure })
}
