//! The names of the values in a message.

use crate::command::Fault;
use crate::name::{NameError, is_pet_name};

/// Checks the names of the values in a message. Each must be a name that an agent could choose, and must stand for
/// one value.
pub(crate) fn check_edges(names: &[String], paths: usize) -> Result<(), Fault> {
    if names.len() != paths {
        let what = format!(
            "Message must have one formula identifier ({paths}) for every edge name ({})",
            names.len()
        );
        return Err(Fault::Misfit { what });
    }
    for (i, name) in names.iter().enumerate() {
        if !is_pet_name(name) {
            return Err(NameError::PetName(format!("{name:?}")).into());
        }
        if names[..i].contains(name) {
            return Err(Fault::Misfit { what: format!("Duplicate edge name {name:?}") });
        }
    }
    Ok(())
}
