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

/// The modules of a program, in the form in which the client sends them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum GivenModules {
    /// The modules as an archive.
    Archive {
        /// The bytes of the archive in Base64.
        base64: String,
    },
    /// The modules as single files.
    Files {
        /// The bytes of the files in Base64. The keys are paths with `/` between names.
        files: BTreeMap<String, String>,
    },
    /// The content of one of the agent's names: a blob with an archive or a bundle, or a directory tree.
    Named {
        /// The name.
        path: NamePath,
    },
}

/// The state that a user saw before endowing a definition. If it has changed, the daemon refuses the endowment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeenEndowment {
    /// The number of acts on the definition so far.
    pub done: u64,
    /// The formulas of the names that fill slots, by slot.
    pub names: BTreeMap<String, FormulaId>,
    /// The formula that had the name for the result, or `None` if that name was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<FormulaId>,
    /// The seal of the plan that was shown, if the definition is a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<BlobHash>,
}

/// An act of an agent. Some acts need resources outside the store: stored bytes, a worker file, a secret to seal, a
/// random token. Those acts have variants of their own. All others are acts of the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AgentAct {
    /// Changes names.
    Name {
        /// The change.
        act: NameAct,
    },
    /// Stores text as a blob, under a name.
    StoreText {
        /// The text.
        text: String,
        /// The name.
        path: NamePath,
        /// Whether the name is accepted even if it looks like another name in its directory.
        #[serde(default)]
        force: bool,
    },
    /// Creates an agent.
    Provide {
        /// The kind of agent and its names.
        act: ProvideAgent,
    },
    /// Performs an act on mail. Definitions, endowments and submitted forms have variants of their own.
    Mail {
        /// The act on mail.
        act: Box<MailAct>,
    },
    /// Proposes a program to another agent.
    Define {
        /// The name of the recipient.
        to: NamePath,
        /// The name of the worker, if the program is a worker.
        name: String,
        /// The code, or a worker file, which begins with `---`.
        source: String,
        /// The files that a worker includes, by name.
        includes: BTreeMap<String, String>,
        /// The slots of code, each with a label and a pattern as text.
        slots: BTreeMap<String, (String, String)>,
        /// The name for the promise of the result.
        result_name: Option<NamePath>,
        /// The definition to edit, if no new one is proposed.
        edit: Option<MessageNumber>,
        /// The number of acts on the edited definition when the user saw it. If there have been more by now, nothing
        /// changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done: Option<u64>,
    },
    /// Endows a proposed program. Code is evaluated, and a worker starts to run.
    Endow {
        /// The definition's message.
        number: MessageNumber,
        /// The slots that are filled with the agent's names.
        names: BTreeMap<String, NamePath>,
        /// The start options of a worker, with the slots that are filled with resources outside the store.
        spec: Box<StartSpec>,
        /// The receivers of the result.
        goes_to: ResultGoesTo,
        /// The name under which the host keeps the promise for the result.
        result_name: Option<NamePath>,
        /// The state that the user saw before. If any part of it has changed, the daemon changes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Box<SeenEndowment>>,
    },
    /// Runs a program made of modules.
    Make {
        /// The modules of the program.
        given: GivenModules,
        /// The name of the powers that the program's `make` function receives. Without a name, it receives none.
        #[serde(default)]
        powers: Option<NamePath>,
        /// The environment variables of the program.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// The name for the promise of the result.
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
    /// Submits a form.
    Submit {
        /// The form.
        number: MessageNumber,
        /// The value of each field.
        values: BTreeMap<String, FieldInput>,
    },
    /// Creates a one-use sharing token.
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
    /// Creates a narrower version of one of the agent's objects, under a name. It can then be handed on instead of
    /// the original.
    Narrow {
        /// The name of the original object.
        path: NamePath,
        /// The formula of that name when the user chose it. If the name has another formula by now, the daemon
        /// changes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is: Option<FormulaId>,
        /// The restrictions.
        by: Box<Narrowing>,
        /// The name of the narrower version.
        to: NamePath,
        /// Whether the name is accepted even if it looks like another name in its directory.
        #[serde(default)]
        force: bool,
    },
    /// Revokes a grant that the agent gave, such as `g4`.
    Revoke {
        /// The number of the grant.
        grant: GrantNumber,
    },
    /// Cancels work.
    Cancel {
        /// The work to cancel.
        what: Cancel,
        /// The reason.
        reason: Untrusted,
    },
    /// Lets another engine than the original one recreate the objects that code has made.
    Remake {
        /// The name of the code's result, or of an object that the code has made.
        path: NamePath,
    },
    /// Creates a timer that starts now.
    MakeTimer {
        /// The name of the timer.
        path: NamePath,
        /// The time between ticks, in milliseconds.
        interval_ms: u64,
        /// The purpose of the timer.
        label: Untrusted,
    },
    /// Starts or stops sending a message to the agent for each tick of a timer.
    Ticks {
        /// The name of the timer.
        path: NamePath,
        /// Whether the messages start. Otherwise they stop.
        begin: bool,
    },
}
