//! Whether what the log of events tells of is still in the store as it was recorded.
//!
//! The log is hash-chained ([`Event::verify`]), and its events carry the hashes of the steps, messages and grants that
//! they tell of. So nobody changes one of these without changing every event after it, and with them the hash at the
//! end, which can be kept elsewhere.

use serde::Serialize;

use crate::event::{Change, Event};
use crate::grant::Grant;
use crate::id::{BlobHash, FormulaId, MessageNumber, StepRef};
use crate::run::Step;
use crate::txn::{Owner, ReadTxn, StoreFault, Table, encode_row};
use crate::{query, table};

/// How what an event tells of stands in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// As it was recorded.
    Whole,
    /// It is not there any more: messages that were dismissed and grants of what was collected go.
    Gone,
    /// It is not what was recorded.
    Altered,
    /// The event has no hash of it: it tells of nothing else.
    Uncovered,
}

/// The hash under which a record stands in the log.
pub(crate) fn digest<T: Serialize>(record: &T) -> Result<BlobHash, StoreFault> {
    Ok(BlobHash::of(&encode_row(record)?))
}

/// Compares what an event in the log of `agent` tells of with what is in the store.
///
/// # Errors
/// When the store fails, or a row cannot be read.
pub fn kept(txn: &mut dyn ReadTxn, agent: &FormulaId, event: &Event) -> Result<Kept, StoreFault> {
    let (recorded, found) = match &event.change {
        Change::Step { run, step, digest, .. } => {
            (digest, of_step(txn, &agent.number, StepRef { run: *run, step: *step })?)
        }
        Change::Message { number, digest, .. } => (digest, of_message(txn, agent, *number)?),
        Change::Granted { grant, digest, .. } => {
            // That it was revoked since is an event of its own.
            let made = table::grant(txn, grant)?;
            let made = made.map(|grant| Grant { revoked_ms: None, revoked_by: None, ..grant });
            (digest, made.map(|made| self::digest(&made)).transpose()?)
        }
        Change::Revoked { number } => {
            let key = [b"n", &table::number_key(number.0)[..]].concat();
            let id: Option<FormulaId> = table::load(txn, Table::Grant, &agent.number, &key)?;
            let grant = id.map(|id| table::grant(txn, &id)).transpose()?.flatten();
            return Ok(match grant {
                Some(grant) if grant.revoked_ms == Some(event.at_ms) => Kept::Whole,
                Some(_) => Kept::Altered,
                None => Kept::Gone,
            });
        }
        _ => return Ok(Kept::Uncovered),
    };
    Ok(match found {
        None if matches!(event.change, Change::Step { .. }) => Kept::Altered,
        None => Kept::Gone,
        Some(found) if found == *recorded => Kept::Whole,
        Some(_) => Kept::Altered,
    })
}

fn of_step(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<Option<BlobHash>, StoreFault> {
    let step: Option<Step> = table::step(txn, owner, at)?;
    step.map(|step| digest(&step)).transpose()
}

fn of_message(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    number: MessageNumber,
) -> Result<Option<BlobHash>, StoreFault> {
    // The mailbox of an agent that was collected went with it.
    if table::formula(txn, agent)?.is_none() {
        return Ok(None);
    }
    let letter = query::message(txn, agent, number)?;
    letter.and_then(|letter| letter.message).map(|message| digest(&message)).transpose()
}
