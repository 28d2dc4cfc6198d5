//! The files that workers include.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::id::BlobHash;
use crate::run::PROJECT_POLICY;
use crate::txn::{NO_OWNER, ReadTxn, StoreFault, Table, decode_row};

/// The number of rows that are read at a time.
const PAGE_SIZE: usize = 256;

#[derive(Deserialize)]
struct WorkerRow {
    formula: WorkerPart,
}

#[derive(Deserialize)]
struct WorkerPart {
    // No other kind of formula has an `includes` field.
    #[serde(default)]
    includes: BTreeMap<String, BlobHash>,
}

/// Returns the names and contents of all files that workers of the store include.
///
/// # Errors
///
/// When the store fails, or a row is damaged.
pub fn included_files(txn: &mut dyn ReadTxn) -> Result<BTreeSet<(String, BlobHash)>, StoreFault> {
    let (mut files, mut from) = (BTreeSet::new(), Vec::new());
    loop {
        let page = txn.range(Table::Formula, &NO_OWNER, &from, &[], PAGE_SIZE, false)?;
        for (_, row) in &page {
            let WorkerRow { formula } = decode_row::<WorkerRow>(Table::Formula, row)?;
            files.extend(formula.includes.into_iter().filter(|(name, _)| name != PROJECT_POLICY));
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE_SIZE => from = [last, &[0][..]].concat(),
            _ => return Ok(files),
        }
    }
}
