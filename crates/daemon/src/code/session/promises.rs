//! The code's promises as promises of the store, so that others can wait for them across restarts.

use kernel::code::{CodePromise, Reference};
use kernel::command::CodeAct;
use kernel::run::RunOutcome;
use kernel::table::{self, PromiseRow};
use kernel::{FormulaId, code};
use passable::{Remote, Value};
use switchboard::Ref;
use vat::{Outcome, Slot};

use super::{Phase, Session, SessionContext, SessionError, error_text, exception, failed, lock_board};
use crate::objects::convert;

/// The maximum number of the code's promises that others may wait for at a time. Each takes space in the store.
const MAX_PROMISES: usize = 1_000;

impl Session {
    /// Gives an identity to the promises in a value that need one.
    pub(super) fn identify_promises(
        &mut self,
        tools: &SessionContext<'_>,
        value: &Value<Slot>,
    ) -> Result<(), SessionError> {
        let promises = self.promises_without_id(value);
        if promises.is_empty() {
            return Ok(());
        }
        self.unsettled += promises.len();
        if self.unsettled > MAX_PROMISES {
            let what = format!("others wait for more than {MAX_PROMISES} promises of it at a time");
            return Err(SessionError::Code(failed("vat/promises", what, "let it promise less at a time")));
        }
        super::act(tools, CodeAct::Promise { eval: self.job.eval, promises: promises.clone() })?;
        promises.into_iter().for_each(|which| self.note_promise(which));
        Ok(())
    }

    /// Returns the promises in a value that need an identity. Once the code has ended, the answers to its sends get
    /// none, because their numbers would mean something else in the next heap.
    pub(super) fn promises_without_id(&self, value: &Value<Slot>) -> Vec<CodePromise> {
        let mut found = self.references.promises_without_id(value);
        if self.phase == Phase::Live {
            found.retain(|which| matches!(which, CodePromise::Numbered(_)));
        }
        found
    }

    /// Notes that the store waits for a promise of the code.
    pub(super) fn note_promise(&mut self, which: CodePromise) {
        self.references.record_promise(which);
        if let CodePromise::Answer(question) = which {
            self.open_answers.insert(question);
        }
    }

    /// Tells the store the outcomes of the heap's promises.
    pub(super) fn settle_resolved(&mut self, tools: &SessionContext<'_>) -> Result<(), SessionError> {
        let told = self.resolved.keys().copied().filter(|number| {
            // No one outside the heap has seen the other promises yet.
            self.references.is_promised(CodePromise::Numbered(*number))
        });
        let mut settled = Vec::new();
        for number in told.collect::<Vec<_>>() {
            let Some(outcome) = self.resolved.remove(&number) else { continue };
            let outcome = match &outcome {
                Outcome::Ok(value) => {
                    if self.phase != Phase::Live {
                        self.references.note_lasting(value);
                    }
                    self.identify_exports(tools, value)?;
                    self.lasting_value(value).map_or_else(|()| not_durable(), RunOutcome::Done)
                }
                Outcome::Err(value) => exception(value, None),
            };
            settled.push((CodePromise::Numbered(number), outcome));
        }
        self.settle_promises(tools, settled)
    }

    /// Tells the store the answers to the code's own sends for which it waits.
    pub(super) fn settle_answers(&mut self, tools: &SessionContext<'_>) -> Result<(), SessionError> {
        if self.open_answers.is_empty() {
            return Ok(());
        }
        let board = lock_board(&self.board);
        let came = self.open_answers.iter().filter_map(|question| {
            let answer = self.references.target(Slot::Question(*question))?;
            Some((*question, board.outcome(answer).cloned()?))
        });
        let came: Vec<_> = came.collect();
        drop(board);
        let mut settled = Vec::new();
        for (question, outcome) in came {
            self.open_answers.remove(&question);
            let outcome = match outcome {
                Ok(value) => self.lasting_ids(&value).map_or_else(|()| not_durable(), RunOutcome::Done),
                Err(value) => failed("vat/threw", error_text(&value), ""),
            };
            settled.push((CodePromise::Answer(question), outcome));
        }
        self.settle_promises(tools, settled)
    }

    fn settle_promises(
        &mut self,
        tools: &SessionContext<'_>,
        mut settled: Vec<(CodePromise, RunOutcome)>,
    ) -> Result<(), SessionError> {
        if settled.is_empty() {
            return Ok(());
        }
        self.unsettled = self.unsettled.saturating_sub(settled.len());
        let eval = self.job.eval;
        let open = tools.daemon.read(|txn| {
            let is_open = |(which, _): &(CodePromise, RunOutcome)| {
                let row = table::promise(txn, &code::promise_id(&eval, *which))?;
                Ok::<_, kernel::txn::StoreFault>(row == Some(PromiseRow::Pending))
            };
            settled.iter().map(is_open).collect::<Result<Vec<bool>, _>>()
        })?;
        let mut open = open.into_iter();
        settled.retain(|_| open.next().unwrap_or_default());
        if settled.is_empty() {
            return Ok(());
        }
        // The outcomes follow from entries of the journal, so these are recorded first.
        self.record(tools)?;
        super::act(tools, CodeAct::Settle { eval, settled }).map(drop)
    }

    /// Returns a value of the heap in the form that the store keeps. Fails if anything in the value ends with the
    /// heap.
    pub(super) fn lasting_value(&self, value: &Value<Slot>) -> Result<kernel::Value, ()> {
        convert::rebuild(value, &mut |remote: &Remote<Slot>, is_promise| {
            let reference = match remote.reference {
                Slot::Vat(number) if is_promise => self.promise_id(CodePromise::Numbered(number))?,
                Slot::Vat(number) => match self.references.object(number) {
                    Reference::Object { id, .. } => id,
                    _ => return Err(()),
                },
                Slot::Question(number) if self.references.is_promised(CodePromise::Answer(number)) => {
                    self.promise_id(CodePromise::Answer(number))?
                }
                slot => self.references.target(slot).ok_or(()).and_then(|found| self.lasting_id(found))?,
            };
            Ok(Remote { reference, iface: remote.iface.clone() })
        })
    }

    fn promise_id(&self, which: CodePromise) -> Result<FormulaId, ()> {
        self.references.is_promised(which).then(|| code::promise_id(&self.job.eval, which)).ok_or(())
    }

    fn lasting_ids(&self, value: &Value<Ref>) -> Result<kernel::Value, ()> {
        convert::rebuild(value, &mut |remote: &Remote<Ref>, _| {
            let reference = self.lasting_id(remote.reference)?;
            Ok(Remote { reference, iface: remote.iface.clone() })
        })
    }

    fn lasting_id(&self, found: Ref) -> Result<FormulaId, ()> {
        match self.table.reference(found) {
            Some(Reference::Object { id, through, .. } | Reference::Promise { id, through, .. })
                if through.is_empty() =>
            {
                Ok(id)
            }
            _ => Err(()),
        }
    }
}

fn not_durable() -> RunOutcome {
    let what = "what it came to has something in it that ends with it";
    failed("vat/not-durable", what, "let it come to data, or to objects of its own")
}
