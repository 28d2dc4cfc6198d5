//! Formulas: immutable durable recipes for values, with typed references to other formulas.

use std::collections::BTreeMap;

use passable::Untrusted;
use resource::{Kind, Resource};
use serde::{Deserialize, Serialize};

use crate::id::{BlobHash, FormulaId, Number, RunNumber};
use crate::message::Message;
use crate::modules::Modules;
use crate::name::NamePath;
use crate::proposal::Value;
use crate::slot::Slot;

use super::limits::Limits;
use super::program::Program;

/// A recipe for a value. Each variant lists the formulas to which it refers. Garbage collection, the capability graph
/// and "why is this kept?" need no more than that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "a formula is looked at one by one, and never kept in memory")]
pub enum Formula {
    /// The root of a store.
    Endo {
        /// The agent of the person who owns the store.
        host: FormulaId,
        /// The directory of formulas that stay although no other name leads to them.
        pins: FormulaId,
        /// The agent that may do nothing.
        least_authority: FormulaId,
    },
    /// An agent that acts for a person and may endow.
    Host {
        /// The parts that every agent has.
        #[serde(flatten)]
        agent: Agent,
        /// The handle of the host that made this host. The first host has its own handle here.
        host: FormulaId,
        /// The vat for code that is endowed without the name of a vat.
        main: FormulaId,
        /// The root of the store.
        endo: FormulaId,
        /// The directory of formulas that stay although no other name leads to them.
        pins: FormulaId,
        /// The agent that may do nothing.
        none: FormulaId,
    },
    /// An agent that holds only the capabilities that it was given.
    Guest {
        /// The parts that every agent has.
        #[serde(flatten)]
        agent: Agent,
        /// The handle of the guest's host.
        host: FormulaId,
    },
    /// The agent that may do nothing. It stands for authority where none is given.
    LeastAuthority,
    /// The mail address of an agent. A holder of the address can send mail to the agent, and no more.
    Handle {
        /// The agent.
        agent: FormulaId,
    },
    /// A directory: names for formulas, kept in a pet store.
    Directory {
        /// The pet store that has the names.
        store: FormulaId,
    },
    /// A table of pet names.
    PetStore {
        /// The agent under which the rows of the table are stored.
        owner: Number,
    },
    /// A table of messages.
    #[serde(rename = "mailbox-store")]
    Mailbox {
        /// The agent under which the rows of the table are stored.
        owner: Number,
    },
    /// A mailbox as a directory of messages by number.
    MailHub {
        /// The mailbox.
        mailbox: FormulaId,
    },
    /// A message, to which its copies in mailboxes refer.
    Message {
        /// The message itself.
        message: Box<Message>,
    },
    /// A promise. It is pending until it settles, which happens only once.
    Promise {
        /// The agent that waits for the promise.
        asker: Number,
        /// The digest of the request. The same call with the same result name attaches to this promise.
        #[serde(default)]
        call: Option<BlobHash>,
        /// The code that made the promise and settles it, if code made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<FormulaId>,
        /// The promise whose outcome settles this promise. Set if this promise was handed on before the other one
        /// settled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<FormulaId>,
    },
    /// The right to settle a promise.
    Resolver {
        /// The promise.
        promise: FormulaId,
    },
    /// A stored value, which may refer to other formulas.
    Marshal {
        /// The value.
        value: Value,
    },
    /// A path that is looked up again each time it is used.
    Lookup {
        /// The formula in which the path begins.
        hub: FormulaId,
        /// The path.
        path: NamePath,
    },
    /// A program with named slots. It holds no authority, and does nothing until somebody endows it.
    Definition {
        /// Code, or the text of a worker file.
        source: Untrusted,
        /// The program of a worker. `None` for code.
        #[serde(default)]
        worker: Option<Program>,
        /// The slots of the program, by name.
        slots: BTreeMap<String, Slot>,
        /// The original definition, if this one is an edited copy.
        #[serde(default)]
        original: Option<FormulaId>,
    },
    /// Code that has been endowed.
    Eval {
        /// The code. Empty for a program of modules.
        source: Untrusted,
        /// The values of the code's names: grants, or plain data.
        endowments: BTreeMap<String, FormulaId>,
        /// The vat in which the code runs.
        vat: FormulaId,
        /// The promise for the result of the code.
        result: FormulaId,
        /// The agent that wrote the code. The code runs beside that agent's other code.
        author: Number,
        /// The program of modules, if the code is no text. Its `make` is called with the endowment `powers`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modules: Option<Modules>,
    },
    /// An object that endowed code has made and that others may hold. A restart of the code finds the same object
    /// again.
    Export {
        /// The code.
        eval: FormulaId,
        /// The number by which the code's heap knows the object.
        number: u32,
        /// The name of the object's interface, as the object gives it.
        interface: String,
        /// The guard of the object: the arguments and results of its methods. It is kept as it was when the object
        /// first left the code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guard: Option<Value>,
        /// The agent that holds the object without a grant. This is the author of the code, if no other agent endowed
        /// the code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Number>,
    },
    /// An isolated heap in which endowed code runs.
    Vat {
        /// The label that users read.
        label: String,
    },
    /// A worker definition that has been endowed.
    Worker {
        /// The worker's name, as its file gives it.
        name: String,
        /// The definition as it was read, byte for byte.
        definition: BlobHash,
        /// The files that the definition includes, by name.
        #[serde(default)]
        includes: BTreeMap<String, BlobHash>,
        /// The limits of one run of the worker.
        limits: Limits,
        /// The grants of the worker, one for each slot.
        grants: Vec<FormulaId>,
        /// The run that made the worker, if a run did. A call of such a worker uses the worker's grants.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_by: Option<RunNumber>,
        /// Whether a call of the worker uses the worker's grants although no run made it. This holds if a user bound
        /// the grants to its slots for every caller. A worker that a user runs holds its grants for that run alone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lends: bool,
        /// The model of the worker's runs. `None` means the model of the caller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Whether the worker's limits of tokens and money hold for all its calls together.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pooled: bool,
    },
    /// The worker of the calling run, which is called again with the grants of that run.
    Myself,
    /// The capability of a run to make workers.
    Workshop,
    /// A run: one durable execution.
    Run {
        /// The number of the run.
        run: RunNumber,
        /// The worker that the run executes.
        worker: FormulaId,
        /// The promise for the result of the run.
        result: FormulaId,
        /// The documents on which the run works.
        #[serde(default)]
        documents: Vec<FormulaId>,
    },
    /// A revocable reference.
    Grant {
        /// The target: a capability, or another grant of it.
        target: FormulaId,
        /// The agent, worker or code that may use the grant.
        holder: FormulaId,
        /// The agent that gave the grant. The grant's row is stored under this agent.
        owner: Number,
        /// The grants through which the target was reached. When one of them ends, this grant ends too.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        through: Vec<FormulaId>,
    },
    /// A secret, sealed under a key that the store does not have.
    Secret {
        /// The sealed bytes.
        sealed: Sealed,
    },
    /// Bytes kept beside the store.
    #[serde(rename = "readable-blob")]
    Blob {
        /// The hash of the bytes.
        hash: BlobHash,
        /// The number of bytes.
        bytes: u64,
    },
    /// A resource for a slot of a person's programs: a directory, a repository, the clock, …
    Resource(Resource),
    /// A directory that the daemon itself keeps, as long as the formula exists.
    #[serde(rename = "scratch-mount")]
    Scratch {
        /// Whether the directory is read-only.
        read_only: bool,
    },
    /// Files and directories that never change, kept beside the store.
    #[serde(rename = "readable-tree")]
    Tree(Tree),
    /// A timer, which counts intervals of the clock.
    Timer {
        /// The agent that made the timer. The changing part of the timer is stored under this agent.
        owner: Number,
        /// The time between two ticks, in milliseconds.
        interval_ms: u64,
        /// The maker's label for the timer.
        label: Untrusted,
        /// The start of the timer, in milliseconds since 1970. The number of a tick follows from the clock.
        begun_ms: i64,
    },
}

