//! The audit: a comparison of the event log with the records that are still in the store.
//!
//! The log is hash-chained ([`Event::verify`]), and its events carry the hashes of the steps, messages and grants
//! that they report. A change of one of these records therefore requires a change of every later event. It also
//! changes the hash at the end of the log, which the user can keep elsewhere.

use serde::Serialize;

use crate::event::{Change, Event};
use crate::grant::Grant;
use crate::id::{BlobHash, FormulaId, MessageNumber, StepRef};
use crate::query::{self, relocations};
use crate::run::Step;
use crate::table;
use crate::txn::{Owner, ReadTxn, StoreFault, Table, encode_row};

/// The result of comparing an event with the record that it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordStatus {
    /// The record is as it was logged.
    Intact,
    /// The record is gone. Dismissed messages and the grants of collected formulas are removed.
    Missing,
    /// The record differs from the one that was logged.
    Altered,
    /// The event reports no record, so it carries no hash to compare.
    Uncovered,
}

/// Returns the hash of a record, as events in the log carry it.
pub(crate) fn digest<T: Serialize>(record: &T) -> Result<BlobHash, StoreFault> {
    Ok(BlobHash::of(&encode_row(record)?))
}

/// Compares the record that an event in the log of `agent` reports with the record in the store.
///
/// # Errors
/// When the store fails, or a row cannot be read.
pub fn check_record(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    event: &Event,
) -> Result<RecordStatus, StoreFault> {
    let (recorded, found) = match &event.change {
        Change::Step { run, step, digest, .. } => {
            (digest, step_digest(txn, &agent.number, StepRef { run: *run, step: *step })?)
        }
        Change::Message { number, digest, .. } => (digest, message_digest(txn, agent, *number)?),
        Change::Granted { grant, digest, .. } => {
            // A later revocation has an event of its own, so it is left out of this comparison.
            let made = table::grant(txn, grant)?;
            let made = made.map(|grant| Grant { revoked_ms: None, revoked_by: None, ..grant });
            (digest, made.map(|made| self::digest(&made)).transpose()?)
        }
        Change::Revoked { number } => {
            let key = [b"n", &table::number_key(number.0)[..]].concat();
            let id: Option<FormulaId> = table::load(txn, Table::Grant, &agent.number, &key)?;
            let grant = id.map(|id| table::grant(txn, &id)).transpose()?.flatten();
            return Ok(match grant {
                Some(grant) if grant.revoked_ms == Some(event.at_ms) => RecordStatus::Intact,
                Some(_) => RecordStatus::Altered,
                None => RecordStatus::Missing,
            });
        }
        Change::Relocated { number, digest } => {
            // A move changes records. So its own record and the hashes in it must be those that were logged.
            let found = relocations::intact(txn, *number)?;
            let found = found.map(|found| self::digest(&found)).transpose()?;
            return Ok(match found == Some(*digest) {
                true => RecordStatus::Intact,
                false => RecordStatus::Altered,
            });
        }
        _ => return Ok(RecordStatus::Uncovered),
    };
    Ok(match found {
        None if matches!(event.change, Change::Step { .. }) => RecordStatus::Altered,
        None => RecordStatus::Missing,
        Some(found) if found == *recorded => RecordStatus::Intact,
        // A move of directories changes records, and says which hash follows which.
        Some(found) if found == relocations::follow(txn, agent, *recorded)? => RecordStatus::Intact,
        Some(_) => RecordStatus::Altered,
    })
}

fn step_digest(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<Option<BlobHash>, StoreFault> {
    let step: Option<Step> = table::step(txn, owner, at)?;
    step.map(|step| digest(&step)).transpose()
}

fn message_digest(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    number: MessageNumber,
) -> Result<Option<BlobHash>, StoreFault> {
    // The mailbox of a collected agent was removed with the agent.
    if table::formula(txn, agent)?.is_none() {
        return Ok(None);
    }
    let letter = query::message(txn, agent, number)?;
    letter.and_then(|letter| letter.message).map(|message| digest(&message)).transpose()
}
