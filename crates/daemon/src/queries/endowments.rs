//! The endowments of a definition, with their results, as shown to the agent that endowed it.

use kernel::formula::Formula;
use kernel::{FormulaId, MessageNumber, table};

use super::names;
use crate::queries::mail;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::view::{EndowedView, GrantRow};

/// Returns the endowments of a message's definition that the mailbox records, oldest first.
///
/// # Errors
/// When there is no such message.
pub fn endowments(
    daemon: &HostDaemon,
    agent: FormulaId,
    number: MessageNumber,
) -> Result<Vec<EndowedView>, Failure> {
    let letter = mail::message(daemon, agent, number)?;
    if letter.mail.endowed.is_empty() {
        return Ok(vec![]);
    }
    let view = daemon.view(agent);
    daemon.query(|txn| {
        let grants: Vec<GrantRow> = names::grants(txn, &view)?;
        let mut all = Vec::new();
        for one in &letter.mail.endowed {
            let (holder, run) = match table::formula(txn, &one.made)?.map(|row| row.formula) {
                Some(Formula::Run { run, worker, .. }) => (worker, Some(run)),
                _ => (one.made, None),
            };
            let is_gone = table::formula(txn, &one.made)?.is_none();
            let Some(came) = table::promise(txn, &one.result)? else { continue };
            all.push(EndowedView {
                at_ms: one.at_ms,
                after: one.after,
                made: one.made,
                run,
                is_gone,
                result: one.result,
                outcome: names::state_of(came),
                name: names::name_of(txn, &view, &one.result)?,
                grants: grants.iter().filter(|row| row.grant.holder == holder).cloned().collect(),
            });
        }
        Ok(all)
    })
}
