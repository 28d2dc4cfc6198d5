//! Begin: a permitted call gets its outbox row, or becomes a run of its own.

use std::collections::BTreeMap;

use passable::Quoting;

use crate::command::{Fault, Program};
use crate::formula::Formula;
use crate::id::{FormulaId, RunNumber, StepRef};
use crate::model::limits::Share;
use crate::proposal::{Finding, Proposal, Value};
use crate::provenance::{Provenance, Source};
use crate::run::{
    Attachment, Completion, Entry, Input, Limits, Parent, Phase, Run, RunOutcome, Shape, WaitReason,
};
use crate::started_effect::StartedEffect;
use crate::state::State;
use crate::table::{self, Task};
use crate::txn::{ReadTxn, Table};

use super::permission::permission;
use super::start::{Seed, create};
use super::{evidence, grant_check, make, pool, rate};

/// Begins an approved proposal, consuming its permission.
pub(super) fn begin_approved(state: &mut State<'_>, run: &mut Run, step: u64) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step };
    if run.open.get(&step) != Some(&Phase::Approved) {
        return Err(Fault::OutOfOrder { at, what: "only an approved proposal can begin" });
    }
    let Entry::Proposed { proposal, fingerprint, .. } = state.step(at)?.entry else {
        return Err(Fault::OutOfOrder { at, what: "this step proposes nothing" });
    };
    let owner = state.owner();
    evidence::expect_judged(state.txn, &owner, at)?;
    if permission(state, fingerprint, Some(at), run.number)?.is_some() {
        if !planted!(state.env, PermissionNotConsumed) {
            state.txn.delete(Table::Permission, &owner, &table::permission_key(fingerprint, Some(at)))?;
        }
    } else if permission(state, fingerprint, None, run.number)?.is_none() {
        return Err(Fault::OutOfOrder { at, what: "there is no permission for this proposal" });
    }
    if let Some(finding) = grant_check::refusal(state, run, &proposal)? {
        run.open.remove(&step);
        let completion = Completion::Refused(vec![finding]);
        state.journal(run, Entry::Completed { proposal: step, completion }, Provenance::default())?;
        return Ok(());
    }
    let others = waiting_calls(state, run, step)?;
    begin(state, run, at, *proposal, others)
}

/// Returns the number of proposed calls of workers, except for the one at `step`, that may still begin.
fn waiting_calls(state: &mut State<'_>, run: &Run, step: u64) -> Result<u64, Fault> {
    let waits = |phase: &Phase| matches!(phase, Phase::AwaitingApproval { .. } | Phase::Approved);
    let others = run.open.iter().filter(|(number, phase)| **number != step && waits(phase));
    let mut count = 0;
    for (number, _) in others {
        let at = StepRef { run: run.number, step: *number };
        if let Entry::Proposed { proposal, .. } = state.step(at)?.entry {
            count += u64::from(is_call(state, &proposal)?);
        }
    }
    Ok(count)
}

/// Returns whether a proposal calls a worker.
pub(super) fn is_call(state: &mut State<'_>, proposal: &Proposal) -> Result<bool, Fault> {
    let reached = table::reach(state.txn, &proposal.grant)?;
    Ok(reached.is_some_and(|reached| matches!(reached.formula, Formula::Worker { .. } | Formula::Myself)))
}

/// Begins a proposal that may begin. The run shares its remaining budget with the `others`: calls of workers that may
/// yet begin beside this one.
pub(super) fn begin(
    state: &mut State<'_>,
    run: &mut Run,
    at: StepRef,
    proposal: Proposal,
    others: u64,
) -> Result<(), Fault> {
    let reached = table::reach(state.txn, &proposal.grant)?.ok_or(Fault::Dangling(proposal.grant))?;
    let grant = reached.grant().ok_or(Fault::Dangling(proposal.grant))?;
    rate::count(state, &reached)?;
    match reached.formula {
        Formula::Worker { name, definition, includes, limits, grants, made_by, lends, model, pooled } => {
            let program = Program { name, definition, includes, limits };
            let grants = make::held_by(state, &grants, lends || made_by.is_some())?;
            let share = state.left(run)?.part(others.saturating_add(1));
            let pool = pooled.then_some((limits, others.saturating_add(1)));
            let callee = Callee { worker: reached.id, program, grants, model, pool };
            call(state, run, at, share, callee, &proposal)
        }
        Formula::Myself => {
            let callee = myself(state, run)?;
            let share = state.left(run)?.part(others.saturating_add(1));
            call(state, run, at, share, callee, &proposal)
        }
        _ => {
            let outbox = state.post(Task::Effect { step: at })?;
            run.open.insert(at.step, Phase::Executing { outbox });
            state.journal(
                run,
                Entry::EffectStarted { proposal: at.step, child: None },
                Provenance::default(),
            )?;
            state.outcome.begun.push(StartedEffect { step: at, proposal, grant, reopened: false });
            Ok(())
        }
    }
}

/// The worker that is called.
struct Callee {
    worker: FormulaId,
    program: Program,
    /// The grants of the worker, by slot.
    grants: BTreeMap<String, FormulaId>,
    /// The worker's own model, if it has one.
    model: Option<String>,
    /// The limits for all calls of the worker together, and the number of calls that may run beside each other.
    pool: Option<(Limits, u64)>,
}

