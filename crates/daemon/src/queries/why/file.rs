//! The reasons for a file, a directory or a slot: the last run that changed or read it, and the steps of that run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kernel::formula::Formula;
use kernel::proposal::Proposal;
use kernel::run::{Completion, Entry, Parent, RestoredFile, Run, Step};
use kernel::{StepRef, agent_journal, query, table};
use passable::{Quoting, quoting};
use resource::Resource;

use super::{
    call_target, cause_of_run, command_reason, describe_grant, intended_formula, proposal_reasons, why_step,
};
use crate::queries::runs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::show::reason::Reason;

/// Returns the path of a directory with its links followed, because clients name files that way. If the directory is
/// gone, returns the endowed path.
fn real_path(path: &str) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// The relation of a run to a name, from the weakest to the strongest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FileRelation {
    /// The name is a slot of the run, or a directory that the run was given.
    Slot,
    /// The run read the file.
    Read,
    /// The run changed the file in a staged copy that was not applied.
    Staged,
    /// The run changed the file.
    Changed,
}

/// The facts about a name from one run.
struct RunFacts {
    relation: FileRelation,
    /// The time of the act. A change counts from its completion, or from its application out of a staged copy.
    at_ms: i64,
    at: String,
    reasons: Vec<Reason>,
}

/// The maximum number of runs that are searched for a later change after one was found.
const MAX_LATER_RUNS: usize = 5_000;

/// Returns the reasons for a name, which may be a file that a run wrote or read, or a slot.
pub(super) fn why_name(daemon: &HostDaemon, name: &str) -> Result<Vec<Reason>, Failure> {
    if let Some(reasons) = why_indexed_file(daemon, name)? {
        return Ok(reasons);
    }
    let (mut best, mut staged, mut looked_at): (Option<RunFacts>, Option<(i64, String)>, _) = (None, None, 0);
    // The newest run did not necessarily make the last change, because an older run may have waited for an answer.
    runs::for_each_run(daemon, None, |run| {
        if let Some(best) = best.as_ref().filter(|best| best.relation == FileRelation::Changed) {
            looked_at += 1;
            if last_recorded_ms(daemon, &run)? < best.at_ms {
                return Ok(looked_at < MAX_LATER_RUNS);
            }
        }
        let Some(known) = run_facts(daemon, name, &run)? else { return Ok(looked_at < MAX_LATER_RUNS) };
        if known.relation == FileRelation::Staged && staged.is_none() {
            staged = Some((known.at_ms, known.at.clone()));
        }
        if best.as_ref().is_none_or(|best| (best.relation, best.at_ms) < (known.relation, known.at_ms)) {
            best = Some(known);
        }
        Ok(looked_at < MAX_LATER_RUNS && best.as_ref().is_none_or(|best| best.relation != FileRelation::Slot))
    })?;
    let Some(best) = best else {
        return Err(Failure::new(Exit::NotFound, format!("nothing is known of `{name}`")).help(
            "ask about a run (r17), a step (r17#9), a message number, a slot, or a file that a run wrote",
        ));
    };
    Ok(with_staged_note(best, staged))
}

