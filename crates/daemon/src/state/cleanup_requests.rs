//! Requests of users for an immediate garbage collection.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use control::exit::{Exit, Failure};
use control::protocol::FreedSpace;

/// The interval at which a waiting request checks whether the daemon ends.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The requests of users for garbage collection. The collector serves them and reports the result.
#[derive(Default)]
pub struct CleanupRequests(Mutex<Vec<Sender<Result<FreedSpace, Failure>>>>);

impl CleanupRequests {
    /// Requests a garbage collection and waits until the collector has removed everything that can be removed.
    ///
    /// # Errors
    /// When the store fails, or the daemon ends first.
    pub fn ask(&self, ends: &dyn Fn() -> bool) -> Result<FreedSpace, Failure> {
        let (send, done) = channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(send);
        loop {
            match done.recv_timeout(STOP_CHECK_INTERVAL) {
                Ok(freed) => return freed,
                Err(RecvTimeoutError::Timeout) if !ends() => {}
                Err(_) => {
                    return Err(Failure::new(Exit::NoDaemon, "the daemon ends")
                        .help("ask again; what was not removed stays, and nothing else is lost"));
                }
            }
        }
    }

    /// Returns the waiting requests, which the caller must answer.
    pub fn take(&self) -> Vec<Sender<Result<FreedSpace, Failure>>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
