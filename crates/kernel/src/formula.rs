//! Formulas: immutable durable recipes for values, with typed references to other formulas.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{BlobHash, FormulaId, RunNumber};
use crate::message::Message;
use crate::run::Limits;

/// A recipe. Each variant lists what it refers to; collection, the capability graph and "why is this kept?" need no
/// more than that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Formula {
    /// The root of a store.
    Endo {
        /// The agent of the person who owns the store.
        host: FormulaId,
    },
    /// An agent that acts for a person and may endow.
    Host {
        /// Its pet names.
        directory: FormulaId,
        /// Its mail.
        mailbox: FormulaId,
    },
    /// A table of pet names.
    Directory,
    /// A table of messages.
    Mailbox,
    /// A message; its copies in mailboxes refer to it.
    Message {
        /// The message itself.
        message: Box<Message>,
    },
    /// A promise: pending until it settles, once.
    Promise,
    /// A worker definition that has been endowed.
    Worker {
        /// The worker's name, as its file gives it.
        name: String,
        /// The definition as it was read, byte for byte.
        definition: BlobHash,
        /// What the definition includes, by name.
        #[serde(default)]
        includes: BTreeMap<String, BlobHash>,
        /// What one run of it may use up.
        limits: Limits,
        /// Its grants, one for each slot.
        grants: Vec<FormulaId>,
    },
    /// One durable execution.
    Run {
        /// Its number.
        run: RunNumber,
        /// What it executes.
        worker: FormulaId,
        /// The promise for its result.
        result: FormulaId,
    },
    /// A revocable reference.
    Grant {
        /// What it leads to.
        target: FormulaId,
        /// Who may use it.
        holder: FormulaId,
    },
    /// Bytes kept beside the store.
    Blob {
        /// Their hash.
        hash: BlobHash,
        /// How many there are.
        bytes: u64,
    },
    /// A directory of this machine.
    Mount {
        /// Its absolute path when it was endowed.
        path: String,
    },
    /// A directory of this machine into which outgoing mail is spooled.
    Spool {
        /// Its absolute path when it was endowed.
        path: String,
    },
}

impl Formula {
    /// The formula's type as people and Endo's clients write it.
    pub fn kind(&self) -> &'static str {
        match self {
            Formula::Endo { .. } => "endo",
            Formula::Host { .. } => "host",
            Formula::Directory => "directory",
            Formula::Mailbox => "mailbox",
            Formula::Message { .. } => "message",
            Formula::Promise => "promise",
            Formula::Worker { .. } => "worker",
            Formula::Run { .. } => "run",
            Formula::Grant { .. } => "grant",
            Formula::Blob { .. } => "readable-blob",
            Formula::Mount { .. } => "mount",
            Formula::Spool { .. } => "spool",
        }
    }

    /// Every formula that this one refers to.
    pub fn references(&self) -> Vec<FormulaId> {
        match self {
            Formula::Endo { host } => vec![*host],
            Formula::Host { directory, mailbox } => vec![*directory, *mailbox],
            Formula::Directory
            | Formula::Mailbox
            | Formula::Promise
            | Formula::Blob { .. }
            | Formula::Mount { .. }
            | Formula::Spool { .. } => vec![],
            Formula::Message { message } => message.references(),
            Formula::Worker { grants, .. } => grants.clone(),
            Formula::Run { worker, result, .. } => vec![*worker, *result],
            Formula::Grant { target, holder } => vec![*target, *holder],
        }
    }
}
