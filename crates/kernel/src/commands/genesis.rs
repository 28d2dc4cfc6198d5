//! Genesis: the formulas that every store has.

use crate::command::Fault;
use crate::env::Env;
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{BlobHash, FormulaId, Number};
use crate::provenance::Provenance;
use crate::state::State;
use crate::table;
use crate::txn::{NO_OWNER, Table, Txn};

use super::names::make_directory;
use super::provide::make_parts;

/// Returns the host of the store. In an empty store, the root, its host and the host's parts are made first. A store
/// that has a host is not changed.
pub fn genesis(txn: &mut dyn Txn, env: &Env) -> Result<FormulaId, Fault> {
    if let Some(host) = table::host(txn)? {
        return match table::endo(txn)? {
            Some(_) => Ok(host),
            None => {
                Err(Fault::Genesis("is older than the first release: move its folder away and start anew"))
            }
        };
    }
    let node = env.number();
    table::save(txn, Table::Meta, &NO_OWNER, b"node", &BlobHash(node), None)?;
    let mut state = State::unborn(txn, env, node);
    let (host, endo) = (state.actor, state.endo());
    table::save(state.txn, Table::Meta, &NO_OWNER, b"host", &host, None)?;
    table::save(state.txn, Table::Meta, &NO_OWNER, b"endo", &endo, None)?;
    // The host answers for formulas that no agent made. For this, the host itself must exist.
    let agent = make_parts(&mut state, host)?;
    let none = state.make(Formula::LeastAuthority, Provenance::host())?;
    let main = state.make(Formula::Vat { label: "main".to_owned() }, Provenance::host())?;
    let pins = make_directory(&mut state, Number(host.number))?;
    let formula = Formula::Host { agent, host: agent.handle, main, endo, pins, none };
    state.put_formula(host, formula, Provenance::host())?;
    let root = Formula::Endo { host, pins, least_authority: none };
    state.put_formula(endo, root, Provenance::host())?;
    state.event(Change::Genesis { host })?;
    state.conclude_genesis()?;
    Ok(host)
}
