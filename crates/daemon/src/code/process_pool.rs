//! The processes for guest code.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use vat::Host;

use crate::processes::vat_host;

/// The starter of processes for guest code. It keeps one spare process that no code has used.
pub struct ProcessPool {
    program: PathBuf,
    spare: Mutex<Option<Host>>,
}

impl ProcessPool {
    /// Returns a pool without a spare process. `program` is the executable of the processes.
    pub fn new(program: PathBuf) -> ProcessPool {
        ProcessPool { program, spare: Mutex::new(None) }
    }

    /// Returns a process that no code has used: the spare one, or a new one.
    ///
    /// # Errors
    /// When no process can be started.
    pub fn take(&self) -> Result<Host, String> {
        let blank = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        blank.map_or_else(|| self.start(), Ok)
    }

    /// Starts a spare process if the pool has none.
    pub fn fill(&self) {
        let mut blank = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if blank.is_none() {
            // The next caller that needs a process reports why there is none.
            *blank = self.start().ok();
        }
    }

    /// Returns a new process.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start(&self) -> Result<Host, String> {
        let begun = Instant::now();
        let clock: vat::SharedClock =
            Arc::new(move || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        Host::start(vat_host::command(&self.program), clock).map_err(|e| {
            match std::error::Error::source(&e) {
                Some(why) => format!("{e}: {why}"),
                None => e.to_string(),
            }
        })
    }
}
