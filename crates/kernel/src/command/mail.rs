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

/// An act on mail. Every path begins in the actor's own directory; every number belongs to its own mailbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mail", rename_all = "snake_case")]
pub enum MailAct {
    /// Sends text with named values.
    Send(Send),
    /// Sends the same to the other party of a message.
    Reply {
        /// The message that is answered.
        number: MessageNumber,
        /// The pieces of text.
        strings: Vec<Untrusted>,
        /// The names behind the pieces.
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
        /// Whom.
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
    /// Answers the request of a run.
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
        /// Why.
        reason: Untrusted,
    },
    /// Gives a name to something that came with a message.
    Adopt {
        /// The message.
        number: MessageNumber,
        /// The name that the sender gave it.
        edge: String,
        /// The name that the actor gives it.
        path: NamePath,
    },
    /// Hides a message and drops its references.
    Dismiss {
        /// The message.
        number: MessageNumber,
    },
    /// Dismisses every message that needs no answer.
    DismissAll,
    /// Proposes an inert program.
    Define(Define),
    /// Proposes a changed copy of a program that was proposed: the original stays, and its sender is told.
    Edit {
        /// The definition's message.
        number: MessageNumber,
        /// The program. Code without slots keeps those that it had.
        program: Text,
    },
    /// Asks for a record.
    Form(Form),
    /// Fills in a form.
    Submit {
        /// The form.
        number: MessageNumber,
        /// The values by field.
        values: BTreeMap<String, FieldValue>,
    },
    /// Asks to run code over things that the sender holds.
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
    /// Agrees to an evaluation that was asked for.
    Grant {
        /// The message.
        number: MessageNumber,
        /// Where its result goes.
        goes_to: ResultGoesTo,
    },
    /// Endows code that was proposed.
    EndowCode {
        /// The definition's message.
        number: MessageNumber,
        /// The paths of the values, by slot.
        bindings: BTreeMap<String, NamePath>,
        /// The name of the place where it runs; the actor's own without one.
        #[serde(default)]
        vat: Option<NamePath>,
        /// Where its result goes.
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
        /// Where its result goes.
        goes_to: ResultGoesTo,
        /// The name under which the host keeps the promise for the result.
        result_name: Option<NamePath>,
    },
    /// Does something, if all is still as the actor has seen it.
    IfUnchanged {
        /// Each name with the formula that it stood for; `None` if the name was free.
        seen: Vec<(NamePath, Option<FormulaId>)>,
        /// If a definition is endowed or edited: how often something had been done with it.
        #[serde(default)]
        done: Option<u64>,
        /// The act to perform.
        act: Box<MailAct>,
    },
    /// Runs code of the actor's own.
    Evaluate {
        /// The name of the place where it runs; the actor's own without one.
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
        /// The name of the place where it runs; the actor's own without one.
        #[serde(default)]
        vat: Option<NamePath>,
        /// The program, whose bytes lie beside the store.
        modules: Modules,
        /// The name of the powers that its `make` gets; without a name it gets none.
        #[serde(default)]
        powers: Option<NamePath>,
        /// Whether a guest is made under that name if nothing has it.
        #[serde(default)]
        new_guest: bool,
        /// The name under which the promise is kept.
        result_name: Option<NamePath>,
    },
}

/// The answer of a user to a run's request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// Sends text with named values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Send {
    /// To whom.
    pub to: NamePath,
    /// The pieces of text: as many as there are names, or more.
    pub strings: Vec<Untrusted>,
    /// The names behind the pieces.
    pub names: Vec<String>,
    /// The paths of the values, one for each name.
    pub paths: Vec<NamePath>,
    /// The message that it answers.
    pub reply_to: Option<MessageNumber>,
}

/// The text of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// Code, or a worker file.
    pub source: Untrusted,
    /// The parts of a worker; `None` for code. Its bytes lie beside the store already.
    pub worker: Option<Program>,
    /// Its slots.
    pub slots: BTreeMap<String, Slot>,
}

/// Proposes an inert program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Define {
    /// To whom: `@host` as a rule.
    pub to: NamePath,
    /// The program.
    pub program: Text,
    /// The name under which the promise is kept.
    pub result_name: Option<NamePath>,
}

/// Asks for a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// Whom.
    pub to: NamePath,
    /// The purpose of the form.
    pub description: Untrusted,
    /// The fields, in order.
    pub fields: Vec<Field>,
    /// Whether it may be answered more than once.
    pub repeatable: bool,
    /// The name under which the promise is kept.
    pub result_name: Option<NamePath>,
}

/// The content of one field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
