//! The right to perform one effect, once.

use crate::grant::Grant;
use crate::id::StepRef;
use crate::proposal::Proposal;

/// Proof that the beginning of an effect was recorded durably. Executors accept nothing else, and only the kernel
/// creates one. It does so when a command begins a proposal, and when it takes up an open outbox row again after a
/// crash.
///
/// Code outside of the kernel cannot construct one,
///
/// ```compile_fail,E0451
/// fn forge(step: kernel::StepRef, proposal: kernel::proposal::Proposal, grant: kernel::grant::Grant) {
///     let _ = kernel::started_effect::StartedEffect { step, proposal, grant, reopened: false };
/// }
/// ```
///
/// nor copy one,
///
/// ```compile_fail,E0599
/// fn again(begun: &kernel::started_effect::StartedEffect) -> kernel::started_effect::StartedEffect {
///     kernel::started_effect::StartedEffect::clone(begun)
/// }
/// ```
///
/// nor change the call that it allows,
///
/// ```compile_fail,E0616
/// fn bend(mut begun: kernel::started_effect::StartedEffect) {
///     begun.proposal.method = "burn".to_owned();
/// }
/// ```
///
/// nor read one from a wire, nor create a default one.
///
/// ```compile_fail,E0277
/// fn read(text: &str) -> Option<kernel::started_effect::StartedEffect> {
///     serde_json::from_str(text).ok()
/// }
/// ```
///
/// ```compile_fail,E0277
/// fn made_up() -> kernel::started_effect::StartedEffect {
///     fn of<T: Default>() -> T {
///         T::default()
///     }
///     of()
/// }
/// ```
///
/// An executor can only look at one:
///
/// ```
/// fn perform(begun: &kernel::started_effect::StartedEffect) -> &str {
///     &begun.proposal().method
/// }
/// ```
#[derive(Debug)]
pub struct StartedEffect {
    pub(crate) step: StepRef,
    pub(crate) proposal: Proposal,
    pub(crate) grant: Grant,
    pub(crate) reopened: bool,
}

impl StartedEffect {
    /// Returns the step that proposed the call. The step and the proposal's principal, to whom the run belongs,
    /// together name the effect. They are equal for every try of the same effect, and never equal for two effects.
    pub fn step(&self) -> StepRef {
        self.step
    }

    /// Returns the call to perform.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// Returns the grant through which the call is made.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Returns whether an earlier process may already have performed the call. The executor must check this before it
    /// performs the call again.
    pub fn reopened(&self) -> bool {
        self.reopened
    }
}

/// The constructor for tests of capabilities, which sit above the kernel and have no store.
#[cfg(feature = "testing")]
impl StartedEffect {
    /// Returns a started effect that no command began.
    pub fn for_test(step: StepRef, proposal: Proposal, grant: Grant, reopened: bool) -> StartedEffect {
        StartedEffect { step, proposal, grant, reopened }
    }
}
