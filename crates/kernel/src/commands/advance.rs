//! Advance: a run takes some steps.

use crate::command::{Advance, Fault, Move, Reply};
use crate::id::{RunNumber, StepRef};
use crate::message::{ApprovalEntry, Body};
use crate::provenance::{Provenance, Source};
use crate::query::named_file;
use crate::run::{
    Completion, Entry, Input, Parent, Phase, Run, RunOutcome, Shape, State as RunState, Usage, WaitReason,
};
use crate::state::State;
use crate::table;
use crate::txn::Table;

use super::run_end::{self, finish};
use super::start::{Seed, create};
use super::{agent_journal, begin, exhaust, make, pause, propose, question, wait, write};

pub(super) fn advance(state: &mut State<'_>, advance: Advance) -> Result<Reply, Fault> {
    let mut run = state.run(advance.run)?;
    let mut reply = Reply::Done;
    let first = run.next_step;
    // A run that takes a step does not wait any more.
    pause::end(state, &mut run)?;
    for step in advance.moves {
        let at = StepRef { run: run.number, step: run.next_step };
        if run.is_finished() {
            return Err(Fault::OutOfOrder { at, what: "the run is over" });
        }
        if run.exhausted.is_some() {
            return Err(Fault::OutOfOrder { at, what: "the run waits until a person gives it more" });
        }
        // In a cancelled run, begun calls complete, and nothing else happens.
        if run.cancelled.is_some()
            && !matches!(
                step,
                Move::Complete { .. } | Move::Make { .. } | Move::Spill { .. } | Move::Keep { .. }
            )
        {
            return Err(Fault::Cancelled(run.number));
        }
        if run.is_agent_journal() && !agent_journal::takes(&step) {
            return Err(Fault::OutOfOrder {
                at,
                what: "the journal of an agent takes calls and nothing else",
            });
        }
        match step {
            Move::Prompt { request, model } => {
                let provenance = run.provenance.clone();
                state.journal(&mut run, Entry::Prompted { request, model }, provenance)?;
            }
            Move::Reply { prompted, reply, usage, model } => {
                replied(state, &mut run, prompted, reply, usage, model)?;
            }
            Move::Reject { site, findings } => {
                state.journal(&mut run, Entry::Rejected { site, findings }, Provenance::default())?;
            }
            Move::Propose { proposals } if run.is_agent_journal() => {
                reply = agent_journal::propose(state, &mut run, proposals)?;
            }
            Move::Propose { proposals } => {
                if !propose::propose(state, &mut run, proposals)? {
                    reply = Reply::NotSuspended;
                }
            }
            Move::Begin { proposal } => begin::begin_approved(state, &mut run, proposal)?,
            Move::Restate { proposal, judgement } => propose::restate(state, &mut run, proposal, *judgement)?,
            Move::Forbid { proposal, findings } => propose::forbid(state, &mut run, proposal, findings)?,
            Move::OutcomeUnknown { proposal } => doubt(state, &mut run, proposal)?,
            Move::Complete { proposal, completion } => {
                complete(state, &mut run, proposal, completion)?;
                run_end::finish_if_still(state, &mut run)?;
            }
            Move::Wait { proposal, until_ms } => wait::wait(state, &mut run, proposal, until_ms)?,
            Move::Ask { proposal, description, fields } => {
                question::ask(state, &mut run, proposal, description, fields)?;
            }
            Move::Write { proposal, writing } => write::write(state, &mut run, proposal, writing)?,
            Move::Spill { proposal, whole, bytes } => {
                let Some(Phase::Executing { .. }) = run.open.get(&proposal) else {
                    let at = StepRef { run: run.number, step: proposal };
                    return Err(Fault::OutOfOrder { at, what: "only what has begun comes to something" });
                };
                state.journal(&mut run, Entry::Spilled { proposal, whole, bytes }, Provenance::default())?;
                run.keep(bytes);
            }
            Move::Keep { bytes } => run.keep(bytes),
            Move::Page { site, of, from, bytes } => {
                let at = StepRef { run: run.number, step: of };
                let Entry::Proposed { .. } = state.step(at)?.entry else {
                    return Err(Fault::OutOfOrder { at, what: "this step proposes nothing" });
                };
                state.journal(&mut run, Entry::Paged { site, of, from, bytes }, Provenance::default())?;
            }
            Move::Shrink { view, why } => {
                state.journal(&mut run, Entry::Shrunk { view, why }, Provenance::default())?;
            }
            Move::Make { proposal, program, slots } => {
                make::make(state, &mut run, proposal, program, slots)?;
            }
            Move::Spawn { index } => spawn(state, &mut run, index)?,
            Move::Suspend { seen, why } => {
                // Other commands write in the journal of an agent while its driver looks at it. The driver knows the
                // results of its own earlier moves in this command.
                let has_seen = seen == run.next_step || seen == first || run.is_agent_journal();
                if !has_seen || !run.is_idle() {
                    reply = Reply::NotSuspended;
                    continue;
                }
                state.make_still(&mut run)?;
                run.state = RunState::Waiting;
                // The batch goes on before the item is seen to wait. So a follower never sees a batch without work.
                state.yield_place(&run)?;
                state.journal(&mut run, Entry::Suspended { why }, Provenance::default())?;
            }
            Move::Pause { prompted, until_ms, why } => {
                pause::pause(state, &mut run, prompted, until_ms, why)?;
            }
            Move::Exhaust { limit, trouble } => exhaust::exhaust(state, &mut run, limit, trouble)?,
            Move::Stall { trouble } => {
                state.make_still(&mut run)?;
                run.state = RunState::Stalled { trouble: trouble.clone() };
                state.note_stalled(&run)?;
                state.yield_place(&run)?;
                state.journal(&mut run, Entry::Stalled { trouble }, Provenance::default())?;
            }
            Move::Finish { outcome } => finish(state, &mut run, outcome)?,
        }
    }
    state.put_run(&run)?;
    Ok(reply)
}

