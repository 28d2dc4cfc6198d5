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

/// The rule by which a change is refused because something else is there than was there when it was judged.
pub const CHANGED: &str = "mount/changed";

/// Where the agent's own rows say which run is its journal.
pub(crate) const KEY: &[u8] = b"agent_journal";

/// Returns the journal of the calls that an agent makes without a run of its own, if it has one.
///
/// # Errors
/// When the store fails.
pub fn journal_of(txn: &mut dyn ReadTxn, agent: &FormulaId) -> Result<Option<HostRun>, StoreFault> {
    table::load(txn, Table::Meta, &agent.number, KEY)
}

/// Returns where the steps stand that sends of some code have become: those of all of it, or of one send.
fn sends_key(eval: &FormulaId, send: Option<u32>) -> Vec<u8> {
    let send = send.map(u32::to_be_bytes);
    [&b"send "[..], &eval.number, send.as_ref().map_or(&[][..], |send| &send[..])].concat()
}

/// Returns the same, of one send in the journals of a host.
fn origin_key(host: &Owner, origin: &Origin) -> Vec<u8> {
    [&sends_key(&origin.eval, Some(origin.send))[..], host].concat()
}

/// Returns the step that a send of some code has become in the journals of a host. It is known as long as the code
/// may send the same again: it has not heard the answer, and has not come to its end.
///
/// # Errors
/// When the store fails.
pub fn step_of(
    txn: &mut dyn ReadTxn,
    host: &FormulaId,
    origin: &Origin,
) -> Result<Option<StepRef>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &origin_key(&host.number, origin))
}

/// Returns whether `agent` may use a grant: it is its own, or one of code that runs for it, or something that it
/// holds.
///
/// # Errors
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

/// Returns the target of a call: the grant's, unless the call names one that was found on the way.
pub fn target(proposal: &Proposal) -> FormulaId {
    passed_formulas(proposal).first().copied().unwrap_or(proposal.grant)
}

/// Returns the methods that each permit such a call, when granted. They are its names here, in Endo's clients, and in
/// worker files.
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

/// How a call stands that was proposed in such a journal.
#[derive(Clone, Debug, PartialEq)]
pub enum CallStatus {
    /// It has not come to its end.
    Open,
    /// It has.
    Completed(Completion),
    /// A dependency of the call has changed since the approval, and the same call was proposed anew.
    Reproposed(StepRef),
    /// There is no such call.
    Missing,
}

/// Returns how the call at `at` stands.
///
/// # Errors
/// When the store fails.
pub fn call_status(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<CallStatus, StoreFault> {
    /// How many steps are read at a time.
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
                // It follows at once, in the same command.
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
