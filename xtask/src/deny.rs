//! `cargo xtask deny`: licences, advisories, sources. It runs cargo-deny, which `cargo xtask test --deep` installs.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{CommandStatus, process, setup};

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    if let Some(extra) = arguments.first() {
        return Ok(CommandStatus::Usage(format!("`deny` takes no `{extra}`")));
    }
    let workspace = Workspace::read()?;
    setup::expect_command(&workspace.root, setup::DENY)?;
    let held = process::run(&mut process::cargo(&workspace.root, &[setup::DENY, "check"]))?;
    Ok(if held { CommandStatus::Success } else { CommandStatus::Failure })
}
