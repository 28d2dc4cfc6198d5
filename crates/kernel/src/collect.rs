//! Garbage collection: unreachable formulas are removed, cycles included, in bounded steps.
//!
//! A formula that loses a reference to it becomes a *suspect*. The collector takes one suspect at a time and walks
//! backwards, from each formula to those that refer to it. If it meets the root, or a formula that a live client
//! pins, the suspect stays. If it runs out of formulas, none of the visited formulas can be reached, and all of them
//! go. That includes a cycle whose members refer only to one another.
//!
//! The store keeps the walk, so that the walk can stop after any number of formulas and continue after a restart. A
//! new reference to a visited formula puts the referring formula on the walk's list (`notice`). A reference that is
//! dropped meanwhile can at worst let the walk meet the root on a path that is gone. The target of the dropped
//! reference is then a suspect of its own.
//!
//! Expired sharing tokens go first, each as much work as a formula. The formulas that they gave become suspects like
//! any other.

use std::collections::BTreeSet;

use crate::command::{Fault, Reply};
use crate::formula::Formula;
use crate::id::{FormulaId, Number};
use crate::state::State;
use crate::state::collector::{
    CollectorPhase, FRONTIER, MARK, PHASE, SUSPECT, VISITED, is_marked, key, phase, put_on_frontier, suspect,
    visit,
};
use crate::table::{self, EdgeRow, FormulaRow, PromiseRow, TokenRow};
use crate::txn::{NO_OWNER, ReadTxn, StoreFault, Table};

/// The key for the suspect from which the walk began.
const ORIGIN: &[u8] = b"origin";

/// The kind of rows for suspects that only a pin keeps. Each row has the pinned formula. When the pin is gone, the
/// collector looks at the suspect again.
const ASIDE: u8 = b'a';

/// The kind of rows for sharing tokens, ordered by their time of expiry ([`table::ending_key`]).
const ENDING: u8 = b't';

/// The maximum number of references to follow, or of rows to remove, in one step.
const ROWS: usize = 64;

/// Returns the first formula of a kind, with the content of its row.
fn first(state: &mut State<'_>, kind: u8) -> Result<Option<(FormulaId, Vec<u8>)>, Fault> {
    let rows = state.txn.range(Table::Collector, &NO_OWNER, &[kind], &[kind + 1], 1, false)?;
    let Some((key, row)) = rows.into_iter().next() else { return Ok(None) };
    let number = key.get(1..).and_then(|number| number.try_into().ok());
    let number =
        number.ok_or_else(|| StoreFault::Corrupt("a key of `collector` is no formula's".to_owned()))?;
    Ok(Some((state.id_of(Number(number)), row)))
}

/// Returns the number of suspects. At most `at_most` of those that wait are counted; a walk in progress counts as one
/// more.
pub fn suspects(txn: &mut dyn ReadTxn, at_most: usize) -> Result<usize, StoreFault> {
    let waiting = txn.range(Table::Collector, &NO_OWNER, &[SUSPECT], &[SUSPECT + 1], at_most, false)?.len();
    let busy = usize::from(txn.get(Table::Collector, &NO_OWNER, PHASE)?.is_some());
    Ok(waiting + busy)
}

/// Returns the key of the record that a directory of the daemon's own was collected.
fn gone_key(id: &FormulaId) -> Vec<u8> {
    [b"gone ", &id.number[..]].concat()
}

