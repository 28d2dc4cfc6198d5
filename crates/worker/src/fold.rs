//! The fold of a run's journal: the state that decides the run's next step.

use std::collections::{BTreeMap, BTreeSet};

use kernel::budget::LimitKind;
use kernel::proposal::{Effect, Finding, Fingerprint, Proposal};
use kernel::run::{Attachment, CallSite, Completion, ConversationView, Entry, RunOutcome, Step, Usage};
use kernel::{BlobHash, RunNumber};

use crate::cut;
use crate::negative_answers::{REPEATED_RULE, are_answers};

/// One turn of the model: a request and, if there is one yet, the reply with the outcomes of its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The number of the step with the request.
    pub prompted: u64,
    /// The hash of the request's bytes.
    pub request: BlobHash,
    /// The number of the step with the reply, and the hash of the reply's bytes.
    pub replied: Option<(u64, BlobHash)>,
    /// The tokens of the reply.
    pub usage: Usage,
    /// The outcomes of the reply's calls, by their index in the reply.
    pub calls: BTreeMap<usize, CallOutcome>,
    /// The findings for which the final answer was rejected.
    pub rejected: Option<Vec<Finding>>,
}

/// A person's message in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessage {
    /// The number of the step with the message.
    pub step: u64,
    /// The text of the message.
    pub text: String,
    /// The documents that came with the message.
    pub documents: Vec<Attachment>,
}

/// The outcome of one call of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// The call was proposed in the step with this number.
    Proposed(u64),
    /// The call could not be proposed.
    Rejected(Vec<Finding>),
    /// The call read a further part of a large result.
    Paged {
        /// The number of the step that proposed the call with the result.
        of: u64,
        /// The position of the first byte.
        from: u64,
        /// The maximum number of bytes.
        bytes: u64,
    },
}

/// A large result, which is stored beside the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredResult {
    /// The hash of the result's bytes.
    pub hash: BlobHash,
    /// The number of bytes.
    pub bytes: u64,
}

/// A proposal and its progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The place that made the call: a turn of the model or a step of the worker file.
    pub site: CallSite,
    /// The proposal.
    pub proposal: Box<Proposal>,
    /// The fingerprint of the proposal.
    pub fingerprint: Fingerprint,
    /// Whether a person has approved the call.
    pub approved: bool,
    /// Whether the effect of the call has begun.
    pub begun: bool,
    /// Whether an answer of a person, or a time, completes the call.
    pub questioned: bool,
    /// The child run that carries out the call.
    pub child: Option<RunNumber>,
    /// The outcome of the call, once it is known.
    pub completion: Option<Completion>,
    /// The place of the whole result, if it is large.
    pub whole: Option<StoredResult>,
    /// The earlier call of which this call is a repetition.
    pub repeats: Option<Repetition>,
}

/// A call that was made before with the same outcome, while the run changed nothing in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// The step that proposed the last such call.
    pub of: u64,
    /// The number of such calls before this one.
    pub times: usize,
}

/// The state of a run, folded from its journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fold {
    /// The number that the next step will have.
    pub next: u64,
    /// The model's turns.
    pub turns: Vec<Turn>,
    /// The messages of the person in a conversation.
    pub said: Vec<UserMessage>,
    /// All proposals by the step that made them.
    pub calls: BTreeMap<u64, Call>,
    /// The items whose children were started.
    pub spawned: BTreeSet<usize>,
    /// The outcomes of the items whose children have ended.
    pub collected: BTreeMap<usize, RunOutcome>,
    /// The parts of the conversation that the model is shown in a shorter form.
    pub view: ConversationView,
    /// The last call with each fingerprint that is complete, since the run last changed something.
    outcomes: BTreeMap<Fingerprint, u64>,
    /// Whether a person has refused more depth in this run.
    pub goes_no_deeper: bool,
    /// Whether the run is over.
    pub finished: bool,
    /// The working time of the run without waiting times, in milliseconds.
    pub ran_ms: u64,
    /// The number of times that the run has waited since it last asked its model.
    pub pauses: u32,
    last_ms: Option<i64>,
    is_idle: bool,
}

