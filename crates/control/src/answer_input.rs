//! A user's answers to requests and entries in forms, as a client sends them.

use kernel::{FormulaId, NamePath, Value};
use serde::{Deserialize, Serialize};

use resource::Endowment;

/// A user's answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answered", rename_all = "snake_case")]
pub enum AnswerInput {
    /// The content of one of the user's names.
    Name {
        /// The name.
        path: NamePath,
        /// For a run: the kind of slot that it fills, if less than it could be.
        #[serde(default)]
        is: Option<String>,
        /// For a run: methods, as `SLOT.METHOD`, about which the person does not want to be asked.
        #[serde(default)]
        allow: Vec<String>,
        /// The formula of the name when the user chose it; the name must still have that formula.
        #[serde(default)]
        seen: Option<FormulaId>,
    },
    /// The same for an agent's request, by identifier: exactly the object that the user has seen.
    Seen {
        /// The formula of the object.
        id: FormulaId,
    },
    /// For a run: data.
    Value {
        /// The value.
        json: serde_json::Value,
    },
    /// For a run: a resource for the slot that it has named, without a name of the user's.
    Endow {
        /// The slot and its content.
        endowment: Box<Endowment>,
        /// The kind of slot, where its content does not determine the kind.
        #[serde(default)]
        is: Option<String>,
        /// Methods, as `SLOT.METHOD`, about which the person does not want to be asked.
        #[serde(default)]
        allow: Vec<String>,
    },
}

/// A user's entry in a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "written", rename_all = "snake_case")]
pub enum FieldInput {
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