fn replied(
    state: &mut State<'_>,
    run: &mut Run,
    prompted: u64,
    reply: crate::id::BlobHash,
    usage: Usage,
    by: Option<String>,
) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step: prompted };
    let Entry::Prompted { model, .. } = state.step(at)?.entry else {
        return Err(Fault::OutOfOrder { at, what: "this step asks no model" });
    };
    let source = Source::Model(by.clone().unwrap_or(model));
    let provenance = run.provenance.join(&Provenance::of(source));
    state.journal(run, Entry::Replied { prompted, reply, usage, model: by }, provenance)?;
    run.used.add(usage);
    let kept_bytes = usage.kept_bytes.saturating_add(std::mem::take(&mut run.kept_since));
    for mut above in state.ancestors(run)? {
        above.used.add(Usage { kept_bytes, ..usage });
        state.put_run(&above)?;
    }
    Ok(())
}

fn complete(
    state: &mut State<'_>,
    run: &mut Run,
    proposal: u64,
    completion: Completion,
) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step: proposal };
    let Some(Phase::Executing { outbox }) = run.open.get(&proposal).copied() else {
        return Err(Fault::OutOfOrder { at, what: "only an effect that has begun can be completed" });
    };
    run.open.remove(&proposal);
    state.unpost(outbox)?;
    let provenance = match &completion {
        Completion::Done { provenance, .. } => provenance.clone(),
        _ => Provenance::default(),
    };
    // The kernel does not know all that an agent has seen. Its acts therefore depend on the agent, not on the values
    // that it was shown.
    if !run.is_agent_journal() {
        run.provenance = run.provenance.join(&provenance);
    }
    index_file(state, run.number, &completion)?;
    state.journal(run, Entry::Completed { proposal, completion }, provenance)?;
    Ok(())
}

