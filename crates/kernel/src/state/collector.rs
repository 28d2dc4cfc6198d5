//! The phase and the marks of the collector, which every command respects.

use crate::command::Fault;
use crate::id::FormulaId;
use crate::table;
use crate::txn::{NO_OWNER, ReadTxn, Table, Txn};

/// The key of the collector's phase. While the collector is idle, no such row exists.
pub(crate) const PHASE: &[u8] = b"phase";

pub(crate) const SUSPECT: u8 = b's';

pub(crate) const VISITED: u8 = b'v';

pub(crate) const FRONTIER: u8 = b'f';

/// The content of a row that carries all information in its key.
pub(crate) const MARK: &[u8] = b"1";

/// The phase of the collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CollectorPhase {
    /// The collector walks backwards from a suspect.
    Walking,
    /// The collector removes the visited formulas.
    Removing,
}

pub(crate) fn key(kind: u8, id: &FormulaId) -> Vec<u8> {
    [&[kind][..], &id.number].concat()
}

/// Marks a formula as a suspect, so that the collector checks it.
pub(crate) fn suspect(txn: &mut dyn Txn, id: &FormulaId) -> Result<(), Fault> {
    Ok(txn.put(Table::Collector, &NO_OWNER, &key(SUSPECT, id), MARK, None)?)
}

pub(crate) fn phase(txn: &mut dyn ReadTxn) -> Result<Option<CollectorPhase>, Fault> {
    Ok(table::load(txn, Table::Collector, &NO_OWNER, PHASE)?)
}

pub(crate) fn is_marked(txn: &mut dyn ReadTxn, kind: u8, id: &FormulaId) -> Result<bool, Fault> {
    Ok(txn.get(Table::Collector, &NO_OWNER, &key(kind, id))?.is_some())
}

/// Reports new references to the collector, as pairs of source and target. Refuses a reference to a formula that is
/// being removed.
pub(crate) fn notice(txn: &mut dyn Txn, tied: &[(FormulaId, FormulaId)]) -> Result<(), Fault> {
    let Some(phase) = phase(txn)? else { return Ok(()) };
    for (from, to) in tied {
        if !is_marked(txn, VISITED, to)? || is_marked(txn, VISITED, from)? {
            continue;
        }
        match phase {
            CollectorPhase::Walking => visit(txn, from)?,
            CollectorPhase::Removing => return Err(Fault::Dangling(*to)),
        }
    }
    Ok(())
}

/// Returns whether the formula is being removed. No command acts for it any more.
pub(crate) fn is_going(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<bool, Fault> {
    Ok(phase(txn)? == Some(CollectorPhase::Removing) && is_marked(txn, VISITED, id)?)
}

pub(crate) fn visit(txn: &mut dyn Txn, id: &FormulaId) -> Result<(), Fault> {
    txn.put(Table::Collector, &NO_OWNER, &key(VISITED, id), MARK, None)?;
    put_on_frontier(txn, id, None)
}

/// Puts a formula on the frontier of the walk, because some of its referrers have not been visited. Those whose
/// reference has a key before `behind` have been visited.
pub(crate) fn put_on_frontier(txn: &mut dyn Txn, id: &FormulaId, behind: Option<&[u8]>) -> Result<(), Fault> {
    let row = match behind {
        Some(behind) => crate::txn::encode_row(&behind)?,
        None => MARK.to_vec(),
    };
    Ok(txn.put(Table::Collector, &NO_OWNER, &key(FRONTIER, id), &row, None)?)
}
