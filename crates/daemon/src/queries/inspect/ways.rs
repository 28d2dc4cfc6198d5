//! The ways that lead on from a formula: names, capabilities that it may use, and parts that it was made of.

use std::collections::BTreeMap;

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::hub::{Found, Hub, View};
use kernel::run::Run;
use kernel::txn::ReadTxn;
use kernel::{FormulaId, query, table};

use crate::queries::things;
use control::inspect::{How, Link};

/// The facts that tell where a formula leads, as an agent sees them.
pub(super) struct Ways<'a> {
    /// How the agent sees names.
    pub(super) view: &'a View,
    /// Grants that can be used, by who may use them.
    holds: BTreeMap<FormulaId, Vec<Grant>>,
    /// The runs that hold their endowments.
    runs: BTreeMap<FormulaId, &'a Run>,
}

/// One of them, before it is followed through grants.
struct Way {
    how: How,
    label: String,
    to: FormulaId,
}

/// A way that was followed to its target.
pub(super) struct Step {
    /// The target.
    pub(super) id: FormulaId,
    /// The same.
    pub(super) formula: Formula,
    /// The link of the way. The caller that draws it sets its ends.
    pub(super) link: Link,
}

impl<'a> Ways<'a> {
    pub(super) fn of(
        txn: &mut dyn ReadTxn,
        view: &'a View,
        runs: BTreeMap<FormulaId, &'a Run>,
    ) -> Result<Ways<'a>, Fault> {
        let mut holds: BTreeMap<FormulaId, Vec<Grant>> = BTreeMap::new();
        for grant in query::grants(txn, &view.agent.number)? {
            if grant.ended(view.now_ms).is_none() {
                holds.entry(grant.holder).or_default().push(grant);
            }
        }
        Ok(Ways { view, holds, runs })
    }

    /// Returns the usable ways that lead on from a formula.
    pub(super) fn steps(&self, txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Vec<Step>, Fault> {
        let mut steps = Vec::new();
        for Way { how, label, to } in self.ways(txn, id)? {
            let Some(reached) = table::reach(txn, &to)? else { continue };
            if reached.ended(self.view.now_ms).is_some() {
                continue;
            }
            let own = reached.grants.first().filter(|grant| grant.owner.0 == self.view.agent.number);
            let link = Link {
                from: 0,
                to: 0,
                how: if reached.grants.is_empty() || how == How::Names { how } else { How::Holds },
                label,
                grant: own.map(|grant| grant.number),
                limits: reached.grants.iter().flat_map(|grant| grant.attenuation.words()).collect(),
                is_private: reached.grants.iter().any(|grant| grant.attenuation.private),
            };
            steps.push(Step { id: reached.id, formula: reached.formula, link });
        }
        Ok(steps)
    }

    fn ways(&self, txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Vec<Way>, Fault> {
        let way = |how, label: &str, to: &FormulaId| Way { how, label: label.to_owned(), to: *to };
        let held = self.holds.get(id).into_iter().flatten();
        let mut ways: Vec<Way> = held.map(|grant| way(How::Holds, &grant.slot, &grant.id)).collect();
        let Some(formula) = table::formula(txn, id)?.map(|row| row.formula) else { return Ok(ways) };
        match &formula {
            Formula::Host { .. } | Formula::Guest { .. } if *id != self.view.agent => {}
            Formula::Host { .. } | Formula::Guest { .. } => {
                let own = things::own_directory(txn, self.view)?;
                ways.clear();
                ways.extend(self.names(txn, &own)?);
            }
            Formula::Directory { store } => {
                if let Some(hub) = kernel::hub::directory(txn, *store)? {
                    ways.extend(self.names(txn, &hub)?);
                }
            }
            Formula::Run { worker, .. } => match self.runs.get(id) {
                Some(run) => {
                    ways.extend(run.grants.iter().map(|(slot, grant)| way(How::Holds, slot, grant)));
                }
                None => ways.push(way(How::MadeOf, "worker", worker)),
            },
            Formula::Handle { agent } => ways.push(way(How::MadeOf, "agent", agent)),
            Formula::Eval { endowments, .. } => {
                ways.clear();
                ways.extend(endowments.iter().map(|(name, to)| way(How::Holds, name, to)));
            }
            // The capabilities of a bound worker stand in its grants.
            Formula::Worker { grants, .. } => {
                let told: Vec<FormulaId> = ways.iter().map(|way| way.to).collect();
                let more = grants.iter().filter(|grant| !told.contains(grant));
                ways.extend(more.map(|grant| way(How::Holds, "grant", grant)));
            }
            // A grant leads to its target, with its limits.
            Formula::Grant { .. } => ways.push(way(How::Holds, "of", id)),
            Formula::Promise { .. } => {
                let came_to = things::came_to(txn, id)?;
                ways.extend(came_to.iter().map(|to| way(How::MadeOf, "came to", to)));
                ways.extend(formula.edges().iter().map(|(label, to)| way(How::MadeOf, label, to)));
            }
            Formula::Export { .. }
            | Formula::Resolver { .. }
            | Formula::Marshal { .. }
            | Formula::Lookup { .. }
            | Formula::Definition { .. } => {
                ways.extend(formula.edges().iter().map(|(label, to)| way(How::MadeOf, label, to)));
            }
            _ => {}
        }
        Ok(ways)
    }

    fn names(&self, txn: &mut dyn ReadTxn, hub: &Hub) -> Result<Vec<Way>, Fault> {
        let mut ways = Vec::new();
        for label in self.view.list(txn, hub)? {
            if let Some(Found::Formula(to)) = self.view.entry(txn, hub, &label)? {
                ways.push(Way { how: How::Names, label, to });
            }
        }
        Ok(ways)
    }
}
