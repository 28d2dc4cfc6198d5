//! The checks of the fields of a form.

use std::collections::BTreeSet;

use passable::Secrecy;

use crate::command::Fault;
use crate::commands::mail::slot_check::pattern;
use crate::message::Field;

/// The maximum number of fields of a form. It is also the default maximum for a record.
const FIELDS: usize = 80;

/// Checks the fields of a form, and sets for each whether it is sealed. A field whose pattern is a secret is sealed,
/// even if its author has not marked it.
pub(crate) fn settle_fields(fields: &mut [Field]) -> Result<(), Fault> {
    if fields.is_empty() || fields.len() > FIELDS {
        let what = format!("a form has 1 to {FIELDS} fields, not {}", fields.len());
        return Err(Fault::Misfit { what });
    }
    let mut names = BTreeSet::new();
    for field in fields {
        if field.name.is_empty() || !names.insert(&field.name) {
            return Err(Fault::Misfit { what: format!("Duplicate or empty field name {:?}", field.name) });
        }
        let pattern = pattern(&field.pattern, &field.name)?;
        field.secret |= match pattern.secrecy() {
            Secrecy::None => false,
            Secrecy::Full => true,
            Secrecy::Partial => return Err(cannot_be_sealed(&field.name)),
        };
        // The agent that fills in the form would hand a reference here back. That agent may hold objects that the
        // asker does not hold.
        for part in field.default.iter().chain(&field.example) {
            if !part.references().is_empty() {
                let what = format!("field {:?} has a default or an example that is no data", field.name);
                return Err(Fault::Misfit { what });
            }
        }
        if let Some(default) = &field.default {
            if field.secret {
                return Err(Fault::Misfit {
                    what: format!("field {:?} is secret and has no default", field.name),
                });
            }
            pattern
                .check_named(&format!("default of field {:?}", field.name), default)
                .map_err(|mismatch| Fault::Misfit { what: mismatch.to_string() })?;
        }
    }
    Ok(())
}

/// Returns the fault for a field that asks for a secret as a part of a larger value. Such a secret would be handed
/// over and stored in readable form.
fn cannot_be_sealed(name: &str) -> Fault {
    let what = format!(
        "field {name:?} asks for a secret as a part of something else, where it cannot be sealed: a secret is a \
         field of its own, or one that may be left out"
    );
    Fault::Misfit { what }
}
