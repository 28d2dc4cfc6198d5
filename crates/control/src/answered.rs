//! What a person answers to requests and writes into forms, as a client says it.

use kernel::{FormulaId, NamePath, Value};
use serde::{Deserialize, Serialize};

use resource::Endowment;

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
        /// What it stood for when the person chose it; it must stand for that still.
        #[serde(default)]
        seen: Option<FormulaId>,
    },
    /// The same for what an agent has asked, by its identifier: exactly what the person has seen.
    Seen {
        /// What it is.
        id: FormulaId,
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
    /// Text, where the field is secret or takes a capability: the secret, or a pet name.
    Text {
        /// The text.
        text: String,
    },
    /// Everything else: a value, in smallcaps. Each capability in it is one that the agent holds.
    Value {
        /// The value.
        value: Value,
    },
}
