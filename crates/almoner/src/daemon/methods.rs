//! What something can be asked through the grants on the way, by our own record.

use std::borrow::Cow;

use kernel::FormulaId;
use kernel::facet::{Support, facet};
use kernel::formula::Formula;
use kernel::grant::{EVERY_METHOD, Grant};
use passable::{Effect, InterfaceGuard, Untrusted};

use control::view::Can;

/// The methods that something has, as far as these grants let them through. Of an object of code those that the guard names
/// which it had when it first left the code, or those that a grant names; none, if nobody but that code knows.
pub fn of(formula: &Formula, grants: &[&Grant]) -> Vec<Can> {
    let allows = |name: &str| grants.iter().all(|grant| grant.allows(name));
    let of_code = |name: String| Can { name: Untrusted::new(name), effect: None };
    if let Formula::Export { guard, .. } = formula {
        let guard = guard.as_ref().and_then(|guard| InterfaceGuard::<FormulaId>::from_value(guard).ok());
        // Who has other methods as well does not say which.
        if let Some(guard) = guard.filter(|guard| guard.default_guards.is_none()) {
            let names = guard.methods.iter().map(|(name, _)| name.to_str_lossy().into_owned());
            return names.filter(|name| allows(name)).map(of_code).collect();
        }
        let named = grants.iter().find(|grant| !grant.allows(EVERY_METHOD));
        let named = named.into_iter().flat_map(|grant| &grant.methods);
        return named.filter(|name| allows(name)).cloned().map(of_code).collect();
    }
    let read_only =
        matches!(formula, Formula::Mount { read_only: true, .. } | Formula::Scratch { read_only: true });
    let kind = match formula {
        Formula::Scratch { .. } => caps::interface_of("dir").map(Cow::Borrowed),
        other => caps::interface_for(other),
    };
    let all: Vec<(String, Effect)> = match kind {
        Some(interface) => {
            interface.methods.iter().map(|method| (method.name.clone(), method.effect)).collect()
        }
        None => {
            let own = facet(formula.kind()).methods.values();
            let own = own.filter(|method| method.support == Support::Full);
            own.map(|method| (method.name.to_owned(), method.effect)).collect()
        }
    };
    all.into_iter()
        .filter(|(name, effect)| allows(name) && !(read_only && *effect != Effect::Observe))
        .map(|(name, effect)| Can { name: Untrusted::new(name), effect: Some(effect) })
        .collect()
}
