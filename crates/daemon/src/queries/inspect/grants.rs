//! The view of one grant: its uses, and the grants that end with it.

use std::collections::{BTreeMap, BTreeSet};

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::name_lookup::View;
use kernel::run::{Completion, Entry, Step};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{BlobHash, FormulaId, GrantNumber, RunNumber, StepRef, Value, grant_usage, query, table};
use passable::{Quoting, Untrusted};

use super::{MAX_REFERENCES, grant_row, summary};
use crate::queries::names::{FormerHolder, former_holder};
use crate::queries::runs;
use crate::queries::why::describe_through;
use crate::state::daemon::HostDaemon;
use crate::state::grant_usage as unsaved_usage;
use control::exit::{Exit, Failure};
use control::inspect::{CodeHolder, GrantView, Use};
use control::show::{journal, value};
use control::view::GrantRow;

/// The maximum number of calls that are listed one by one.
const MAX_CALLS: usize = 20;

/// The maximum number of runs whose journals are read.
const MAX_RUNS: usize = 100;

/// The maximum number of runs that are searched for uses of the grant.
const MAX_EXAMINED: usize = 5000;

/// Returns the view of one of the agent's grants.
///
/// # Errors
/// When the agent has given no grant with this number.
pub fn grant(daemon: &HostDaemon, view: &View, number: GrantNumber) -> Result<GrantView, Failure> {
    // Noted uses must be durable before they are shown.
    unsaved_usage::flush(daemon);
    let found = daemon.query(|txn| {
        let all = query::grants(txn, &view.agent.number)?;
        let Some(grant) = all.into_iter().find(|grant| grant.number == number) else { return Ok(None) };
        let mut target = summary(txn, view, &grant.target)?;
        // Only the grants tell whether the target is a staged copy or may be written to.
        if let (Some(target), Some(reached)) = (&mut target, table::reach(txn, &grant.id)?)
            && matches!(reached.formula, Formula::Resource(_))
        {
            target.words = Untrusted::new(describe_through(&reached.grants, &reached.formula));
        }
        let (below, falls) = derived_grants(txn, view, &grant.id)?;
        let row = grant_row(txn, view, grant)?;
        let code = code_holders(txn, view, &row, &falls)?;
        let used = grant_usage::load(txn, &row.grant.id)?;
        Ok(Some((row, target, below, falls, code, used)))
    })?;
    let gone = || {
        Failure::new(Exit::NotFound, Quoting::ours(format!("there is no grant {number}")))
            .help("`almoner grants` lists them")
    };
    let (row, target, mut of, falls, code, used) = found.ok_or_else(gone)?;
    let target = target.ok_or_else(|| {
        Failure::new(Exit::NotFound, Quoting::ours(format!("what grant {number} led to is gone")))
            .help("nothing can be done through it any more")
    })?;
    of.insert(row.grant.id);
    let holders = falls.iter().map(|row| row.grant.holder).chain([row.grant.holder]).collect();
    let text = daemon.read(|txn| program_digest(txn, &row.grant.holder))?;
    let mut shown = GrantView { row, target, runs: vec![], falls, calls: 0, last: vec![], code, text };
    // Only the daemon's own host has runs here.
    if view.agent == daemon.host {
        for run in runs_of(daemon, &of, &holders)? {
            if add_run_calls(daemon, run, &of, &mut shown)? {
                shown.runs.push(run);
            }
        }
    }
    shown.calls += used.calls;
    shown.last.extend(used.last.into_iter().map(|call| Use {
        at: None,
        by: Some(call.by),
        at_ms: call.at_ms,
        method: call.method,
        with: None,
        outcome: if call.refused { "refused" } else { "made" }.to_owned(),
    }));
    shown.last.sort_by_key(|one| std::cmp::Reverse(one.at_ms));
    shown.last.truncate(MAX_CALLS);
    Ok(shown)
}

/// Returns the digest of the text that a holder runs, if the holder is a worker or code.
fn program_digest(txn: &mut dyn ReadTxn, holder: &FormulaId) -> Result<Option<BlobHash>, StoreFault> {
    Ok(match table::formula(txn, holder)?.map(|row| row.formula) {
        Some(Formula::Worker { definition, model: None, .. }) => Some(definition),
        Some(Formula::Eval { source, modules: None, .. }) => Some(BlobHash::of(source.raw().as_bytes())),
        _ => None,
    })
}

