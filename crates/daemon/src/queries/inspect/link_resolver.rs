//! The links from a formula to others: names, capabilities that it may use, and parts that it was made of.

use std::collections::BTreeMap;

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::name_lookup::{NameContainer, PathTarget, View};
use kernel::run::Run;
use kernel::txn::ReadTxn;
use kernel::{FormulaId, query, table};

use crate::queries::names;
use control::inspect::{Link, LinkKind};

/// The facts that tell where a formula leads, from the view of one agent.
pub(super) struct LinkResolver<'a> {
    /// The view of the agent.
    pub(super) view: &'a View,
    /// The usable grants, by their holders.
    holds: BTreeMap<FormulaId, Vec<Grant>>,
    /// The open runs, by their formulas.
    runs: BTreeMap<FormulaId, &'a Run>,
}

/// A link before it was followed through grants.
struct UnresolvedLink {
    kind: LinkKind,
    label: String,
    to: FormulaId,
}

/// A link that was followed to its target.
pub(super) struct ResolvedLink {
    /// The identifier of the target.
    pub(super) id: FormulaId,
    /// The formula of the target.
    pub(super) formula: Formula,
    /// The link to draw. The caller sets the nodes at its ends.
    pub(super) link: Link,
}

impl<'a> LinkResolver<'a> {
    pub(super) fn new(
        txn: &mut dyn ReadTxn,
        view: &'a View,
        runs: BTreeMap<FormulaId, &'a Run>,
    ) -> Result<LinkResolver<'a>, Fault> {
        let mut holds: BTreeMap<FormulaId, Vec<Grant>> = BTreeMap::new();
        for grant in query::grants(txn, &view.agent.number)? {
            if grant.ended(view.now_ms).is_none() {
                holds.entry(grant.holder).or_default().push(grant);
            }
        }
        Ok(LinkResolver { view, holds, runs })
    }

    /// Returns the usable links from a formula to others.
    pub(super) fn resolved_links(
        &self,
        txn: &mut dyn ReadTxn,
        id: &FormulaId,
    ) -> Result<Vec<ResolvedLink>, Fault> {
        let mut steps = Vec::new();
        for UnresolvedLink { kind: how, label, to } in self.outgoing_links(txn, id)? {
            let Some(reached) = table::reach(txn, &to)? else { continue };
            if reached.ended(self.view.now_ms).is_some() {
                continue;
            }
            let own = reached.grants.first().filter(|grant| grant.owner.0 == self.view.agent.number);
            let link = Link {
                from: 0,
                to: 0,
                how: if reached.grants.is_empty() || how == LinkKind::Names { how } else { LinkKind::Holds },
                label,
                grant: own.map(|grant| grant.number),
                limits: reached.grants.iter().flat_map(|grant| grant.attenuation.limit_phrases()).collect(),
                is_private: reached.grants.iter().any(|grant| grant.attenuation.private),
            };
            steps.push(ResolvedLink { id: reached.id, formula: reached.formula, link });
        }
        Ok(steps)
    }

    fn outgoing_links(&self, txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Vec<UnresolvedLink>, Fault> {
        let way =
            |how, label: &str, to: &FormulaId| UnresolvedLink { kind: how, label: label.to_owned(), to: *to };
        let held = self.holds.get(id).into_iter().flatten();
        let mut ways: Vec<UnresolvedLink> =
            held.map(|grant| way(LinkKind::Holds, &grant.slot, &grant.id)).collect();
        let Some(formula) = table::formula(txn, id)?.map(|row| row.formula) else { return Ok(ways) };
        match &formula {
            Formula::Host { .. } | Formula::Guest { .. } if *id != self.view.agent => {}
            Formula::Host { .. } | Formula::Guest { .. } => {
                let own = names::own_directory(txn, self.view)?;
                ways.clear();
                ways.extend(self.name_links(txn, &own)?);
            }
            Formula::Directory { store } => {
                if let Some(hub) = kernel::name_lookup::directory(txn, *store)? {
                    ways.extend(self.name_links(txn, &hub)?);
                }
            }
            Formula::Run { worker, .. } => match self.runs.get(id) {
                Some(run) => {
                    ways.extend(run.grants.iter().map(|(slot, grant)| way(LinkKind::Holds, slot, grant)));
                }
                None => ways.push(way(LinkKind::MadeOf, "worker", worker)),
            },
            Formula::Handle { agent } => ways.push(way(LinkKind::MadeOf, "agent", agent)),
            Formula::Eval { endowments, .. } => {
                ways.clear();
                ways.extend(endowments.iter().map(|(name, to)| way(LinkKind::Holds, name, to)));
            }
            // A bound worker has its capabilities through grants.
            Formula::Worker { grants, .. } => {
                let told: Vec<FormulaId> = ways.iter().map(|way| way.to).collect();
                let more = grants.iter().filter(|grant| !told.contains(grant));
                ways.extend(more.map(|grant| way(LinkKind::Holds, "grant", grant)));
            }
            // A grant leads to its target, with its limits.
            Formula::Grant { .. } => ways.push(way(LinkKind::Holds, "of", id)),
            Formula::Promise { .. } => {
                let came_to = names::fulfilled_reference(txn, id)?;
                ways.extend(came_to.iter().map(|to| way(LinkKind::MadeOf, "came to", to)));
                ways.extend(formula.edges().iter().map(|(label, to)| way(LinkKind::MadeOf, label, to)));
            }
            Formula::Export { .. }
            | Formula::Resolver { .. }
            | Formula::Marshal { .. }
            | Formula::Lookup { .. }
            | Formula::Definition { .. } => {
                ways.extend(formula.edges().iter().map(|(label, to)| way(LinkKind::MadeOf, label, to)));
            }
            _ => {}
        }
        Ok(ways)
    }

    fn name_links(&self, txn: &mut dyn ReadTxn, hub: &NameContainer) -> Result<Vec<UnresolvedLink>, Fault> {
        let mut ways = Vec::new();
        for label in self.view.list(txn, hub)? {
            if let Some(PathTarget::Formula(to)) = self.view.entry(txn, hub, &label)? {
                ways.push(UnresolvedLink { kind: LinkKind::Names, label, to });
            }
        }
        Ok(ways)
    }
}
