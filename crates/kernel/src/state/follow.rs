//! Promises that were passed on while they were pending. Each recipient gets a promise of its own. Once the first
//! promise settles, its giver passes the value on by the rules of that moment, and the recipient's promise settles
//! with it.

use serde::{Deserialize, Serialize};

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber, Number};
use crate::table::{self, PromiseRow};
use crate::txn::{NO_OWNER, StoreFault, Table};

use super::grants::Gift;
use super::{State, collector};

/// The maximum number of promises in a chain in which each follows the one before.
const MAX_LEN: usize = 32;

/// The maximum number of promises that follow one promise.
const MAX_ITEMS: usize = 1_000;

/// The record of a promise that was passed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FollowRow {
    /// The agent or code that gave the promise.
    giver: FormulaId,
    /// The formula that was given: the promise, or a grant that leads to it.
    id: FormulaId,
    /// The recipient of the promise.
    to: FormulaId,
    /// The name under which the promise was given.
    name: String,
    /// The giver's message that caused the gift.
    source: Option<MessageNumber>,
    /// The grants through which the giver reached the promise.
    through: Vec<FormulaId>,
    /// Whether the recipient is code that the giver both wrote and endowed.
    own: bool,
}

/// Returns the key prefix of the rows of promises that follow this one.
fn prefix(followed: &FormulaId) -> Vec<u8> {
    [b"follow ", &followed.number[..]].concat()
}

fn key(followed: &FormulaId, promise: &FormulaId) -> Vec<u8> {
    [&prefix(followed)[..], &promise.number].concat()
}

/// Returns a new promise of the recipient, which settles together with `followed`. The given formula `id` leads to
/// `followed`.
pub(super) fn follow(
    state: &mut State<'_>,
    id: &FormulaId,
    followed: &FormulaId,
    gift: &Gift<'_>,
) -> Result<FormulaId, Fault> {
    let misfit = |what: &str| Err(Fault::Misfit { what: what.to_owned() });
    let (mut at, mut length) = (*followed, 0);
    while let Formula::Promise { follows: Some(before), .. } = state.formula(&at)? {
        (at, length) = (before, length + 1);
        if length >= MAX_LEN {
            return misfit("nobody has answered yet, and this was passed on too often to be passed on again");
        }
    }
    let start = prefix(followed);
    let known =
        state.txn.range(Table::Meta, &NO_OWNER, &start, &table::prefix_end(&start), MAX_ITEMS, false)?;
    if known.len() >= MAX_ITEMS {
        return misfit("nobody has answered yet, and too many wait for it already");
    }
    // Code has its endowments already; the agent that endowed it is told when the promise settles.
    let agent = table::formula(state.txn, &gift.to)?.is_some_and(|row| row.formula.agent().is_some());
    let asker = if agent { Number(gift.to.number) } else { state.me() };
    let provenance = state.provenance_of(followed)?;
    let made = Formula::Promise { asker, call: None, code: None, follows: Some(*followed) };
    let promise = state.make(made, provenance)?;
    state.put_promise(&promise, &PromiseRow::Pending)?;
    let row = FollowRow {
        giver: state.actor,
        id: *id,
        to: gift.to,
        name: gift.name.to_owned(),
        source: gift.source,
        through: gift.through.clone(),
        own: gift.own,
    };
    table::save(state.txn, Table::Meta, &NO_OWNER, &key(followed, &promise), &row, None)?;
    Ok(promise)
}

/// Settles the promises that follow a promise that has settled.
pub(super) fn settled(state: &mut State<'_>, followed: &FormulaId, row: &PromiseRow) -> Result<(), Fault> {
    let start = prefix(followed);
    let rows: Vec<(Vec<u8>, FollowRow)> =
        table::scan(state.txn, Table::Meta, &NO_OWNER, &start, &table::prefix_end(&start), MAX_ITEMS, false)?;
    for (at, follow) in rows {
        state.txn.delete(Table::Meta, &NO_OWNER, &at)?;
        let number = at.get(start.len()..).and_then(|number| number.try_into().ok());
        let number =
            number.ok_or_else(|| StoreFault::Corrupt("a promise follows under a bad key".to_owned()))?;
        let promise = FormulaId { number, node: followed.node };
        let came = match row {
            PromiseRow::Fulfilled { .. } => match hand(state, &follow, row) {
                Err(Fault::Store(fault)) => return Err(Fault::Store(fault)),
                Err(why) => {
                    PromiseRow::Rejected { reason: format!("what came of it cannot be handed on: {why}") }
                }
                Ok(row) => row,
            },
            other => other.clone(),
        };
        state.settle_with(&promise, came)?;
    }
    Ok(())
}

/// Returns the outcome of a promise, as its giver passes it on.
fn hand(state: &mut State<'_>, follow: &FollowRow, row: &PromiseRow) -> Result<PromiseRow, Fault> {
    let PromiseRow::Fulfilled { value } = row else { return Ok(row.clone()) };
    for party in [&follow.giver, &follow.to] {
        if table::formula(state.txn, party)?.is_none() || collector::is_going(state.txn, party)? {
            return Err(Fault::Dangling(*party));
        }
    }
    // A grant on the way may have been revoked, or have expired, meanwhile.
    for passed in std::iter::once(&follow.id).chain(&follow.through) {
        state.behind(passed)?;
    }
    let gift = Gift {
        to: follow.to,
        name: &follow.name,
        source: follow.source,
        through: follow.through.clone(),
        own: follow.own,
    };
    let actor = std::mem::replace(&mut state.actor, follow.giver);
    let given = state.give_value(value, &gift);
    state.actor = actor;
    Ok(PromiseRow::Fulfilled { value: given? })
}

/// Removes the row of a promise that follows another, because no reader waits for it any more.
pub(crate) fn forget(
    state: &mut State<'_>,
    followed: &FormulaId,
    promise: &FormulaId,
) -> Result<(), StoreFault> {
    state.txn.delete(Table::Meta, &NO_OWNER, &key(followed, promise))
}
