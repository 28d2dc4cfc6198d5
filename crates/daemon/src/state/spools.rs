//! The mail spools that the store knows, whatever run or host was given them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use kernel::formula::Formula;
use kernel::table::{self, FormulaRow};
use kernel::txn::{NO_OWNER, ReadTxn, StoreFault, Table};
use resource::Resource;

use super::daemon::Daemon;
use control::exit::Failure;

/// The number of formulas that are read at once.
const PAGE_SIZE: usize = 256;

/// The paths of all spools. The store is searched once, when they are first needed. Each spool that is bound later is
/// added before the run that has it begins.
#[derive(Debug, Default)]
pub struct Spools(Mutex<SpoolPaths>);

#[derive(Debug, Default)]
struct SpoolPaths {
    paths: BTreeSet<String>,
    is_complete: bool,
}

impl Spools {
    /// Adds a spool that is about to be bound.
    pub fn add(&self, path: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).paths.insert(path.to_owned());
    }
}

impl Daemon {
    /// Returns the paths of all mail spools, by which the daemon sends for some run.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn spool_paths(&self) -> Result<BTreeSet<String>, Failure> {
        let mut known = self.spools.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.is_complete {
            known.paths.extend(self.read(stored_paths)?);
            known.is_complete = true;
        }
        Ok(known.paths.clone())
    }
}

/// Returns the paths of all spools in the store.
fn stored_paths(txn: &mut dyn ReadTxn) -> Result<BTreeSet<String>, StoreFault> {
    let (mut paths, mut from, end) = (BTreeSet::new(), Vec::new(), vec![u8::MAX; 33]);
    loop {
        let page: Vec<(Vec<u8>, FormulaRow)> =
            table::scan(txn, Table::Formula, &NO_OWNER, &from, &end, PAGE_SIZE, false)?;
        let last = page.last().filter(|_| page.len() == PAGE_SIZE).map(|(last, _)| last.clone());
        paths.extend(page.into_iter().filter_map(|(_, row)| match row.formula {
            Formula::Resource(Resource::Outbox { path }) => Some(path),
            _ => None,
        }));
        match last {
            Some(last) => from = [&last[..], &[0]].concat(),
            None => return Ok(paths),
        }
    }
}