/// Returns whether the formula was a directory of the daemon's own and has been collected. The files in such a
/// directory have no owner. A store that was restored to an older state has no such record of later directories.
///
/// # Errors
/// When the store fails.
pub fn is_gone(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<bool, StoreFault> {
    Ok(txn.get(Table::Meta, &NO_OWNER, &gone_key(id))?.is_some())
}

/// Returns whether the collector has work at this time.
pub fn is_due(txn: &mut dyn ReadTxn, now_ms: i64) -> Result<bool, StoreFault> {
    Ok(suspects(txn, 1)? > 0 || ended(txn, now_ms)?.is_some())
}

/// Returns the first sharing token that has expired, with its key.
fn ended(txn: &mut dyn ReadTxn, now_ms: i64) -> Result<Option<(Vec<u8>, Number)>, StoreFault> {
    // A token that expires at this moment counts as expired.
    let behind = table::ending_key(now_ms.saturating_add(1), &Number([0; 32]));
    Ok(table::scan(txn, Table::Collector, &NO_OWNER, &[ENDING], &behind, 1, false)?.pop())
}

/// Removes one sharing token that has expired. Returns `false` if there is none.
fn sweep(state: &mut State<'_>) -> Result<bool, Fault> {
    if planted!(state.env, EndedTokenStays) {
        return Ok(false);
    }
    let now_ms = state.env.now_ms();
    let Some((key, token)) = ended(state.txn, now_ms)? else { return Ok(false) };
    match table::load::<TokenRow>(state.txn, Table::Token, &NO_OWNER, &token.0)? {
        Some(row) => state.drop_token(&token, &row)?,
        None => state.txn.delete(Table::Collector, &NO_OWNER, &key)?,
    }
    Ok(true)
}

/// Continues the collection by at most `budget` formulas and sharing tokens.
pub(crate) fn collect(
    state: &mut State<'_>,
    budget: u32,
    pinned: &BTreeSet<FormulaId>,
) -> Result<Reply, Fault> {
    let mut count = 0;
    recheck_unpinned(state, pinned)?;
    let mut left = budget;
    while left > 0 && sweep(state)? {
        left -= 1;
    }
    let swept = left > 0 || ended(state.txn, state.env.now_ms())?.is_none();
    for _ in 0..left {
        match phase(state.txn)? {
            None => {
                // The removed formulas dropped references to other formulas, which are suspects now.
                state.suspect_loosened()?;
                let Some((id, _)) = first(state, SUSPECT)? else {
                    return Ok(Reply::Collected { count, done: true });
                };
                state.txn.delete(Table::Collector, &NO_OWNER, &key(SUSPECT, &id))?;
                if state.txn.get(Table::Formula, &NO_OWNER, &id.number)?.is_some() {
                    table::save(
                        state.txn,
                        Table::Collector,
                        &NO_OWNER,
                        PHASE,
                        &CollectorPhase::Walking,
                        None,
                    )?;
                    table::save(state.txn, Table::Collector, &NO_OWNER, ORIGIN, &id, None)?;
                    visit(state.txn, &id)?;
                }
            }
            Some(CollectorPhase::Walking) => walk(state, pinned)?,
            Some(CollectorPhase::Removing) => count += u64::from(remove(state)?),
        }
    }
    state.suspect_loosened()?;
    Ok(Reply::Collected { count, done: swept && suspects(state.txn, 1)? == 0 })
}

/// Takes one formula from the frontier and visits the formulas that refer to it.
fn walk(state: &mut State<'_>, pinned: &BTreeSet<FormulaId>) -> Result<(), Fault> {
    let Some((id, row)) = first(state, FRONTIER)? else {
        table::save(state.txn, Table::Collector, &NO_OWNER, PHASE, &CollectorPhase::Removing, None)?;
        return Ok(());
    };
    state.txn.delete(Table::Collector, &NO_OWNER, &key(FRONTIER, &id))?;
    if state.is_root(&id) {
        return end_walk(state);
    }
    if pinned.contains(&id) {
        if let Some(origin) = table::load::<FormulaId>(state.txn, Table::Collector, &NO_OWNER, ORIGIN)? {
            table::save(state.txn, Table::Collector, &NO_OWNER, &key(ASIDE, &origin), &id, None)?;
        }
        return end_walk(state);
    }
    let from: Vec<u8> =
        if row == MARK { id.number.to_vec() } else { crate::txn::decode_row(Table::Collector, &row)? };
    let edges: Vec<(Vec<u8>, EdgeRow)> =
        table::scan(state.txn, Table::Edge, &NO_OWNER, &from, &table::prefix_end(&id.number), ROWS, false)?;
    if let Some((last, _)) = edges.last().filter(|_| edges.len() == ROWS) {
        // The walk continues with the key after the last edge.
        put_on_frontier(state.txn, &id, Some(&[last.as_slice(), &[0]].concat()))?;
    }
    for (_, edge) in edges {
        if !is_marked(state.txn, VISITED, &edge.from)? {
            visit(state.txn, &edge.from)?;
        }
    }
    Ok(())
}

/// Makes suspects again of the formulas that were kept only by a pin that is gone.
fn recheck_unpinned(state: &mut State<'_>, pinned: &BTreeSet<FormulaId>) -> Result<(), Fault> {
    let aside: Vec<(Vec<u8>, FormulaId)> =
        table::scan(state.txn, Table::Collector, &NO_OWNER, &[ASIDE], &[ASIDE + 1], usize::MAX, false)?;
    for (key, _) in aside.into_iter().filter(|(_, pin)| !pinned.contains(pin)) {
        state.txn.delete(Table::Collector, &NO_OWNER, &key)?;
        if let Ok(number) = key[1..].try_into() {
            let id = state.id_of(Number(number));
            suspect(state.txn, &id)?;
        }
    }
    Ok(())
}

/// Ends the walk. The suspect stays in the store.
fn end_walk(state: &mut State<'_>) -> Result<(), Fault> {
    for kind in [FRONTIER, VISITED] {
        let rows = state.txn.range(Table::Collector, &NO_OWNER, &[kind], &[kind + 1], usize::MAX, false)?;
        for (key, _) in rows {
            state.txn.delete(Table::Collector, &NO_OWNER, &key)?;
        }
    }
    state.txn.delete(Table::Collector, &NO_OWNER, ORIGIN)?;
    state.txn.delete(Table::Collector, &NO_OWNER, PHASE)?;
    Ok(())
}

/// Removes some rows of one visited formula. Returns `true` if the formula itself is gone.
fn remove(state: &mut State<'_>) -> Result<bool, Fault> {
    let Some((id, _)) = first(state, VISITED)? else {
        state.txn.delete(Table::Collector, &NO_OWNER, ORIGIN)?;
        state.txn.delete(Table::Collector, &NO_OWNER, PHASE)?;
        return Ok(false);
    };
    let row = table::load::<FormulaRow>(state.txn, Table::Formula, &NO_OWNER, &id.number)?;
    let Some(row) = row else {
        state.txn.delete(Table::Collector, &NO_OWNER, &key(VISITED, &id))?;
        return Ok(false);
    };
    if !strip(state, &id, &row.formula)? {
        return Ok(false);
    }
    state.destroy(&id, &row)?;
    state.txn.delete(Table::Collector, &NO_OWNER, &key(VISITED, &id))?;
    Ok(true)
}

/// Removes rows that belong to a formula, with the references in them. Returns `true` once none is left.
fn strip(state: &mut State<'_>, id: &FormulaId, formula: &Formula) -> Result<bool, Fault> {
    match formula {
        Formula::PetStore { owner } => {
            let prefix = table::inner_key(id, &[]);
            let rows: Vec<(Vec<u8>, FormulaId)> = table::scan(
                state.txn,
                Table::PetName,
                &owner.0,
                &prefix,
                &table::prefix_end(&prefix),
                ROWS,
                false,
            )?;
            let done = rows.len() < ROWS;
            for (key, target) in rows {
                state.txn.delete(Table::PetName, &owner.0, &key)?;
                let name = String::from_utf8_lossy(key.get(32..).unwrap_or_default()).into_owned();
                state.forget_skeleton(id, &owner.0, &name)?;
                state.untie(id, &format!("name {name}"), &target)?;
                state.unhold(owner, &target, b"n", &key)?;
            }
            Ok(done)
        }
        Formula::Mailbox { owner } => {
            let prefix = table::inner_key(id, &[]);
            let rows: Vec<(Vec<u8>, crate::message::Mail)> = table::scan(
                state.txn,
                Table::Message,
                &owner.0,
                &prefix,
                &table::prefix_end(&prefix),
                ROWS,
                false,
            )?;
            let done = rows.len() < ROWS;
            for (key, mail) in rows {
                state.txn.delete(Table::Message, &owner.0, &key)?;
                state.txn.delete(Table::Awaiting, &owner.0, &key)?;
                let index = table::inner_key(id, &mail.envelope.id.0);
                state.txn.delete(Table::Mailbox, &owner.0, &index)?;
                if let (Some(message), Some(number)) = (mail.message, crate::name_lookup::number_in(&key)) {
                    state.untie(id, &format!("message {number}"), &message)?;
                    for one in &mail.endowed {
                        state.untie(id, &one.label(number), &one.made)?;
                    }
                }
            }
            if done {
                state.txn.delete(Table::Mailbox, &owner.0, &id.number)?;
            }
            Ok(done)
        }
        Formula::Promise { asker, code, follows, .. } => {
            if let Some(followed) = follows {
                crate::state::follow::forget(state, followed, id)?;
            }
            if let Some(code) = code {
                state.unhold(&Number(code.number), id, b"x", b"")?;
                state.unhold(asker, id, b"x", b"")?;
                crate::code::write::close(state.txn, code, id)?;
            }
            if let Some(PromiseRow::Fulfilled { value }) = table::promise(state.txn, id)? {
                let references: Vec<FormulaId> = value.references().into_iter().copied().collect();
                for (i, target) in references.iter().enumerate() {
                    state.untie(id, &format!("value {i}"), target)?;
                    state.unhold(asker, target, b"r", &id.number)?;
                }
            }
            crate::commands::abandon_commands(state, id)?;
            state.txn.delete(Table::Promise, &NO_OWNER, &id.number)?;
            Ok(true)
        }
        Formula::Grant { holder, .. } => {
            // The grant's row stays as a record of the authority that was given.
            crate::commands::forget_rate(state, id)?;
            state.unhold(&Number(holder.number), id, b"g", b"")?;
            Ok(true)
        }
        Formula::Worker { pooled: true, .. } => {
            crate::commands::forget_pool(state, id)?;
            Ok(true)
        }
        Formula::Export { eval, holder, .. } => {
            state.unhold(&Number(eval.number), id, b"x", b"")?;
            if let Some(holder) = holder {
                state.unhold(holder, id, b"x", b"")?;
            }
            Ok(true)
        }
        Formula::Eval { .. } => crate::commands::strip_code(state, id, ROWS),
        Formula::Scratch { .. } => {
            // The daemon keeps the files of the directory. From this record, it knows even after a crash that they
            // have no owner.
            state.txn.put(Table::Meta, &NO_OWNER, &gone_key(id), MARK, None)?;
            Ok(true)
        }
        Formula::Timer { owner, .. } => {
            state.txn.delete(Table::Meta, &owner.0, &crate::timer::timer_key(id))?;
            Ok(true)
        }
        Formula::Host { .. } => {
            table::strike_host(state.txn, id)?;
            forget_agent(state, id)
        }
        Formula::Guest { .. } => forget_agent(state, id),
        _ => Ok(true),
    }
}

/// Removes the agent's holdings, its gifts, its journal, its subscriptions, and the sharing tokens that it made.
/// Returns `true` once none is left.
fn forget_agent(state: &mut State<'_>, agent: &FormulaId) -> Result<bool, Fault> {
    let held = state.txn.range(Table::Held, &agent.number, &[], &[], ROWS, false)?;
    let done = held.len() < ROWS;
    for (key, _) in held {
        state.txn.delete(Table::Held, &agent.number, &key)?;
    }
    if !done {
        return Ok(false);
    }
    if !crate::code::write::forget_gifts(state.txn, agent, ROWS)? {
        return Ok(false);
    }
    crate::commands::end_journal(state, agent)?;
    state.forget_mail_use(agent)?;
    for subscription in crate::timer::subscriptions(state.txn, agent)? {
        state.unsubscribe(agent, &subscription.timer)?;
    }
    let tokens: Vec<(Vec<u8>, TokenRow)> =
        table::scan(state.txn, Table::Token, &NO_OWNER, &[], &[], usize::MAX, false)?;
    for (key, token) in tokens.into_iter().filter(|(_, token)| token.giver == *agent) {
        if let Ok(number) = key.as_slice().try_into() {
            state.drop_token(&Number(number), &token)?;
        }
    }
    Ok(true)
}
