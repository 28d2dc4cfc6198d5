//! Withdraw: the asker cancels its request. The message stays in the mailbox, is marked as withdrawn, and can no
//! longer be answered.

use passable::Untrusted;

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber};
use crate::message::{Answer, Body};
use crate::state::State;
use crate::table::{self, EdgeRow, PromiseRow};
use crate::txn::{NO_OWNER, Table};

/// The maximum number of messages that are marked for one promise. Each edit of a definition adds one.
const MAX_ITEMS: usize = 1_000;

/// Withdraws a request of the actor. This rejects the promise, and marks every message that asked for it in the
/// mailbox of the recipient. Returns `false` if the promise was settled before.
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
        &NO_OWNER,
        &promise.number,
        &table::prefix_end(&promise.number),
        MAX_ITEMS,
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

/// Returns whether the request under this number in the actor's mailbox was withdrawn.
pub(super) fn is_withdrawn(state: &mut State<'_>, number: MessageNumber) -> Result<bool, Fault> {
    let (owner, mailbox) = (state.owner(), state.self_agent()?.mailbox);
    let mail = table::mail(state.txn, &owner, &mailbox, number)?;
    Ok(mail.is_some_and(|mail| matches!(mail.answers.get(&0), Some(Answer::Withdrawn { .. }))))
}
