//! `cargo xtask deny`: licences, advisories, sources. Runs cargo-deny where it is installed; never builds it.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{End, process};

pub(crate) fn main(arguments: &[String]) -> Result<End> {
    if let Some(extra) = arguments.first() {
        return Ok(End::Usage(format!("`deny` takes no `{extra}`")));
    }
    if !process::works("cargo-deny", &["--version"]) {
        eprintln!("xtask: cargo-deny is not installed, so nothing was checked.");
        eprintln!("       Install it with `cargo install --locked cargo-deny` and run this again.");
        return Ok(End::Bad);
    }
    let workspace = Workspace::read()?;
    let held = process::run(&mut process::cargo(&workspace.root, &["deny", "check"]))?;
    Ok(if held { End::Good } else { End::Bad })
}
