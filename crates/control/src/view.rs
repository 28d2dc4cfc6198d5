//! What an agent sees when it looks: names, things, grants, letters.

use std::collections::BTreeMap;

use kernel::grant::Grant;
use kernel::query::Letter;
use kernel::{FormulaId, RunNumber, Value};
use passable::Untrusted;
use resource::Kind;
use serde::{Deserialize, Serialize};

use crate::narrow::Method;
use crate::powers::Powers;

/// A grant, as whoever gave it sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantRow {
    /// The grant.
    #[serde(flatten)]
    pub grant: Grant,
    /// Who holds it: the giver's own name for it, or what it is.
    pub held_by: Untrusted,
    /// Whether that is gone: it has no page any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// The giver's own name for what it leads to, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
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

/// A page of the names in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamePage {
    /// The names.
    pub rows: Vec<NameRow>,
    /// The names that everybody has, which begin with `@`; not on later pages.
    pub special: Vec<NameRow>,
    /// How many names there are that were looked for, without those that everybody has.
    pub all: usize,
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
    /// The message of the reader's that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<kernel::MessageNumber>,
    /// For a definition: its text.
    pub source: Option<Untrusted>,
    /// For a definition: its slots; for a form, its fields.
    pub holes: Vec<Hole>,
    /// For a request to evaluate: what it would use, each under its name in the code. Nothing stands where it is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<(String, Option<Powers>)>,
    /// For a result that is withheld: what would be given away with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// For a definition: whether it is a worker.
    pub is_worker: bool,
}

/// A result that is withheld because it carries capabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Withheld {
    /// The reader's name for whoever would get it.
    pub to: String,
    /// All of it as text, data too: where a capability stands, there is its number in `gives` and the reader's name for
    /// it. Foreign text. Nothing, if it is a capability and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Untrusted>,
    /// The capabilities in it, each once. Nothing stands where one is gone.
    pub gives: Vec<Option<Powers>>,
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

/// Something of an agent's that can be picked where a capability is asked for, by one of the agent's names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PickRow {
    /// The name, with `/` between directories.
    pub path: String,
    /// What it stands for.
    pub id: FormulaId,
    /// Its type.
    pub kind: String,
    /// What it is, in words.
    pub words: Untrusted,
    /// The methods that can be called through all the grants on the way.
    #[serde(default)]
    pub methods: Vec<Method>,
    /// Whether it may have others, which only its maker knows.
    #[serde(default)]
    pub others: bool,
    /// Whether it is a promise that nothing has come of yet.
    #[serde(default)]
    pub pending: bool,
    /// Whether it is data.
    #[serde(default)]
    pub data: bool,
    /// The labels of slots and patterns that it fits.
    pub labels: Vec<String>,
    /// What its interface was called when it was made, by our own record. Without one nobody knows. Foreign text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// How something stands to what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// It is of the kind, or has the interface, that is asked for.
    Recorded,
    /// Nobody knows its interface.
    Unknown,
    /// It is known to be something else.
    No,
}

impl PickRow {
    /// How it stands to what is asked for: a capability with this label, or, if `pending`, a promise.
    pub fn fit(&self, label: Option<&str>, pending: bool) -> Fit {
        let when = |fits: bool| if fits { Fit::Recorded } else { Fit::No };
        let word = label.filter(|label| !label.is_empty() && Kind::of(label).is_none());
        match (label.filter(|label| Kind::of(label).is_some()), word) {
            _ if self.pending && !pending => Fit::No,
            // What will come of it is asked about when it has.
            (_, Some(_)) if self.pending => Fit::Unknown,
            _ if self.pending => Fit::Recorded,
            (Some(kind), _) => when(self.labels.iter().any(|own| own == kind)),
            _ if self.data => Fit::No,
            (None, None) => Fit::Recorded,
            (None, Some(word)) => match &self.interface {
                Some(interface) => when(interface == word),
                None => Fit::Unknown,
            },
        }
    }

    /// Whether it can be offered there.
    pub fn fits(&self, label: Option<&str>, pending: bool) -> bool {
        self.fit(label, pending) != Fit::No
    }
}

/// A program that a message proposes, as a person studies it before endowing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposed {
    /// The hash of exactly what is shown, and would run: the text, what it includes, its slots.
    pub digest: String,
    /// Its text.
    pub source: Untrusted,
    /// For a worker: its name.
    pub worker: Option<String>,
    /// For a worker: the files that it includes.
    pub includes: BTreeMap<String, Untrusted>,
    /// What it says that it does, if it says so.
    pub description: Option<Untrusted>,
    /// For a worker: the pattern of its inputs, as a value.
    pub input: Option<Value>,
    /// For a worker: how many documents it takes.
    pub documents: u32,
    /// For a worker: the model that it asks for.
    pub model: Option<Untrusted>,
    /// Its slots.
    pub slots: Vec<ProposedSlot>,
    /// What code takes from its surroundings: names that it uses and does not declare, and that all code has.
    pub free: Vec<String>,
    /// Names that code uses and does not declare, and that nobody gives it: using one fails.
    #[serde(default)]
    pub absent: Vec<String>,
    /// What else it says that it does, in sentences.
    pub notes: Vec<Untrusted>,
    /// How it differs from the definition of the run that proposes it, if one does and both are worker files.
    pub difference: Option<Untrusted>,
}

/// What came of a definition once that it was endowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndowedView {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What had been done with the definition before.
    pub after: u64,
    /// The run or the code that was made.
    pub made: FormulaId,
    /// The run, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// Whether it has ended and been collected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// The agent's promise for the result.
    pub result: FormulaId,
    /// What came of that for the agent, whoever else has got something of it.
    pub came: PromiseState,
    /// The agent's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it was granted.
    pub grants: Vec<GrantRow>,
}

/// A slot of a program that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedSlot {
    /// Its name.
    pub name: String,
    /// What its proposer says of it. Foreign text.
    #[serde(default)]
    pub words: Untrusted,
    /// The label of its pattern, if it wants a capability: `dir`, `http`, or any other word.
    pub label: Option<String>,
    /// Whether it does not want a capability alone.
    pub data: bool,
    /// What may fill it, in one line. Foreign text.
    pub wants: Untrusted,
    /// Whether a promise of which nothing has come may fill it, whatever comes of it.
    pub pending: bool,
    /// Of what the person has names for, what may fill it.
    pub fits: Vec<(FormulaId, Fit)>,
    /// The methods that the program calls, or can, each with what that does to the world.
    pub uses: Vec<String>,
    /// The slots and methods that code gives it to, as `slot.method`; of a worker whom, or what, its model may give it to.
    #[serde(default)]
    pub given: Vec<String>,
    /// How much of what becomes of it is known.
    #[serde(default)]
    pub told: Told,
}

/// How much a text tells of what it does with a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// All of it.
    #[default]
    Whole,
    /// It uses it in other ways as well, of which the text does not tell what comes.
    Partly,
    /// It nowhere uses it.
    Unused,
    /// The text could not be read.
    Unread,
}
