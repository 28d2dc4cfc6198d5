//! The graph of formulas: the references among all formulas that an agent has named.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::refusal::Refusal;
use crate::formula::Formula;
use crate::name_lookup::{NameContainer, PathTarget, View, directory};
use crate::proposal::Value;
use crate::table;
use crate::txn::ReadTxn;

/// The maximum number of formulas in one answer.
const NODES: usize = 2_000;

/// The maximum number of references in one answer.
const EDGES: usize = 10_000;

/// Returns the graph as a record of `nodes` and `edges`, with the formulas nearest to the agent first.
///
/// Identifiers give no authority. Still, the graph ends where another agent's formulas begin: at a grant, a mail
/// address, or another agent. The store's own host also sees the formulas behind these, because everything in the
/// store is the person's.
pub(super) fn graph(txn: &mut dyn ReadTxn, view: View) -> Result<Value, Refusal> {
    let own = table::host(txn)? == Some(view.agent);
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::from([view.agent]);
    let mut queue = VecDeque::from([view.agent]);
    let mut cut = false;
    while let Some(id) = queue.pop_front() {
        let Some(row) = table::formula(txn, &id)? else { continue };
        nodes.push(record([
            ("id", Value::string(id.to_string())),
            ("type", Value::string(row.formula.kind())),
        ]));
        let ends = match &row.formula {
            Formula::Grant { .. } | Formula::Handle { .. } | Formula::Endo { .. } => true,
            Formula::Host { .. } | Formula::Guest { .. } => id != view.agent,
            _ => false,
        };
        if ends && !own {
            continue;
        }
        let mut to = row.formula.edges();
        if let Formula::PetStore { .. } = row.formula
            && let Some(hub @ NameContainer::Directory { .. }) = directory(txn, id)?
        {
            for name in view.list(txn, &hub)?.into_iter().take(EDGES) {
                if let Some(PathTarget::Formula(target)) = view.entry(txn, &hub, &name)? {
                    to.push((name, target));
                }
            }
        }
        for (label, target) in to {
            if edges.len() >= EDGES || (!seen.contains(&target) && seen.len() >= NODES) {
                cut = true;
                continue;
            }
            edges.push(record([
                ("sourceId", Value::string(id.to_string())),
                ("targetId", Value::string(target.to_string())),
                ("label", Value::string(label)),
            ]));
            if seen.insert(target) {
                queue.push_back(target);
            }
        }
    }
    let mut all = BTreeMap::from([
        ("nodes".to_owned(), Value::array(nodes)),
        ("edges".to_owned(), Value::array(edges)),
    ]);
    if cut {
        // The graph was cut: a viewer should say that more exists.
        all.insert("more".to_owned(), Value::bool(true));
    }
    Ok(Value::record_from_map(all))
}

fn record<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::record_from_map(fields.map(|(name, value)| (name.to_owned(), value)).into())
}
