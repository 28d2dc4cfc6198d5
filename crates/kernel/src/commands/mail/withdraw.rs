//! Withdraw: whoever asked for something asks no more. The message stays where it lies and says so, and nobody can
//! answer it.

use passable::Untrusted;

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber};
use crate::message::{Answer, Body};
use crate::state::State;
use crate::table::{self, EdgeRow, PromiseRow};
use crate::txn::{NOBODY, Table};

/// How many messages that ask for the same thing are marked. Each edit of a definition makes one.
const MOST: usize = 1_000;

/// Withdraws what the actor asked for: its promise is rejected, and every message that asked for it is marked in the
/// mailbox of whoever was asked. `false` if an answer had come before.
pub(crate) fn withdraw(
    state: &mut State<'_>,
    promise: &FormulaId,
    reason: &Untrusted,
) -> Result<bool, Fault> {
    let told = if reason.raw().is_empty() { "it was cancelled" } else { reason.raw() };
    if !state.settle_with(promise, PromiseRow::Rejected { reason: told.to_owned() })? {
        return Ok(false);
    }
    let edges: Vec<(Vec<u8>, EdgeRow)> = table::scan(
        state.txn,
        Table::Edge,
        &NOBODY,
        &promise.number,
        &table::behind(&promise.number),
        MOST,
        false,
    )?;
    for (_, edge) in edges.into_iter().filter(|(_, edge)| edge.label == "promise") {
        if let Some(Formula::Message { message }) =
            table::formula(state.txn, &edge.from)?.map(|row| row.formula)
            && (message.body.asks().is_some() || matches!(message.body, Body::Release { .. }))
        {
            state.mark_withdrawn(&edge.from, &message, reason)?;
        }
    }
    Ok(true)
}

/// Whether what the actor was asked under this number was withdrawn.
pub(super) fn is_withdrawn(state: &mut State<'_>, number: MessageNumber) -> Result<bool, Fault> {
    let (owner, mailbox) = (state.owner(), state.self_agent()?.mailbox);
    let mail = table::mail(state.txn, &owner, &mailbox, number)?;
    Ok(mail.is_some_and(|mail| matches!(mail.answers.get(&0), Some(Answer::Withdrawn { .. }))))
}
