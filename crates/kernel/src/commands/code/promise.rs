//! Promises that code has made, as promises of the store.

use crate::code::{self, CodePromise};
use crate::command::{Fault, Reply};
use crate::formula::Formula;
use crate::id::{FormulaId, Number};
use crate::provenance::{Provenance, Source};
use crate::run::RunOutcome;
use crate::state::State;
use crate::state::code_owner::{self, expect_code};
use crate::table::{self, PromiseRow};

/// The number of promises that are rejected in one step once they can no longer be settled.
const SOME: usize = 256;

pub(super) fn promise(
    state: &mut State<'_>,
    eval: &FormulaId,
    promises: &[CodePromise],
) -> Result<Reply, Fault> {
    expect_code(state, eval)?;
    let asker = code_owner::endower(state, eval)?;
    for which in promises {
        let id = code::promise_id(eval, *which);
        if table::formula(state.txn, &id)?.is_none() {
            let said = Provenance::of(Source::Agent(Number(eval.number)));
            let made = Formula::Promise { asker, call: None, code: Some(*eval), follows: None };
            state.put_formula(id, made, said)?;
            state.put_promise(&id, &PromiseRow::Pending)?;
            code::write::open(state.txn, eval, &id)?;
        }
        state.hold(&Number(eval.number), &id, b"x", b"")?;
        if let Some(agent) = code_owner::own_code_of(state, eval)? {
            state.hold(&agent, &id, b"x", b"")?;
        }
    }
    Ok(Reply::Done)
}

pub(super) fn settle(
    state: &mut State<'_>,
    eval: &FormulaId,
    settled: Vec<(CodePromise, RunOutcome)>,
) -> Result<Reply, Fault> {
    expect_code(state, eval)?;
    let mut any = false;
    for (which, outcome) in settled {
        let id = code::promise_id(eval, which);
        code::write::close(state.txn, eval, &id)?;
        any |= match why_not(state, eval, &outcome)? {
            None => state.settle(&id, &outcome)?,
            Some(why) => {
                let reason = format!("what it came to cannot be kept: {why}");
                state.settle_with(&id, PromiseRow::Rejected { reason })?
            }
        };
    }
    Ok(if any { Reply::Done } else { Reply::AlreadySettled })
}

/// Returns the reason why a promise of the code cannot be fulfilled with this outcome, if there is one. A holder of
/// the promise can use every reference in the value without a grant.
fn why_not(state: &mut State<'_>, eval: &FormulaId, outcome: &RunOutcome) -> Result<Option<String>, Fault> {
    let RunOutcome::Done(value) = outcome else { return Ok(None) };
    for id in value.references() {
        let is_held = crate::query::holds(state.txn, eval, id)?;
        if !(is_held && is_made_by_code(state, id)?) {
            let what = "a promise of code's own comes to data, or to what code has made";
            return Ok(Some(what.to_owned()));
        }
    }
    Ok(None)
}

fn is_made_by_code(state: &mut State<'_>, id: &FormulaId) -> Result<bool, Fault> {
    let row = table::formula(state.txn, id)?;
    let made = |formula: &Formula| {
        matches!(formula, Formula::Export { .. } | Formula::Promise { code: Some(_), .. })
    };
    Ok(row.is_some_and(|row| made(&row.formula)))
}

/// Rejects the open promises of code that has failed or is gone.
pub(crate) fn give_up(state: &mut State<'_>, eval: &FormulaId, why: &str) -> Result<(), Fault> {
    loop {
        let open = code::write::first_open_promises(state.txn, eval, SOME)?;
        for id in &open {
            code::write::close(state.txn, eval, id)?;
            state.settle_with(id, PromiseRow::Rejected { reason: why.to_owned() })?;
        }
        if open.len() < SOME {
            return Ok(());
        }
    }
}
