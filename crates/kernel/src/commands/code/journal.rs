//! The journal of code: its entries, and the references in them.

use crate::agent_journal;
use crate::code::{self, CodeEntry, OutcomeSubject, Record};
use crate::command::{Fault, Reply};
use crate::commands::code::promise;
use crate::id::FormulaId;
use crate::state::State;
use crate::state::code_owner::expect_code;
use crate::table;
use crate::txn::Table;

pub(crate) fn record(
    state: &mut State<'_>,
    eval: &FormulaId,
    from: u64,
    entries: Vec<CodeEntry>,
) -> Result<Reply, Fault> {
    expect_code(state, eval)?;
    // Code that was cancelled, or has come to its end, hears nothing more.
    if table::eval(state.txn, eval)?.is_none() {
        return Ok(Reply::AlreadySettled);
    }
    if code::length(state.txn, eval)? != from {
        return Err(Fault::Misfit { what: "the journal of the code has grown meanwhile".to_owned() });
    }
    let at_ms = state.env.now_ms();
    let has_sends = agent_journal::write::has_sends(state.txn, eval)?;
    for (number, entry) in (from..).zip(entries) {
        if let (CodeEntry::Heard { of: OutcomeSubject::Send(send), .. }, true) = (&entry, has_sends) {
            // Code that is started anew hears this recorded answer, so it does not make the call again.
            agent_journal::write::forget_sends(state.txn, eval, Some(*send), false)?;
        }
        for (label, id) in labels(number, &entry) {
            state.tie(eval, &label, &id)?;
        }
        code::write::record(state.txn, eval, &Record { number, at_ms, entry })?;
    }
    Ok(Reply::Done)
}

/// Returns the references in an entry, with their labels.
fn labels(number: u64, entry: &CodeEntry) -> impl Iterator<Item = (String, FormulaId)> {
    entry.needs().into_iter().enumerate().map(move |(i, id)| (format!("heard {number}.{i}"), id))
}

/// Removes some of the journal of collected code. Returns `true` once nothing is left.
pub(crate) fn strip_code(state: &mut State<'_>, eval: &FormulaId, most: usize) -> Result<bool, Fault> {
    let rows = code::write::first_records(state.txn, eval, most)?;
    let done = rows.len() < most;
    for record in rows {
        for (label, id) in labels(record.number, &record.entry) {
            state.untie(eval, &label, &id)?;
        }
        code::write::erase(state.txn, eval, record.number)?;
    }
    let done = done && code::write::forget_gifts(state.txn, eval, most)?;
    if done {
        promise::give_up(state, eval, "the code that made it is gone")?;
        crate::commands::end_journal(state, eval)?;
        code::write::forget_rest(state.txn, eval)?;
        if !planted!(state.env, SendsOutliveCode) {
            agent_journal::write::forget_sends(state.txn, eval, None, true)?;
        }
        let held = state.txn.range(Table::Held, &eval.number, &[], &[], usize::MAX, false)?;
        for (key, _) in held {
            state.txn.delete(Table::Held, &eval.number, &key)?;
        }
    }
    Ok(done)
}
