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
/// fn again(effect: &kernel::started_effect::StartedEffect) -> kernel::started_effect::StartedEffect {
///     kernel::started_effect::StartedEffect::clone(effect)
/// }
/// ```
///
/// nor change the call that it allows,
///
/// ```compile_fail,E0616
/// fn bend(mut effect: kernel::started_effect::StartedEffect) {
///     effect.proposal.method = "burn".to_owned();
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
/// fn perform(effect: &kernel::started_effect::StartedEffect) -> &str {
///     &effect.proposal().method
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
    /// Returns the step at which the call was proposed. Together with the proposal's principal, whose run it is, it
    /// names the effect: equal for every try of the same effect, never equal for two effects.
    pub fn step(&self) -> StepRef {
        self.step
    }

    /// Returns the call to perform.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// Returns the grant through which to do it.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Returns whether an earlier process may already have done it: probe before doing it again.
    pub fn reopened(&self) -> bool {
        self.reopened
    }
}

/// For tests of capabilities, which sit above the kernel and have no store.
#[cfg(feature = "testing")]
impl StartedEffect {
    /// Returns a begun effect that no command began.
    pub fn for_test(step: StepRef, proposal: Proposal, grant: Grant, reopened: bool) -> StartedEffect {
        StartedEffect { step, proposal, grant, reopened }
    }
}
