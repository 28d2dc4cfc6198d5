//! The inspection of formulas by their identifiers, of the references between them, and of the uses of grants.
//!
//! The daemon's own host may inspect the whole store. Every other agent may inspect the formulas that it holds.

mod grants;
mod graph;
mod link_resolver;

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::name_lookup::{PathTarget, View};
use kernel::txn::ReadTxn;
use kernel::{FormulaId, Number, query, table};
use passable::{Quoting, Untrusted};
use resource::Resource;

pub use grants::grant;
pub use graph::graph;

use super::names;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::inspect::{FormulaSummary, FormulaView, Reference};
use control::view::GrantRow;

/// The maximum number of references to a formula that are listed.
const MAX_REFERENCES: usize = 200;

/// Returns an error if the agent may not see the formula. Only the daemon's own host and agents that hold the formula
/// may.
pub(crate) fn expect_may_see(
    daemon: &HostDaemon,
    txn: &mut dyn ReadTxn,
    view: &View,
    id: &FormulaId,
) -> Result<(), Fault> {
    if view.agent == daemon.host || query::holds(txn, &view.agent, id)? {
        return Ok(());
    }
    Err(Fault::NotHeld(*id))
}

/// Returns summaries of formulas. Formulas that are gone are left out.
///
/// # Errors
/// When the store cannot be read, or the agent may not see one of the formulas.
pub fn summaries(
    daemon: &HostDaemon,
    view: &View,
    ids: &[FormulaId],
) -> Result<Vec<FormulaSummary>, Failure> {
    daemon.query(|txn| {
        let mut found = Vec::new();
        for id in ids.iter().take(MAX_REFERENCES) {
            expect_may_see(daemon, txn, view, id)?;
            found.extend(summary(txn, view, id)?);
        }
        Ok(found)
    })
}

/// Returns the summary of a formula, or `None` if the formula or its target is gone.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn summary(
    txn: &mut dyn ReadTxn,
    view: &View,
    id: &FormulaId,
) -> Result<Option<FormulaSummary>, Fault> {
    let Some(reached) = table::reach(txn, id)? else { return Ok(None) };
    let mut name = names::name_of(txn, view, id)?;
    // An agent is usually named by its mail address, its handle.
    let handle = reached.formula.agent().map(|agent| agent.handle);
    // A narrowed grant has its own name first, and its source's name only if it has none.
    let between: Vec<FormulaId> = reached.grants.iter().flat_map(|grant| [grant.id, grant.target]).collect();
    for other in between.into_iter().chain([reached.id]).chain(handle) {
        if name.is_none() {
            name = names::name_of_target(txn, view, &other)?;
        }
    }
    if name.is_none() {
        name = names::path_to(txn, view, &reached.id)?;
    }
    let grant = match table::grant(txn, id)? {
        Some(grant) => Some(grant_row(txn, view, grant)?),
        None => None,
    };
    let message = match reached.formula {
        Formula::Message { .. } => query::number_of_message(txn, &view.agent, &Number(reached.id.number))?,
        _ => None,
    };
    // The runs of other hosts have numbers of their own.
    let run = match reached.formula {
        Formula::Run { run, .. } => {
            table::run(txn, &view.agent.number, run)?.filter(|own| own.id == reached.id).map(|own| own.number)
        }
        _ => None,
    };
    let kind = reached.formula.kind().to_owned();
    // The place of a staged copy means nothing to the user, so it is described by the directory that it was copied
    // from.
    let staged = reached.grants.iter().find_map(|grant| grant.attenuation.staged_from.clone());
    let words = match staged {
        Some(real) => resource::staged_copy(&real),
        None => describe(&reached.formula),
    };
    let read_only = matches!(
        reached.formula,
        Formula::Resource(Resource::Directory { read_only: true, .. }) | Formula::Scratch { read_only: true }
    );
    let (words, target) = (Untrusted::new(words), reached.id);
    Ok(Some(FormulaSummary { id: *id, name, kind, words, grant, message, run, target, read_only }))
}

/// Returns a description of a formula.
fn describe(formula: &Formula) -> String {
    match formula {
        Formula::Message { message } => format!("a message: {}", message.body.kind()),
        other => query::describe(other),
    }
}

fn grant_row(txn: &mut dyn ReadTxn, view: &View, grant: Grant) -> Result<GrantRow, Fault> {
    let held_by = Untrusted::new(names::holder(txn, view, &grant)?);
    let name = names::name_of_target(txn, view, &grant.target)?;
    let is_gone = table::formula(txn, &grant.holder)?.is_none();
    Ok(GrantRow { grant, held_by, is_gone, name })
}

/// Returns the latest grants that the agent gave of an object. For a promise, also returns the grants of its value,
/// because a grant of a fulfilled promise leads to the value. The rows of grants outlive their holders, but the
/// references to the object do not.
fn latest_grants(txn: &mut dyn ReadTxn, view: &View, id: &FormulaId) -> Result<Vec<GrantRow>, Fault> {
    let came_to = names::fulfilled_reference(txn, id)?;
    let all = query::grants(txn, &view.agent.number)?;
    let of_it = all.into_iter().rev().filter(|grant| grant.target == *id || Some(grant.target) == came_to);
    let mut rows: Vec<GrantRow> =
        of_it.take(MAX_REFERENCES).map(|grant| grant_row(txn, view, grant)).collect::<Result<_, _>>()?;
    rows.reverse();
    Ok(rows)
}

/// Returns a formula, the formulas that it refers to, and those that refer to it.
///
/// # Errors
/// When there is no formula with this identifier, or the agent may not see it.
pub fn formula(daemon: &HostDaemon, view: &View, id: &FormulaId) -> Result<FormulaView, Failure> {
    let found = daemon.query(|txn| {
        // Only an agent that may see the formula learns whether it exists.
        expect_may_see(daemon, txn, view, id)?;
        let Some(row) = table::formula(txn, id)? else { return Ok(None) };
        let called = summary(txn, view, id)?.ok_or(Fault::Dangling(*id))?;
        let mut refers_to = Vec::new();
        for (label, other) in row.formula.edges().into_iter().take(MAX_REFERENCES) {
            refers_to.extend(summary(txn, view, &other)?.map(|other| Reference { label, other }));
        }
        let from = query::references_to(txn, id, MAX_REFERENCES + 1)?;
        let is_more = from.len() > MAX_REFERENCES;
        let mut referred_by = Vec::new();
        for (other, label) in from.into_iter().take(MAX_REFERENCES) {
            referred_by.extend(summary(txn, view, &other)?.map(|other| Reference { label, other }));
        }
        let grants = latest_grants(txn, view, id)?;
        let thing = control::view::ObjectView {
            id: Some(*id),
            kind: called.kind.clone(),
            words: called.words.clone(),
            value: None,
            text: None,
            promise: None,
        };
        let guard = match table::reach(txn, id)?.map(|reached| reached.formula) {
            Some(Formula::Export { guard, .. }) => guard,
            _ => None,
        };
        Ok(Some(FormulaView { thing, called, refers_to, referred_by, is_more, grants, guard }))
    })?;
    let mut shown = found.ok_or_else(|| {
        Failure::new(Exit::NotFound, Quoting::ours(format!("there is nothing of the identifier {id}")))
            .help("it may have been collected since it was shown: look at your names")
    })?;
    // A formula that can no longer be used can still be inspected, without its content.
    if let Ok(thing) = names::object_view(daemon, view, PathTarget::Formula(*id)) {
        shown.thing = thing;
    }
    Ok(shown)
}
