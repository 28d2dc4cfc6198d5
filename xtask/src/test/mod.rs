//! `cargo xtask test`: the check, in one command, each phase with its cost.
//!
//! The short check is for every landing. `--changed` checks the crates that a change touches. `--deep` runs the
//! phases that take too long for every landing. The phases go from cheap to dear, and the first that fails ends the
//! run. Its output stays the last thing on the screen but for the summary.

mod changed;
mod counts;
pub(crate) mod flaky;
mod phases;
mod plan;
mod report;
mod sample;
mod shard;
mod summary;
mod usage;
mod verdict;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{CommandStatus, mutants, setup};

pub(crate) use phases::{Features, with_features, with_test_home};
pub(crate) use usage::Meter;

use changed::Scope;
use phases::{Check, PhaseOutcome};
use plan::Plan;
use summary::{PhaseLine, Summary};

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let plan = match Plan::parse(arguments) {
        Ok(Plan::Mutants(rest)) => return mutants::main(&rest),
        Ok(plan) => plan,
        Err(why) => return Ok(CommandStatus::Usage(why)),
    };
    let workspace = Workspace::read()?;
    println!("clone        {}", workspace.root.display());
    println!("target       {}", workspace.target.display());
    println!("test tools   {}", setup::tools_folder(&workspace.target).display());
    let scope = match &plan {
        Plan::Changed { base } => {
            let difference = changed::difference(&workspace, base.as_deref())?;
            match difference.scope(&workspace.crates) {
                Ok(scope) => scope,
                Err(why) => return Ok(CommandStatus::Usage(why)),
            }
        }
        _ => Scope::Everything,
    };
    let check = Check::new(workspace, &plan, scope)?;
    let whole = Meter::start()?;
    let mut summary = Summary::default();
    let mut waiting = plan.phases(&check).into_iter();
    for (name, phase) in waiting.by_ref() {
        println!("\n=== {name}");
        let meter = Meter::start()?;
        let outcome = phase(&check).unwrap_or_else(|fault| {
            println!("{fault:#}");
            PhaseOutcome::of(false)
        });
        let failed = !outcome.held;
        summary.lines.push(PhaseLine { name, usage: meter.read()?, outcome });
        if failed {
            break;
        }
    }
    summary.not_run = waiting.map(|(name, _)| name).collect();
    summary.usage = whole.read()?;
    print!("\n{}", summary.render(&plan));
    Ok(if summary.holds() { CommandStatus::Success } else { CommandStatus::Failure })
}
