//! The answers that a heap is told. They are recorded when they are told, and told again in the same order.

use kernel::code::{Entry, Of};
use passable::Value;
use switchboard::{Action, Ref};
use vat::{Order, Outcome, Slot};

use super::{
    Asked, Broken, Phase, Session, Tools, diverged, failed, locked, read, restarted, too_full, write,
};
use crate::code::slots::PROMISE;

/// How many bytes code may be told on the way to its end: all of them are kept in its journal.
const MOST_HEARD: usize = 64 << 20;

/// How deep values may lie in one another that come from outside: reading them takes the heap's stack.
pub(super) const DEEPEST: u32 = 32;

/// The error that takes the place of a value that is too deep.
pub(super) const TOO_DEEP: &str =
    "this holds values more than 32 deep inside of one another: code takes no more";

impl Session {
    /// Tells the heap a recorded entry again.
    pub(super) fn tell_again(&mut self, tools: &mut Tools<'_>, entry: Entry) -> Result<(), Broken> {
        let (of, outcome, bound) = match entry {
            Entry::Heard { of, outcome, bound } => (of, outcome, bound),
            Entry::Called { answer, target, call, bound } => {
                return self.called_again(tools, answer, target, &call, &bound);
            }
            Entry::Began { .. } | Entry::Sent { .. } | Entry::Logged { .. } => return Ok(()),
        };
        self.heard = self.heard.saturating_add(outcome.len());
        let told: Outcome = read(&outcome)?;
        let (Outcome::Ok(value) | Outcome::Err(value)) = &told;
        self.slots.bind(&mut self.home, &self.board, &bound, value).map_err(too_full)?;
        let promise = match of {
            Of::Send(send) => match self.asked.remove(&send) {
                Some(Asked { question: Some(question) }) => {
                    self.settle_question(question, &told);
                    Slot::Question(question)
                }
                Some(Asked { question: None }) => return Ok(()),
                None => return Err(Broken::Code(diverged("it has not sent what was answered"))),
            },
            Of::Promise(number) => {
                self.slots.promises.remove(&number);
                Slot::Host(number)
            }
        };
        let vat = self.vat;
        self.order(tools, &Order::Settle { vat, promise, outcome: told })
    }

    /// Settles an answer that is known, so that sends to it go to its value.
    pub(super) fn settle_question(&mut self, question: u32, told: &Outcome) {
        let outcome = match told {
            Outcome::Ok(value) => self.slots.outward(&mut self.home, &self.board, value).map(Ok),
            Outcome::Err(value) => self.slots.outward(&mut self.home, &self.board, value).map(Err),
        };
        let outcome = outcome.unwrap_or_else(|_| Err(restarted()));
        let mut board = locked(&self.board);
        let Ok(answer) = board.promise(self.side, None) else { return };
        if board.hold(self.side, answer).is_ok() {
            board.resolve(self.side, answer, outcome);
            self.slots.ask(question, answer);
        }
    }

    /// Tells the heap all that has settled; whether there was anything.
    pub(super) fn tell_all(&mut self, tools: &mut Tools<'_>) -> Result<bool, Broken> {
        let actions = locked(&self.board).take(self.side);
        let mut told = false;
        for action in actions {
            let Action::Settled { tag, outcome } = action else { continue };
            let (of, promise) = match tag & PROMISE {
                0 => {
                    let send = tag as u32;
                    let Some(asked) = self.asked.remove(&send) else { continue };
                    (Of::Send(send), asked.question.map(Slot::Question))
                }
                _ => {
                    let number = (tag & !PROMISE) as u32;
                    if !self.slots.promises.remove(&number) {
                        continue;
                    }
                    (Of::Promise(number), Some(Slot::Host(number)))
                }
            };
            self.tell(tools, of, promise, &outcome)?;
            told = true;
        }
        locked(&self.board).give_back(self.side);
        Ok(told)
    }

    /// Counts the bytes that the heap is told on the way to its end.
    pub(super) fn hears(&mut self, bytes: usize) -> Result<(), Broken> {
        self.heard = self.heard.saturating_add(bytes);
        if self.heard <= MOST_HEARD {
            return Ok(());
        }
        let what = format!("it has been told more than {} MiB", MOST_HEARD >> 20);
        Err(Broken::Code(failed("vat/journal", what, "let it ask for less")))
    }

    pub(super) fn tell(
        &mut self,
        tools: &mut Tools<'_>,
        of: Of,
        promise: Option<Slot>,
        outcome: &switchboard::Outcome,
    ) -> Result<(), Broken> {
        let mut bound = Vec::new();
        let mut inward = |value: &Value<Ref>| {
            self.slots.inward(&self.home, &self.board, value, &mut bound).map_err(too_full)
        };
        let outcome = match outcome {
            Ok(value) | Err(value) if value.depth() > DEEPEST => {
                Outcome::Err(Value::error("Error", TOO_DEEP))
            }
            Ok(value) => Outcome::Ok(inward(value)?),
            Err(value) => Outcome::Err(inward(value)?),
        };
        let entry = Entry::Heard { of, outcome: write(&outcome)?, bound };
        if self.phase == Phase::Running {
            if let Entry::Heard { outcome, .. } = &entry {
                self.hears(outcome.len())?;
            }
            self.fresh.push(entry);
        }
        let Some(promise) = promise else { return Ok(()) };
        let vat = self.vat;
        self.order(tools, &Order::Settle { vat, promise, outcome })
    }
}
