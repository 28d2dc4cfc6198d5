//! The right to perform one effect, once.

use crate::grant::Grant;
use crate::id::StepRef;
use crate::proposal::Proposal;

/// Proof that an effect was begun durably. Executors take nothing else, and only the kernel makes one: when a
/// command begins a proposal, and when an open outbox row is taken up again after a crash.
#[derive(Debug)]
pub struct Begun {
    pub(crate) step: StepRef,
    pub(crate) proposal: Proposal,
    pub(crate) grant: Grant,
    pub(crate) reopened: bool,
}

impl Begun {
    /// The step at which the call was proposed. Together with the proposal's principal, whose run it is, it names the
    /// effect: equal for every try of the same effect, never equal for two effects.
    pub fn step(&self) -> StepRef {
        self.step
    }

    /// What to do.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// The grant through which to do it.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Whether an earlier process may already have done it: probe before doing it again.
    pub fn reopened(&self) -> bool {
        self.reopened
    }
}

/// For tests of capabilities, which sit above the kernel and have no store.
#[cfg(feature = "testing")]
impl Begun {
    /// A begun effect that no command began.
    pub fn for_test(step: StepRef, proposal: Proposal, grant: Grant, reopened: bool) -> Begun {
        Begun { step, proposal, grant, reopened }
    }
}
