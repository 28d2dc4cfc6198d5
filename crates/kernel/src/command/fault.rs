//! The reasons why a command is not applied.

use crate::id::{FormulaId, GrantNumber, MessageNumber, RunNumber, StepRef};
use crate::name::NameError;
use crate::run_key::RunKey;
use crate::txn::StoreFault;

/// The reason why a command was not applied. Nothing of the command was recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// The store has not been made yet, or was made already.
    #[error("the store {0}")]
    Genesis(&'static str),
    /// The run does not exist.
    #[error("there is no run {0}")]
    NoRun(RunNumber),
    /// The message does not exist.
    #[error("there is no message {0}")]
    NoMessage(MessageNumber),
    /// The message is not an approval.
    #[error("message {0} is not an approval")]
    NotAnApproval(MessageNumber),
    /// The approval has no such entry.
    #[error("message {message} has no entry {entry}; it has {count}")]
    NoEntry {
        /// The approval.
        message: MessageNumber,
        /// The index of the requested entry, from 0.
        entry: usize,
        /// The number of entries in the approval.
        count: usize,
    },
    /// A reference leads to a formula that is not in the store.
    #[error("formula {0} is not in the store")]
    Dangling(FormulaId),
    /// A move that the run's journal does not allow.
    #[error("{at}: {what}")]
    OutOfOrder {
        /// The step of the move.
        at: StepRef,
        /// The rule that the move breaks.
        what: &'static str,
    },
    /// A name breaks a rule.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Nothing has this name.
    #[error("Unknown pet name: {0}")]
    UnknownName(String),
    /// A message carries nothing under this name.
    #[error("No reference named {edge} in message {number}")]
    NoReference {
        /// The message.
        number: MessageNumber,
        /// The name, in quotes.
        edge: String,
    },
    /// A name in the middle of a path is no directory.
    #[error("{0} is not a directory")]
    NotADirectory(String),
    /// The command does not apply to messages of this type.
    #[error("message {number} is {}: {what}", passable::with_article(.kind))]
    WrongKind {
        /// The message.
        number: MessageNumber,
        /// The type of the message.
        kind: String,
        /// The reason why the command does not apply to this type.
        what: &'static str,
    },
    /// The sender has withdrawn the message.
    #[error("message {0} was withdrawn by whoever sent it: it can no longer be answered")]
    Withdrawn(MessageNumber),
    /// The actor does not hold the formula whose identifier it gave.
    #[error("{0} is not held: an identifier alone is no authority")]
    NotHeld(FormulaId),
    /// The actor is not allowed to do this.
    #[error("not allowed: {0}")]
    NotAllowed(String),
    /// A grant on the way to the target can no longer be used.
    #[error("{0}")]
    Revoked(String),
    /// A slot, a field or an argument does not fit.
    #[error("{what}")]
    Misfit {
        /// The mismatch, in one sentence with the slot's or field's name.
        what: String,
    },
    /// The name for a result already stands for something else.
    #[error("{0} is the name of something else; remove it first, or choose another name for the result")]
    Taken(String),
    /// A new name that looks like another one in the same directory.
    #[error("{name} looks like {other}, a name in the same directory")]
    LooksLike {
        /// The name, spelled out.
        name: String,
        /// The existing name that it looks like, spelled out.
        other: String,
    },
    /// A new name with invisible characters or blanks.
    #[error("{name} has blanks or characters that nobody sees")]
    Hides {
        /// The name, spelled out.
        name: String,
    },
    /// A name that no longer stands for the formula that the actor has seen.
    #[error("{path} stands for something else by now than what you have seen: nothing was done")]
    NotAsSeen {
        /// The name.
        path: String,
    },
    /// A definition that was endowed or edited since the actor saw it.
    #[error("message {0} was endowed or edited since you have seen it: nothing was done")]
    DoneMeanwhile(MessageNumber),
    /// A sharing token that does not exist, was used, or has ended.
    #[error("this token was used, has ended, or was never given")]
    NoToken,
    /// The grant does not exist.
    #[error("there is no grant {0}")]
    NoGrant(GrantNumber),
    /// The run was cancelled.
    #[error("{0} was cancelled")]
    Cancelled(RunNumber),
    /// A key of a run that differs from the requested one.
    #[error("cannot start the run: the key `{key}` belongs to {run}, which has another {part}")]
    KeyConflict {
        /// The key.
        key: RunKey,
        /// The run that the key started.
        run: RunNumber,
        /// The first part of the request that is not the same.
        part: String,
    },
    /// A feature of upstream that Almoner does not have.
    #[error("not supported by almoner yet: {0}")]
    NotSupported(&'static str),
}
