//! The graph of references: the edges between formulas, and the formulas that may have lost their last reference.
//!
//! Every reference is an edge row under the formula referred to, so that "why is this kept?" and collection can walk
//! backwards. References of formulas are made with them; those of names, mailboxes, promises and open runs come and
//! go.

use std::collections::BTreeSet;

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::table::{self, EdgeRow, FormulaRow};
use crate::txn::{NO_OWNER, Table};

use super::{State, collector};

impl State<'_> {
    /// Notes that `from` refers to `to`. The target must exist, or be made by the same command.
    pub(crate) fn tie(&mut self, from: &FormulaId, label: &str, to: &FormulaId) -> Result<(), Fault> {
        let key = table::edge_key(to, from, label);
        let row = EdgeRow { from: *from, label: label.to_owned() };
        table::save(self.txn, Table::Edge, &NO_OWNER, &key, &row, None)?;
        self.tied.push((*from, *to));
        Ok(())
    }

    /// Drops the reference from `from` to `to`.
    pub(crate) fn untie(&mut self, from: &FormulaId, label: &str, to: &FormulaId) -> Result<(), Fault> {
        self.txn.delete(Table::Edge, &NO_OWNER, &table::edge_key(to, from, label))?;
        self.loosened.insert(*to);
        Ok(())
    }

    /// Ends the command: checks that every new reference leads somewhere, and hands formulas that may have become
    /// unreachable to the collector.
    pub(crate) fn conclude(&mut self) -> Result<(), Fault> {
        let targets: BTreeSet<FormulaId> = self.tied.iter().map(|(_, to)| *to).collect();
        for to in targets.iter().filter(|to| !self.made.contains(to)) {
            if self.txn.get(Table::Formula, &NO_OWNER, &to.number)?.is_none() {
                return Err(Fault::Dangling(*to));
            }
        }
        // A formula that this command made is garbage from the start, unless an older formula refers to it, directly
        // or through others.
        let mut reached: BTreeSet<FormulaId> =
            self.tied.iter().filter(|(from, _)| !self.made.contains(from)).map(|(_, to)| *to).collect();
        loop {
            let next: Vec<FormulaId> = self
                .tied
                .iter()
                .filter(|(from, to)| reached.contains(from) && !reached.contains(to))
                .map(|(_, to)| *to)
                .collect();
            if next.is_empty() {
                break;
            }
            reached.extend(next);
        }
        let lost: Vec<FormulaId> = self.made.difference(&reached).copied().collect();
        for id in &lost {
            collector::suspect(self.txn, id)?;
        }
        self.suspect_loosened()?;
        let tied = std::mem::take(&mut self.tied);
        if planted!(self.env, CollectorHearsNothing) {
            return Ok(());
        }
        collector::notice(self.txn, &tied)
    }

    /// Passes the formulas to which this command has dropped references so far to the collector.
    pub(crate) fn suspect_loosened(&mut self) -> Result<(), Fault> {
        for id in std::mem::take(&mut self.loosened) {
            collector::suspect(self.txn, &id)?;
        }
        Ok(())
    }

    /// Ends genesis: checks that every reference leads to a formula that genesis made. All these formulas are reached
    /// from the root, to which no formula refers.
    pub(crate) fn conclude_genesis(&mut self) -> Result<(), Fault> {
        match self.tied.iter().find(|(_, to)| !self.made.contains(to)) {
            Some((_, to)) => Err(Fault::Dangling(*to)),
            None => Ok(()),
        }
    }

    /// Removes a formula and its references to others. The caller must remove the other rows that belong to the
    /// formula.
    pub(crate) fn destroy(&mut self, id: &FormulaId, row: &FormulaRow) -> Result<(), Fault> {
        for (label, to) in row.formula.edges() {
            self.untie(id, &label, &to)?;
        }
        self.txn.delete(Table::Formula, &NO_OWNER, &id.number)?;
        self.heads.remove(id);
        Ok(())
    }

    /// Returns whether a formula is the root, from which everything that is kept is reached.
    pub(crate) fn is_root(&self, id: &FormulaId) -> bool {
        *id == self.endo
    }

    /// Returns the formula behind all grants. A missing formula on the way is a fault, and so is a grant that has
    /// ended.
    pub(crate) fn behind(&mut self, id: &FormulaId) -> Result<(FormulaId, Formula), Fault> {
        let reached = table::reach(self.txn, id)?.ok_or(Fault::Dangling(*id))?;
        match reached.ended(self.env.now_ms()) {
            Some(finding) => Err(Fault::Revoked(finding.message)),
            None => Ok((reached.id, reached.formula)),
        }
    }

    /// Returns the formula behind all grants. A missing formula on the way is a fault, and so is a grant that no
    /// longer permits `method`.
    pub(crate) fn through(&mut self, id: &FormulaId, method: &str) -> Result<(FormulaId, Formula), Fault> {
        let reached = table::reach(self.txn, id)?.ok_or(Fault::Dangling(*id))?;
        if let Some(finding) = reached.refusal(method, self.env.now_ms()) {
            return Err(Fault::Revoked(finding.message));
        }
        Ok((reached.id, reached.formula))
    }
}
