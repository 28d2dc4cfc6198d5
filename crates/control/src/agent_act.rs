//! What an agent does, as a client asks for it.

use std::collections::BTreeMap;

use kernel::command::{Cancel, MailAct, NameAct, ProvideAgent};
use kernel::run::ResultGoesTo;
use kernel::{BlobHash, FormulaId, GrantNumber, MessageNumber, NamePath};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use super::answered::{Answered, Written};
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
    /// What a name of the agent's stands for: a blob with an archive or a bundle, or a tree.
    Named {
        /// The name.
        path: NamePath,
    },
}

/// What a person has seen before endowing a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenEndowment {
    /// How often something had been done with the definition.
    pub done: u64,
    /// What the names stood for that fill slots, by slot.
    pub names: BTreeMap<String, FormulaId>,
    /// What the name for the result stood for; nothing, if it was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<FormulaId>,
    /// For a worker: the seal of the plan that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<BlobHash>,
}

/// What an agent does. What needs the outside (bytes beside the store, a worker file read, a secret sealed, a token
/// drawn) is asked for in its own words; everything else is the kernel's act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AgentAct {
    /// Something happens to names.
    Name {
        /// What.
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
        /// What.
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
        /// For a worker: how it is started, with slots bound to what is outside the store.
        spec: Box<StartSpec>,
        /// Where the result goes.
        goes_to: ResultGoesTo,
        /// The name under which the host keeps the promise for the result.
        result_name: Option<NamePath>,
        /// What the person has seen of all that before: if any of it is otherwise by now, nothing happens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Box<SeenEndowment>>,
    },
    /// Runs a program of modules.
    Make {
        /// Its modules.
        given: GivenModules,
        /// What its `make` is given as powers; nothing without a name.
        #[serde(default)]
        powers: Option<NamePath>,
        /// Variables that it is given.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// The name under which the promise for what it makes is kept.
        #[serde(default)]
        result_name: Option<NamePath>,
    },
    /// Answers a request.
    Resolve {
        /// The request.
        number: MessageNumber,
        /// The answer.
        answered: Answered,
    },
    /// Fills in a form.
    Submit {
        /// The form.
        number: MessageNumber,
        /// What was written into each field.
        values: BTreeMap<String, Written>,
    },
    /// Makes a one-use sharing token.
    Share {
        /// For what.
        path: NamePath,
    },
    /// Uses a sharing token.
    Accept {
        /// The token.
        token: String,
        /// The name for what it gives.
        path: NamePath,
    },
    /// Gives a name to something narrower than what the agent has: to be handed on instead of that.
    Narrow {
        /// What it is made of.
        path: NamePath,
        /// What that name stood for when it was chosen: if it stands for something else by now, nothing happens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is: Option<FormulaId>,
        /// What is taken away.
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
        /// What.
        what: Cancel,
        /// Why.
        reason: Untrusted,
    },
    /// Lets what code made be made again by another engine than the one in which it began.
    Remake {
        /// The name of what it came to, or of an object that it has made.
        path: NamePath,
    },
    /// Makes a timer that begins now.
    MakeTimer {
        /// Its name.
        path: NamePath,
        /// How long from tick to tick, in milliseconds.
        interval_ms: u64,
        /// What it is for.
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
