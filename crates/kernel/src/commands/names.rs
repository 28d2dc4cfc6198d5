//! Names: the names by which agents know formulas.

use crate::command::{Fault, NameAct, Reply};
use crate::formula::Formula;
use crate::id::{FormulaId, Number};
use crate::proposal::Value;
use crate::provenance::Provenance;
use crate::state::State;

pub(super) fn name(state: &mut State<'_>, act: NameAct) -> Result<Reply, Fault> {
    let act = match act {
        NameAct::IfUnchanged { path, is, act } => {
            if state.find(&path)? != is {
                return Err(Fault::NotAsSeen { path: path.to_string() });
            }
            *act
        }
        act => act,
    };
    let act = match act {
        NameAct::Forced { act } => {
            state.forced = true;
            *act
        }
        act => act,
    };
    match act {
        NameAct::Within { base, act } => {
            state.expect_held(&base)?;
            change(state, Some(&base), *act)
        }
        act => change(state, None, act),
    }
}

fn change(state: &mut State<'_>, base: Option<&FormulaId>, act: NameAct) -> Result<Reply, Fault> {
    let id = match act {
        NameAct::Within { .. } => {
            return Err(Fault::Misfit { what: "paths begin in one place".to_owned() });
        }
        NameAct::Forced { .. } => {
            return Err(Fault::Misfit { what: "a command is forced as a whole, once".to_owned() });
        }
        NameAct::IfUnchanged { .. } => {
            return Err(Fault::Misfit { what: "what was seen is said once".to_owned() });
        }
        NameAct::Provide { thing, path } => return super::provided::provided(state, base, thing, &path),
        NameAct::StoreValue { value, path } => {
            let spot = state.spot_in(base, &path, "storeIdentifier")?;
            for id in value.references() {
                state.expect_held(id)?;
            }
            let id = match value {
                // A name for a promise leads to the promise's value, so the promise itself gets the name.
                Value::Promise(promise) => promise.reference,
                value => {
                    let said = state.said()?;
                    state.make(Formula::Marshal { value }, said)?
                }
            };
            state.put(&spot, &id)?
        }
        NameAct::StoreBlob { hash, bytes, path } => {
            let spot = state.spot_in(base, &path, "storeIdentifier")?;
            let said = state.said()?;
            state.note_blob(hash, bytes, &said)?;
            let id = state.make(Formula::Blob { hash, bytes }, said)?;
            state.put(&spot, &id)?
        }
        NameAct::StoreIdentifier { id, path } => {
            state.expect_held(&id)?;
            let spot = state.spot_in(base, &path, "storeIdentifier")?;
            state.put(&spot, &id)?
        }
        NameAct::Remove { path } => {
            let spot = state.spot_in(base, &path, "remove")?;
            state.unname(&spot)?;
            return Ok(Reply::Done);
        }
        NameAct::Move { from, to } => {
            let (source, to) =
                (state.spot_in(base, &from, "remove")?, state.spot_in(base, &to, "storeIdentifier")?);
            if source == to {
                return Ok(Reply::Made { id: state.find_in(base, &from)? });
            }
            // The new name may look like the old one, because the old name goes.
            state.leaving = Some(source.clone());
            let id = state.carry(base, &from, &to)?;
            state.unname(&source)?;
            id
        }
        NameAct::Copy { from, to } => {
            let spot = state.spot_in(base, &to, "storeIdentifier")?;
            state.carry(base, &from, &spot)?
        }
        NameAct::MakeDirectory { path } => {
            let spot = state.spot_in(base, &path, "makeDirectory")?;
            let id = make_directory(state, state.me())?;
            state.put(&spot, &id)?
        }
    };
    Ok(Reply::Made { id })
}

/// Makes an empty directory whose rows are stored under `owner`.
pub(super) fn make_directory(state: &mut State<'_>, owner: Number) -> Result<FormulaId, Fault> {
    let store = state.make(Formula::PetStore { owner }, Provenance::host())?;
    state.make(Formula::Directory { store }, Provenance::host())
}
