//! The checks of slots: their names, their patterns, and the formulas that fill them.

use std::collections::BTreeMap;

use passable::is_binding;
use resource::Kind;

use crate::Pattern;
use crate::command::Fault;
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::proposal::Value;
use crate::slot::{Requirement, Slot};
use crate::state::State;
use crate::table::{self, PromiseRow};

/// The maximum number of slots of a program.
const SLOTS: usize = 80;

/// The names that all code has besides its slots; no slot may take one of them.
const OWN: [&str; 2] = ["$id", "$cancelled"];

/// Refuses slots that cannot be filled. The slots of code must have names that are valid in code.
pub(crate) fn check_slots(slots: &BTreeMap<String, Slot>, is_code: bool) -> Result<(), Fault> {
    if slots.len() > SLOTS {
        return Err(Fault::Misfit {
            what: format!("a program has at most {SLOTS} slots, not {}", slots.len()),
        });
    }
    for (name, slot) in slots {
        if name.is_empty() || name.chars().any(|c| c.is_control() || c == '/') {
            return Err(Fault::Misfit { what: format!("{name:?} cannot be the name of a slot") });
        }
        if is_code && (!is_binding(name) || OWN.contains(&name.as_str())) {
            let what = format!("{name:?} cannot be the name of a slot: code cannot call anything so");
            return Err(Fault::Misfit { what });
        }
        pattern(&slot.pattern, name)?;
    }
    Ok(())
}

/// Returns the pattern of a slot or a field.
pub(crate) fn pattern(value: &Value, name: &str) -> Result<Pattern, Fault> {
    if !value.references().is_empty() {
        let what = format!("the pattern of {name:?} refers to a capability: a pattern is data");
        return Err(Fault::Misfit { what });
    }
    Pattern::from_value(value).map_err(|complaint| Fault::Misfit {
        what: format!("{name:?} has no pattern that could be checked: {complaint}"),
    })
}

/// Checks the formula that a host binds to a slot against the slot's pattern.
pub(crate) fn check_slot(
    state: &mut State<'_>,
    name: &str,
    slot: &Slot,
    id: &FormulaId,
) -> Result<(), Fault> {
    let pattern = pattern(&slot.pattern, name)?;
    let want = Requirement::from_pattern(&pattern);
    if want != Requirement::Pattern {
        return expect_kind(state, &format!("slot {name:?}"), &want, id);
    }
    let (end, formula) = state.behind(id)?;
    let value = match formula {
        Formula::Marshal { value } => value,
        Formula::Promise { .. } => match table::promise(state.txn, &end)? {
            Some(PromiseRow::Fulfilled { value }) => value,
            _ => Value::promise(*id),
        },
        _ => Value::remotable(*id),
    };
    pattern
        .check_named(&format!("slot {name:?}"), &value)
        .map_err(|mismatch| Fault::Misfit { what: mismatch.to_string() })
}

/// Refuses a formula that is not of the wanted kind.
pub(crate) fn expect_kind(
    state: &mut State<'_>,
    named: &str,
    want: &Requirement,
    id: &FormulaId,
) -> Result<(), Fault> {
    match kind_misfit(state, want, id)? {
        None => Ok(()),
        Some(found) => Err(Fault::Misfit { what: format!("{named} wants {}, not {found}", want.describe()) }),
    }
}

/// Returns a description of the formula, if the formula is not of the wanted kind.
pub(crate) fn kind_misfit(
    state: &mut State<'_>,
    want: &Requirement,
    id: &FormulaId,
) -> Result<Option<String>, Fault> {
    let (_, formula) = state.behind(id)?;
    let reached = table::reach(state.txn, id)?.ok_or(Fault::Dangling(*id))?;
    let writes = !matches!(want, Requirement::Kind(Kind::Dir { write: true }))
        || reached.grants.iter().all(|grant| grant.allows("write"));
    Ok((!want.takes(&formula) || !writes).then(|| crate::query::describe(&formula)))
}
