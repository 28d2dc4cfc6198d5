//! The records of the moves of directories, which the audit follows.

use std::collections::BTreeMap;

use super::audit;
use crate::event::{Change, Event};
use crate::id::{BlobHash, FormulaId};
use crate::relocation::Relocation;
use crate::table;
use crate::txn::{NO_OWNER, ReadTxn, StoreFault, Table};

/// Returns the number of the last move, or 0 if there was none.
pub(crate) fn last(txn: &mut dyn ReadTxn) -> Result<u64, StoreFault> {
    let rows = txn.range(Table::Relocation, &NO_OWNER, &[], &[], 1, true)?;
    Ok(rows.first().and_then(|(key, _)| number_of(key)).unwrap_or(0))
}

fn number_of(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(..8)?.try_into().ok()?))
}

/// Returns the key of a record that a move changed, by its hash before.
pub(crate) fn record_key(number: u64, old: &BlobHash) -> Vec<u8> {
    [&table::number_key(number)[..], &old.0].concat()
}

/// Returns the hash over the hashes of changed records: each hash before, and the hash after it, in order.
pub(crate) fn digest(records: &BTreeMap<BlobHash, BlobHash>) -> BlobHash {
    let mut hasher = blake3::Hasher::new_derive_key("almoner relocation v1");
    for (old, new) in records {
        hasher.update(&old.0);
        hasher.update(&new.0);
    }
    BlobHash(*hasher.finalize().as_bytes())
}

/// Returns the record of a move, or `None` if its rows are not as the record says.
pub(crate) fn intact(txn: &mut dyn ReadTxn, number: u64) -> Result<Option<Relocation>, StoreFault> {
    let key = table::number_key(number);
    let Some(relocation) = table::load::<Relocation>(txn, Table::Relocation, &NO_OWNER, &key)? else {
        return Ok(None);
    };
    let from = [&key[..], &[0]].concat();
    let to = table::prefix_end(&key);
    // The first row of the move is the record itself.
    let rows: Vec<(Vec<u8>, BlobHash)> =
        table::scan(txn, Table::Relocation, &NO_OWNER, &from, &to, usize::MAX, false)?;
    let hash = |key: &[u8]| Some(BlobHash(key.get(8..)?.try_into().ok()?));
    let records: Option<BTreeMap<BlobHash, BlobHash>> =
        rows.iter().map(|(key, new)| Some((hash(key)?, *new))).collect();
    Ok(records
        .filter(|records| records.len() as u64 == relocation.records && digest(records) == relocation.digest)
        .map(|_| relocation))
}

/// Returns the hash that a record has after all moves, from the hash that an event of `agent` reports. A move counts only
/// if the log of the agent tells of it.
pub(crate) fn follow(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    recorded: BlobHash,
) -> Result<BlobHash, StoreFault> {
    let mut hash = recorded;
    for number in 1..=last(txn)? {
        let key = record_key(number, &hash);
        let Some(next) = table::load(txn, Table::Relocation, &NO_OWNER, &key)? else { continue };
        if !is_logged(txn, agent, number)? {
            return Ok(hash);
        }
        hash = next;
    }
    Ok(hash)
}

/// Returns whether the log of an agent tells of a move, as the store has it.
fn is_logged(txn: &mut dyn ReadTxn, agent: &FormulaId, number: u64) -> Result<bool, StoreFault> {
    let key = table::number_key(number);
    let relocation: Option<Relocation> = table::load(txn, Table::Relocation, &NO_OWNER, &key)?;
    let seq: Option<u64> = table::load(txn, Table::Relocation, &agent.number, &key)?;
    let (Some(relocation), Some(seq)) = (relocation, seq) else { return Ok(false) };
    let event: Option<Event> = table::load(txn, Table::Event, &agent.number, &table::number_key(seq))?;
    let digest = audit::digest(&relocation)?;
    Ok(event.is_some_and(|event| event.change == Change::Relocated { number, digest }))
}
