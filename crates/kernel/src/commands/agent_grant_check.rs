//! The check of the grant behind a call that an agent makes without a run of its own.

use crate::agent_journal;
use crate::command::Fault;
use crate::formula::Formula;
use crate::proposal::{Finding, Proposal};
use crate::state::State;
use crate::table;

/// Returns the reason why a call cannot be made in the journal of an agent, if there is one. The agent does not hold
/// the grant, or something on the way has ended or leaves the method out.
pub(crate) fn refusal(state: &mut State<'_>, proposal: &Proposal) -> Result<Option<Finding>, Fault> {
    let not_held = || Finding::new("grant/held", "this agent does not hold such a grant").at(&proposal.slot);
    let now_ms = state.env.now_ms();
    let Some(reached) = table::reach(state.txn, &proposal.grant)? else { return Ok(Some(not_held())) };
    let held = match reached.grants.first() {
        Some(grant) => agent_journal::may_use(state.txn, &proposal.principal, grant)?,
        None => false,
    };
    if !held {
        return Ok(Some(not_held()));
    }
    if let Some(finding) = reached.ended(now_ms) {
        return Ok(Some(finding));
    }
    let target = agent_journal::target(proposal);
    for passed in agent_journal::passed_formulas(proposal) {
        match table::reach(state.txn, &passed)? {
            None => return Ok(Some(not_held())),
            Some(passed) => {
                if let Some(finding) = passed.ended(now_ms) {
                    return Ok(Some(finding));
                }
            }
        }
    }
    let Some(reached) = table::reach(state.txn, &target)? else { return Ok(Some(not_held())) };
    if let Formula::Worker { .. } = reached.formula {
        return Ok(Some(Finding::new("grant/kind", "a worker is called by a run").at(&proposal.slot)));
    }
    if let Some(finding) = super::rate::refusal(state, &reached)? {
        return Ok(Some(finding));
    }
    let words = agent_journal::permitting_methods(&proposal.method);
    if words.is_empty() {
        return Ok(reached.refusal(&proposal.method, now_ms));
    }
    let mut refusals = words.iter().map(|word| reached.refusal(word, now_ms));
    let first = refusals.next().flatten();
    Ok(first.filter(|_| refusals.all(|refusal| refusal.is_some())))
}