impl Fold {
    /// Returns the fold of a whole journal.
    pub fn of<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Fold {
        let mut fold = Fold { next: 1, ..Fold::default() };
        steps.into_iter().for_each(|step| fold.push(step));
        fold
    }

    /// Returns a fold with these turns and this view.
    #[cfg(test)]
    pub(crate) fn with_turns(turns: Vec<Turn>, view: ConversationView) -> Fold {
        Fold { turns, view, ..Fold::default() }
    }

    /// Adds one step to the fold.
    pub fn push(&mut self, step: &Step) {
        self.next = step.number + 1;
        self.pass_time(step);
        match &step.entry {
            Entry::Prompted { .. } => self.pauses = 0,
            Entry::Suspended { .. } => self.pauses = self.pauses.saturating_add(1),
            _ => {}
        }
        match &step.entry {
            Entry::Prompted { request, .. } => self.turns.push(Turn {
                prompted: step.number,
                request: *request,
                replied: None,
                usage: Usage::default(),
                calls: BTreeMap::new(),
                rejected: None,
            }),
            Entry::Replied { prompted, reply, usage, .. } => {
                if let Some(turn) = self.turns.iter_mut().find(|t| t.prompted == *prompted) {
                    turn.replied = Some((step.number, *reply));
                    turn.usage = *usage;
                }
            }
            Entry::Rejected { site, findings } => match site {
                Some(CallSite::Turn { replied, index, .. }) => {
                    self.handle(*replied, *index, CallOutcome::Rejected(findings.clone()));
                }
                _ => {
                    if let Some(turn) = self.turns.last_mut() {
                        turn.rejected = Some(findings.clone());
                    }
                }
            },
            Entry::Proposed { site, proposal, replaces, fingerprint } => {
                // The journal still has the approved proposal, which had no effect. From here on, only its
                // replacement counts.
                if let Some(before) = replaces {
                    self.calls.remove(before);
                }
                if let CallSite::Turn { replied, index, .. } = site {
                    self.handle(*replied, *index, CallOutcome::Proposed(step.number));
                }
                self.calls.insert(
                    step.number,
                    Call {
                        site: site.clone(),
                        proposal: proposal.clone(),
                        fingerprint: *fingerprint,
                        approved: false,
                        begun: false,
                        questioned: false,
                        child: None,
                        completion: None,
                        whole: None,
                        repeats: None,
                    },
                );
            }
            Entry::Judged { .. }
            | Entry::Raised { .. }
            | Entry::Exhausted { .. }
            | Entry::Suspended { .. }
            | Entry::Yielded { .. }
            | Entry::Stalled { .. }
            | Entry::OutcomeConfirmed { .. }
            | Entry::Resumed { .. }
            | Entry::Reverted { .. }
            | Entry::Applied { .. }
            | Entry::Discarded { .. }
            | Entry::Forgotten => {}
            Entry::Held { limit, .. } => self.goes_no_deeper |= *limit == LimitKind::Depth,
            Entry::Said { text, documents, .. } => {
                self.said.push(UserMessage {
                    step: step.number,
                    text: text.raw().to_owned(),
                    documents: documents.clone(),
                });
            }
            Entry::Answered { proposal, approved, .. } => {
                if let Some(call) = self.calls.get_mut(proposal) {
                    call.approved = *approved;
                }
            }
            Entry::OutcomeUnknown { proposal, .. } => {
                if let Some(call) = self.calls.get_mut(proposal) {
                    (call.approved, call.begun) = (false, false);
                }
            }
            Entry::EffectStarted { proposal, child } => {
                if let Some(call) = self.calls.get_mut(proposal) {
                    call.begun = true;
                    call.child = *child;
                }
            }
            Entry::Questioned { proposal, .. } | Entry::Slept { proposal, .. } => {
                if let Some(call) = self.calls.get_mut(proposal) {
                    call.questioned = true;
                }
            }
            Entry::Completed { proposal, completion } => self.complete(*proposal, completion),
            Entry::Spilled { proposal, whole, bytes } => {
                self.spill(*proposal, StoredResult { hash: *whole, bytes: *bytes })
            }
            Entry::Paged { site: CallSite::Turn { replied, index, .. }, of, from, bytes } => {
                self.handle(*replied, *index, CallOutcome::Paged { of: *of, from: *from, bytes: *bytes });
            }
            Entry::Paged { .. } => {}
            Entry::Shrunk { view, .. } => {
                self.view = *view;
                // The request without a reply was too long. Another one takes its place.
                if self.turns.last().is_some_and(|turn| turn.replied.is_none()) {
                    self.turns.pop();
                }
            }
            Entry::Spawned { index, .. } => {
                self.spawned.insert(*index);
            }
            Entry::Collected { index, outcome } => {
                self.collected.insert(*index, outcome.clone());
            }
            Entry::Finished { .. } => self.finished = true,
        }
    }

