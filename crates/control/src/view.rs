//! The view of the store that an agent has: names, objects, grants, messages.

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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrantRow {
    /// The grant.
    #[serde(flatten)]
    pub grant: Grant,
    /// The giver's own name for the holder, or its description.
    pub held_by: Untrusted,
    /// Whether the holder no longer exists, and so has no page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// The giver's own name for the target, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameRow {
    /// The name.
    pub name: String,
    /// The type of the name's object.
    pub kind: String,
    /// The description of the name's object.
    pub words: Untrusted,
    /// The formula of the name's object, if the object is one.
    pub id: Option<FormulaId>,
}

/// A page of the names in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamePage {
    /// The names.
    pub rows: Vec<NameRow>,
    /// The special names that every agent has, which begin with `@`. They are only on the first page.
    pub special: Vec<NameRow>,
    /// The number of all matching names, without the special names.
    pub all: usize,
}

/// The object of a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObjectView {
    /// The formula of the object, if the object is one.
    pub id: Option<FormulaId>,
    /// The type of the object.
    pub kind: String,
    /// The description of the object.
    pub words: Untrusted,
    /// The value, if the object is one, or the value of a fulfilled promise.
    pub value: Option<Value>,
    /// The bytes as text, if the object is bytes.
    pub text: Option<Untrusted>,
    /// The state of the promise, if the object is one.
    pub promise: Option<PromiseState>,
}

/// The state of a promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "promise", rename_all = "snake_case")]
pub enum PromiseState {
    /// The promise is not settled yet.
    Pending,
    /// The promise has a value.
    Fulfilled {
        /// The value.
        value: Value,
    },
    /// The promise was broken, and will never have a value.
    Rejected {
        /// The reason.
        reason: Untrusted,
    },
}

/// A message in full, as its reader sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageView {
    /// The message.
    pub letter: MailboxEntry,
    /// The reader's name for the sender.
    pub from: String,
    /// The reader's name for the recipient.
    pub to: String,
    /// The name of the worker whose run has sent the message, if a run has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The reader's message that this message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<kernel::MessageNumber>,
    /// The text of the definition, if the message is one.
    pub source: Option<Untrusted>,
    /// The slots of a definition, or the fields of a form.
    pub fields: Vec<FieldSpec>,
    /// The objects that the code of a request to evaluate would use, each with its name in the code. `None` stands
    /// for an object that no longer exists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<(String, Option<Powers>)>,
    /// The withheld result, if the message asks whether to release one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// Whether the message is a definition of a worker.
    pub is_worker: bool,
}

/// A result that is withheld because it carries capabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Withheld {
    /// The reader's name for the recipient.
    pub to: String,
    /// The complete result as text, including data. Each capability appears as its number in `gives` and the reader's
    /// name for it. Foreign text. `None` if the result is a single capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Untrusted>,
    /// The capabilities in the result, each once. `None` stands for one that no longer exists.
    pub gives: Vec<Option<Powers>>,
}

/// A slot or a field, as a user sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldSpec {
    /// The name of the slot or field.
    pub name: String,
    /// The author's description. Foreign text.
    pub label: Untrusted,
    /// The permitted contents, in one plain line.
    pub wants: String,
    /// Whether it takes a capability, given by one of the reader's names.
    pub capability: bool,
    /// Whether the value is sealed.
    pub secret: bool,
    /// The default value, if there is one.
    pub default: Option<String>,
    /// The choices, if the field is a choice.
    pub choices: Vec<String>,
}

/// A page of the journal of endowed code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodePage {
    /// The code.
    pub eval: FormulaId,
    /// Whether the code has not ended.
    pub is_open: bool,
    /// The modules of the program, if the code is a program of modules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<kernel::modules::Modules>,
    /// The entries.
    pub entries: Vec<kernel::code::Record>,
}

/// An object of an agent that can be picked as a capability, by one of the agent's names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PickRow {
    /// The name, with `/` between directories.
    pub path: String,
    /// The formula of the object.
    pub id: FormulaId,
    /// The type of the object.
    pub kind: String,
    /// The description of the object.
    pub words: Untrusted,
    /// The methods that can be called through all grants on the path to the object.
    #[serde(default)]
    pub methods: Vec<Method>,
    /// Whether the object may have other methods, which only its maker knows.
    #[serde(default)]
    pub others: bool,
    /// Whether the object is a promise that is not settled yet.
    #[serde(default)]
    pub pending: bool,
    /// Whether the object is data.
    #[serde(default)]
    pub data: bool,
    /// The labels of slots and patterns that the object fits.
    pub labels: Vec<String>,
    /// The interface name of the object, recorded by the daemon when the object was made. `None` if the interface is
    /// unknown. Foreign text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// The relation of an object to a requested kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// The object is of the requested kind, or has the requested interface.
    Recorded,
    /// The interface of the object is unknown.
    Unknown,
    /// The object is known to be of another kind.
    No,
}

