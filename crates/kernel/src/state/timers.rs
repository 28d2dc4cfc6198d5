//! The subscriptions to timers, as one command changes them.

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, Number};
use crate::table::{self, EdgeRow};
use crate::timer::{self, Subscription, TimerRow};
use crate::txn::{NO_OWNER, Table};

use super::State;

impl State<'_> {
    /// Saves the subscription of an agent, and the time of its next tick.
    pub(crate) fn put_subscription(&mut self, agent: &FormulaId, row: &Subscription) -> Result<(), Fault> {
        let key = timer::subscription_key(&row.timer);
        table::save(self.txn, Table::Meta, &agent.number, &key, row, None)?;
        let due = timer::due_key(row.due_ms, &Number(agent.number), &row.timer);
        table::save(self.txn, Table::Meta, &NO_OWNER, &due, &true, None)?;
        Ok(())
    }

    /// Removes the row of a subscriber's next tick.
    pub(crate) fn drop_due(&mut self, agent: &FormulaId, row: &Subscription) -> Result<(), Fault> {
        let due = timer::due_key(row.due_ms, &Number(agent.number), &row.timer);
        Ok(self.txn.delete(Table::Meta, &NO_OWNER, &due)?)
    }

    /// Removes the subscription of an agent. Returns `false` if the agent had none.
    pub(crate) fn unsubscribe(&mut self, agent: &FormulaId, reference: &FormulaId) -> Result<bool, Fault> {
        let key = timer::subscription_key(reference);
        let row: Option<Subscription> = table::load(self.txn, Table::Meta, &agent.number, &key)?;
        let Some(row) = row else { return Ok(false) };
        self.txn.delete(Table::Meta, &agent.number, &key)?;
        self.drop_due(agent, &row)?;
        self.untie(agent, timer::TICKS, reference)?;
        Ok(true)
    }

    /// Ends a timer for all its holders.
    pub(crate) fn end_timer(&mut self, timer: &FormulaId) -> Result<(), Fault> {
        let Formula::Timer { owner, .. } = self.formula(timer)? else { return Ok(()) };
        let ended = TimerRow { ended_ms: Some(self.env.now_ms()) };
        let key = timer::timer_key(timer);
        let known: Option<TimerRow> = table::load(self.txn, Table::Meta, &owner.0, &key)?;
        if known.is_none_or(|row| row.ended_ms.is_none()) {
            table::save(self.txn, Table::Meta, &owner.0, &key, &ended, None)?;
        }
        Ok(())
    }

    /// Makes all subscriptions by this reference due at once, so that the subscribers learn the new state of the
    /// timer.
    pub(crate) fn hasten(&mut self, reference: &FormulaId) -> Result<(), Fault> {
        let end = table::prefix_end(&reference.number);
        let edges: Vec<(Vec<u8>, EdgeRow)> =
            table::scan(self.txn, Table::Edge, &NO_OWNER, &reference.number, &end, usize::MAX, false)?;
        for (_, edge) in edges.into_iter().filter(|(_, edge)| edge.label == timer::TICKS) {
            let key = timer::subscription_key(reference);
            let row: Option<Subscription> = table::load(self.txn, Table::Meta, &edge.from.number, &key)?;
            if let Some(row) = row {
                self.drop_due(&edge.from, &row)?;
                let due_ms = row.due_ms.min(self.env.now_ms());
                self.put_subscription(&edge.from, &Subscription { due_ms, ..row })?;
            }
        }
        Ok(())
    }
}