/// Returns the reasons for a file that an effect of a run named, or `None` if no run named it. The kernel indexes the
/// runs by the file's name when an effect completes.
fn why_indexed_file(daemon: &HostDaemon, name: &str) -> Result<Option<Vec<Reason>>, Failure> {
    let Some(file_name) = query::file_name(name) else { return Ok(None) };
    let found = daemon.read(|txn| {
        let numbers = query::runs_of_file(txn, &daemon.host.number, file_name, MAX_LATER_RUNS)?;
        numbers
            .into_iter()
            .map(|number| table::run(txn, &daemon.host.number, number))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let (mut best, mut staged): (Option<RunFacts>, Option<(i64, String)>) = (None, None);
    for run in found.into_iter().flatten() {
        let Some(known) = run_facts(daemon, name, &run)? else { continue };
        if known.relation == FileRelation::Staged && staged.is_none() {
            staged = Some((known.at_ms, known.at.clone()));
        }
        if best.as_ref().is_none_or(|best| (best.relation, best.at_ms) < (known.relation, known.at_ms)) {
            best = Some(known);
        }
    }
    // A directory in a slot has a name as well. Newer runs may have that slot, and they are not in the index.
    let Some(best) = best.filter(|best| best.relation != FileRelation::Slot) else { return Ok(None) };
    Ok(Some(with_staged_note(best, staged)))
}

/// Returns the reasons, with a note of a later change that exists only in a staged copy.
fn with_staged_note(mut best: RunFacts, staged: Option<(i64, String)>) -> Vec<Reason> {
    if best.relation == FileRelation::Changed
        && let Some((at_ms, at)) = staged
        && at_ms > best.at_ms
    {
        let said = "changed it later in a staged copy alone: that is not what lies there";
        best.reasons.insert(1, Reason::new(at, said));
    }
    best.reasons
}

/// Returns the time of the last journal entry of a run or of its root run. The root run's journal records the applied
/// files.
fn last_recorded_ms(daemon: &HostDaemon, run: &Run) -> Result<i64, Failure> {
    let mut latest = run.started_ms;
    for run in [run, &root_run(daemon, run)?] {
        runs::for_each_step(daemon, run.number, run.next_step.saturating_sub(1), |step| {
            latest = latest.max(step.at_ms);
            true
        })?;
    }
    Ok(latest)
}

/// Returns the run at the top of a family, which a person started.
fn root_run(daemon: &HostDaemon, run: &Run) -> Result<Run, Failure> {
    let mut top = run.clone();
    while let Some(Parent { run: parent, .. }) = top.parent {
        top = super::load_run(daemon, parent)?;
    }
    Ok(top)
}

/// Returns the facts from the last call in an agent's journal that changed a file.
fn journal_facts(daemon: &HostDaemon, name: &str, run: &Run) -> Result<Option<RunFacts>, Failure> {
    let (daemon, wanted) = (daemon, std::path::Path::new(name));
    let (mut open, mut last, mut roots) = (BTreeMap::new(), None, BTreeMap::new());
    runs::for_each_step(daemon, run.number, 1, |step| {
        match step.entry {
            Entry::Proposed { proposal, .. } if proposal.effect != passable::Effect::Observe => {
                open.insert(step.number, proposal);
            }
            Entry::Completed { proposal, completion } => {
                let made = open.remove(&proposal);
                if let (Some(made), Completion::Done { value, .. }) = (made, completion)
                    && let Some(path) = value.get("path").and_then(kernel::Value::as_str)
                {
                    let root =
                        roots.entry(agent_journal::target(&made)).or_insert_with(|| call_root(daemon, &made));
                    if path == name || root.as_ref().is_some_and(|root| root.join(path) == wanted) {
                        last = Some((proposal, step.at_ms));
                    }
                }
            }
            _ => {}
        }
        true
    })?;
    let Some((step, at_ms)) = last else { return Ok(None) };
    let at = StepRef { run: run.number, step };
    let mut reasons = vec![Reason::new(name, "was written by an effect")];
    reasons.extend(why_step(daemon, at)?);
    Ok(Some(RunFacts { relation: FileRelation::Changed, at_ms, at: at.to_string(), reasons }))
}

/// Returns the directory in which the paths of a call begin, as of the time of the call.
fn call_root(daemon: &HostDaemon, made: &Proposal) -> Option<PathBuf> {
    if let Some(place) = &made.place {
        return Some(real_path(place));
    }
    match call_target(daemon, made) {
        Ok(Some(Formula::Resource(Resource::Directory { path, .. }))) => Some(real_path(&path)),
        _ => None,
    }
}

/// Returns the user's acts on a run's change of a file since a step, the newest first. Such an act applies, undoes or
/// discards the change. The acts are in the journal of the family's root run.
fn settlement(
    daemon: &HostDaemon,
    run: &Run,
    file: &std::path::Path,
    since: u64,
) -> Result<Vec<Settlement>, Failure> {
    let top = root_run(daemon, run)?;
    // Step numbers of a child cannot be compared with those of the root run. But these acts follow only after the end
    // of all runs, so all of them count.
    let from = if top.number == run.number { since } else { 1 };
    let mut found = Vec::new();
    runs::for_each_step(daemon, top.number, from, |step| {
        let (at, at_ms) = (StepRef { run: top.number, step: step.number }.to_string(), step.at_ms);
        let (files, what) = match step.entry {
            Entry::Reverted { files } => (files, "undone: it is again what it was"),
            Entry::Applied { files } => (files, "applied: it is what the run left in its staged copy"),
            Entry::Discarded { files } => {
                let one = files.iter().find(|one| std::path::Path::new(&one.path) == file);
                let what = match one {
                    _ if files.is_empty() => "the staged copy of",
                    Some(one) if one.left.is_some() => "a part of what is staged of it by",
                    Some(_) => "what is staged of it by",
                    None => return true,
                };
                let said = format!("you had {what} {} thrown away", top.number);
                found.push(Settlement {
                    at_ms,
                    is_in_place: false,
                    reason: Reason::new(at, Quoting::ours(said)),
                });
                return true;
            }
            _ => return true,
        };
        if let Some(put_back) =
            files.into_iter().find(|put_back| std::path::Path::new(&put_back.path) == file)
        {
            let said = Quoting::ours(format!("you had {} {what} (", top.number)).quote(&put_back.to).and(")");
            found.push(Settlement { at_ms, is_in_place: true, reason: Reason::new(at, said) });
        }
        true
    })?;
    found.reverse();
    Ok(found)
}

/// A user's act on a change of a run.
struct Settlement {
    at_ms: i64,
    /// Whether the act changed the file itself.
    is_in_place: bool,
    reason: Reason,
}

/// Returns the facts from one run about a name, or `None` if the run has no relation to the name.
fn run_facts(daemon: &HostDaemon, name: &str, run: &Run) -> Result<Option<RunFacts>, Failure> {
    if run.is_agent_journal() {
        return journal_facts(daemon, name, run);
    }
    let wanted = std::path::Path::new(name);
    let mut directories = BTreeMap::new();
    for (slot, id) in &run.grants {
        // The formula of a directory may have been collected, and then there is no path to compare.
        let Ok((grant, formula)) = daemon.grant(id) else { continue };
        let formula = intended_formula(&grant, formula);
        let directory = match &formula {
            Formula::Resource(Resource::Directory { path, .. })
            | Formula::Resource(Resource::Outbox { path }) => Some(real_path(path)),
            _ => None,
        };
        directories.insert(*id, (slot, grant, formula, directory));
    }
    // The journal is read only if the file may be in one of this run's directories.
    let is_near = directories.values().any(|(.., directory)| {
        directory.as_ref().is_some_and(|directory| wanted.starts_with(directory) || wanted.is_relative())
    });
    if is_near {
        let steps = daemon.read(|txn| query::journal(txn, &daemon.host.number, run.number, 1))?;
        let proposals: BTreeMap<u64, &Proposal> = steps
            .iter()
            .filter_map(|step| match &step.entry {
                Entry::Proposed { proposal, .. } => Some((step.number, &**proposal)),
                _ => None,
            })
            .collect();
        if let Some(facts) = applied_program_facts(daemon, name, run, &steps)? {
            return Ok(Some(facts));
        }
        // The last completed change counts, not the last proposed one. A read counts only if there was no change.
        let mut read = None;
        for step in steps.iter().rev() {
            let Entry::Completed { proposal: at, completion: Completion::Done { value, .. } } = &step.entry
            else {
                continue;
            };
            let Some(proposal) = proposals.get(at) else { continue };
            let Some((.., Some(directory))) = directories.get(&proposal.grant) else { continue };
            let made = query::FILE_FIELDS
                .into_iter()
                .find_map(|field| value.get(field)?.as_str().map(str::to_owned));
            let Some(made) = made else { continue };
            let is_read = proposal.effect == passable::Effect::Observe;
            let file = directory.join(&made);
            if file != wanted && (is_read || made != name) {
                continue;
            }
            if !is_read {
                return Ok(Some(change_facts(
                    daemon,
                    name,
                    run,
                    &steps,
                    (*at, step.at_ms),
                    proposal,
                    &file,
                )?));
            }
            if read.is_none() {
                read = Some((*at, step.at_ms));
            }
        }
        if let Some((at, at_ms)) = read {
            let mut reasons = vec![Reason::new(name, "was read")];
            proposal_reasons(daemon, run, &steps, at, &mut reasons)?;
            cause_of_run(daemon, run, &mut reasons)?;
            let at = StepRef { run: run.number, step: at }.to_string();
            return Ok(Some(RunFacts { relation: FileRelation::Read, at_ms, at, reasons }));
        }
    }
    for (slot, grant, formula, directory) in directories.values() {
        if *slot == name || directory.as_ref().is_some_and(|directory| directory == wanted) {
            let mut reasons = vec![Reason::new(
                format!("slot {slot}"),
                quoting!("is {} for ", describe_grant(grant, formula)).and(run.number.to_string()),
            )];
            if let Some(source) = grant.source {
                command_reason(daemon, &daemon.host, source, &mut reasons)?;
            }
            let at = run.number.to_string();
            return Ok(Some(RunFacts { relation: FileRelation::Slot, at_ms: run.started_ms, at, reasons }));
        }
    }
    Ok(None)
}

/// Returns the facts about a file that a program of the run changed in a staged copy, and that the user applied. No
/// call of a directory records such a change.
fn applied_program_facts(
    daemon: &HostDaemon,
    name: &str,
    run: &Run,
    steps: &[Step],
) -> Result<Option<RunFacts>, Failure> {
    let wanted = std::path::Path::new(name);
    let applied = steps.iter().rev().find_map(|step| match &step.entry {
        Entry::Applied { files } => {
            let is_it =
                |file: &&RestoredFile| file.digests.is_some() && std::path::Path::new(&file.path) == wanted;
            files.iter().find(is_it).map(|file| file.step)
        }
        _ => None,
    });
    let Some(at) = applied else { return Ok(None) };
    let since = settlement(daemon, run, wanted, 1)?;
    let at_ms =
        since.iter().filter(|one| one.is_in_place).map(|one| one.at_ms).max().unwrap_or(run.started_ms);
    let mut reasons: Vec<Reason> = since.into_iter().map(|one| one.reason).collect();
    reasons.push(Reason::new(name, "was changed in a staged copy, by a program that worked there"));
    reasons.extend(why_step(daemon, at)?);
    Ok(Some(RunFacts { relation: FileRelation::Changed, at_ms, at: at.to_string(), reasons }))
}

/// Returns the facts about a run's change of a file, with the user's later acts on the change.
fn change_facts(
    daemon: &HostDaemon,
    name: &str,
    run: &Run,
    steps: &[Step],
    (proposed, done_ms): (u64, i64),
    proposal: &Proposal,
    file: &std::path::Path,
) -> Result<RunFacts, Failure> {
    let since = settlement(daemon, run, file, proposed)?;
    let put = since.iter().filter(|one| one.is_in_place).map(|one| one.at_ms).max();
    let grant = daemon.read(|txn| table::grant(txn, &proposal.grant))?;
    let is_staged = grant.is_some_and(|grant| grant.attenuation.staged_from.is_some());
    let part = if is_staged && put.is_none() { FileRelation::Staged } else { FileRelation::Changed };
    let mut reasons: Vec<Reason> = since.into_iter().map(|one| one.reason).collect();
    let done = match proposal.method.as_str() {
        "remove" => "removed",
        "move" => "moved there",
        "make_directory" => "made",
        _ => "written",
    };
    let place = if is_staged { "in a staged copy, " } else { "" };
    reasons.push(Reason::new(name, Quoting::ours(format!("was {done} {place}by an effect"))));
    proposal_reasons(daemon, run, steps, proposed, &mut reasons)?;
    cause_of_run(daemon, run, &mut reasons)?;
    let at_ms = put.map_or(done_ms, |put| put.max(done_ms));
    let at = StepRef { run: run.number, step: proposed }.to_string();
    Ok(RunFacts { relation: part, at_ms, at, reasons })
}
