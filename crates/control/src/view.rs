//! What an agent sees when it looks: names, things, grants, letters.

use kernel::grant::Grant;
use kernel::query::Letter;
use kernel::{FormulaId, Value};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

/// A grant, as whoever gave it sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantRow {
    /// The grant.
    #[serde(flatten)]
    pub grant: Grant,
    /// Who holds it: the giver's own name for it, or what it is.
    pub held_by: Untrusted,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRow {
    /// The name.
    pub name: String,
    /// The type of what it stands for.
    pub kind: String,
    /// What it stands for, in words.
    pub words: Untrusted,
    /// Its formula, if it is one.
    pub id: Option<FormulaId>,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thing {
    /// Its formula, if it is one.
    pub id: Option<FormulaId>,
    /// Its type.
    pub kind: String,
    /// What it is, in words.
    pub words: Untrusted,
    /// Its value, if it is one, or what a promise was kept with.
    pub value: Option<Value>,
    /// Its bytes as text, if it is bytes.
    pub text: Option<Untrusted>,
    /// For a promise: how it stands.
    pub promise: Option<PromiseState>,
}

/// How a promise stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "promise", rename_all = "snake_case")]
pub enum PromiseState {
    /// Nothing has come of it yet.
    Pending,
    /// It has its value.
    Fulfilled {
        /// The value.
        value: Value,
    },
    /// It will never have one.
    Rejected {
        /// Why.
        reason: Untrusted,
    },
}

/// A message in full, as its reader sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LetterView {
    /// The message.
    pub letter: Letter,
    /// The reader's name for whoever sent it.
    pub from: String,
    /// The reader's name for whoever got it.
    pub to: String,
    /// For a definition: its text.
    pub source: Option<Untrusted>,
    /// For a definition: its slots; for a form, its fields.
    pub holes: Vec<Hole>,
    /// For a request to evaluate: the reader's own names for what it would use.
    pub uses: Vec<(String, String)>,
    /// For a definition: whether it is a worker.
    pub is_worker: bool,
}

/// A slot or a field, as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// Its name.
    pub name: String,
    /// What its author says about it. Foreign text.
    pub label: Untrusted,
    /// What may fill it, in one plain line.
    pub wants: String,
    /// Whether it takes a capability, by one of the reader's names.
    pub capability: bool,
    /// Whether what is written there is sealed.
    pub secret: bool,
    /// What stands there unless something else is said.
    pub default: Option<String>,
    /// What may be chosen from, if it is a choice.
    pub choices: Vec<String>,
}

/// A page of the journal of endowed code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePage {
    /// The code.
    pub eval: FormulaId,
    /// Whether it has not come to its end.
    pub is_open: bool,
    /// The program of modules that it is, if it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<kernel::modules::Modules>,
    /// The entries.
    pub entries: Vec<kernel::code::Record>,
}
