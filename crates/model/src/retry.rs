//! Repeated tries of a request, up to a maximum number.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::ModelError;
use crate::request::Cancel;

/// The number of tries, and the way to wait between them.
#[derive(Clone)]
pub struct Retry {
    /// The maximum number of tries, at least 1.
    pub tries: u32,
    /// The function that waits. A test passes one that only notes the time. It is called in slices, so that a wait
    /// can be stopped.
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
    /// Runs `attempt` until it succeeds, fails for good, or the tries are used up. `attempt` gets the number of the
    /// try, from 0. A server that asks to slow down is not asked again here, because other requests must wait too.
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
                // A server that was too slow once has had much time already.
                Err(error @ (ModelError::RateLimited { .. } | ModelError::TooSlow { .. })) => {
                    return Err(error);
                }
                Err(error) if error.is_transient() && number + 1 < self.tries => {
                    self.wait(Duration::from_millis(500 << (2 * number.min(4))), cancel);
                    number += 1;
                }
                result => return result,
            }
        }
    }

    /// Waits in slices, so that the wait can be stopped.
    pub(crate) fn wait(&self, mut left: Duration, cancel: &Cancel) {
        let slice = Duration::from_millis(250);
        while !left.is_zero() && !cancel.is_canceled() {
            (self.sleep)(left.min(slice));
            left = left.saturating_sub(slice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Runs an attempt that always fails with `error`. Returns the number of tries and the seconds waited.
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
    fn tries_are_bounded_and_limits_are_left_to_the_caller() {
        let filtered = ModelError::Filtered { server: String::new(), reason: String::new() };
        let limited = |s| ModelError::RateLimited { retry_after: Some(Duration::from_secs(s)) };
        assert_eq!(run(ModelError::CutOff { bytes: 1 }), (3, 2.5));
        assert_eq!(run(limited(7)), (1, 0.0));
        assert_eq!(run(filtered), (1, 0.0));
        assert_eq!(run(ModelError::TooSlow { server: String::new(), bytes: 0, seconds: 600 }), (1, 0.0));
    }

    #[test]
    fn cancelled_call_is_not_tried() {
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(Retry::default().run(&cancel, |_| Ok(())), Err(ModelError::Canceled));
    }
}
