//! Runs, journals, grants and bytes, as the store has them.

use std::sync::Arc;

use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::run::{Run, Step, Trouble};
use kernel::{BlobHash, FormulaId, RunNumber, query, table};
use passable::Untrusted;

use super::daemon::HostDaemon;
use super::errors::DaemonError;
use config::clock;
use control::exit::Failure;

impl HostDaemon {
    /// Returns the secrets that no text may show.
    pub fn secrets(&self) -> Arc<policy::Secrets> {
        Arc::clone(&self.as_daemon().rules().secrets)
    }

    /// Returns the time, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        clock::now_ms()
    }

    /// Returns a run of the host.
    ///
    /// # Errors
    /// When there is none of this number, or the store cannot be read.
    pub fn run(&self, run: RunNumber) -> Result<Run, Trouble> {
        self.read(|txn| table::run(txn, &self.host.number, run))
            .map_err(trouble)?
            .ok_or_else(|| missing_object(run))
    }

    /// Returns the steps of a run from one on.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn journal(&self, run: RunNumber, from: u64) -> Result<Vec<Step>, Trouble> {
        self.read(|txn| query::journal(txn, &self.host.number, run, from)).map_err(trouble)
    }

    /// Returns a grant, and the formula that it leads to.
    ///
    /// # Errors
    /// When it is not in the store.
    pub fn grant(&self, id: &FormulaId) -> Result<(Grant, Formula), Trouble> {
        let found = self
            .read(|txn| {
                let Some(reached) = table::reach(txn, id)? else { return Ok(None) };
                // To its user, a directory of the daemon's own is a directory like any other.
                let formula = match &reached.formula {
                    Formula::Scratch { read_only } => self.scratch(&reached.id, *read_only),
                    other => other.clone(),
                };
                Ok(reached.grant().map(|grant| (grant, formula)))
            })
            .map_err(trouble)?;
        found.ok_or_else(|| missing_object(id))
    }

    /// Keeps bytes.
    ///
    /// # Errors
    /// When the disk does not take them.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<BlobHash, Trouble> {
        self.store.blobs().put(bytes).map_err(|e| trouble(DaemonError::from(e).into()))
    }

    /// Returns stored bytes.
    ///
    /// # Errors
    /// When they are not stored.
    pub fn blob(&self, hash: &BlobHash) -> Result<Vec<u8>, Trouble> {
        self.store.blobs().get(hash).map_err(|e| trouble(DaemonError::from(e).into()))
    }
}

/// Returns the trouble of a run that a failure of the store causes.
pub fn trouble(failure: Failure) -> Trouble {
    Trouble { code: "store/failed".to_owned(), message: failure.message, help: failure.help }
}

fn missing_object(what: impl std::fmt::Display) -> Trouble {
    Trouble {
        code: "store/missing".to_owned(),
        message: Untrusted::new(format!("{what} is not in the store")),
        help: "`almoner doctor` examines the store".to_owned(),
    }
}
