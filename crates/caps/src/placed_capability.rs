//! The capability that judges its calls by the places that they reach.

use std::sync::Arc;

use kernel::Interface;
use kernel::proposal::{Effect, Finding, Pin, Value};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use policy::places::{became_sending, unknown_places};
use policy::{ChangeScope, Facts};

use crate::http::HostServices;
use crate::{Capability, Probe};

/// A capability whose calls are judged by the places that they reach.
pub(crate) struct PlacedCapability {
    pub(crate) inner: Box<dyn Capability>,
    pub(crate) slot: String,
    pub(crate) outside: Arc<dyn HostServices>,
}

/// Returns the refusal of a call that may not be made now, or `None`: it was judged as one that sends nothing, and
/// reaches a place that sends by now. `slot` is the slot through which the call is made.
pub(crate) fn refusal(
    capability: &dyn Capability,
    begun: &StartedEffect,
    slot: &str,
    outside: &dyn HostServices,
) -> Option<Completion> {
    let proposal = begun.proposal();
    if proposal.effect == Effect::Commit {
        return None;
    }
    let scopes = capability.change_scopes(&proposal.method, &proposal.args);
    if scopes.is_empty() {
        return None;
    }
    let problem = match outside.places() {
        None => unknown_places(),
        Some(places) => {
            places.met(&scopes, slot).iter().find(|met| met.meaning.sends()).map(became_sending)?
        }
    };
    Some(Completion::Refused(vec![problem]))
}

/// Adds the places that a call reaches to its facts.
pub(crate) fn apply(facts: &mut Facts, scopes: &[ChangeScope], slot: &str, outside: &dyn HostServices) {
    if scopes.is_empty() {
        return;
    }
    match outside.places() {
        Some(places) => places.apply(facts, scopes, slot),
        None => facts.problems.push(unknown_places()),
    }
}

impl Capability for PlacedCapability {
    fn interface(&self) -> &Interface {
        self.inner.interface()
    }

    fn schema(&self, method: &str) -> Option<serde_json::Value> {
        self.inner.schema(method)
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        let mut facts = self.inner.facts(method, args);
        apply(&mut facts, &self.inner.change_scopes(method, args), &self.slot, &*self.outside);
        facts
    }

    fn change_scopes(&self, method: &str, args: &[Value]) -> Vec<ChangeScope> {
        self.inner.change_scopes(method, args)
    }

    fn operand(&self, pin: &Pin) -> Option<Vec<u8>> {
        self.inner.operand(pin)
    }

    fn before(&self, pin: &Pin) -> Option<Vec<u8>> {
        self.inner.before(pin)
    }

    fn blocked_by(&self, method: &str, args: &[Value]) -> Option<Finding> {
        self.inner.blocked_by(method, args)
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        refusal(&*self.inner, begun, &self.slot, &*self.outside).unwrap_or_else(|| self.inner.perform(begun))
    }

    fn can_be_looked_up(&self, method: &str) -> bool {
        self.inner.can_be_looked_up(method)
    }

    fn probe(&self, begun: &StartedEffect) -> Probe {
        self.inner.probe(begun)
    }
}
