//! Genesis: the formulas that every store has.

use crate::command::Fault;
use crate::env::Env;
use crate::event::Change;
use crate::formula::Formula;
use crate::id::{BlobHash, FormulaId};
use crate::provenance::Provenance;
use crate::state::State;
use crate::table;
use crate::txn::{NOBODY, Table, Txn};

/// Makes endo, host, directory and mailbox in an empty store; in any other it changes nothing. Returns the host.
pub fn genesis(txn: &mut dyn Txn, env: &Env) -> Result<FormulaId, Fault> {
    if let Some(host) = table::host(txn)? {
        return Ok(host);
    }
    let node = env.number();
    table::save(txn, Table::Meta, &NOBODY, b"node", &BlobHash(node), None)?;
    let mut state = State::unborn(txn, env, node);
    let host = state.actor;
    table::save(state.txn, Table::Meta, &NOBODY, b"host", &host, None)?;
    let (endo, directory, mailbox) = (state.fresh_id(), state.fresh_id(), state.fresh_id());
    let made = [
        (endo, Formula::Endo { host }),
        (host, Formula::Host { directory, mailbox }),
        (directory, Formula::Directory),
        (mailbox, Formula::Mailbox),
    ];
    for (id, formula) in made {
        state.put_formula(id, formula, Provenance::host())?;
    }
    let owner = state.owner();
    for (name, id) in [("@endo", endo), ("@agent", host), ("@mail", mailbox)] {
        let key = table::inner_key(&directory, name.as_bytes());
        table::save(state.txn, Table::PetName, &owner, &key, &id, None)?;
    }
    state.event(Change::Genesis { host })?;
    Ok(host)
}
