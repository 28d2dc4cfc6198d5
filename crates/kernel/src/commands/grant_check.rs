//! The check of the grant behind a call.

use crate::command::Fault;
use crate::commands::{agent_grant_check, rate};
use crate::proposal::Finding;
use crate::run::Run;
use crate::state::State;
use crate::table;

/// Returns the reason why this run cannot use the grant behind a proposal, if there is one. The gates have checked
/// this already where they could. The kernel checks it again, so that no caller can leave the check out.
pub(crate) fn refusal(
    state: &mut State<'_>,
    run: &Run,
    proposal: &crate::proposal::Proposal,
) -> Result<Option<Finding>, Fault> {
    if run.is_agent_journal() {
        return agent_grant_check::refusal(state, proposal);
    }
    let held = match table::reach(state.txn, &proposal.grant)? {
        Some(reached) => match reached.grants.first() {
            Some(grant) if grant.holder == run.worker && run.grants.get(&grant.slot) == Some(&grant.id) => {
                Some(reached)
            }
            _ => None,
        },
        None => None,
    };
    let Some(reached) = held else {
        return Ok(Some(
            Finding::new("grant/held", "this run does not hold such a grant").at(proposal.slot.clone()),
        ));
    };
    if planted!(state.env, RevocationNotTransitive) {
        let nearest = reached.grants.first();
        return Ok(nearest.and_then(|grant| grant.refusal(&proposal.method, state.env.now_ms())));
    }
    if let Some(finding) = reached.refusal(&proposal.method, state.env.now_ms()) {
        return Ok(Some(finding));
    }
    rate::refusal(state, &reached)
}
