//! `cargo xtask schema`: writes the schema of the control protocol from the types, and the Python client from the schema.
//!
//! A test compares each of them in the check. The same tests write, so that there is one way from the types to the files.

use std::process::Command;

use anyhow::Result;

use crate::CommandStatus;
use crate::process::{cargo, run, shown};
use crate::workspace::Workspace;

/// Names the variable with which the tests write instead of comparing.
const WRITE: &str = "ALMONER_WRITE_SCHEMA";

/// The test that writes the schema of the present version.
const TEST: &str = "protocol::published_schema_equals_types";

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    if let Some(extra) = arguments.first() {
        return Ok(CommandStatus::Usage(format!("`schema` takes no `{extra}`")));
    }
    let workspace = Workspace::read()?;
    // This crate alone is built in a minute, with the crates of the protocol and none of the daemon.
    let mut schema =
        cargo(&workspace.root, &["test", "--package", "conformance", "--test", "it", "--", "--exact", TEST]);
    let mut client = Command::new("python3");
    client.arg("clients/python/generate.py").current_dir(&workspace.root);
    for command in [schema.env(WRITE, "1"), &mut client] {
        println!("{}", shown(command));
        if !run(command)? {
            return Ok(CommandStatus::Failure);
        }
    }
    Ok(CommandStatus::Success)
}
