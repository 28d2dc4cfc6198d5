//! Access to runs, journals, grants and bytes in the store.

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
    /// Returns the scanner for secret values, which are redacted in every shown text.
    pub fn secrets(&self) -> Arc<policy::Secrets> {
        Arc::clone(&self.as_daemon().rules().secrets)
    }

    /// Returns the present time, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        clock::now_ms()
    }

    /// Returns a run of the host.
    ///
    /// # Errors
    /// When the host has no run with this number, or the store cannot be read.
    pub fn run(&self, run: RunNumber) -> Result<Run, Trouble> {
        self.read(|txn| table::run(txn, &self.host.number, run))
            .map_err(trouble)?
            .ok_or_else(|| missing_object(run))
    }

    /// Returns the steps of a run, from the step `from` on.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn journal(&self, run: RunNumber, from: u64) -> Result<Vec<Step>, Trouble> {
        self.read(|txn| query::journal(txn, &self.host.number, run, from)).map_err(trouble)
    }

    /// Returns a grant and the formula that it leads to.
    ///
    /// # Errors
    /// When the grant is not in the store, or the store cannot be read.
    pub fn grant(&self, id: &FormulaId) -> Result<(Grant, Formula), Trouble> {
        let found = self
            .read(|txn| {
                let Some(reached) = table::reach(txn, id)? else { return Ok(None) };
                // For its user, a directory that the daemon keeps looks like any other directory.
                let formula = match &reached.formula {
                    Formula::Scratch { read_only } => self.scratch(&reached.id, *read_only),
                    other => other.clone(),
                };
                Ok(reached.grant().map(|grant| (grant, formula)))
            })
            .map_err(trouble)?;
        found.ok_or_else(|| missing_object(id))
    }

    /// Stores bytes and returns their hash.
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<BlobHash, Trouble> {
        self.store.blobs().put(bytes).map_err(|e| trouble(DaemonError::from(e).into()))
    }

    /// Returns stored bytes.
    ///
    /// # Errors
    /// When the bytes are missing or cannot be read.
    pub fn blob(&self, hash: &BlobHash) -> Result<Vec<u8>, Trouble> {
        self.store.blobs().get(hash).map_err(|e| trouble(DaemonError::from(e).into()))
    }
}

/// Returns the trouble that a failure of the store causes for a run.
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
