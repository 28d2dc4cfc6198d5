//! `cargo xtask test262`: the language part of the standard's own tests in vats, for the features that a vat's code
//! can rely on.
//!
//! Not a part of `cargo xtask test`: the suite has 136 MB, and a vat's failures are intended, or the engine's.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::CommandStatus;
use crate::process::{cargo, run};
use crate::setup;
use crate::workspace::Workspace;

/// The package that carries the suite, with its version.
const PACKAGE: &str = "@gerhobbelt/test262@3.0.0-4";

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    if arguments.len() > 1 {
        return Ok(CommandStatus::Usage(
            "`test262` takes a part of the paths of the tests to run, or nothing".to_owned(),
        ));
    }
    let workspace = Workspace::read()?;
    let folder = setup::tools_folder(&workspace.target).join("test262");
    let suite = folder.join("node_modules/@gerhobbelt/test262");
    if !suite.join("test/language").is_dir() {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        println!("installing into {}: {PACKAGE}", folder.display());
        // A folder of its own: npm takes away packages that it was not asked for. Nothing of the package is run.
        let quiet = [
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel=error",
            "--prefix",
        ];
        if !run(Command::new("npm").args(quiet).arg(&folder).arg(PACKAGE))? {
            bail!("the suite could not be installed; the message is above (a network is needed once)");
        }
    }
    let mut command = cargo(
        &workspace.root,
        &["run", "--quiet", "--release", "--package", "vat", "--example", "test262", "--"],
    );
    Ok(if run(command.arg(&suite).args(arguments))? {
        CommandStatus::Success
    } else {
        CommandStatus::Failure
    })
}