    fn pass_time(&mut self, step: &Step) {
        // The time before a resumption does not count as work, even if the daemon died before it could record the
        // stop.
        let resumed = matches!(step.entry, Entry::Resumed { .. });
        if let Some(last) = self.last_ms.filter(|_| !self.is_idle && !resumed) {
            self.ran_ms = self.ran_ms.saturating_add(step.at_ms.saturating_sub(last).max(0).unsigned_abs());
        }
        self.last_ms = Some(step.at_ms);
        self.is_idle = matches!(step.entry, Entry::Suspended { .. } | Entry::Stalled { .. })
            || (self.is_idle && !resumed);
    }

    /// Records the outcome of a call, and whether the call repeats an earlier one.
    fn complete(&mut self, proposal: u64, completion: &Completion) {
        let Some(fingerprint) = self.calls.get(&proposal).map(|call| call.fingerprint) else { return };
        let repeats = self.repetition(fingerprint, completion);
        // The journal has only the beginning of a large result.
        let repeats = repeats.filter(|repeats| {
            let whole = |step: &u64| self.calls.get(step).and_then(|call| call.whole);
            whole(&repeats.of) == whole(&proposal)
        });
        let Some(call) = self.calls.get_mut(&proposal) else { return };
        // The answer of a person or a worker, and the end of a wait, are worth asking for again.
        let repeats = repeats.filter(|_| !call.questioned && call.child.is_none());
        (call.completion, call.repeats) = (Some(completion.clone()), repeats);
        // After a change, every other call may have another outcome.
        if call.proposal.effect != Effect::Observe && matches!(completion, Completion::Done { .. }) {
            self.outcomes.clear();
        }
        self.outcomes.insert(fingerprint, proposal);
    }

    /// Returns the earlier calls with this fingerprint and this outcome, if the run changed nothing since.
    pub(crate) fn repetition(&self, fingerprint: Fingerprint, completion: &Completion) -> Option<Repetition> {
        let of = *self.outcomes.get(&fingerprint)?;
        let earlier = self.calls.get(&of)?;
        let is_same = match (earlier.completion.as_ref()?, completion) {
            (Completion::Done { value: old, .. }, Completion::Done { value: new, .. }) => old == new,
            (Completion::Refused(old), Completion::Refused(new)) => old
                .iter()
                .filter(|finding| finding.rule != REPEATED_RULE)
                .eq(new.iter().filter(|finding| finding.rule != REPEATED_RULE)),
            (Completion::Failed(old), Completion::Failed(new)) => old == new,
            _ => false,
        };
        let times = earlier.repeats.map_or(0, |repeats| repeats.times) + 1;
        is_same.then_some(Repetition { of, times })
    }

