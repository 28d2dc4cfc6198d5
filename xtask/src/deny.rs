//! `cargo xtask deny`: licences, advisories, sources. It runs cargo-deny, which `cargo xtask tools` installs.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{CommandStatus, process, setup};

/// The outcome of all checks of cargo-deny.
pub(crate) struct DenyOutcome {
    pub(crate) holds: bool,
    /// Whether the database of advisories was there.
    pub(crate) has_advisories: bool,
}

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    if let Some(extra) = arguments.first() {
        return Ok(CommandStatus::Usage(format!("`deny` takes no `{extra}`")));
    }
    let outcome = check(&Workspace::read()?)?;
    if !outcome.has_advisories {
        println!("advisories were not checked: their database cannot be fetched");
    }
    Ok(if outcome.holds { CommandStatus::Success } else { CommandStatus::Failure })
}

/// Checks licences, bans and sources, and the advisories if their database can be fetched. It lies in a repository of
/// its own, which not every machine reaches.
///
/// # Errors
/// When cargo-deny cannot be installed or started.
pub(crate) fn check(workspace: &Workspace) -> Result<DenyOutcome> {
    setup::deny(workspace)?;
    let judge = |what: &[&str]| {
        let mut command = setup::deny_command(workspace, &[&["check"], what].concat())?;
        println!("{}", process::shown(&command));
        process::run(&mut command)
    };
    let holds = judge(&["licenses", "bans", "sources"])?;
    let has_advisories = process::output(&mut setup::deny_command(workspace, &["fetch", "db"])?).is_ok();
    let holds = holds && (!has_advisories || judge(&["advisories"])?);
    Ok(DenyOutcome { holds, has_advisories })
}
