//! An effect in flight, which another thread takes up if its own thread fails.

use kernel::{FormulaId, HostRun, StepRef};

use crate::state::daemon::HostDaemon;

/// An effect that this thread carries out. If the value is dropped before the outcome was recorded, the driver of the
/// journal takes up the effect.
pub(super) struct InFlight<'a> {
    daemon: &'a HostDaemon,
    at: Option<(FormulaId, StepRef)>,
}

impl<'a> InFlight<'a> {
    pub(super) fn new(daemon: &'a HostDaemon, host: FormulaId, step: StepRef) -> InFlight<'a> {
        InFlight { daemon, at: Some((host, step)) }
    }

    /// Releases the effect, because its outcome was recorded or will be.
    pub(super) fn finish(mut self) {
        self.at = None;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some((host, step)) = self.at.take() {
            self.daemon.orphaned_effects.add(host, step);
            self.daemon.drive(HostRun { host, run: step.run });
        }
    }
}
