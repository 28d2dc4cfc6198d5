//! Work in flight: effects that a thread must take up, and outcomes that wait for the next commit.

use kernel::{FormulaId, HostRun, StepRef};

use crate::state::daemon::HostDaemon;

/// An effect that this thread carries out. If it is dropped before its outcome was recorded, the driver of the
/// journal takes it up.
pub(super) struct InHand<'a> {
    daemon: &'a HostDaemon,
    at: Option<(FormulaId, StepRef)>,
}

impl<'a> InHand<'a> {
    pub(super) fn new(daemon: &'a HostDaemon, host: FormulaId, step: StepRef) -> InHand<'a> {
        InHand { daemon, at: Some((host, step)) }
    }

    /// Releases the effect, because its outcome was recorded or will be.
    pub(super) fn done(mut self) {
        self.at = None;
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if let Some((host, step)) = self.at.take() {
            self.daemon.orphans.add(host, step);
            self.daemon.drive(HostRun { host, run: step.run });
        }
    }
}
