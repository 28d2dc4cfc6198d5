//! The acts of an agent, as a client requests them.

use std::collections::BTreeMap;

use kernel::command::{Cancel, MailAct, NameAct, ProvideAgent};
use kernel::run::ResultGoesTo;
use kernel::{BlobHash, FormulaId, GrantNumber, MessageNumber, NamePath};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use super::answer_input::{AnswerInput, FieldInput};
use super::narrow::Narrowing;
use super::run_request::StartSpec;

/// The modules of a program, as they come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum GivenModules {
    /// An archive.
    Archive {
        /// Its bytes in Base64.
        base64: String,
    },
    /// Files.
    Files {
        /// Their bytes in Base64, by their paths with `/` between names.
        files: BTreeMap<String, String>,
    },
    /// The content of one of the agent's names: a blob with an archive or a bundle, or a tree.
    Named {
        /// The name.
        path: NamePath,
    },
}

/// The state that a user saw before endowing a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenEndowment {
    /// How often something had been done with the definition.
    pub done: u64,
    /// The formulas of the names that fill slots, by slot.
    pub names: BTreeMap<String, FormulaId>,
    /// The formula of the name for the result; `None` if that name was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<FormulaId>,
    /// For a worker: the seal of the plan that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<BlobHash>,
}

/// An act of an agent. Some acts need the outside: bytes beside the store, a worker file to read, a secret to seal, a
/// token to draw. Those have variants of their own; all others are acts of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AgentAct {
    /// Something happens to names.
    Name {
        /// The change of names.
        act: NameAct,
    },
    /// Keeps text as bytes beside the store, under a name.
    StoreText {
        /// The text.
        text: String,
        /// The name.
        path: NamePath,
        /// Even if the name looks like another one in its directory.
        #[serde(default)]
        force: bool,
    },
    /// Makes an agent.
    Provide {
        /// Which.
        act: ProvideAgent,
    },
    /// Something happens to mail. Definitions, endowments and forms filled in have their own acts here.
    Mail {
        /// The act on mail.
        act: Box<MailAct>,
    },
    /// Proposes a program.
    Define {
        /// To whom.
        to: NamePath,
        /// The name of a worker, if it is one.
        name: String,
        /// Code, or a worker file (it begins with `---`).
        source: String,
        /// The files that a worker includes, by name.
        includes: BTreeMap<String, String>,
        /// For code: its slots, each with a label and a pattern as text.
        slots: BTreeMap<String, (String, String)>,
        /// The name under which the promise is kept.
        result_name: Option<NamePath>,
        /// Edit this definition instead of proposing a new one.
        edit: Option<MessageNumber>,
        /// How often something had been done with that one when it was seen: if more has been by now, nothing happens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done: Option<u64>,
    },
    /// Endows a program that was proposed: code, or a worker, which starts to run.
    Endow {
        /// The definition's message.
        number: MessageNumber,
        /// Slots bound to names of the agent's.
        names: BTreeMap<String, NamePath>,
        /// For a worker: its start options, with slots bound to resources outside the store.
        spec: Box<StartSpec>,
        /// Where the result goes.
        goes_to: ResultGoesTo,
        /// The name under which the host keeps the promise for the result.
        result_name: Option<NamePath>,
        /// The state that the user saw before. If any of it differs by now, the daemon changes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Box<SeenEndowment>>,
    },
    /// Runs a program of modules.
    Make {
        /// Its modules.
        given: GivenModules,
        /// The name of the powers that its `make` receives; without a name it receives none.
        #[serde(default)]
        powers: Option<NamePath>,
        /// Variables that it is given.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// The name under which the promise for its result is kept.
        #[serde(default)]
        result_name: Option<NamePath>,
    },
    /// Answers a request.
    Resolve {
        /// The request.
        number: MessageNumber,
        /// The answer.
        answered: AnswerInput,
    },
    /// Fills in a form.
    Submit {
        /// The form.
        number: MessageNumber,
        /// The value of each field.
        values: BTreeMap<String, FieldInput>,
    },
    /// Makes a one-use sharing token.
    Share {
        /// The name of the shared object.
        path: NamePath,
    },
    /// Uses a sharing token.
    Accept {
        /// The token.
        token: String,
        /// The name for the object that the token gives.
        path: NamePath,
    },
    /// Names a narrower version of an object that the agent has, to be handed on in its place.
    Narrow {
        /// The name of the original object.
        path: NamePath,
        /// The formula of that name when the user chose it. If the name has another formula by now, the daemon
        /// changes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is: Option<FormulaId>,
        /// The restrictions.
        by: Box<Narrowing>,
        /// The name.
        to: NamePath,
        /// Even if the name looks like another one in its directory.
        #[serde(default)]
        force: bool,
    },
    /// Ends a grant: `g4`, or the name of something that was granted to the agent's own guests.
    Revoke {
        /// Which.
        grant: GrantNumber,
    },
    /// Ends work.
    Cancel {
        /// The work to end.
        what: Cancel,
        /// Why.
        reason: Untrusted,
    },
    /// Lets another engine than the original one remake the objects that code has made.
    Remake {
        /// The name of the code's result, or of an object that the code has made.
        path: NamePath,
    },
    /// Makes a timer that begins now.
    MakeTimer {
        /// Its name.
        path: NamePath,
        /// How long from tick to tick, in milliseconds.
        interval_ms: u64,
        /// The purpose of the timer.
        label: Untrusted,
    },
    /// Begins, or ends, that each tick of a timer is a message to the agent.
    Ticks {
        /// The timer's name.
        path: NamePath,
        /// Whether it begins.
        begin: bool,
    },
}
