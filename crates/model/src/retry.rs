//! Trying again, a bounded number of times.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::ModelError;
use crate::request::Cancel;

/// The maximum wait that a server's `Retry-After` gets. The caller decides about a longer one.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// How often to try and how to wait in between.
#[derive(Clone)]
pub struct Retry {
    /// Tries in all, at least 1.
    pub tries: u32,
    /// Waits; a test hands in one that only notes the time. Called in slices, so that a wait can be stopped.
    pub sleep: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl Default for Retry {
    fn default() -> Self {
        Self { tries: 3, sleep: Arc::new(std::thread::sleep) }
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").field("tries", &self.tries).finish_non_exhaustive()
    }
}

impl Retry {
    /// Runs `attempt` (given its number, from 0) until it succeeds, fails for good, or the tries are used up.
    pub(crate) fn run<T>(
        &self,
        cancel: &Cancel,
        mut attempt: impl FnMut(u32) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let mut number = 0;
        loop {
            if cancel.is_canceled() {
                return Err(ModelError::Canceled);
            }
            match attempt(number) {
                Err(error) if error.is_transient() && number + 1 < self.tries => {
                    let Some(wait) = wait_for(&error, number) else { return Err(error) };
                    self.wait(wait, cancel);
                    number += 1;
                }
                result => return result,
            }
        }
    }

    fn wait(&self, mut left: Duration, cancel: &Cancel) {
        let slice = Duration::from_millis(250);
        while !left.is_zero() && !cancel.is_canceled() {
            (self.sleep)(left.min(slice));
            left = left.saturating_sub(slice);
        }
    }
}

/// Returns how long to wait after this failure; `None` when the server asks for more than is worth waiting for.
fn wait_for(error: &ModelError, number: u32) -> Option<Duration> {
    match error {
        ModelError::RateLimited { retry_after: Some(wait) } => (*wait <= MAX_WAIT).then_some(*wait),
        _ => Some(Duration::from_millis(500 << (2 * number.min(4)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Runs an attempt that always fails with `error`; gives the tries made and the seconds waited.
    fn run(error: ModelError) -> (u32, f64) {
        let slept = Arc::new(Mutex::new(Duration::ZERO));
        let sum = Arc::clone(&slept);
        let retry = Retry { tries: 3, sleep: Arc::new(move |d| *sum.lock().unwrap() += d) };
        let mut tries = 0;
        let result: Result<(), _> = retry.run(&Cancel::default(), |_| {
            tries += 1;
            Err(error.clone())
        });
        assert_eq!(result, Err(error));
        let seconds = slept.lock().unwrap().as_secs_f64();
        (tries, seconds)
    }

    #[test]
    fn tries_are_bounded_and_waits_honour_the_server() {
        let limited = |s| ModelError::RateLimited { retry_after: Some(Duration::from_secs(s)) };
        assert_eq!(run(ModelError::CutOff { bytes: 1 }), (3, 2.5));
        assert_eq!(run(limited(7)), (3, 14.0));
        assert_eq!(run(limited(31)), (1, 0.0));
        assert_eq!(run(ModelError::Filtered), (1, 0.0));
    }

    #[test]
    fn cancelled_call_is_not_tried() {
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(Retry::default().run(&cancel, |_| Ok(())), Err(ModelError::Canceled));
    }
}
