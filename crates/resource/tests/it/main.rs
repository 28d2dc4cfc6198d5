//! The table of kinds, as everything above uses it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod parse;
mod table;
mod typed;

use resource::{Endowment, ResourceSpec, SpecError, Surroundings};

/// A machine on which nothing lies anywhere and every program is found in one place.
pub(crate) struct EmptyMachine;

impl Surroundings for EmptyMachine {
    fn exists(&self, _: &str) -> bool {
        false
    }

    fn absolute(&self, path: &str) -> Result<String, SpecError> {
        Ok(if path.starts_with('/') { path.to_owned() } else { format!("/here/{path}") })
    }

    fn program(&self, name: &str) -> Result<String, SpecError> {
        match name {
            "missing" => Err(SpecError::missing("there is no program `missing`", "name it by its path")),
            name => Ok(format!("/usr/bin/{name}")),
        }
    }

    fn model(&self, reference: &str) -> Result<String, SpecError> {
        match reference {
            "" => Err(SpecError::new("no model is named", "write a model as after `-m`")),
            reference => Ok(reference.to_owned()),
        }
    }

    fn looks_secret(&self, _: &str, value: &str) -> bool {
        value.contains("swordfish")
    }
}

/// Reads the text behind `-e SLOT=`.
pub(crate) fn parse(text: &str) -> Result<ResourceSpec, SpecError> {
    ResourceSpec::parse(text, &EmptyMachine)
}

/// Reads the text behind `-e`.
pub(crate) fn endowment(text: &str) -> Result<Endowment, SpecError> {
    Endowment::parse(text, &EmptyMachine)
}
