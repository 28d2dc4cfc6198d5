//! Commands about mail.

use std::collections::BTreeMap;

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::formula::Sealed;
use crate::id::{FormulaId, MessageNumber};
use crate::message::Field;
use crate::modules::Modules;
use crate::name::NamePath;
use crate::proposal::Value;
use crate::run::{Program, ResultGoesTo};
use crate::slot::Slot;

use super::{Binding, Start};

/// An act on mail. Every path begins in the actor's own directory, and every number belongs to the actor's own
/// mailbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "mail", rename_all = "snake_case")]
pub enum MailAct {
    /// Sends text with named values.
    Send(Send),
    /// Sends text with named values to the other party of a message.
    Reply {
        /// The message that is answered.
        number: MessageNumber,
        /// The pieces of text.
        strings: Vec<Untrusted>,
        /// The names of the values, each of which stands behind a piece of text.
        names: Vec<String>,
        /// The paths of the values, one for each name.
        paths: Vec<NamePath>,
    },
    /// Hands a value to the other party of a message.
    SendValue {
        /// The message that is answered.
        number: MessageNumber,
        /// The value.
        path: NamePath,
    },
    /// Asks for a value.
    Request {
        /// The recipient of the request.
        to: NamePath,
        /// The description of the value.
        description: Untrusted,
        /// The name under which the promise is kept.
        result_name: Option<NamePath>,
    },
    /// Answers a request.
    Resolve {
        /// The request.
        number: MessageNumber,
        /// The answer.
        path: NamePath,
    },
    /// Answers the request to which a resolver belongs.
    ResolveWith {
        /// The resolver, which came with the request.
        resolver: FormulaId,
        /// The answer, which the actor must hold.
        id: FormulaId,
    },
    /// Answers the request of a run, with data or with a value for a slot.
    Give {
        /// The request.
        number: MessageNumber,
        /// The answer.
        handed: RequestAnswer,
    },
    /// Rejects the request of a message.
    Reject {
        /// The message.
        number: MessageNumber,
        /// The reason.
        reason: Untrusted,
    },
    /// Gives a name to something that came with a message.
    Adopt {
        /// The message.
        number: MessageNumber,
        /// The sender's name for the value.
        edge: String,
        /// The actor's new name for the value.
        path: NamePath,
    },
    /// Hides a message and drops its references.
    Dismiss {
        /// The message.
        number: MessageNumber,
    },
    /// Dismisses every message that needs no answer.
    DismissAll,
    /// Proposes a program, which does nothing until somebody endows it.
    Define(Define),
    /// Proposes a changed copy of a proposed program. The original stays, and its sender is told.
    Edit {
        /// The definition's message.
        number: MessageNumber,
        /// The changed program. Code without slots keeps its earlier slots.
        program: Text,
    },
    /// Asks for a record, by a form.
    Form(Form),
    /// Fills in a form.
    Submit {
        /// The form.
        number: MessageNumber,
        /// The values by field.
        values: BTreeMap<String, FieldValue>,
    },
    /// Asks for the evaluation of code over values that the sender holds.
    RequestEvaluation {
        /// The code.
        source: Untrusted,
        /// The names in the code.
        names: Vec<String>,
        /// The paths of the values, one for each name.
        paths: Vec<NamePath>,
        /// The name under which the promise is kept.
        result_name: Option<NamePath>,
    },
    /// Agrees to a requested evaluation.
    Grant {
        /// The message.
        number: MessageNumber,
        /// The destination of the result.
        goes_to: ResultGoesTo,
    },
    /// Endows code that was proposed.
    EndowCode {
        /// The definition's message.
        number: MessageNumber,
        /// The paths of the values, by slot.
        bindings: BTreeMap<String, NamePath>,
        /// The name of the vat in which the code runs. `None` means the actor's own vat.
        #[serde(default)]
        vat: Option<NamePath>,
        /// The destination of the result.
        goes_to: ResultGoesTo,
        /// The name under which the host keeps the promise for the result.
        result_name: Option<NamePath>,
    },
    /// Endows a worker that was proposed and starts a run of it.
    EndowWorker {
        /// The definition's message.
        number: MessageNumber,
        /// The run.
        start: Box<Start>,
        /// The destination of the result.
        goes_to: ResultGoesTo,
        /// The name under which the host keeps the promise for the result.
        result_name: Option<NamePath>,
    },
    /// Performs an act, if names and definitions are still as the actor has seen them.
    IfUnchanged {
        /// Each name with the formula that it stood for; `None` if the name was free.
        seen: Vec<(NamePath, Option<FormulaId>)>,
        /// The number of times that a definition had been endowed or edited. Given if the act endows or edits a
        /// definition.
        #[serde(default)]
        done: Option<u64>,
        /// The act to perform.
        act: Box<MailAct>,
    },
    /// Runs code that the actor itself gives.
    Evaluate {
        /// The name of the vat in which the code runs. `None` means the actor's own vat.
        #[serde(default)]
        vat: Option<NamePath>,
        /// The code.
        source: Untrusted,
        /// The names in the code.
        names: Vec<String>,
        /// The paths of the values, one for each name.
        paths: Vec<NamePath>,
        /// The name under which the promise is kept.
        result_name: Option<NamePath>,
    },
    /// Runs a program of modules.
    Make {
        /// The name of the vat in which the program runs. `None` means the actor's own vat.
        #[serde(default)]
        vat: Option<NamePath>,
        /// The program, whose bytes lie beside the store.
        modules: Modules,
        /// The name of the powers for the program's `make` function. `None` means no powers.
        #[serde(default)]
        powers: Option<NamePath>,
        /// Whether a guest is made under the name of the powers, if that name is free.
        #[serde(default)]
        new_guest: bool,
        /// The name under which the promise is kept.
        result_name: Option<NamePath>,
    },
}

