//! `cargo xtask demo`: builds the binary for release and becomes `almoner demo`.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;
use crate::{CommandStatus, process, setup};

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let workspace = Workspace::read()?;
    setup::compiler()?;
    eprintln!("Building almoner for release in {} (minutes the first time).", workspace.target.display());
    if !process::run(&mut process::cargo(&workspace.root, &["build", "--release", "--package", "almoner"]))? {
        eprintln!("xtask: almoner did not build; the compiler's message is above.");
        return Ok(CommandStatus::Failure);
    }
    // exec, not spawn: the demo owns the terminal, receives Ctrl-C itself, and its exit code is ours.
    let binary = workspace.target.join("release/almoner");
    let fault = Command::new(&binary).arg("demo").args(arguments).exec();
    Err(fault).with_context(|| format!("cannot start {}", binary.display()))
}
