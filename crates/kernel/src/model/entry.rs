//! Entries: the content of the steps in a run's journal.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::budget::{LimitKind, Raise};
use crate::id::{BlobHash, MessageNumber, RunNumber, StepRef};
use crate::proposal::{Finding, Fingerprint, Proposal, Verdict};

use super::call::{CallSite, Completion};
use super::input::Attachment;
use super::run_outcome::{RunOutcome, Trouble};
use super::usage::Usage;

/// An event in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// The model was asked.
    Prompted {
        /// The request, byte for byte.
        request: BlobHash,
        /// The model's name.
        model: String,
    },
    /// The model answered.
    Replied {
        /// The step that asked.
        prompted: u64,
        /// The reply, byte for byte.
        reply: BlobHash,
        /// The tokens, the time and the money that the reply cost.
        usage: Usage,
        /// Who answered, where several could have been asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The model asked for something that cannot be a proposal, or its answer did not fit: it is told why.
    Rejected {
        /// Which call; `None` for the final answer.
        site: Option<CallSite>,
        /// The reasons.
        findings: Vec<Finding>,
    },
    /// A method call was proposed.
    Proposed {
        /// The origin of the call.
        site: CallSite,
        /// The call.
        proposal: Box<Proposal>,
        /// Its fingerprint.
        fingerprint: Fingerprint,
        /// The step that proposed the same call before, if a dependency of that call has changed since it was
        /// approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<u64>,
    },
    /// The gates judged it.
    Judged {
        /// The step that proposed.
        proposal: u64,
        /// The verdict of the gates.
        verdict: Verdict,
        /// The approval that asks a person.
        #[serde(default)]
        message: Option<MessageNumber>,
    },
    /// A person answered.
    Answered {
        /// The step that proposed.
        proposal: u64,
        /// The approval.
        message: MessageNumber,
        /// Whether it may be done.
        approved: bool,
    },
    /// The effect began: from here on it may have happened.
    EffectStarted {
        /// The step that proposed.
        proposal: u64,
        /// The child run, if the effect is a call of a worker.
        #[serde(default)]
        child: Option<RunNumber>,
    },
    /// The call waits for a time.
    Slept {
        /// The step that proposed.
        proposal: u64,
        /// Until when, in milliseconds since 1970.
        until_ms: i64,
    },
    /// The host was asked by a message.
    Questioned {
        /// The step that proposed.
        proposal: u64,
        /// The message that asks.
        message: MessageNumber,
    },
    /// The effect may or may not have happened before a crash, and only a person can tell. It happens again only if
    /// that person says so.
    OutcomeUnknown {
        /// The step that proposed.
        proposal: u64,
        /// The message that asks.
        message: MessageNumber,
    },
    /// A person said that it happened.
    OutcomeConfirmed {
        /// The step that proposed.
        proposal: u64,
        /// The message that asked.
        message: MessageNumber,
    },
    /// The effect is over, or will never happen.
    Completed {
        /// The step that proposed.
        proposal: u64,
        /// The outcome of the call.
        completion: Completion,
    },
    /// The result of a call is large: the whole of it is kept beside the store.
    Spilled {
        /// The step that proposed it.
        proposal: u64,
        /// The bytes of the whole.
        whole: BlobHash,
        /// How many there are.
        bytes: u64,
    },
    /// The model read on in such a result.
    Paged {
        /// Which of its calls asked for that.
        site: CallSite,
        /// The step that proposed the call whose result it is.
        of: u64,
        /// The first byte.
        from: u64,
        /// How many at most.
        bytes: u64,
    },
    /// A child was started for an item.
    Spawned {
        /// Which item, from 0.
        index: usize,
        /// The child.
        child: RunNumber,
    },
    /// The child of an item ended.
    Collected {
        /// Which item, from 0.
        index: usize,
        /// The outcome of the child.
        outcome: RunOutcome,
    },
    /// A person said something to a run that talks.
    Said {
        /// The user's text.
        text: Untrusted,
        /// The documents that came with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        documents: Vec<Attachment>,
        /// The message that keeps the command.
        message: MessageNumber,
    },
    /// The run has used up a limit, and asks for more.
    Exhausted {
        /// The limit.
        limit: LimitKind,
        /// The trouble with which the run ends if the user says no.
        trouble: Trouble,
        /// The message that asks.
        message: MessageNumber,
    },
    /// A person lets the run, or one below it, use more.
    Raised {
        /// The message that asked.
        message: MessageNumber,
        /// How much more.
        by: Raise,
    },
    /// The user has left a limit as it is, and the run continues without the raise.
    Held {
        /// The message that asked.
        message: MessageNumber,
        /// The limit.
        limit: LimitKind,
    },
    /// The run stopped to wait.
    Suspended {
        /// The reason for the wait, in one line.
        why: String,
    },
    /// The run could not go on and said so.
    Stalled {
        /// Why.
        trouble: Trouble,
    },
    /// The run went on.
    Resumed {
        /// The reason, in one line.
        why: String,
    },
    /// The run ended.
    Finished {
        /// The outcome of the child.
        outcome: RunOutcome,
    },
    /// The user restores the files that the run changed. The kernel records this before the daemon changes any file.
    /// A repeated request completes an interrupted one.
    Reverted {
        /// The files to restore.
        files: Vec<RestoredFile>,
    },
    /// The user applies the changes that the run made in a staged copy. The kernel records this before the daemon
    /// changes any file.
    Applied {
        /// The files to apply.
        files: Vec<RestoredFile>,
    },
    /// The user has discarded the changes that the run made in its staged copy.
    Discarded {
        /// Of these files alone, all of it or a part; of the whole copy if there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<DiscardedCopy>,
    },
    /// The user has erased the data of the run. The bytes that only its journal names are removed.
    Forgotten,
}

