//! A user's answers to requests and entries in forms, as a client sends them.

use kernel::{FormulaId, NamePath, Value};
use serde::{Deserialize, Serialize};

use resource::Endowment;

/// A user's answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "answered", rename_all = "snake_case")]
pub enum AnswerInput {
    /// The object of one of the user's names.
    Name {
        /// The name.
        path: NamePath,
        /// The kind of slot that the object fills, in an answer to a run. It may permit less than the object allows.
        #[serde(default)]
        is: Option<String>,
        /// The methods, as `SLOT.METHOD`, about which the person does not want to be asked. Only in an answer to a
        /// run.
        #[serde(default)]
        allow: Vec<String>,
        /// The formula of the name when the user chose it. The name must still have that formula.
        #[serde(default)]
        seen: Option<FormulaId>,
    },
    /// Exactly the object that the user has seen, by its identifier. Only in an answer to an agent's request.
    Seen {
        /// The formula of the object.
        id: FormulaId,
    },
    /// Data. Only in an answer to a run.
    Value {
        /// The value.
        json: serde_json::Value,
    },
    /// A resource for the requested slot, without a name of the user's. Only in an answer to a run.
    Endow {
        /// The slot and its content.
        endowment: Box<Endowment>,
        /// The kind of slot, if its content does not determine the kind.
        #[serde(default)]
        is: Option<String>,
        /// Methods, as `SLOT.METHOD`, about which the person does not want to be asked.
        #[serde(default)]
        allow: Vec<String>,
    },
}

/// A user's entry in a field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "written", rename_all = "snake_case")]
pub enum FieldInput {
    /// Text, for a field that is secret or takes a capability: the secret itself, or a pet name.
    Text {
        /// The text.
        text: String,
    },
    /// Any other value, in smallcaps. The agent must hold each capability in it.
    Value {
        /// The value.
        value: Value,
    },
}
