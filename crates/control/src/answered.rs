//! What a person answers to requests and writes into forms, as a client says it.

use kernel::NamePath;
use serde::{Deserialize, Serialize};

use super::endowment::Endowment;

/// What a person answers to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answered", rename_all = "snake_case")]
pub enum Answered {
    /// What one of the person's names stands for.
    Name {
        /// The name.
        path: NamePath,
        /// For a run: the kind of slot that it fills, if less than it could be.
        #[serde(default)]
        is: Option<String>,
        /// For a run: methods, as `SLOT.METHOD`, about which the person does not want to be asked.
        #[serde(default)]
        allow: Vec<String>,
    },
    /// For a run: data.
    Value {
        /// The value.
        json: serde_json::Value,
    },
    /// For a run: what fills the slot that it has named, without a name of the person's.
    Endow {
        /// The slot and what fills it.
        endowment: Box<Endowment>,
        /// The kind of slot, where what fills it does not say.
        #[serde(default)]
        is: Option<String>,
        /// Methods, as `SLOT.METHOD`, about which the person does not want to be asked.
        #[serde(default)]
        allow: Vec<String>,
    },
}

/// What a person wrote into a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "written", rename_all = "snake_case")]
pub enum Written {
    /// Text: read as the field's pattern says (a number, a word, a pet name for a capability).
    Text {
        /// The text.
        text: String,
    },
    /// A value as JSON.
    Json {
        /// The value.
        json: serde_json::Value,
    },
}
