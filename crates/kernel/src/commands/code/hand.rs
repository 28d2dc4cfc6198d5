//! What one hands to code, or code to another, while both run. A grant says who has it, and ends it.

use crate::code;
use crate::command::{Fault, Reply};
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::state::{Gift, State};
use crate::table;

use super::{endower, own_code_of};

pub(super) fn hand(
    state: &mut State<'_>,
    giver: FormulaId,
    id: FormulaId,
    through: Vec<FormulaId>,
    to: FormulaId,
    name: &str,
) -> Result<Reply, Fault> {
    for party in [&giver, &to] {
        if crate::collect::is_going(state.txn, party)? {
            return Err(Fault::Dangling(*party));
        }
    }
    let recipient = state.formula(&to)?;
    if recipient.agent().is_none() && !matches!(recipient, Formula::Eval { .. }) {
        return Err(Fault::Misfit { what: format!("a {} holds nothing", recipient.kind()) });
    }
    let whose = whose(state, &giver, &to)?;
    // What was found through grants is held through one of them.
    let mut held = crate::query::holds(state.txn, &giver, &id)?;
    for grant in &through {
        held |= crate::query::holds(state.txn, &giver, grant)?;
    }
    if !held {
        return Err(Fault::NotHeld(id));
    }
    if let Some(given) = code::handed(state.txn, &giver, &id, &through, &to)?
        && !crate::collect::is_going(state.txn, &given)?
    {
        return Ok(Reply::Made { id: given });
    }
    // What was reached through a grant is given by whoever gave that one.
    let owner = match through.last() {
        None => whose,
        Some(last) => match table::grant(state.txn, last)? {
            Some(grant) => state.id_of(grant.owner),
            None => return Err(Fault::Dangling(*last)),
        },
    };
    let there = table::formula(state.txn, &owner)?.is_some() && !crate::collect::is_going(state.txn, &owner)?;
    let daemon = std::mem::replace(&mut state.actor, if there { owner } else { whose });
    let given = state.give(&id, &Gift { to, name, source: None, through: through.clone(), own: false });
    state.actor = daemon;
    let given = given?;
    code::write::hand(state.txn, (&giver, &id, &through), &to, &given)?;
    Ok(Reply::Made { id: given })
}

/// On whose behalf the giver hands things over. An agent gives what it holds. Code gives on behalf of the agent that
/// wrote it and endowed it itself. Code that somebody else has endowed gives nothing, but back to whoever endowed it:
/// what its author gets of it is for the host to say.
fn whose(state: &mut State<'_>, giver: &FormulaId, to: &FormulaId) -> Result<FormulaId, Fault> {
    match state.formula(giver)? {
        formula if formula.agent().is_some() => return Ok(*giver),
        Formula::Eval { .. } => {}
        other => return Err(Fault::NotAllowed(format!("a {} hands nothing over", other.kind()))),
    }
    let endower = endower(state, giver)?;
    let goes_back = match state.formula(to)? {
        Formula::Eval { .. } => own_code_of(state, to)? == Some(endower),
        _ => to.number == endower.0,
    };
    if own_code_of(state, giver)?.is_none() && !goes_back {
        let what =
            "code that a host has endowed hands nothing of that on: the host does, with endow, send or share";
        return Err(Fault::NotAllowed(what.to_owned()));
    }
    Ok(state.id_of(endower))
}
