//! Processes for guest code.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use vat::Host;

use crate::processes::vat_host;

/// Starts processes, and keeps one that has nothing of anybody's in it.
pub struct ProcessPool {
    program: PathBuf,
    spare: Mutex<Option<Host>>,
}

impl ProcessPool {
    /// Returns an empty reserve of this program.
    pub fn new(program: PathBuf) -> ProcessPool {
        ProcessPool { program, spare: Mutex::new(None) }
    }

    /// Returns a process that no code has used.
    ///
    /// # Errors
    /// When none can be started.
    pub fn take(&self) -> Result<Host, String> {
        let blank = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        blank.map_or_else(|| self.start(), Ok)
    }

    /// Sees that there is one.
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
    /// When none can be started.
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