/// The parts that every agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agent {
    /// The mail address of the agent.
    pub handle: FormulaId,
    /// The directory of the agent's pet names.
    pub directory: FormulaId,
    /// The mailbox of the agent.
    pub mailbox: FormulaId,
    /// The mailbox as a directory of messages.
    pub mail_hub: FormulaId,
}

/// A tree of files and directories that never change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tree {
    /// The hash of the bytes that list the content of the tree.
    pub hash: BlobHash,
    /// The identifier that Endo's clients use. It is the SHA-256, as hexadecimal digits, of such a list in their
    /// form.
    pub sha256: String,
}

/// Bytes that only the holder of the key can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sealed {
    /// The method of sealing: `xchacha20poly1305/1`. It allows a later method to be distinguished from this one.
    pub method: String,
    /// The nonce, as hexadecimal digits.
    pub nonce: String,
    /// The sealed bytes, as hexadecimal digits.
    pub bytes: String,
}

impl Formula {
    /// Returns the formula's type as people and Endo's clients write it.
    pub fn kind(&self) -> &'static str {
        match self {
            Formula::Endo { .. } => "endo",
            Formula::Host { .. } => "host",
            Formula::Guest { .. } => "guest",
            Formula::LeastAuthority => "least-authority",
            Formula::Handle { .. } => "handle",
            Formula::Directory { .. } => "directory",
            Formula::PetStore { .. } => "pet-store",
            Formula::Mailbox { .. } => "mailbox-store",
            Formula::MailHub { .. } => "mail-hub",
            Formula::Message { .. } => "message",
            Formula::Promise { .. } => "promise",
            Formula::Resolver { .. } => "resolver",
            Formula::Marshal { .. } => "marshal",
            Formula::Lookup { .. } => "lookup",
            Formula::Definition { .. } => "definition",
            Formula::Eval { modules: Some(modules), .. } => modules.packed.kind(),
            Formula::Eval { .. } => "eval",
            Formula::Export { .. } => "export",
            // Endo's clients call a vat a worker; here a worker is a prompt program.
            Formula::Vat { .. } => "vat",
            Formula::Worker { .. } => "worker",
            Formula::Myself => "self",
            Formula::Workshop => "workshop",
            Formula::Run { .. } => "run",
            Formula::Grant { .. } => "grant",
            Formula::Secret { .. } => "secret",
            Formula::Blob { .. } => "readable-blob",
            Formula::Resource(resource) => resource.type_name(),
            Formula::Scratch { .. } => "scratch-mount",
            Formula::Tree(_) => "readable-tree",
            Formula::Timer { .. } => "timer",
        }
    }

    /// Returns the kind of slot that the formula can fill by itself, if there is one.
    pub fn slot_kind(&self) -> Option<Kind> {
        match self {
            Formula::Resource(resource) => Some(resource.kind()),
            Formula::Scratch { read_only } => Some(Kind::Dir { write: !read_only }),
            Formula::Worker { model: Some(_), .. } => Some(Kind::Model),
            Formula::Worker { .. } | Formula::Myself => Some(Kind::Worker),
            Formula::Secret { .. } => Some(Kind::Secret),
            _ => None,
        }
    }

    /// Returns the parts of the agent, if the formula is an agent.
    pub fn agent(&self) -> Option<&Agent> {
        match self {
            Formula::Host { agent, .. } | Formula::Guest { agent, .. } => Some(agent),
            _ => None,
        }
    }

    /// Returns whether the formula is nothing but data. Data can be handed on without giving any authority away.
    pub fn is_data(&self) -> bool {
        match self {
            Formula::Blob { .. } | Formula::Tree(_) => true,
            Formula::Marshal { value } => value.references().is_empty(),
            _ => false,
        }
    }

    /// Returns every formula that this one refers to.
    pub fn references(&self) -> Vec<FormulaId> {
        self.edges().into_iter().map(|(_, id)| id).collect()
    }

    /// Returns every formula to which this one refers, each with the label of its role.
    pub fn edges(&self) -> Vec<(String, FormulaId)> {
        let one = |label: &str, id: &FormulaId| (label.to_owned(), *id);
        let of_agent = |agent: &Agent| {
            vec![
                one("handle", &agent.handle),
                one("directory", &agent.directory),
                one("mailbox", &agent.mailbox),
                one("mail-hub", &agent.mail_hub),
            ]
        };
        match self {
            Formula::Endo { host, pins, least_authority } => {
                vec![one("host", host), one("pins", pins), one("least-authority", least_authority)]
            }
            Formula::Host { agent, host, main, endo, pins, none } => {
                let mut all = of_agent(agent);
                all.extend([one("host-handle", host), one("main", main), one("endo", endo)]);
                all.extend([one("pins", pins), one("none", none)]);
                all
            }
            Formula::Guest { agent, host } => {
                let mut all = of_agent(agent);
                all.push(one("host-handle", host));
                all
            }
            Formula::LeastAuthority
            | Formula::PetStore { .. }
            | Formula::Mailbox { .. }
            | Formula::Vat { .. }
            | Formula::Secret { .. }
            | Formula::Blob { .. }
            | Formula::Resource(_)
            | Formula::Scratch { .. }
            | Formula::Tree(_)
            | Formula::Timer { .. }
            | Formula::Myself
            | Formula::Workshop => vec![],
            Formula::Handle { agent } => vec![one("agent", agent)],
            Formula::Directory { store } => vec![one("pet-store", store)],
            Formula::MailHub { mailbox } => vec![one("mailbox", mailbox)],
            Formula::Message { message } => message.edges(),
            Formula::Resolver { promise } => vec![one("promise", promise)],
            Formula::Marshal { value } => {
                value.references().into_iter().enumerate().map(|(i, id)| (format!("slot {i}"), *id)).collect()
            }
            Formula::Lookup { hub, .. } => vec![one("hub", hub)],
            Formula::Definition { original, .. } => {
                original.iter().map(|original| one("original", original)).collect()
            }
            Formula::Eval { endowments, vat, result, .. } => {
                let named = endowments.iter().map(|(name, id)| (format!("endowment {name}"), *id));
                named.chain([one("vat", vat), one("result", result)]).collect()
            }
            Formula::Promise { code, follows, .. } => {
                let followed = follows.iter().map(|promise| one("follows", promise));
                code.iter().map(|code| one("code", code)).chain(followed).collect()
            }
            Formula::Export { eval, .. } => vec![one("code", eval)],
            Formula::Worker { grants, .. } => grants.iter().map(|grant| one("grant", grant)).collect(),
            Formula::Run { worker, result, documents, .. } => {
                let documents = documents.iter().map(|document| one("document", document));
                [one("worker", worker), one("result", result)].into_iter().chain(documents).collect()
            }
            Formula::Grant { target, holder, through, .. } => {
                let through = through.iter().map(|grant| one("through", grant));
                [one("target", target), one("holder", holder)].into_iter().chain(through).collect()
            }
        }
    }
}
