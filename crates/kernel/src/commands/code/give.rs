//! Handing capabilities to running code, or from running code to other code. Each is handed over as a grant, which
//! names its holder and can be revoked.

use crate::code;
use crate::command::{Fault, Reply};
use crate::formula::Formula;
use crate::grant::Grant;
use crate::id::FormulaId;
use crate::state::{Gift, State, code_owner, collector};
use crate::table;
use crate::txn::Table;

/// The error for code that would give away a capability that a host has withheld.
const NOT_ALLOWED: &str =
    "code that a host has endowed hands nothing of that on: the host does, with endow, send or share";

pub(super) fn give(
    state: &mut State<'_>,
    giver: FormulaId,
    id: FormulaId,
    through: Vec<FormulaId>,
    to: FormulaId,
    name: &str,
) -> Result<Reply, Fault> {
    for party in [&giver, &to] {
        if collector::is_going(state.txn, party)? {
            return Err(Fault::Dangling(*party));
        }
    }
    let recipient = state.formula(&to)?;
    if recipient.agent().is_none() && !matches!(recipient, Formula::Eval { .. }) {
        return Err(Fault::Misfit {
            what: format!("{} holds nothing", passable::with_article(recipient.kind())),
        });
    }
    let Some(whose) = code::giving_agent(state.txn, &giver, &to)? else {
        return Err(Fault::NotAllowed(NOT_ALLOWED.to_owned()));
    };
    let formula = state.formula(&id)?;
    // A grant that goes back to a holder of its target goes back as that target.
    if let Formula::Grant { target, holder, .. } = &formula
        && *holder == giver
        && through.is_empty()
        && crate::query::holds(state.txn, &to, target)?
    {
        return Ok(Reply::Made { id: *target });
    }
    // A formula that was found through grants is held through one of them. An export of other code came in a message.
    let mut held = crate::query::holds(state.txn, &giver, &id)? || matches!(formula, Formula::Export { .. });
    for grant in &through {
        held |= crate::query::holds(state.txn, &giver, grant)?;
    }
    if !held {
        return Err(Fault::NotHeld(id));
    }
    if let Some(given) = code::find_gift(state.txn, &giver, &id, &through, &to)?
        && !collector::is_going(state.txn, &given)?
    {
        return Ok(Reply::Made { id: given });
    }
    // A formula that was reached through a grant is given by the owner of that grant.
    let owner = match through.last() {
        None => whose,
        Some(last) => match table::grant(state.txn, last)? {
            Some(grant) => state.id_of(grant.owner),
            None => return Err(Fault::Dangling(*last)),
        },
    };
    // Each piece of an agent's code has a grant of its own. If one of these grants was revoked, the agent's other
    // code gets none. The giver's own agent is excepted.
    let agent = match &recipient {
        Formula::Eval { .. } => code_owner::own_code_of(state, &to)?.map(|agent| state.id_of(agent)),
        _ => None,
    };
    let agent = agent.filter(|agent| *agent != whose);
    if let Some(agent) = &agent
        && let Some(before) = code::find_gift_record(state.txn, &giver, &id, &through, agent)?
    {
        let grant: Option<Grant> = table::load(state.txn, Table::Grant, &owner.number, &before.number)?;
        if let Some(finding) = grant.and_then(|grant| grant.ended(state.env.now_ms())) {
            return Err(Fault::Revoked(finding.message));
        }
    }
    let there = table::formula(state.txn, &owner)?.is_some() && !collector::is_going(state.txn, &owner)?;
    let daemon = std::mem::replace(&mut state.actor, if there { owner } else { whose });
    let given = state.give(&id, &Gift { to, name, source: None, through: through.clone(), own: false });
    state.actor = daemon;
    let given = given?;
    for recipient in std::iter::once(to).chain(agent) {
        code::write::record_gift(state.txn, (&giver, &id, &through), &recipient, &given)?;
    }
    Ok(Reply::Made { id: given })
}
