//! The writes of commands to the usage of grants.

use crate::txn::Txn;

use super::{FormulaId, GrantUsage, NO_OWNER, StoreFault, Table, key, table};

/// Adds usage to the row of a grant.
pub(crate) fn add(txn: &mut dyn Txn, grant: &FormulaId, later: GrantUsage) -> Result<(), StoreFault> {
    let mut used = super::load(txn, grant)?;
    used.merge(later);
    table::save(txn, Table::Meta, &NO_OWNER, &key(grant), &used, None)
}
