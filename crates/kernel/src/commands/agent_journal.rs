//! The journal of an agent's acts outside of runs.

use std::collections::BTreeMap;

use passable::{Quoting, Untrusted, with_article};

use crate::agent_journal;
use crate::command::{Fault, Judgement, Move, Reply};
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{BlobHash, FormulaId, HostRun, MessageNumber, RunNumber, StepRef};
use crate::proposal::{Decision, Finding, Value};
use crate::provenance::{Provenance, Source};
use crate::run::{
    CallSite, Completion, Entry, Input, Limits, Phase, Run, RunOutcome, Shape, State as RunState, Trouble,
    Usage,
};
use crate::state::{State, code_owner, collector};
use crate::table;
use crate::txn::Table;

use super::{cancel, propose, run_end};

/// The maximum number of waiting calls of one agent.
const MAX_OPEN_CALLS: usize = 200;

/// The maximum number of hosts above an agent through which the responsible host is looked for.
const MAX_HOST_LEVELS: usize = 64;

/// Finds the journal of an agent, or makes it.
pub(super) fn open_journal(state: &mut State<'_>, agent: FormulaId) -> Result<Reply, Fault> {
    if let Some(at) = agent_journal::journal_of(state.txn, &agent)? {
        return Ok(Reply::AgentJournal { at });
    }
    let owner = answers_for(state, agent)?;
    let actor = std::mem::replace(&mut state.actor, owner);
    let made = make(state, agent);
    state.actor = actor;
    Ok(Reply::AgentJournal { at: HostRun { host: owner, run: made? } })
}

/// Returns the host that is responsible for an agent: the agent itself, or the host above it.
fn answers_for(state: &mut State<'_>, agent: FormulaId) -> Result<FormulaId, Fault> {
    let mut at = agent;
    for _ in 0..MAX_HOST_LEVELS {
        if collector::is_going(state.txn, &at)? {
            return Err(Fault::Dangling(at));
        }
        let above = match state.formula(&at)? {
            Formula::Host { .. } => return Ok(at),
            Formula::Guest { host, .. } => host,
            // The agent that endowed the code is responsible for the code.
            Formula::Eval { result, .. } => {
                at = match state.formula(&result)? {
                    Formula::Promise { asker, .. } => state.id_of(asker),
                    _ => return Err(Fault::Dangling(result)),
                };
                continue;
            }
            other => {
                return Err(Fault::NotAllowed(format!(
                    "{} does nothing of its own",
                    with_article(other.kind())
                )));
            }
        };
        at = match state.formula(&above)? {
            Formula::Handle { agent } => agent,
            _ => return Err(Fault::Dangling(above)),
        };
    }
    Err(Fault::Dangling(agent))
}

/// Makes the journal, as a run of the actor's. A reference from the agent keeps it. Once the agent is collected, the
/// journal ends, and its entries stay.
fn make(state: &mut State<'_>, agent: FormulaId) -> Result<RunNumber, Fault> {
    let (me, is_own) = (state.me(), agent == state.actor);
    let number = RunNumber(state.count("next_run")?);
    let id = state.fresh_id();
    let (result, _) = state.new_promise(me, None)?;
    let source = if is_own { Source::Host } else { Source::Agent(crate::id::Number(agent.number)) };
    let provenance = Provenance::of(source);
    let formula = Formula::Run { run: number, worker: agent, result, documents: vec![] };
    state.put_formula(id, formula, provenance.clone())?;
    state.tie(&agent, LABEL, &id)?;
    let is_code = matches!(state.formula(&agent)?, Formula::Eval { .. });
    let kind = if is_code { "code " } else { "@" };
    let endowed_by = if is_code { Some(code_owner::endower(state, &agent)?) } else { None };
    let name = format!("{kind}{}", agent.short());
    state.event(Change::RunStarted { run: number, name: name.clone(), parent: None })?;
    let run = Run {
        number,
        id,
        worker: agent,
        name,
        // No worker file defines the acts of an agent.
        definition: BlobHash([0; 32]),
        includes: BTreeMap::new(),
        shape: Shape::AgentJournal,
        parent: None,
        depth: 0,
        model: String::new(),
        input: Input {
            values: Value::null(),
            attachments: vec![],
            items: vec![],
            origins: vec![],
            earlier: None,
        },
        grants: BTreeMap::new(),
        limits: Limits::default(),
        used: Usage::default(),
        state: RunState::Waiting,
        next_step: 1,
        result,
        provenance,
        source: MessageNumber(0),
        started_ms: state.env.now_ms(),
        finished_ms: None,
        open: BTreeMap::new(),
        children: BTreeMap::new(),
        yielded: BTreeMap::new(),
        drive: None,
        delivery: None,
        cancelled: None,
        cancelled_by: None,
        principal: (!is_own).then_some(agent),
        endowed_by,
        additions: BTreeMap::new(),
        made: Default::default(),
        given: Default::default(),
        written: 0,
        kept_since: 0,
        exhausted: None,
        questions: Default::default(),
        forgotten: false,
        has_key: false,
    };
    state.put_run(&run)?;
    let at = HostRun { host: state.actor, run: number };
    table::save(state.txn, Table::Meta, &agent.number, agent_journal::KEY, &at, None)?;
    Ok(number)
}

