//! Promises, as one command changes them.

use crate::command::Fault;
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{BlobHash, FormulaId, Number};
use crate::provenance::Provenance;
use crate::run::RunOutcome;
use crate::table::{self, PromiseRow};
use crate::txn::{NO_OWNER, Table};

use super::State;

impl State<'_> {
    /// Makes a pending promise for an agent, and the resolver that can settle it. Returns both.
    pub(crate) fn new_promise(
        &mut self,
        asker: Number,
        call: Option<BlobHash>,
    ) -> Result<(FormulaId, FormulaId), Fault> {
        let said = self.said()?;
        let promise = self.make(Formula::Promise { asker, call, code: None, follows: None }, said)?;
        self.put_promise(&promise, &PromiseRow::Pending)?;
        let resolver = self.make(Formula::Resolver { promise }, Provenance::host())?;
        Ok((promise, resolver))
    }

    /// Settles the promise of a run, and returns whether it was pending. A promise settles once: a second outcome
    /// changes nothing.
    pub(crate) fn settle(&mut self, promise: &FormulaId, outcome: &RunOutcome) -> Result<bool, Fault> {
        let row = match outcome {
            RunOutcome::Done(value) => PromiseRow::Fulfilled { value: value.clone() },
            RunOutcome::Failed(trouble) => PromiseRow::Rejected { reason: trouble.message.raw().to_owned() },
        };
        self.settle_with(promise, row)
    }

    /// Settles a promise, and returns `false` if it had settled before or no longer exists.
    pub(crate) fn settle_with(&mut self, promise: &FormulaId, row: PromiseRow) -> Result<bool, Fault> {
        match table::promise(self.txn, promise)? {
            Some(PromiseRow::Pending) => {}
            Some(_) if planted!(self.env, DoubleSettle) => {}
            Some(_) => return Ok(false),
            // The promise was collected, so no reader waits for it.
            None => return Ok(false),
        }
        let Formula::Promise { asker, .. } = self.formula(promise)? else {
            return Err(Fault::Dangling(*promise));
        };
        if let PromiseRow::Fulfilled { value } = &row {
            let references: Vec<FormulaId> = value.references().into_iter().copied().collect();
            for (i, id) in references.iter().enumerate() {
                if planted!(self.env, EdgeNotWritten) {
                    continue;
                }
                self.tie(promise, &format!("value {i}"), id)?;
                self.hold(&asker, id, b"r", &promise.number)?;
            }
        }
        self.put_promise(promise, &row)?;
        crate::commands::answered(self, promise, &row)?;
        crate::commands::came(self, promise, &row)?;
        let ok = matches!(row, PromiseRow::Fulfilled { .. });
        self.event_for(&asker.0, Change::Settled { promise: *promise, ok })?;
        super::follow::settled(self, promise, &row)?;
        Ok(true)
    }

    pub(crate) fn put_promise(&mut self, id: &FormulaId, row: &PromiseRow) -> Result<(), Fault> {
        table::save(self.txn, Table::Promise, &NO_OWNER, &id.number, row, None)?;
        Ok(())
    }
}
