//! The rows that record which step a send of code has become, as commands write them.

use crate::txn::Txn;

use super::{FormulaId, NO_OWNER, Origin, Owner, StepRef, StoreFault, Table, origin_key, sends_key, table};

/// Records that a send has become a step. Sends of code that has ended are not recorded, because the code does
/// not repeat them.
pub(crate) fn record_step(
    txn: &mut dyn Txn,
    host: &Owner,
    origin: &Origin,
    at: StepRef,
) -> Result<(), StoreFault> {
    match table::eval(txn, &origin.eval)? {
        Some(_) => table::save(txn, Table::Meta, &NO_OWNER, &origin_key(host, origin), &at, None),
        None => Ok(()),
    }
}

/// Returns whether a step is recorded for any send of the code.
pub(crate) fn has_sends(txn: &mut dyn Txn, eval: &FormulaId) -> Result<bool, StoreFault> {
    let prefix = sends_key(eval, None);
    Ok(!txn.range(Table::Meta, &NO_OWNER, &prefix, &table::prefix_end(&prefix), 1, false)?.is_empty())
}

/// Forgets the steps of one send of the code or of all its sends, because they are not needed again. Steps that
/// are still open stay, unless the code itself is being removed.
pub(crate) fn forget_sends(
    txn: &mut dyn Txn,
    eval: &FormulaId,
    send: Option<u32>,
    is_going: bool,
) -> Result<(), StoreFault> {
    let prefix = sends_key(eval, send);
    let rows: Vec<(Vec<u8>, StepRef)> =
        table::scan(txn, Table::Meta, &NO_OWNER, &prefix, &table::prefix_end(&prefix), usize::MAX, false)?;
    for (key, at) in rows {
        let host: Option<Owner> = key.last_chunk().copied();
        let run = match host.filter(|_| !is_going) {
            Some(host) => table::run(txn, &host, at.run)?,
            None => None,
        };
        if !run.is_some_and(|run| run.open.contains_key(&at.step)) {
            txn.delete(Table::Meta, &NO_OWNER, &key)?;
        }
    }
    Ok(())
}
