//! The powers that an object gives its holder: its methods through all grants on the way, and their limits.

use std::collections::BTreeSet;

use std::borrow::Cow;

use kernel::FormulaId;
use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::grant::{EVERY_METHOD, Grant};
use kernel::name_lookup::{self, View};
use kernel::table::{self, ResolvedReference};
use kernel::txn::ReadTxn;
use passable::{Effect, InterfaceGuard, Untrusted};
use resource::{Kind, Resource};

use super::{inspect, picks};
use control::narrow::Method;
use control::powers::Powers;

/// The methods of an object.
pub struct Methods {
    /// The known methods, each with its effect.
    pub known: Vec<Method>,
    /// Whether the object may have other methods, which only its maker knows.
    pub has_others: bool,
}

impl Methods {
    /// Returns the methods that can be called through all the grants on the way.
    pub fn from_reference(reached: &ResolvedReference) -> Methods {
        Methods::through(&reached.formula, &reached.grants.iter().collect::<Vec<_>>())
    }

    /// Returns the methods of a formula that can be called through these grants.
    pub fn through(formula: &Formula, grants: &[&Grant]) -> Methods {
        let kind = match formula {
            Formula::Scratch { .. } => caps::interface_of(Kind::Dir { write: true }).map(Cow::Borrowed),
            other => caps::interface_for(other),
        };
        let plain = |name: String| Method { name, effect: String::new() };
        let allows = |method: &Method| grants.iter().all(|grant| grant.allows(&method.name));
        let (mut known, others): (Vec<Method>, bool) = match (kind, formula) {
            (Some(interface), _) => {
                let read_only = is_read_only(formula);
                let can = interface
                    .methods
                    .iter()
                    .filter(|method| !(read_only && method.effect != Effect::Observe));
                let words = |method| caps::effect_words(&interface, method).to_owned();
                (
                    can.map(|method| Method { name: method.name.clone(), effect: words(method) }).collect(),
                    false,
                )
            }
            (None, Formula::Export { guard, .. }) => {
                match guard.as_ref().and_then(|guard| InterfaceGuard::from_value(guard).ok()) {
                    Some(guard) => {
                        let others = guard.default_guards.is_some() || !guard.symbol_methods.is_empty();
                        let names = guard.methods.iter().map(|(name, _)| name.to_str_lossy().into_owned());
                        (names.map(plain).collect(), others)
                    }
                    None => (vec![], true),
                }
            }
            (None, other) => {
                let all = kernel::facet::facet(other.kind()).methods.values();
                let effect = |effect: Effect| effect.as_words().to_owned();
                (
                    all.map(|one| Method { name: one.name.to_owned(), effect: effect(one.effect) }).collect(),
                    false,
                )
            }
        };
        known.retain(allows);
        // If a grant lists methods, the object can have no others through that grant, even if its own methods are
        // unknown.
        let named = grants.iter().find(|grant| !grant.methods.contains(EVERY_METHOD));
        let Some(named) = named.filter(|_| others) else { return Methods { known, has_others: others } };
        let more = named.methods.iter().cloned().map(plain).filter(allows);
        let more: Vec<Method> = more.filter(|method| !known.contains(method)).collect();
        known.extend(more);
        Methods { known, has_others: false }
    }
}

/// Returns whether a formula is a directory in which nothing may be changed.
pub fn is_read_only(formula: &Formula) -> bool {
    matches!(
        formula,
        Formula::Resource(Resource::Directory { read_only: true, .. }) | Formula::Scratch { read_only: true }
    )
}

/// Returns the powers that a formula gives, or `None` if the formula or its target is gone.
///
/// # Errors
/// When the store cannot be read.
pub fn powers(txn: &mut dyn ReadTxn, view: &View, id: &FormulaId) -> Result<Option<Powers>, Fault> {
    let Some(called) = inspect::summary(txn, view, id)? else { return Ok(None) };
    let Some(first) = table::reach(txn, id)? else { return Ok(None) };
    // A name often stands for a fulfilled promise. Then the powers are those of its result.
    let came = name_lookup::settled_references(txn, id)?.pop().unwrap_or(*id);
    let Some(mut reached) = table::reach(txn, &came)? else { return Ok(None) };
    if came != *id {
        reached.grants.splice(0..0, first.grants);
        reached.through.extend(first.through);
    }
    let is_data = reached.formula.is_data() || matches!(reached.formula, Formula::Promise { .. });
    let Methods { known, has_others: others } = match is_data {
        true => Methods { known: vec![], has_others: false },
        false => Methods::from_reference(&reached),
    };
    let mut limits = reached.grant().map(|grant| grant.attenuation.limit_phrases()).unwrap_or_default();
    let ends = reached.grants.iter().chain(&reached.through).filter_map(|grant| grant.expires_ms).min();
    limits.extend(ends.map(|end| format!("until {} at the latest", kernel::time::shown(end))));
    // Only objects of code need an interface name. For others, the type says as much.
    let is_of_code = matches!(reached.formula, Formula::Export { .. });
    let interface = if is_of_code { picks::interface(txn, id)? } else { None };
    Ok(Some(Powers {
        called,
        interface,
        methods: known,
        others,
        limits,
        ended: reached.ended(view.now_ms).map(|finding| Untrusted::new(finding.message)),
    }))
}

/// Returns the methods that a slot with a staged copy may use without a question. These are the methods that change
/// the copy.
pub fn staged_allow(methods: &BTreeSet<String>) -> impl Iterator<Item = String> {
    let interface = caps::interface_of(Kind::Dir { write: true });
    let changes = move |method: &&String| {
        interface
            .and_then(|interface| interface.method(method))
            .is_some_and(|method| method.effect == passable::Effect::Modify)
    };
    methods.iter().filter(changes).cloned().collect::<Vec<_>>().into_iter()
}
