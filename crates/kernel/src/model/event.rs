//! Events: every observable change, numbered and hash-chained. Every part that follows the system reads events and
//! nothing else.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::id::{BlobHash, FormulaId, GrantNumber, MessageNumber, RunNumber};

/// One observable change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// The number of the event, from 1.
    pub seq: u64,
    /// The time of the change, in milliseconds since 1970.
    pub at_ms: i64,
    /// The change.
    pub change: Change,
    /// The hash of the event before this one. All zero for the first event.
    pub prev: BlobHash,
    /// The hash of this event, over `prev`, `seq`, `at_ms` and the JSON of `change`.
    pub hash: BlobHash,
    /// The user and the machine that recorded the event. The log has them once for many events, in
    /// [`Change::Opened`]. They are added when events are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Recorder>,
}

/// A user of the operating system on a machine. The daemon of this user records events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorder {
    /// The name of the user, or the number if the user has no name.
    pub user: Untrusted,
    /// The name of the machine.
    pub host: Untrusted,
}

/// The surface over which a person's command reached the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "surface", rename_all = "snake_case")]
pub enum Surface {
    /// The control socket, which only the daemon's own user can open.
    Control,
    /// The web pages.
    Web {
        /// The number of the browser's session.
        session: u64,
    },
}

impl Event {
    /// Returns the event that follows `prev`.
    pub fn chained(seq: u64, at_ms: i64, change: Change, prev: BlobHash) -> Event {
        let hash = Event::hash(seq, at_ms, &change, prev);
        Event { seq, at_ms, change, prev, hash, by: None }
    }

    /// Returns whether the event is unchanged since it was recorded, and follows `prev`.
    pub fn verify(&self, prev: BlobHash) -> bool {
        self.prev == prev && self.hash == Event::hash(self.seq, self.at_ms, &self.change, prev)
    }

    fn hash(seq: u64, at_ms: i64, change: &Change, prev: BlobHash) -> BlobHash {
        let mut hasher = blake3::Hasher::new_derive_key("almoner event v1");
        hasher.update(&prev.0);
        hasher.update(&seq.to_le_bytes());
        hasher.update(&at_ms.to_le_bytes());
        // A change that cannot be written as JSON does not exist: all its parts are plain data.
        hasher.update(&serde_json::to_vec(change).unwrap_or_default());
        BlobHash(*hasher.finalize().as_bytes())
    }
}

/// The content of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// The store was made.
    Genesis {
        /// The host of the store.
        host: FormulaId,
    },
    /// Another user, or a daemon on another machine, records from here on. The event stands before the first change of
    /// theirs.
    Opened {
        /// The user and the machine.
        #[serde(flatten)]
        by: Recorder,
    },
    /// A run began.
    RunStarted {
        /// The run.
        run: RunNumber,
        /// The worker's name.
        name: String,
        /// The run that waits for this run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<RunNumber>,
    },
    /// A grant was made.
    Granted {
        /// The grant.
        grant: FormulaId,
        /// The number of the grant.
        number: GrantNumber,
        /// The slot that the grant fills, or the name under which it was handed over.
        slot: String,
        /// The run for which the grant was made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunNumber>,
        /// The hash of the grant as it was made.
        digest: BlobHash,
    },
    /// A grant was revoked.
    Revoked {
        /// The number of the grant.
        number: GrantNumber,
    },
    /// A name was given.
    Named {
        /// The directory.
        directory: FormulaId,
        /// The name.
        name: String,
        /// The formula that the name stands for now.
        id: FormulaId,
    },
    /// A name was removed.
    Unnamed {
        /// The directory.
        directory: FormulaId,
        /// The name.
        name: String,
    },
    /// A promise of this agent has settled.
    Settled {
        /// The promise.
        promise: FormulaId,
        /// Whether the promise has a value.
        ok: bool,
    },
    /// A message was dismissed.
    Dismissed {
        /// The number of the message.
        number: MessageNumber,
    },
    /// A run, a promise or an agent was cancelled.
    Cancelled {
        /// The formula of the run, the promise or the agent.
        id: FormulaId,
    },
    /// A step was added to a run's journal.
    Step {
        /// The run.
        run: RunNumber,
        /// The step.
        step: u64,
        /// The entry's name.
        entry: String,
        /// A description of the entry, in one line. It may quote foreign text.
        line: Untrusted,
        /// The hash of the step as it was recorded.
        digest: BlobHash,
    },
    /// A message arrived.
    Message {
        /// The number of the message.
        number: MessageNumber,
        /// The type of the message.
        kind: String,
        /// The run that the message is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunNumber>,
        /// Whether a person has to answer the message.
        needs_you: bool,
        /// The hash of the message that was sent.
        digest: BlobHash,
    },
    /// A command that was still running got its outcome.
    CommandCompleted {
        /// The message of the command.
        number: MessageNumber,
    },
    /// A person answered a message.
    Answered {
        /// The message.
        number: MessageNumber,
        /// Whether entries are still open.
        needs_you: bool,
        /// The surface over which the answer came, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<Surface>,
    },
    /// Directories that the store names have moved, and so the records that name them have changed.
    Relocated {
        /// The number of the move, from 1.
        number: u64,
        /// The hash of the move's record.
        digest: BlobHash,
    },
    /// A run ended.
    RunFinished {
        /// The run.
        run: RunNumber,
        /// Whether the run has a result.
        ok: bool,
    },
}
