//! The wait of a run for something outside, during which the run holds no slot of the engine.

/// A wait of a run. When the value is dropped, the wait is over, and the run takes a slot again.
pub struct Waiting(Option<Box<dyn FnOnce()>>);

impl Waiting {
    /// Returns a wait that `end` ends.
    pub fn new(end: impl FnOnce() + 'static) -> Waiting {
        Waiting(Some(Box::new(end)))
    }

    /// Returns a wait without a slot to give up.
    #[must_use]
    pub fn without_slot() -> Waiting {
        Waiting(None)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}
