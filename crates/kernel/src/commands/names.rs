//! Names: what agents call things.

use crate::command::{Fault, NameAct, Reply};
use crate::formula::Formula;
use crate::id::{FormulaId, Number};
use crate::provenance::Provenance;
use crate::state::State;

pub(super) fn name(state: &mut State<'_>, act: NameAct) -> Result<Reply, Fault> {
    let id = match act {
        NameAct::StoreValue { value, path } => {
            let spot = state.spot(&path, "storeIdentifier")?;
            for id in value.references() {
                state.expect_held(id)?;
            }
            let said = state.said()?;
            let id = state.make(Formula::Marshal { value }, said)?;
            state.put(&spot, &id)?
        }
        NameAct::StoreBlob { hash, bytes, path } => {
            let spot = state.spot(&path, "storeIdentifier")?;
            let said = state.said()?;
            state.note_blob(hash, bytes, &said)?;
            let id = state.make(Formula::Blob { hash, bytes }, said)?;
            state.put(&spot, &id)?
        }
        NameAct::StoreIdentifier { id, path } => {
            state.expect_held(&id)?;
            let spot = state.spot(&path, "storeIdentifier")?;
            state.put(&spot, &id)?
        }
        NameAct::Remove { path } => {
            let spot = state.spot(&path, "remove")?;
            state.unname(&spot)?;
            return Ok(Reply::Done);
        }
        NameAct::Move { from, to } => {
            let (source, to) = (state.spot(&from, "remove")?, state.spot(&to, "storeIdentifier")?);
            if source == to {
                return Ok(Reply::Made { id: state.find(&from)? });
            }
            let id = state.carry(&from, &to)?;
            state.unname(&source)?;
            id
        }
        NameAct::Copy { from, to } => {
            let spot = state.spot(&to, "storeIdentifier")?;
            state.carry(&from, &spot)?
        }
        NameAct::MakeDirectory { path } => {
            let spot = state.spot(&path, "makeDirectory")?;
            let id = make_directory(state, state.me())?;
            state.put(&spot, &id)?
        }
    };
    Ok(Reply::Made { id })
}

/// Makes an empty directory whose rows lie under `owner`.
pub(super) fn make_directory(state: &mut State<'_>, owner: Number) -> Result<FormulaId, Fault> {
    let store = state.make(Formula::PetStore { owner }, Provenance::host())?;
    state.make(Formula::Directory { store }, Provenance::host())
}
