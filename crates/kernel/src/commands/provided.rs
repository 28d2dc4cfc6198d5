//! Provide: finds a directory, a tree or a vat under its name, or makes it.

use resource::Resource;

use crate::command::{Fault, ProvidedObject, Reply};
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::name::NamePath;
use crate::provenance::Provenance;
use crate::state::State;

/// Finds the formula behind a name, if it is exactly the requested one, or makes the formula. A repeated call, after
/// a restart or a lost connection, finds the formula that the first call made.
pub(super) fn provided(
    state: &mut State<'_>,
    base: Option<&FormulaId>,
    thing: ProvidedObject,
    path: &NamePath,
) -> Result<Reply, Fault> {
    match &thing {
        // A tree is data, and any agent may keep data.
        ProvidedObject::Tree(_) => {}
        _ => state.hosts_only("make directories of this machine and places to run")?,
    }
    let spot = state.spot_in(base, path, "storeIdentifier")?;
    let known = match state.named(&spot)? {
        Some(id) => Some((id, state.formula(&id)?)),
        None => None,
    };
    let provenance = match &thing {
        ProvidedObject::Tree(_) => state.said()?,
        _ => Provenance::host(),
    };
    let formula = match thing {
        ProvidedObject::Mount { path, read_only } => {
            Formula::Resource(Resource::Directory { path, read_only })
        }
        ProvidedObject::Scratch { read_only } => Formula::Scratch { read_only },
        ProvidedObject::Tree(tree) => {
            state.note_blob(tree.hash, 0, &provenance)?;
            Formula::Tree(tree)
        }
        ProvidedObject::Vat => {
            let (_, label) = path.split();
            match known {
                Some((id, Formula::Vat { .. })) => return Ok(Reply::Made { id }),
                // A new vat does not take a name away from another formula.
                Some(_) => return Err(Fault::Taken(format!("{:?}", path.to_string()))),
                None => Formula::Vat { label: label.to_owned() },
            }
        }
    };
    if let Some((id, known)) = known
        && known == formula
    {
        return Ok(Reply::Made { id });
    }
    let id = state.make(formula, provenance)?;
    let id = state.put(&spot, &id)?;
    Ok(Reply::Made { id })
}