/// Returns the code that holds the grant or a grant derived from it.
fn code_holders(
    txn: &mut dyn ReadTxn,
    view: &View,
    row: &GrantRow,
    falls: &[GrantRow],
) -> Result<Vec<CodeHolder>, Fault> {
    let mut found: Vec<CodeHolder> = Vec::new();
    for GrantRow { grant, .. } in std::iter::once(row).chain(falls) {
        let has_journal = match table::formula(txn, &grant.holder)?.map(|row| row.formula) {
            Some(Formula::Eval { .. }) => true,
            Some(_) => continue,
            None if matches!(
                former_holder(txn, view, grant)?,
                FormerHolder::Code | FormerHolder::CodeOrAgent
            ) =>
            {
                false
            }
            None => continue,
        };
        if !found.iter().any(|one| one.id == grant.holder) {
            found.push(CodeHolder { id: grant.holder, has_journal });
        }
    }
    Ok(found)
}

/// Returns every grant that was derived from this one, directly or not.
fn derived_grants(
    txn: &mut dyn ReadTxn,
    view: &View,
    id: &FormulaId,
) -> Result<(BTreeSet<FormulaId>, Vec<GrantRow>), Fault> {
    let (mut ids, mut rows, mut next) = (BTreeSet::new(), Vec::new(), vec![*id]);
    while let Some(at) = next.pop() {
        for (from, label) in query::references_to(txn, &at, MAX_REFERENCES)? {
            if !matches!(label.as_str(), "target" | "through") || ids.len() >= MAX_REFERENCES {
                continue;
            }
            if let Some(grant) = table::grant(txn, &from)?
                && ids.insert(from)
            {
                next.push(from);
                rows.push(grant_row(txn, view, grant)?);
            }
        }
    }
    Ok((ids, rows))
}

/// Returns the runs that were given one of these grants or that belong to one of these holders, newest first.
fn runs_of(
    daemon: &HostDaemon,
    grants: &BTreeSet<FormulaId>,
    holders: &BTreeSet<FormulaId>,
) -> Result<Vec<RunNumber>, Failure> {
    let (mut found, mut looked_at) = (Vec::new(), 0);
    runs::for_each_run(daemon, None, |run| {
        looked_at += 1;
        if run.grants.values().any(|id| grants.contains(id)) || holders.contains(&run.worker) {
            found.push(run.number);
        }
        Ok(found.len() < MAX_RUNS && looked_at < MAX_EXAMINED)
    })?;
    Ok(found)
}

/// Returns the beginning of an argument in one line. The first argument of a call on a directory is the file's path.
fn argument_summary(argument: &Value) -> Untrusted {
    Untrusted::new(match argument.references().is_empty() {
        true => journal::shorten(&value::argument(argument)),
        false => String::new(),
    })
}

/// Adds the calls that a run has made through these grants. Returns whether there are any.
fn add_run_calls(
    daemon: &HostDaemon,
    run: RunNumber,
    grants: &BTreeSet<FormulaId>,
    shown: &mut GrantView,
) -> Result<bool, Failure> {
    let mut calls: BTreeMap<u64, Use> = BTreeMap::new();
    runs::for_each_step(daemon, run, 1, |step: Step| {
        match step.entry {
            Entry::Proposed { proposal, .. } if grants.contains(&proposal.grant) => {
                let one = Use {
                    at: Some(StepRef { run, step: step.number }),
                    by: None,
                    at_ms: step.at_ms,
                    with: proposal.args.first().map(argument_summary),
                    method: Untrusted::new(proposal.method),
                    outcome: "open".to_owned(),
                };
                calls.insert(step.number, one);
            }
            Entry::Completed { proposal, completion } => {
                if let Some(one) = calls.get_mut(&proposal) {
                    one.outcome = match completion {
                        Completion::Done { .. } => "done",
                        Completion::Refused(_) => "refused",
                        Completion::Failed(_) => "failed",
                    }
                    .to_owned();
                }
            }
            _ => {}
        }
        true
    })?;
    shown.calls += calls.len() as u64;
    let any = !calls.is_empty();
    shown.last.extend(calls.into_values().rev().take(MAX_CALLS));
    Ok(any)
}
