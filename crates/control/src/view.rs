//! An agent's view of the store: names, objects, grants, messages.

use std::collections::BTreeMap;

use kernel::grant::Grant;
use kernel::query::MailboxEntry;
use kernel::{FormulaId, RunNumber, Value};
use passable::Untrusted;
use resource::Kind;
use serde::{Deserialize, Serialize};

use crate::narrow::Method;
use crate::powers::Powers;

/// A grant, as its giver sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantRow {
    /// The grant.
    #[serde(flatten)]
    pub grant: Grant,
    /// The holder: the giver's own name for it, or its description.
    pub held_by: Untrusted,
    /// Whether that is gone: it has no page any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// The giver's own name for its target, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRow {
    /// The name.
    pub name: String,
    /// The type of its object.
    pub kind: String,
    /// The description of its object.
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

/// The object of a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectView {
    /// Its formula, if it is one.
    pub id: Option<FormulaId>,
    /// Its type.
    pub kind: String,
    /// Its description.
    pub words: Untrusted,
    /// Its value, if it is one, or the value of a fulfilled promise.
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
pub struct MessageView {
    /// The message.
    pub letter: MailboxEntry,
    /// The reader's name for the sender.
    pub from: String,
    /// The reader's name for the recipient.
    pub to: String,
    /// The message of the reader's that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<kernel::MessageNumber>,
    /// For a definition: its text.
    pub source: Option<Untrusted>,
    /// For a definition: its slots; for a form, its fields.
    pub fields: Vec<FieldSpec>,
    /// For a request to evaluate: the objects that it would use, each under its name in the code. `None` stands for
    /// an object that is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<(String, Option<Powers>)>,
    /// For a result that is withheld: the capabilities that it would give away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// For a definition: whether it is a worker.
    pub is_worker: bool,
}

/// A result that is withheld because it carries capabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Withheld {
    /// The reader's name for the recipient.
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
pub struct FieldSpec {
    /// Its name.
    pub name: String,
    /// Its author's description. Foreign text.
    pub label: Untrusted,
    /// The contents that may fill it, in one plain line.
    pub wants: String,
    /// Whether it takes a capability, by one of the reader's names.
    pub capability: bool,
    /// Whether its value is sealed.
    pub secret: bool,
    /// Its default value.
    pub default: Option<String>,
    /// The choices, if it is a choice.
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
    /// Its formula.
    pub id: FormulaId,
    /// Its type.
    pub kind: String,
    /// Its description.
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
    /// The name of its interface when it was made, by the daemon's own record. `None` if the interface is unknown.
    /// Foreign text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// The relation of an object to a requested kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// It is of the kind, or has the interface, that is asked for.
    Recorded,
    /// Its interface is unknown.
    Unknown,
    /// It is known to be something else.
    No,
}

impl PickRow {
    /// Returns its relation to a request for a capability with this label, or, if `pending`, for a promise.
    pub fn fit(&self, label: Option<&str>, pending: bool) -> Fit {
        let when = |fits: bool| if fits { Fit::Recorded } else { Fit::No };
        let word = label.filter(|label| !label.is_empty() && Kind::of(label).is_none());
        match (label.filter(|label| Kind::of(label).is_some()), word) {
            _ if self.pending && !pending => Fit::No,
            // The user is asked about the value once the promise has one.
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

    /// Returns whether it can be offered there.
    pub fn fits(&self, label: Option<&str>, pending: bool) -> bool {
        self.fit(label, pending) != Fit::No
    }
}

/// A program that a message proposes, as a person studies it before endowing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramProposal {
    /// The hash of exactly the parts that are shown and would run: the text, its includes, its slots.
    pub digest: String,
    /// Its text.
    pub source: Untrusted,
    /// For a worker: its name.
    pub worker: Option<String>,
    /// For a worker: the files that it includes.
    pub includes: BTreeMap<String, Untrusted>,
    /// Its own description, if it has one.
    pub description: Option<Untrusted>,
    /// For a worker: the pattern of its inputs, as a value.
    pub input: Option<Value>,
    /// For a worker: how many documents it takes.
    pub documents: u32,
    /// For a worker: the model that it asks for.
    pub model: Option<Untrusted>,
    /// Its slots.
    pub slots: Vec<ProposedSlot>,
    /// The names that code takes from its surroundings: it uses and does not declare them, and all code has them.
    pub free: Vec<String>,
    /// The names that code uses and does not declare, and that its surroundings do not have: using one fails.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Its other declarations, in sentences.
    pub notes: Vec<Untrusted>,
    /// How it differs from the definition of the run that proposes it, if one does and both are worker files.
    pub difference: Option<Untrusted>,
}

/// The outcome of one endowment of a definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndowedView {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The number of acts on the definition before this one.
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
    /// The state of that result for the agent, whether or not others have received it.
    pub outcome: PromiseState,
    /// The agent's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its grants.
    pub grants: Vec<GrantRow>,
}

/// A slot of a program that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedSlot {
    /// Its name.
    pub name: String,
    /// Its proposer's description. Foreign text.
    #[serde(default)]
    pub words: Untrusted,
    /// The label of its pattern, if it wants a capability: `dir`, `http`, or any other word.
    pub label: Option<String>,
    /// Whether it does not want a capability alone.
    pub data: bool,
    /// The contents that may fill it, in one line. Foreign text.
    pub wants: Untrusted,
    /// Whether a pending promise may fill it, for any later value.
    pub pending: bool,
    /// The user's named objects that may fill it.
    pub fits: Vec<(FormulaId, Fit)>,
    /// The methods that the program calls, or can call, each with its effect on the world.
    pub uses: Vec<String>,
    /// The slots and methods that code gives it to, as `slot.method`. For a worker: the recipients that its model may
    /// give it to.
    #[serde(default)]
    pub given: Vec<String>,
    /// The coverage of the analysis of its use.
    #[serde(default)]
    pub coverage: AnalysisCoverage,
}

/// The coverage of an analysis: how much of a slot's use it finds in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnalysisCoverage {
    /// All of it.
    #[default]
    Complete,
    /// The text also uses it in ways that the analysis cannot follow.
    Partial,
    /// It nowhere uses it.
    Unused,
    /// The text could not be read.
    Unread,
}
