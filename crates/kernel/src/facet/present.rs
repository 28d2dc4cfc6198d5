//! The results of lookups: formulas as values, promises or references.

use super::interface::facet;
use super::refusal::Refusal;
use crate::command::Fault;
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::name::NamePath;
use crate::name_lookup::{self, NameContainer, PathTarget, View};
use crate::proposal::Value;
use crate::table::{self, PromiseRow};
use crate::txn::ReadTxn;

/// The maximum number of lookups that lead through one another.
const MAX_DEPTH: usize = 32;

/// Returns the found entry as a value.
pub(super) fn found(txn: &mut dyn ReadTxn, view: View, found: PathTarget) -> Result<Value, Refusal> {
    match found {
        PathTarget::Data(value) => Ok(value),
        PathTarget::Formula(id) => present(txn, view, &id, 0),
    }
}

fn present(txn: &mut dyn ReadTxn, view: View, id: &FormulaId, depth: usize) -> Result<Value, Refusal> {
    let reached = table::reach(txn, id)?.ok_or(Fault::Dangling(*id))?;
    if let Some(finding) = reached.ended(view.now_ms) {
        return Err(Fault::Revoked(finding.message).into());
    }
    match reached.formula {
        Formula::Marshal { value } => Ok(value),
        Formula::Promise { .. } => settled(txn, &reached.id),
        Formula::Eval { result, .. } => settled(txn, &result),
        Formula::Lookup { hub, path } if depth < MAX_DEPTH => {
            let start = view.enter(txn, &PathTarget::Formula(hub), "lookup", depth)?;
            let start = start.ok_or_else(|| Fault::NotADirectory(format!("{:?}", path.to_string())))?;
            match Here::at(view, start).walk(txn, &path)?.0 {
                PathTarget::Data(value) => Ok(value),
                PathTarget::Formula(id) => present(txn, view, &id, depth + 1),
            }
        }
        Formula::Lookup { .. } => {
            Err(Fault::Misfit { what: "lookups lead through lookups without end".to_owned() }.into())
        }
        other => Ok(object(id, &other)),
    }
}

/// Returns a reference to an object, with the name of its interface.
pub(super) fn object(id: &FormulaId, formula: &Formula) -> Value {
    match formula {
        Formula::Export { interface, .. } => Value::remotable_alleged(*id, interface.clone()),
        _ => Value::remotable_alleged(*id, format!("Alleged: {}", facet(formula.kind()).name)),
    }
}

fn settled(txn: &mut dyn ReadTxn, promise: &FormulaId) -> Result<Value, Refusal> {
    match table::promise(txn, promise)? {
        Some(PromiseRow::Pending) => Ok(Value::promise(*promise)),
        Some(PromiseRow::Fulfilled { value }) => Ok(value),
        Some(PromiseRow::Rejected { reason }) => Err(Refusal::Rejected(reason)),
        None => Err(Fault::Dangling(*promise).into()),
    }
}

/// A name container, the view of the agent that looks into it, and the grants that were passed on the way.
pub(super) struct Here {
    pub(super) hub: NameContainer,
    pub(super) view: View,
    pub(super) through: Vec<FormulaId>,
}

impl Here {
    /// Returns the start of a walk: a name container in which nothing has been looked up yet.
    pub(super) fn at(view: View, hub: NameContainer) -> Here {
        let mut here = Here { hub, view, through: vec![] };
        here.look_from_inside();
        here
    }

    /// Switches the view to the agent to which the names or the mailbox belong. Messages are then seen as that agent
    /// sees them.
    fn look_from_inside(&mut self) {
        match &self.hub {
            NameContainer::Agent(agent) => self.view.agent = *agent,
            NameContainer::Mailbox { mailbox, owner } => {
                self.view.agent = FormulaId { number: *owner, node: mailbox.node };
            }
            NameContainer::Directory { .. } | NameContainer::Message { .. } => {}
        }
    }

    /// Returns the entry under a name, if there is one.
    pub(super) fn entry(&self, txn: &mut dyn ReadTxn, name: &str) -> Result<Option<PathTarget>, Refusal> {
        Ok(self.view.entry(txn, &self.hub, name)?)
    }

    /// Returns the name container at the end of a path.
    pub(super) fn at_end(&self, txn: &mut dyn ReadTxn, path: &[String]) -> Result<Here, Refusal> {
        let mut here = Here { hub: self.hub.clone(), view: self.view, through: vec![] };
        for (i, name) in path.iter().enumerate() {
            let found = here.entry(txn, name)?.ok_or_else(|| Fault::UnknownName(format!("{name:?}")))?;
            if let PathTarget::Formula(id) = &found {
                here.pass(txn, id)?;
            }
            here.hub = here
                .view
                .enter(txn, &found, "lookup", 0)?
                .ok_or_else(|| Fault::NotADirectory(format!("{:?}", path[..=i].join("/"))))?;
            here.look_from_inside();
        }
        Ok(here)
    }

    /// Remembers the grants through which the found formula leads.
    pub(super) fn pass(&mut self, txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<(), Refusal> {
        for id in std::iter::once(*id).chain(name_lookup::settled_references(txn, id)?) {
            if table::grant(txn, &id)?.is_some() {
                self.through.push(id);
            }
        }
        Ok(())
    }

    /// Returns the entry to which the path leads, and the grants that were passed on the way.
    pub(super) fn walk(
        &self,
        txn: &mut dyn ReadTxn,
        path: &NamePath,
    ) -> Result<(PathTarget, Vec<FormulaId>), Refusal> {
        let (before, last) = path.split();
        let here = self.at_end(txn, before)?;
        let found = here.entry(txn, last)?.ok_or_else(|| Fault::UnknownName(format!("{last:?}")))?;
        Ok((found, here.through))
    }
}

/// Returns a path on which the agent reaches a directory. With this path, the agent can write in the directory.
pub(super) fn way(txn: &mut dyn ReadTxn, view: View, target: &FormulaId) -> Result<Vec<String>, Refusal> {
    /// The maximum number of names to look at before the search fails.
    const MAX_NAMES: usize = 5_000;
    let mut queue =
        std::collections::VecDeque::from([(NameContainer::Agent(view.agent), Vec::<String>::new())]);
    let mut seen = vec![NameContainer::Agent(view.agent)];
    let mut looked = 0;
    while let Some((hub, path)) = queue.pop_front() {
        for name in view.list(txn, &hub)? {
            looked += 1;
            // The special names of a message lead to its parties, and not to the values that were sent.
            let inward = !name.starts_with('@') || matches!(name.as_str(), "@mail" | "@pins" | "@value");
            if looked > MAX_NAMES || !inward || path.len() + 2 > crate::name::MAX_DEPTH {
                continue;
            }
            let Some(PathTarget::Formula(id)) = view.entry(txn, &hub, &name)? else { continue };
            let longer: Vec<String> = path.iter().cloned().chain([name]).collect();
            if id == *target {
                return Ok(longer);
            }
            // A grant that has ended, or a promise that leads nowhere, gives no path.
            if let Ok(Some(inner)) = view.enter(txn, &PathTarget::Formula(id), "lookup", 0)
                && !seen.contains(&inner)
            {
                seen.push(inner.clone());
                queue.push_back((inner, longer));
            }
        }
    }
    let what = "you have no name for this directory: give it one to change what is in it";
    Err(Refusal::Argument(what.to_owned()))
}

/// Returns the path with other names in front of it.
pub(super) fn behind(before: &[String], path: &NamePath) -> Result<NamePath, Refusal> {
    Ok(NamePath::new(before.iter().chain(path.names()).cloned())?)
}