impl PickRow {
    /// Returns the object's relation to a request for a capability with this label. With `pending`, a promise is also
    /// accepted.
    pub fn fit(&self, label: Option<&str>, pending: bool) -> Fit {
        let when = |fits: bool| if fits { Fit::Recorded } else { Fit::No };
        let word = label.filter(|label| !label.is_empty() && Kind::of(label).is_none());
        match (label.filter(|label| Kind::of(label).is_some()), word) {
            _ if self.pending && !pending => Fit::No,
            // The user is asked about the value as soon as the promise has one.
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

    /// Returns whether the object can be offered for such a request.
    pub fn fits(&self, label: Option<&str>, pending: bool) -> bool {
        self.fit(label, pending) != Fit::No
    }
}

/// A program that a message proposes, as a user examines it before endowing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramProposal {
    /// The hash of exactly the parts that are shown and would run: the text, the included files and the slots.
    pub digest: String,
    /// The text of the program.
    pub source: Untrusted,
    /// The name of the worker, if the program is one.
    pub worker: Option<String>,
    /// The files that the worker includes.
    pub includes: BTreeMap<String, Untrusted>,
    /// The program's own description, if it has one.
    pub description: Option<Untrusted>,
    /// The pattern of the worker's inputs, as a value.
    pub input: Option<Value>,
    /// The number of documents that the worker takes.
    pub documents: u32,
    /// The model that the worker asks for.
    pub model: Option<Untrusted>,
    /// The slots of the program.
    pub slots: Vec<ProposedSlot>,
    /// The names that code uses without declaring them, and that its environment provides to all code.
    pub free: Vec<String>,
    /// The names that code uses without declaring them, and that its environment does not provide. Using one of them
    /// fails.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Other declarations of the program, in sentences.
    pub notes: Vec<Untrusted>,
    /// The line, the column and the reason why the text of code cannot be parsed, if so. Such code would fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax_error: Option<Untrusted>,
    /// The difference from the definition of the run that proposes the program, if both are worker files.
    pub difference: Option<Untrusted>,
}

/// The outcome of one endowment of a definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndowedView {
    /// The time of the endowment, in milliseconds since 1970.
    pub at_ms: i64,
    /// The number of acts on the definition before this one.
    pub after: u64,
    /// The formula of the run or the code that was started.
    pub made: FormulaId,
    /// The number of the run, if one was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// Whether the run or the code has ended and been collected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// The agent's promise for the result.
    pub result: FormulaId,
    /// The state of the result for the agent, whether or not others have received it.
    pub outcome: PromiseState,
    /// The agent's name for the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The grants of the endowment.
    pub grants: Vec<GrantRow>,
}

/// A slot of a program that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProposedSlot {
    /// The name of the slot.
    pub name: String,
    /// The proposer's description of the slot. Foreign text.
    #[serde(default)]
    pub words: Untrusted,
    /// The label of the slot's pattern, if the slot takes a capability: `dir`, `http`, or any other word.
    pub label: Option<String>,
    /// Whether the slot can take data.
    pub data: bool,
    /// The permitted contents, in one line. Foreign text.
    pub wants: Untrusted,
    /// Whether a pending promise may fill the slot, with any later value.
    pub pending: bool,
    /// The user's named objects that may fill the slot.
    pub fits: Vec<(FormulaId, Fit)>,
    /// The methods of the slot that the program calls, or can call, each with its effect on the world.
    pub uses: Vec<String>,
    /// The receivers of the slot's content. For code, they are slots and methods, as `slot.method`. For a worker,
    /// they are the recipients to which its model may give the content.
    #[serde(default)]
    pub given: Vec<String>,
    /// The coverage of the analysis of the slot's use.
    #[serde(default)]
    pub coverage: AnalysisCoverage,
}

/// The coverage of an analysis: the part of a slot's use that the analysis finds in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnalysisCoverage {
    /// The complete use was found.
    #[default]
    Complete,
    /// The text also uses the slot in ways that the analysis cannot follow.
    Partial,
    /// The text does not use the slot.
    Unused,
    /// The text could not be parsed.
    Unread,
}
