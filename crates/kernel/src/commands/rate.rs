//! Rates: the limit on how often a grant may be used. A limit holds for the grant and all grants that were made of
//! it, together.
//!
//! The start times of the last calls are kept beside the grant, so a crash or a restart forgets none of them.

use passable::{Quoting, quoting};

use crate::command::Fault;
use crate::grant::Rate;
use crate::id::FormulaId;
use crate::proposal::Finding;
use crate::state::State;
use crate::table::{self, ResolvedReference};
use crate::txn::{NO_OWNER, Table};

fn key(grant: &FormulaId) -> Vec<u8> {
    [b"rate ", &grant.number[..]].concat()
}

/// Removes the call times of a grant that is gone.
pub(crate) fn forget(state: &mut State<'_>, grant: &FormulaId) -> Result<(), Fault> {
    Ok(state.txn.delete(Table::Meta, &NO_OWNER, &key(grant))?)
}

/// Returns the start times of the calls that still count, oldest first.
fn counted(state: &mut State<'_>, grant: &FormulaId, rate: Rate) -> Result<Vec<i64>, Fault> {
    let began: Option<Vec<i64>> = table::load(state.txn, Table::Meta, &NO_OWNER, &key(grant))?;
    let since = state.env.now_ms().saturating_sub_unsigned(rate.per_ms);
    Ok(began.unwrap_or_default().into_iter().filter(|at| *at > since).collect())
}

/// Returns the reason why nothing can be called through these grants now, if one of them has reached its rate.
pub(super) fn refusal(state: &mut State<'_>, reached: &ResolvedReference) -> Result<Option<Finding>, Fault> {
    for grant in &reached.grants {
        let Some(rate) = grant.attenuation.rate else { continue };
        let counted = counted(state, &grant.id, rate)?;
        let Some(first) = counted.len().checked_sub(rate.calls as usize).and_then(|at| counted.get(at))
        else {
            continue;
        };
        let free = first.saturating_add_unsigned(rate.per_ms).saturating_sub(state.env.now_ms());
        let seconds = free.max(0).unsigned_abs().div_ceil(1_000);
        let message = quoting!("`{}` may be used for ", grant.slot).and(format!("{rate}, and was"));
        return Ok(Some(
            Finding::new("rate/limit", message)
                .allowed(Quoting::ours(format!("the next call in {seconds} s"))),
        ));
    }
    Ok(None)
}

/// Counts the start of a call through these grants.
pub(super) fn count(state: &mut State<'_>, reached: &ResolvedReference) -> Result<(), Fault> {
    for grant in &reached.grants {
        let Some(rate) = grant.attenuation.rate else { continue };
        let mut counted = counted(state, &grant.id, rate)?;
        counted.push(state.env.now_ms());
        // Older start times cannot affect the limit.
        let spare = counted.len().saturating_sub(rate.calls.min(Rate::MAX_ITEMS) as usize);
        counted.drain(..spare);
        table::save(state.txn, Table::Meta, &NO_OWNER, &key(&grant.id), &counted, None)?;
    }
    Ok(())
}