/// The answer of a user to a run's request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "handed", rename_all = "snake_case")]
pub enum RequestAnswer {
    /// Data, in the person's own words.
    Value {
        /// The value, without references.
        value: Value,
    },
    /// A value for the slot that the run has named.
    Slot {
        /// The slot and its target.
        binding: Box<Binding>,
    },
}

/// A text with named values, to be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Send {
    /// The recipient.
    pub to: NamePath,
    /// The pieces of text. Their number is at least the number of names.
    pub strings: Vec<Untrusted>,
    /// The names of the values, each of which stands behind a piece of text.
    pub names: Vec<String>,
    /// The paths of the values, one for each name.
    pub paths: Vec<NamePath>,
    /// The message that the text answers.
    pub reply_to: Option<MessageNumber>,
}

/// The text of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Text {
    /// Code, or a worker file.
    pub source: Untrusted,
    /// The parts of a worker, whose bytes lie beside the store already. `None` for code.
    pub worker: Option<Program>,
    /// The slots of the program.
    pub slots: BTreeMap<String, Slot>,
}

/// The proposal of a program, which does nothing until somebody endows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Define {
    /// The recipient, usually `@host`.
    pub to: NamePath,
    /// The program.
    pub program: Text,
    /// The name under which the promise is kept.
    pub result_name: Option<NamePath>,
}

/// A form: a request for a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Form {
    /// The recipient.
    pub to: NamePath,
    /// The purpose of the form.
    pub description: Untrusted,
    /// The fields, in order.
    pub fields: Vec<Field>,
    /// Whether the form may be answered more than once.
    pub repeatable: bool,
    /// The name under which the promise is kept.
    pub result_name: Option<NamePath>,
}

/// The content of one field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "filled", rename_all = "snake_case")]
pub enum FieldValue {
    /// A value.
    Value {
        /// The value. References in it must be held by the actor.
        value: Value,
    },
    /// The formula behind one of the actor's names.
    Name {
        /// The name.
        path: NamePath,
    },
    /// A secret that has been checked and sealed.
    Sealed {
        /// The sealed bytes.
        sealed: Sealed,
    },
}