/// Records that an effect of a run named a file, so that a question about the file finds the run.
fn index_file(state: &mut State<'_>, run: RunNumber, completion: &Completion) -> Result<(), Fault> {
    let Completion::Done { value, .. } = completion else { return Ok(()) };
    if let Some(name) = named_file(value) {
        let key = table::file_run_key(name, run);
        let owner = state.owner();
        table::save(state.txn, Table::FileRun, &owner, &key, &true, None)?;
    }
    Ok(())
}

/// Asks the host whether an effect happened. The effect is no longer at work, and begins again only if the host says
/// so.
fn doubt(state: &mut State<'_>, run: &mut Run, proposal: u64) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step: proposal };
    let Some(Phase::Executing { outbox }) = run.open.get(&proposal).copied() else {
        return Err(Fault::OutOfOrder { at, what: "only an effect that has begun can be in doubt" });
    };
    let Entry::Proposed { fingerprint, .. } = state.step(at)?.entry else {
        return Err(Fault::OutOfOrder { at, what: "this step proposes nothing" });
    };
    state.unpost(outbox)?;
    let body = Body::OutcomeUnknown { run: run.number, entry: ApprovalEntry { proposal: at, fingerprint } };
    let answers = run.cause().map(|number| state.message_of(number)).transpose()?.flatten();
    let message = state.deliver(body, answers, true, run.provenance.clone())?;
    run.open.insert(proposal, Phase::AwaitingApproval { message });
    state.journal(run, Entry::OutcomeUnknown { proposal, message }, Provenance::default())?;
    Ok(())
}

fn spawn(state: &mut State<'_>, run: &mut Run, index: usize) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step: run.next_step };
    let Some(item) = run.input.items.get(index).cloned() else {
        return Err(Fault::OutOfOrder { at, what: "the run has no such item" });
    };
    if let Some(rejection) = item.rejected {
        let entry = Entry::Collected { index, outcome: RunOutcome::Failed(rejection.trouble) };
        state.journal(run, entry, Provenance::host())?;
        return Ok(());
    }
    let limits = run.limits.within(state.left(run)?.part(seats(run, index)));
    // The child gets the provenance with which the run began, without the documents that the run's other items have
    // read since.
    let begun = state.provenance_of(&run.id)?;
    let provenance = match &run.input.earlier {
        None => begun,
        // Only the writes at the end use the earlier outcomes of items. The limits of these outcomes on readers hold
        // for all items.
        Some(_) => Provenance { readers: begun.readers, ..Provenance::host() },
    };
    let child = RunNumber(state.count("next_run")?);
    run.children.insert(index, child);
    state.journal(run, Entry::Spawned { index, child }, Provenance::default())?;
    let seed = Seed {
        id: state.fresh_id(),
        number: child,
        worker: run.worker,
        program: crate::command::Program {
            name: run.name.clone(),
            definition: run.definition,
            includes: run.includes.clone(),
            limits,
        },
        shape: Shape::Item,
        parent: Some(Parent { run: run.number, place: WaitReason::Item { index } }),
        depth: run.depth,
        model: run.model.clone(),
        input: Input {
            values: run.input.values.clone(),
            attachments: vec![item],
            items: vec![],
            origins: run.input.origins.clone(),
            earlier: None,
        },
        grants: run.grants.clone(),
        source: run.source,
        provenance,
        delivery: None,
        has_key: false,
    };
    create(state, seed).map(drop)
}

/// Returns the number of children that share the remaining budget: the child for this item, and those that may start
/// beside it.
fn seats(run: &Run, index: usize) -> u64 {
    let jobs = match run.shape {
        Shape::Each { jobs, .. } => jobs as usize,
        Shape::Single | Shape::Item | Shape::Chat | Shape::AgentJournal => 1,
    };
    let at_work = run.children.len().saturating_sub(run.yielded.len());
    let free = jobs.saturating_sub(at_work);
    // Items are begun in order.
    let is_to_come =
        |index: &usize| run.input.earlier(*index).is_none() && run.input.rejected(*index).is_none();
    let to_come = (index..run.input.items.len()).filter(is_to_come).count();
    free.min(to_come).max(1) as u64
}
