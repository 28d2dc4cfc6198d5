//! The text of an endowment: a slot, and the resource that the user typed for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kinds::{Kind, ResourceSpec};
use crate::{SpecError, Surroundings, describe_spec};

/// A slot and the resource that a person binds to it with `-e SLOT=…`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Endowment {
    /// The name of the slot. `SLOT.INNER` is a slot of the worker that fills `SLOT`.
    pub slot: String,
    /// The resource for the slot, as the user typed it.
    pub fill: ResourceSpec,
}

impl Endowment {
    /// Reads the text after `-e`.
    ///
    /// # Errors
    /// When the text names no slot, or the resource is not written correctly.
    pub fn parse(text: &str, around: &dyn Surroundings) -> Result<Endowment, SpecError> {
        let path = Kind::Dir { write: true }.row();
        let wrong = |what: &str| path.syntax_error(format!("-e {text}: {what}"));
        let (slot, rest) = text.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        if !slot.split('.').all(is_name) {
            return Err(wrong("the part before `=` is not the name of a slot"));
        }
        // The text after the slot may be a secret, so the message only repeats the slot.
        let fill = ResourceSpec::parse(rest, around)
            .map_err(|error| SpecError { message: format!("-e {slot}: {}", error.message), ..error })?;
        Ok(Endowment { slot: slot.to_owned(), fill })
    }

    /// Returns the text after `-e`. [`Endowment::parse`] reads it back as the same endowment.
    pub fn typed(&self) -> String {
        format!("{}={}", self.slot, self.fill.typed())
    }

    /// Describes the slot and its resource with every limit. The kind of the slot may be unknown. The text is not
    /// made visible.
    pub fn describe(&self, kind: Option<Kind>) -> String {
        format!("{} = {}", self.slot, describe_spec(&self.fill, kind))
    }
}

impl fmt::Display for Endowment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed())
    }
}