/// Something that is put back as it was before a run, or in place as the run left it in a staged copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredFile {
    /// Its absolute path.
    pub path: String,
    /// A description of the file until then.
    pub from: String,
    /// A description of the file from then on.
    pub to: String,
    /// The step that changed it.
    pub step: StepRef,
}

/// A file in a staged copy for which the user has discarded the run's changes, all or a part of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardedCopy {
    /// Its absolute path, where it would be put in place.
    pub path: String,
    /// The digest of the content that can still be applied; `None` if all of it was discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<BlobHash>,
    /// The step that changed it.
    pub step: StepRef,
}

impl Entry {
    /// Returns the entry's name as it is written in traces.
    pub fn name(&self) -> &'static str {
        match self {
            Entry::Prompted { .. } => "prompted",
            Entry::Replied { .. } => "replied",
            Entry::Rejected { .. } => "rejected",
            Entry::Proposed { .. } => "proposed",
            Entry::Judged { .. } => "judged",
            Entry::Answered { .. } => "answered",
            Entry::EffectStarted { .. } => "effect_started",
            Entry::Slept { .. } => "slept",
            Entry::Questioned { .. } => "questioned",
            Entry::OutcomeUnknown { .. } => "outcome_unknown",
            Entry::OutcomeConfirmed { .. } => "outcome_confirmed",
            Entry::Completed { .. } => "completed",
            Entry::Spilled { .. } => "spilled",
            Entry::Paged { .. } => "paged",
            Entry::Spawned { .. } => "spawned",
            Entry::Collected { .. } => "collected",
            Entry::Said { .. } => "said",
            Entry::Exhausted { .. } => "exhausted",
            Entry::Raised { .. } => "raised",
            Entry::Held { .. } => "held",
            Entry::Suspended { .. } => "suspended",
            Entry::Stalled { .. } => "stalled",
            Entry::Resumed { .. } => "resumed",
            Entry::Finished { .. } => "finished",
            Entry::Reverted { .. } => "reverted",
            Entry::Applied { .. } => "applied",
            Entry::Discarded { .. } => "discarded",
            Entry::Forgotten => "forgotten",
        }
    }
}