    fn spill(&mut self, proposal: u64, whole: StoredResult) {
        if let Some(call) = self.calls.get_mut(&proposal) {
            call.whole = Some(whole);
        }
    }

    fn handle(&mut self, replied: u64, index: usize, how: CallOutcome) {
        let turn = self.turns.iter_mut().find(|t| t.replied.is_some_and(|(step, _)| step == replied));
        if let Some(turn) = turn {
            turn.calls.insert(index, how);
        }
    }

    /// Returns the proposals whose effect has begun outside the store and has no outcome. They must be performed or
    /// checked.
    pub fn unfinished_effects(&self) -> impl Iterator<Item = u64> {
        self.calls
            .iter()
            .filter(|(_, c)| c.begun && c.child.is_none() && !c.questioned && c.completion.is_none())
            .map(|(step, _)| *step)
    }

    /// Returns the proposals that a person has approved and that have not begun.
    pub fn approved(&self) -> impl Iterator<Item = u64> {
        self.calls
            .iter()
            .filter(|(_, c)| c.approved && !c.begun && c.completion.is_none())
            .map(|(step, _)| *step)
    }

    /// Returns whether any proposal has no outcome yet.
    pub fn is_waiting(&self) -> bool {
        self.calls.values().any(|c| c.completion.is_none())
    }

    /// Returns the call that was made at this place of the worker file.
    pub fn made_by(&self, site: &CallSite) -> Option<&Call> {
        self.calls.values().find(|c| c.site == *site)
    }

    /// Returns the documents with which the run began, without those that a person added later.
    pub fn begun_with(&self, documents: &[Attachment]) -> Vec<Attachment> {
        let came_later = |document: &&Attachment| {
            self.said.iter().any(|said| said.documents.iter().any(|later| later.name == document.name))
        };
        documents.iter().filter(|document| !came_later(document)).cloned().collect()
    }

    /// Returns the number of model requests since the person's last message.
    pub fn turns_since_said(&self) -> usize {
        let last = self.said.last().map_or(0, |said| said.step);
        self.turns.iter().filter(|turn| turn.prompted > last).count()
    }

    /// Returns the number of calls that were proposed since the person's last message, with any outcome.
    pub fn calls_since_said(&self) -> usize {
        let last = self.said.last().map_or(0, |said| said.step);
        self.calls.range(last..).count()
    }

    /// Returns whether the person has sent a message that is not in any request yet.
    pub fn has_news(&self) -> bool {
        let asked = self.turns.last().map_or(0, |turn| turn.prompted);
        self.said.last().is_some_and(|said| said.step > asked)
    }

    /// Returns how often in a row the model's answer or all of its calls were refused, and the model tried something
    /// else. Making a refused call again without a change does not count, because the model gets the same refusal. A
    /// turn with a call that a person refused does not count either: the call was sound, and the person said no.
    pub fn repairs(&self) -> usize {
        let mut refused = BTreeSet::new();
        let streak = self.turns.iter().rev().take_while(|turn| self.is_fruitless(turn)).count();
        let tried = self.turns.iter().skip(self.turns.len() - streak);
        tried.filter(|turn| self.fingerprints(turn).is_none_or(|all| tries_anew(&mut refused, all))).count()
    }

    /// Returns the finding that tells why the model's last turn was of no use, if it was of none.
    pub fn last_refusal(&self) -> Option<&Finding> {
        let turn = self.turns.last().filter(|turn| self.is_fruitless(turn))?;
        let of_calls = turn.calls.values().rev().find_map(|outcome| match outcome {
            CallOutcome::Rejected(findings) => findings.first(),
            CallOutcome::Proposed(step) => match self.calls.get(step)?.completion.as_ref()? {
                Completion::Refused(findings) => findings.first(),
                _ => None,
            },
            CallOutcome::Paged { .. } => None,
        });
        turn.rejected.as_ref().and_then(|findings| findings.first()).or(of_calls)
    }

