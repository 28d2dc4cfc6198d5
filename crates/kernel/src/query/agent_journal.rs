//! The journals of the calls that agents make without runs of their own.
//!
//! A client that acts as an agent, and code that an agent wrote, call the capabilities that the agent was given. Each
//! such call that leads outside of the store is proposed, judged, begun and completed like a call of a worker. This
//! happens in an *agent journal*, a run. Each agent has one. The journal belongs to the agent if that is a host, and
//! otherwise to the host above it. That host gets the approval requests, and answers for the calls.

pub(crate) mod write;

use crate::formula::Formula;
use crate::grant::Grant;
use crate::id::{FormulaId, HostRun, StepRef};
use crate::proposal::{Proposal, Value};
use crate::run::{Completion, Entry, Origin, Run, Step};
use crate::table;
use crate::txn::{NO_OWNER, Owner, ReadTxn, StoreFault, Table};

/// The name of the rule that refuses a change if its target has changed since the gates judged the change.
pub const CHANGED: &str = "mount/changed";

/// The key of an agent's journal, among the agent's own rows.
pub(crate) const KEY: &[u8] = b"agent_journal";

/// Returns the journal of the calls that an agent makes without a run of its own, or `None` if the agent has no
/// journal.
///
/// # Errors
///
/// When the store fails.
pub fn journal_of(txn: &mut dyn ReadTxn, agent: &FormulaId) -> Result<Option<HostRun>, StoreFault> {
    table::load(txn, Table::Meta, &agent.number, KEY)
}

/// Returns the first part of the keys that record the steps of code's sends, either of all sends or of one send.
fn sends_key(eval: &FormulaId, send: Option<u32>) -> Vec<u8> {
    let send = send.map(u32::to_be_bytes);
    [&b"send "[..], &eval.number, send.as_ref().map_or(&[][..], |send| &send[..])].concat()
}

/// Returns the key that records the step of one send, in the journals of a host.
fn origin_key(host: &Owner, origin: &Origin) -> Vec<u8> {
    [&sends_key(&origin.eval, Some(origin.send))[..], host].concat()
}

/// Returns the step that a send of some code has become in the journals of a host. The step is recorded as long as
/// the code may repeat the send: until it has heard the answer or has ended.
///
/// # Errors
///
/// When the store fails.
pub fn step_of(
    txn: &mut dyn ReadTxn,
    host: &FormulaId,
    origin: &Origin,
) -> Result<Option<StepRef>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &origin_key(&host.number, origin))
}

/// Returns whether `agent` may use a grant. It may if it is the holder of the grant, if it holds the grant itself, or
/// if the holder is code that runs for it.
///
/// # Errors
///
/// When the store fails.
pub fn may_use(txn: &mut dyn ReadTxn, agent: &FormulaId, grant: &Grant) -> Result<bool, StoreFault> {
    if grant.holder == *agent || crate::query::holds(txn, agent, &grant.id)? {
        return Ok(true);
    }
    // Code acts for the agent who waits for its result.
    let Some(Formula::Eval { result, .. }) = table::formula(txn, &grant.holder)?.map(|row| row.formula)
    else {
        return Ok(false);
    };
    let promise = table::formula(txn, &result)?.map(|row| row.formula);
    Ok(matches!(promise, Some(Formula::Promise { asker, .. }) if asker.0 == agent.number))
}

/// Returns the formulas that a call passes besides its grant: the directory or tree of files, and every grant on the
/// way to it. They are the references among its arguments.
pub fn passed_formulas(proposal: &Proposal) -> Vec<FormulaId> {
    proposal.args.iter().flat_map(Value::references).copied().collect()
}

/// Returns the target of a call: the first formula that the call passes, or the grant if the call passes none.
pub fn target(proposal: &Proposal) -> FormulaId {
    passed_formulas(proposal).first().copied().unwrap_or(proposal.grant)
}

/// Returns the granted methods that each permit a call of `method`. The list has the names that this kernel, Endo's
/// clients and worker files use.
pub fn permitting_methods(method: &str) -> &'static [&'static str] {
    match method {
        "has" => &["has", "list"],
        "list" => &["list"],
        "lookup" => &["lookup", "list"],
        "read" => &["readText", "read"],
        "snapshot" => &["snapshot", "read"],
        "write" | "put" => &["writeText", "write"],
        "append" => &["append", "write"],
        "remove" => &["remove"],
        "move" => &["move"],
        "makeDirectory" => &["makeDirectory", "write"],
        _ => &[],
    }
}

/// The status of a call that was proposed in an agent journal.
#[derive(Clone, Debug, PartialEq)]
pub enum CallStatus {
    /// The call has not been completed.
    Open,
    /// The call was completed, with this result.
    Completed(Completion),
    /// A dependency of the call has changed since the approval, and the same call was proposed anew.
    Reproposed(StepRef),
    /// There is no such call.
    Missing,
}

/// Returns the status of the call at `at`.
///
/// # Errors
///
/// When the store fails.
pub fn call_status(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<CallStatus, StoreFault> {
    /// The number of steps that are read at a time.
    const PAGE: usize = 16;
    let run: Option<Run> = table::run(txn, owner, at.run)?;
    let Some(run) = run else { return Ok(CallStatus::Missing) };
    if run.open.contains_key(&at.step) {
        return Ok(CallStatus::Open);
    }
    let (mut from, mut over) = (at.step.saturating_add(1), None);
    loop {
        let start = table::step_key(at.run, from);
        let end = table::step_key(crate::id::RunNumber(at.run.0.saturating_add(1)), 0);
        let page: Vec<(Vec<u8>, Step)> = table::scan(txn, Table::Journal, owner, &start, &end, PAGE, false)?;
        let Some((_, last)) = page.last() else { break };
        from = last.number.saturating_add(1);
        for (_, step) in page {
            match step.entry {
                Entry::Completed { proposal, completion } if proposal == at.step => over = Some(completion),
                // The new proposal follows at once, in the same command.
                Entry::Proposed { replaces: Some(replaced), .. } if replaced == at.step => {
                    return Ok(CallStatus::Reproposed(StepRef { run: at.run, step: step.number }));
                }
                _ if over.is_some() => return Ok(over.map_or(CallStatus::Missing, CallStatus::Completed)),
                _ => {}
            }
        }
    }
    Ok(over.map_or(CallStatus::Missing, CallStatus::Completed))
}