/// Returns the worker of a run, to be called by that run. It holds the grants with which the run began. The workers
/// that the run has made, and the things that it has asked for, stay the run's own.
fn myself(state: &mut State<'_>, run: &Run) -> Result<Callee, Fault> {
    let limits = match state.formula(&run.worker)? {
        Formula::Worker { limits, .. } => limits,
        _ => run.limits,
    };
    let program = Program {
        name: run.name.clone(),
        definition: run.definition,
        includes: run.includes.clone(),
        limits,
    };
    let own = |slot: &String| run.made.contains(slot) || run.given.contains(slot);
    let given = run.grants.iter().filter(|(slot, _)| !own(slot));
    let grants = given.map(|(slot, grant)| (slot.clone(), *grant)).collect();
    Ok(Callee { worker: run.worker, program, grants, model: None, pool: None })
}

/// Calls a worker. The effect of the call is a run of its own, with a fresh context.
fn call(
    state: &mut State<'_>,
    run: &mut Run,
    at: StepRef,
    share: Share,
    callee: Callee,
    proposal: &Proposal,
) -> Result<(), Fault> {
    let Callee { worker, mut program, grants, model, pool } = callee;
    let refuse = |state: &mut State<'_>, run: &mut Run, finding: Finding| {
        let completion = Completion::Refused(vec![finding]);
        run.open.remove(&at.step);
        state
            .journal(run, Entry::Completed { proposal: at.step, completion }, Provenance::default())
            .map(drop)
    };
    if run.depth >= run.limits.depth {
        let message = Quoting::ours(format!(
            "workers may call workers {} deep, and this is the last",
            run.limits.depth
        ));
        return refuse(state, run, Finding::new("depth/limit", message));
    }
    let values = proposal
        .args
        .first()
        .filter(|v| v.as_record().is_some())
        .cloned()
        .unwrap_or_else(|| Value::record_from_map(Default::default()));
    let attachments = match forwarded_attachments(run, proposal.args.get(1)) {
        Ok(attachments) => attachments,
        Err(finding) => return refuse(state, run, finding),
    };
    program.limits = program.limits.within(share);
    program.limits.depth = run.limits.depth;
    if let Some((whole, calls)) = pool {
        match pool::lend(state, &worker, whole, program.limits, calls)? {
            Some(lent) => program.limits = lent,
            None => {
                let message = "what may be spent on this model is spent";
                let finding = Finding::new("model/budget", message).allowed("an answer without it");
                return refuse(state, run, finding);
            }
        }
    }
    let child = RunNumber(state.count("next_run")?);
    run.open.insert(at.step, Phase::Called { child });
    state.journal(
        run,
        Entry::EffectStarted { proposal: at.step, child: Some(child) },
        Provenance::default(),
    )?;
    create(
        state,
        Seed {
            id: state.fresh_id(),
            number: child,
            worker,
            program,
            shape: Shape::Single,
            parent: Some(Parent { run: run.number, place: WaitReason::Call { proposal: at.step } }),
            depth: run.depth + 1,
            model: model.unwrap_or_else(|| run.model.clone()),
            input: Input { values, attachments, items: vec![], origins: vec![], earlier: None },
            grants,
            source: run.source,
            // The caller's provenance is already in the inputs that it wrote.
            provenance: proposal.provenance.clone(),
            delivery: None,
            has_key: false,
        },
    )
    .map(drop)
}

/// Returns the caller's attachments that a call hands on, by name.
fn forwarded_attachments(run: &Run, names: Option<&Value>) -> Result<Vec<Attachment>, Finding> {
    let Some(names) = names.and_then(Value::as_array) else { return Ok(vec![]) };
    names
        .iter()
        .map(|name| {
            let known =
                || run.input.attachments.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
            run.input.attachments.iter().find(|a| name.as_str() == Some(a.name.as_str())).cloned().ok_or_else(
                || {
                    Finding::new("call/attachment", "only attachments of this run can be handed on")
                        .at("attachments")
                        .allowed(known())
                },
            )
        })
        .collect()
}

/// Records the outcome of a call in the caller's journal.
pub(crate) fn complete_call(
    state: &mut State<'_>,
    run: &mut Run,
    proposal: u64,
    child: &Run,
    outcome: &RunOutcome,
) -> Result<(), Fault> {
    pool::take_back(state, child)?;
    run.open.remove(&proposal);
    let provenance = child.provenance.join(&Provenance::of(Source::Run(child.number)));
    let completion = match outcome {
        RunOutcome::Done(value) => Completion::Done { value: value.clone(), provenance: provenance.clone() },
        RunOutcome::Failed(trouble) => Completion::Failed(
            Finding::new("call/failed", Quoting::theirs(trouble.message.raw()))
                .at(child.number.to_string())
                .allowed(trouble.help.clone()),
        ),
    };
    state.journal(run, Entry::Completed { proposal, completion }, provenance)?;
    Ok(())
}

/// Returns an effect that may have happened before a crash, so that it is taken up again. The result is `None` if its
/// outcome has been recorded. A row of the outbox without a verdict and a permission is refused.
pub fn reopen(
    txn: &mut dyn ReadTxn,
    actor: &FormulaId,
    step: StepRef,
) -> Result<Option<StartedEffect>, Fault> {
    let run = table::run(txn, &actor.number, step.run)?.ok_or(Fault::NoRun(step.run))?;
    let Some(Phase::Executing { outbox }) = run.open.get(&step.step).copied() else {
        return Ok(None);
    };
    let missing = Fault::OutOfOrder { at: step, what: "this step proposes nothing" };
    let Some(Entry::Proposed { proposal, fingerprint, .. }) =
        table::step(txn, &actor.number, step)?.map(|step| step.entry)
    else {
        return Err(missing);
    };
    evidence::expect_begun(txn, &actor.number, step, (&proposal, fingerprint), outbox)?;
    let grant = table::reach(txn, &proposal.grant)?
        .and_then(|reached| reached.grant())
        .ok_or(Fault::Dangling(proposal.grant))?;
    Ok(Some(StartedEffect { step, proposal: *proposal, grant, reopened: true }))
}
