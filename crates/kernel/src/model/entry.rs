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
use super::yield_reason::YieldReason;

/// The content of one step in a run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        /// The step that asked the model.
        prompted: u64,
        /// The reply, byte for byte.
        reply: BlobHash,
        /// The tokens, the time and the money that the reply cost.
        usage: Usage,
        /// The model that answered, if several models could have been asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The model's call cannot be a proposal, or its answer does not fit. The model is told the reasons.
    Rejected {
        /// The call. `None` means the final answer.
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
        /// The fingerprint of the call.
        fingerprint: Fingerprint,
        /// The step that proposed the same call before. Set if a dependency of that call changed after the approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<u64>,
    },
    /// The gates judged the call.
    Judged {
        /// The step that proposed the call.
        proposal: u64,
        /// The verdict of the gates.
        verdict: Verdict,
        /// The approval that asks a person.
        #[serde(default)]
        message: Option<MessageNumber>,
    },
    /// A person answered the approval of a call.
    Answered {
        /// The step that proposed the call.
        proposal: u64,
        /// The approval.
        message: MessageNumber,
        /// Whether the person approved the call.
        approved: bool,
    },
    /// An effect began. From here on, it may have happened.
    EffectStarted {
        /// The step that proposed the call.
        proposal: u64,
        /// The child run, if the effect is a call of a worker.
        #[serde(default)]
        child: Option<RunNumber>,
    },
    /// The call waits until a given time.
    Slept {
        /// The step that proposed the call.
        proposal: u64,
        /// The time, in milliseconds since 1970.
        until_ms: i64,
    },
    /// The host was asked by a message.
    Questioned {
        /// The step that proposed the call.
        proposal: u64,
        /// The message that asks.
        message: MessageNumber,
    },
    /// The effect may or may not have happened before a crash, and only a person can tell. It happens again only if
    /// that person says so.
    OutcomeUnknown {
        /// The step that proposed the call.
        proposal: u64,
        /// The message that asks.
        message: MessageNumber,
    },
    /// A person said that the effect happened.
    OutcomeConfirmed {
        /// The step that proposed the call.
        proposal: u64,
        /// The message that asked.
        message: MessageNumber,
    },
    /// The effect is over, or will never happen.
    Completed {
        /// The step that proposed the call.
        proposal: u64,
        /// The outcome of the call.
        completion: Completion,
    },
    /// The result of a call is large, so the whole result is kept beside the store.
    Spilled {
        /// The step that proposed the call.
        proposal: u64,
        /// The bytes of the whole result.
        whole: BlobHash,
        /// The number of bytes.
        bytes: u64,
    },
    /// The model read another part of a large result.
    Paged {
        /// The call that asked for the part.
        site: CallSite,
        /// The step that proposed the call with the large result.
        of: u64,
        /// The position of the first byte.
        from: u64,
        /// The maximum number of bytes.
        bytes: u64,
    },
    /// From here on, the model is shown older parts of the conversation in a shorter form. The journal keeps all of
    /// them, and the model can read them again.
    Shrunk {
        /// The shorter form.
        view: ConversationView,
        /// The reason, in one line.
        why: String,
    },
    /// A child run was started for one item of the run's input.
    Spawned {
        /// The index of the item, from 0.
        index: usize,
        /// The child.
        child: RunNumber,
    },
    /// The child of an item waits for a person or has stalled, and gives its place to the next item.
    Yielded {
        /// The index of the item, from 0.
        index: usize,
        /// The reason.
        why: YieldReason,
    },
    /// The child of an item ended.
    Collected {
        /// The index of the item, from 0.
        index: usize,
        /// The outcome of the child.
        outcome: RunOutcome,
    },
    /// A person said something to a run.
    Said {
        /// The user's text.
        text: Untrusted,
        /// The documents that came with the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        documents: Vec<Attachment>,
        /// The message that records the person's command.
        message: MessageNumber,
    },
    /// The run has used up a limit, and asks for more.
    Exhausted {
        /// The limit.
        limit: LimitKind,
        /// The error with which the run ends if the user says no.
        trouble: Trouble,
        /// The message that asks.
        message: MessageNumber,
    },
    /// A person allowed the run, or a run below it, to use more.
    Raised {
        /// The message that asked.
        message: MessageNumber,
        /// The amounts by which the limits were raised.
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
    /// The run stalled, because it could not go on.
    Stalled {
        /// The failure and its remedy.
        trouble: Trouble,
    },
    /// The run continued.
    Resumed {
        /// The reason, in one line.
        why: String,
    },
    /// The run ended.
    Finished {
        /// The outcome of the run.
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
        /// The files whose changes were discarded, as a whole or in part. An empty list means the whole copy.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<DiscardedCopy>,
    },
    /// The user has erased the data of the run. Bytes to which only this journal refers are removed.
    Forgotten,
}

/// The parts of a conversation that the model is shown in a shorter form. Steps are those of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConversationView {
    /// The results in turns before this step are shown as references.
    pub results_before: u64,
    /// The turns before this step are shown as a line each.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub turns_before: u64,
    /// The maximum size of every other result, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// A file that is put back as it was before a run, or put in place as the run left it in a staged copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoredFile {
    /// The absolute path of the file.
    pub path: String,
    /// A description of the file before this change.
    pub from: String,
    /// A description of the file after this change.
    pub to: String,
    /// The step that changed the file.
    pub step: StepRef,
    /// The contents before and after this change, if a program made it. No other step records them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<ChangeDigests>,
    /// The content before this change, if the store keeps it. The digest holds the bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<BlobHash>,
    /// The permissions of the file before this change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The size of the content before this change, if the user gave it up because it was too large to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<u64>,
}

/// The contents of a path before and after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeDigests {
    /// The digest of the file before. `None` if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BlobHash>,
    /// The digest of the file afterwards. `None` if there is no file any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<BlobHash>,
}

/// A file in a staged copy for which the user has discarded the run's changes, all or a part of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiscardedCopy {
    /// The absolute path at which the file would be put in place.
    pub path: String,
    /// The digest of the content that can still be applied. `None` if all changes were discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<BlobHash>,
    /// The step that changed the file.
    pub step: StepRef,
}

impl Entry {
    /// Returns the entry's name, as journals and pages show it.
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
            Entry::Shrunk { .. } => "shrunk",
            Entry::Spawned { .. } => "spawned",
            Entry::Yielded { .. } => "yielded",
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
