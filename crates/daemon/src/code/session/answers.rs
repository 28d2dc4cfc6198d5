//! The answers that a heap is told. Each is recorded when it is told, and a heap that is made again is told them in
//! the same order.

use kernel::code::{CodeEntry, OutcomeSubject};
use passable::Value;
use switchboard::{Action, Ref};
use vat::{Order, Outcome, Slot};

use super::{
    PendingAnswer, Phase, Session, SessionContext, SessionError, divergence, failed, full_error, lock_board,
    read, restart_error, write,
};
use crate::code::heap_references::PROMISE_TAG;

/// The maximum number of bytes that code may be told before it ends. All of them are kept in its journal.
const MAX_HEARD_BYTES: usize = 64 << 20;

/// The maximum nesting depth of a value from outside. Reading a deeper value could exhaust the heap's stack.
pub(super) const MAX_DEPTH: u32 = 32;

/// The error that the heap gets in place of a value that is nested too deeply.
pub(super) const DEPTH_MESSAGE: &str =
    "this holds values more than 32 deep inside of one another: code takes no more";

impl Session {
    /// Replays a recorded entry of the journal to the heap.
    pub(super) fn replay_entry(
        &mut self,
        tools: &mut SessionContext<'_>,
        entry: CodeEntry,
    ) -> Result<(), SessionError> {
        let (of, outcome, bound) = match entry {
            CodeEntry::Heard { of, outcome, bound } => (of, outcome, bound),
            CodeEntry::Called { answer, target, call, bound } => {
                return self.replay_call(tools, answer, target, &call, &bound);
            }
            CodeEntry::Began { .. } | CodeEntry::Sent { .. } | CodeEntry::Logged { .. } => return Ok(()),
        };
        self.heard_bytes = self.heard_bytes.saturating_add(outcome.len());
        let told: Outcome = read(&outcome)?;
        let (Outcome::Ok(value) | Outcome::Err(value)) = &told;
        self.references.bind(&mut self.table, &self.board, &bound, value).map_err(full_error)?;
        let promise = match of {
            OutcomeSubject::Send(send) => match self.pending_answers.remove(&send) {
                Some(PendingAnswer { question: Some(question) }) => {
                    self.settle_question(question, &told);
                    Slot::Question(question)
                }
                Some(PendingAnswer { question: None }) => return Ok(()),
                None => return Err(SessionError::Code(divergence("it has not sent what was answered"))),
            },
            OutcomeSubject::Promise(number) => {
                self.references.promises.remove(&number);
                Slot::Host(number)
            }
        };
        let vat = self.vat;
        self.order(tools, &Order::Settle { vat, promise, outcome: told })
    }

    /// Settles an answer whose outcome is known from the journal, so that sends to the answer go to its value.
    pub(super) fn settle_question(&mut self, question: u32, told: &Outcome) {
        let outcome = match told {
            Outcome::Ok(value) => self.references.read_from_heap(&mut self.table, &self.board, value).map(Ok),
            Outcome::Err(value) => {
                self.references.read_from_heap(&mut self.table, &self.board, value).map(Err)
            }
        };
        let outcome = outcome.unwrap_or_else(|_| Err(restart_error()));
        let mut board = lock_board(&self.board);
        let Ok(answer) = board.promise(self.side, None) else { return };
        if board.hold(self.side, answer).is_ok() {
            board.resolve(self.side, answer, outcome);
            self.references.ask(question, answer);
        }
    }

    /// Tells the heap all answers and promises that have settled. Returns whether there were any.
    pub(super) fn deliver_settled(&mut self, tools: &mut SessionContext<'_>) -> Result<bool, SessionError> {
        let actions = lock_board(&self.board).take(self.side);
        let mut told = false;
        for action in actions {
            let Action::Settled { tag, outcome } = action else { continue };
            let (of, promise) = match tag & PROMISE_TAG {
                0 => {
                    let send = tag as u32;
                    let Some(asked) = self.pending_answers.remove(&send) else { continue };
                    (OutcomeSubject::Send(send), asked.question.map(Slot::Question))
                }
                _ => {
                    let number = (tag & !PROMISE_TAG) as u32;
                    if !self.references.promises.remove(&number) {
                        continue;
                    }
                    (OutcomeSubject::Promise(number), Some(Slot::Host(number)))
                }
            };
            self.deliver_outcome(tools, of, promise, &outcome)?;
            told = true;
        }
        lock_board(&self.board).give_back(self.side);
        Ok(told)
    }

    /// Adds to the count of bytes that the heap was told. Above the maximum, the code fails.
    pub(super) fn count_heard(&mut self, bytes: usize) -> Result<(), SessionError> {
        self.heard_bytes = self.heard_bytes.saturating_add(bytes);
        if self.heard_bytes <= MAX_HEARD_BYTES {
            return Ok(());
        }
        let what = format!("it has been told more than {} MiB", MAX_HEARD_BYTES >> 20);
        Err(SessionError::Code(failed("vat/journal", what, "let it ask for less")))
    }

    pub(super) fn deliver_outcome(
        &mut self,
        tools: &mut SessionContext<'_>,
        of: OutcomeSubject,
        promise: Option<Slot>,
        outcome: &switchboard::Outcome,
    ) -> Result<(), SessionError> {
        let mut bound = Vec::new();
        let mut inward = |value: &Value<Ref>| {
            self.references.build_to_heap(&self.table, &self.board, value, &mut bound).map_err(full_error)
        };
        let outcome = match outcome {
            Ok(value) | Err(value) if value.depth() > MAX_DEPTH => {
                Outcome::Err(Value::error("Error", DEPTH_MESSAGE))
            }
            Ok(value) => Outcome::Ok(inward(value)?),
            Err(value) => Outcome::Err(inward(value)?),
        };
        let entry = CodeEntry::Heard { of, outcome: write(&outcome)?, bound };
        if self.phase == Phase::Running {
            if let CodeEntry::Heard { outcome, .. } = &entry {
                self.count_heard(outcome.len())?;
            }
            self.unrecorded.push(entry);
        }
        let Some(promise) = promise else { return Ok(()) };
        let vat = self.vat;
        self.order(tools, &Order::Settle { vat, promise, outcome })
    }
}
