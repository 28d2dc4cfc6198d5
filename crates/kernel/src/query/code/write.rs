//! The writes of commands to the rows of endowed code.

use crate::txn::Txn;

use super::{FormulaId, Mark, NO_OWNER, Origin, Record, StoreFault, Table};

pub(crate) fn record(txn: &mut dyn Txn, eval: &FormulaId, record: &Record) -> Result<(), StoreFault> {
    let key = super::record_key(eval, record.number);
    crate::table::save(txn, Table::Meta, &NO_OWNER, &key, record, None)
}

pub(crate) fn mark(txn: &mut dyn Txn, origin: &Origin, mark: &Mark) -> Result<(), StoreFault> {
    crate::table::save(txn, Table::Meta, &NO_OWNER, &super::mark_key(origin), mark, None)
}

/// Removes all marks of the code, because its journal already has the answers.
pub(crate) fn forget_marks(txn: &mut dyn Txn, eval: &FormulaId) -> Result<(), StoreFault> {
    let prefix = [b"mark ", &eval.number[..]].concat();
    let rows =
        txn.range(Table::Meta, &NO_OWNER, &prefix, &crate::table::prefix_end(&prefix), usize::MAX, false)?;
    rows.iter().try_for_each(|(key, _)| txn.delete(Table::Meta, &NO_OWNER, key))
}

pub(crate) fn keep(
    txn: &mut dyn Txn,
    eval: &FormulaId,
    name: &str,
    value: Option<&crate::proposal::Value>,
) -> Result<(), StoreFault> {
    let key = super::own_key(eval, name);
    match value {
        Some(value) => crate::table::save(txn, Table::Meta, &NO_OWNER, &key, value, None),
        None => txn.delete(Table::Meta, &NO_OWNER, &key),
    }
}

/// Returns the first entries of the code's journal, at most `most`.
pub(crate) fn first_records(
    txn: &mut dyn Txn,
    eval: &FormulaId,
    most: usize,
) -> Result<Vec<Record>, StoreFault> {
    let (from, to) = (super::record_key(eval, 0), super::record_key(eval, u64::MAX));
    let rows = crate::table::scan(txn, Table::Meta, &NO_OWNER, &from, &to, most, false)?;
    Ok(rows.into_iter().map(|(_, record)| record).collect())
}

/// Removes one entry of the code's journal.
pub(crate) fn erase(txn: &mut dyn Txn, eval: &FormulaId, number: u64) -> Result<(), StoreFault> {
    txn.delete(Table::Meta, &NO_OWNER, &super::record_key(eval, number))
}

/// Records that this engine may make the objects of the code again.
pub(crate) fn remake(txn: &mut dyn Txn, eval: &FormulaId, engine: &str) -> Result<(), StoreFault> {
    crate::table::save(txn, Table::Meta, &NO_OWNER, &super::engine_key(eval), &engine, None)
}

/// Records that a promise of the code is open.
pub(crate) fn open(txn: &mut dyn Txn, eval: &FormulaId, promise: &FormulaId) -> Result<(), StoreFault> {
    let key = [super::open_key(eval), promise.number.to_vec()].concat();
    crate::table::save(txn, Table::Meta, &NO_OWNER, &key, promise, None)
}

/// Removes the record of an open promise, because the promise has settled.
pub(crate) fn close(txn: &mut dyn Txn, eval: &FormulaId, promise: &FormulaId) -> Result<(), StoreFault> {
    let key = [super::open_key(eval), promise.number.to_vec()].concat();
    txn.delete(Table::Meta, &NO_OWNER, &key)
}

/// Returns some of the code's promises that have not settled, at most `most`.
pub(crate) fn first_open_promises(
    txn: &mut dyn Txn,
    eval: &FormulaId,
    most: usize,
) -> Result<Vec<FormulaId>, StoreFault> {
    let from = super::open_key(eval);
    let to = crate::table::prefix_end(&from);
    let rows = crate::table::scan(txn, Table::Meta, &NO_OWNER, &from, &to, most, false)?;
    Ok(rows.into_iter().map(|(_, id)| id).collect())
}

/// Records a gift to a recipient.
pub(crate) fn record_gift(
    txn: &mut dyn Txn,
    (giver, id, through): (&FormulaId, &FormulaId, &[FormulaId]),
    to: &FormulaId,
    given: &FormulaId,
) -> Result<(), StoreFault> {
    let key = super::gift_key(to, &super::gift_digest(giver, id, through));
    crate::table::save(txn, Table::Meta, &NO_OWNER, &key, given, None)
}

/// Forgets the gifts to a recipient that is gone. Returns `true` once none is left.
pub(crate) fn forget_gifts(txn: &mut dyn Txn, to: &FormulaId, most: usize) -> Result<bool, StoreFault> {
    let prefix = [b"hand ", &to.number[..]].concat();
    let rows = txn.range(Table::Meta, &NO_OWNER, &prefix, &crate::table::prefix_end(&prefix), most, false)?;
    let done = rows.len() < most;
    rows.iter().try_for_each(|(key, _)| txn.delete(Table::Meta, &NO_OWNER, key))?;
    Ok(done)
}

/// Removes all other rows of the code: its marks, its engine, and the values that it keeps.
pub(crate) fn forget_rest(txn: &mut dyn Txn, eval: &FormulaId) -> Result<(), StoreFault> {
    forget_marks(txn, eval)?;
    txn.delete(Table::Meta, &NO_OWNER, &super::engine_key(eval))?;
    for name in super::kept_names(txn, eval)? {
        keep(txn, eval, &name, None)?;
    }
    Ok(())
}