/// The label of the edge from an agent to its journal.
const LABEL: &str = "journal";

/// Ends the journal of an agent that is being collected. Calls that wait in it never begin.
pub(crate) fn end_journal(state: &mut State<'_>, agent: &FormulaId) -> Result<(), Fault> {
    let Some(at) = agent_journal::journal_of(state.txn, agent)? else { return Ok(()) };
    state.txn.delete(Table::Meta, &agent.number, agent_journal::KEY)?;
    let actor = std::mem::replace(&mut state.actor, at.host);
    let fallen = end(state, agent, at.run);
    state.actor = actor;
    fallen
}

fn end(state: &mut State<'_>, agent: &FormulaId, number: RunNumber) -> Result<(), Fault> {
    let owner = state.owner();
    let Some(mut run) = table::run(state.txn, &owner, number)? else { return Ok(()) };
    let id = run.id;
    state.untie(agent, LABEL, &id)?;
    let was_open = !run.open.is_empty();
    cancel::refuse_open(state, &mut run)?;
    for (proposal, phase) in std::mem::take(&mut run.open) {
        if let Phase::Executing { outbox } = phase {
            state.unpost(outbox)?;
        }
        // The grant through which the outcome could be looked up is gone as well.
        let message = "it may or may not have happened: the agent is gone since";
        let completion = Completion::Failed(Finding::new("effect/unknown", message));
        state.journal(&mut run, Entry::Completed { proposal, completion }, Provenance::host())?;
    }
    if !was_open {
        // All acts of the agent are over. The journal therefore ends without a failure.
        run_end::finish(state, &mut run, RunOutcome::Done(Value::undefined()))?;
        return state.put_run(&run);
    }
    let trouble = Trouble {
        code: "run/cancelled".to_owned(),
        message: Untrusted::new("the agent is gone"),
        help: "what it did stays in its journal".to_owned(),
    };
    run_end::finish(state, &mut run, RunOutcome::Failed(trouble))?;
    state.put_run(&run)
}

/// Returns whether a step is allowed in the journal of an agent.
pub(super) fn takes(step: &Move) -> bool {
    match step {
        Move::Propose { .. }
        | Move::Begin { .. }
        | Move::Restate { .. }
        | Move::Forbid { .. }
        | Move::OutcomeUnknown { .. }
        | Move::Complete { .. }
        | Move::Suspend { .. }
        | Move::Stall { .. } => true,
        Move::Prompt { .. }
        | Move::Reply { .. }
        | Move::Reject { .. }
        | Move::Make { .. }
        | Move::Spawn { .. }
        | Move::Pause { .. }
        | Move::Exhaust { .. }
        | Move::Ask { .. }
        | Move::Write { .. }
        | Move::Wait { .. }
        | Move::Spill { .. }
        | Move::Keep { .. }
        | Move::Page { .. }
        | Move::Shrink { .. }
        | Move::Finish { .. } => false,
    }
}

/// Proposes one call of an agent. If code has proposed the call of the same send before, nothing is proposed, and the
/// reply names the earlier step.
pub(super) fn propose(
    state: &mut State<'_>,
    run: &mut Run,
    mut judged: Vec<Judgement>,
) -> Result<Reply, Fault> {
    let at = StepRef { run: run.number, step: run.next_step };
    let [Judgement { site: CallSite::Direct { origin }, .. }] = judged.as_slice() else {
        return Err(Fault::OutOfOrder { at, what: "an agent makes one call at a time, and makes it itself" });
    };
    let owner = state.owner();
    if let Some(origin) = origin {
        let host = state.actor;
        if let Some(at) = agent_journal::step_of(state.txn, &host, origin)?
            && !has_conflict(state, at)?
        {
            return Ok(Reply::AlreadyProposed { at });
        }
        agent_journal::write::record_step(state.txn, &owner, origin, at)?;
    }
    // The limit keeps an agent that cannot be stopped from filling a mailbox. A person cannot read so many cards.
    if run.open.len() >= MAX_OPEN_CALLS {
        for one in judged.iter_mut().filter(|one| one.verdict.decision == Decision::Ask) {
            one.verdict.decision = Decision::Deny;
            let what = Quoting::ours(format!("{MAX_OPEN_CALLS} calls of this agent wait already"));
            one.verdict.findings.push(Finding::new("standing/many", what));
        }
    }
    propose::propose(state, run, judged)?;
    Ok(Reply::Proposed { at })
}

/// Returns whether a call was not made because somebody else had changed the same thing meanwhile. Such a call may be
/// proposed anew.
fn has_conflict(state: &mut State<'_>, at: StepRef) -> Result<bool, Fault> {
    let owner = state.owner();
    Ok(match agent_journal::call_status(state.txn, &owner, at)? {
        agent_journal::CallStatus::Completed(Completion::Refused(findings)) => {
            findings.iter().any(|finding| finding.rule == agent_journal::CHANGED)
        }
        _ => false,
    })
}