    /// Returns the number of tokens of the last reply, if it was cut at its limit.
    pub fn last_cut(&self) -> Option<u64> {
        let turn = self.turns.last()?;
        let is_cut = |outcome: &CallOutcome| match outcome {
            CallOutcome::Rejected(findings) => cut::is_about_a_cut(findings),
            _ => false,
        };
        let rejected = turn.rejected.as_ref().is_some_and(|findings| cut::is_about_a_cut(findings));
        (rejected || turn.calls.values().any(is_cut)).then_some(turn.usage.output_tokens)
    }

    /// Returns the finding with which a person has refused exactly this call in this run, if there is one.
    pub fn denied(&self, fingerprint: Fingerprint) -> Option<&Finding> {
        self.calls.values().filter(|call| call.fingerprint == fingerprint).find_map(|call| {
            let Some(Completion::Refused(findings)) = &call.completion else { return None };
            findings.iter().find(|finding| finding.is_denial())
        })
    }

    /// Returns the fingerprints of a turn's calls, or `None` if a part of the turn was not a proposal.
    fn fingerprints(&self, turn: &Turn) -> Option<Vec<Fingerprint>> {
        let of = |handled: &CallOutcome| match handled {
            CallOutcome::Proposed(step) => self.calls.get(step).map(|call| call.fingerprint),
            CallOutcome::Rejected(_) | CallOutcome::Paged { .. } => None,
        };
        (turn.rejected.is_none()).then(|| turn.calls.values().map(of).collect())?
    }

    fn is_fruitless(&self, turn: &Turn) -> bool {
        let refused = |handled: &CallOutcome| match handled {
            CallOutcome::Rejected(_) => true,
            CallOutcome::Paged { .. } => false,
            CallOutcome::Proposed(step) => self.calls.get(step).is_some_and(|call| {
                matches!(&call.completion, Some(Completion::Refused(findings))
                    if !are_answers(findings))
            }),
        };
        let denied = |handled: &CallOutcome| match handled {
            CallOutcome::Proposed(step) => {
                self.calls.get(step).and_then(|call| call.completion.as_ref()).is_some_and(is_denied)
            }
            CallOutcome::Rejected(_) | CallOutcome::Paged { .. } => false,
        };
        turn.rejected.is_some()
            || (!turn.calls.is_empty()
                && turn.calls.values().all(refused)
                && !turn.calls.values().any(denied))
    }
}

/// Returns whether a person has refused a call with this completion, or the same call before.
fn is_denied(completion: &Completion) -> bool {
    matches!(completion, Completion::Refused(findings) if findings.iter().any(Finding::is_denial))
}

/// Returns whether any of these fingerprints is new, and adds all of them to `refused`.
fn tries_anew(refused: &mut BTreeSet<Fingerprint>, all: Vec<Fingerprint>) -> bool {
    let before = refused.len();
    refused.extend(all);
    refused.len() > before
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::provenance::Provenance;

    #[test]
    fn waiting_time_is_not_counted_as_work() {
        let step = |number, at_ms, entry| Step { number, at_ms, entry, provenance: Provenance::default() };
        let prompted = || Entry::Prompted { request: BlobHash([0; 32]), model: "m".to_owned() };
        let resumed = || Entry::Resumed { why: String::new() };
        let steps = [
            step(1, 1_000, prompted()),
            step(2, 1_500, Entry::Suspended { why: String::new() }),
            // The run has waited for days before this step.
            step(3, 900_000_000, resumed()),
            step(4, 900_000_200, prompted()),
            // The daemon was killed before this step, and started again much later.
            step(5, 1_900_000_000, resumed()),
            step(6, 1_900_000_050, prompted()),
        ];
        assert_eq!(Fold::of(&steps).ran_ms, 500 + 200 + 50);
    }
}
