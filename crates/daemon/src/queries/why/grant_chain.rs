//! The chain of grants behind a call, back to the messages that gave them. The grants are listed even if their
//! holders are gone, because their rows stay.

use std::collections::BTreeSet;

use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::proposal::{Caller, Proposal};
use kernel::run::Run;
use kernel::txn::{Owner, ReadTxn, StoreFault};
use kernel::{FormulaId, query, table};
use passable::quoting;

use super::{call_target, command_reason, describe_grant};
use crate::queries::origin;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::reason::Reason;

/// The maximum length of a followed chain of grants.
const MAX_CHAIN_LEN: usize = 16;

/// The maximum number of listed grants that code was endowed with.
const MAX_ENDOWED_GRANTS: usize = 20;

/// Returns the possible givers of the grants that a run's calls use. They are its host, its principal, and the agent
/// that endowed its code.
fn givers(daemon: &HostDaemon, run: &Run) -> Vec<Owner> {
    let others = [run.principal.map(|id| id.number), run.endowed_by.map(|number| number.0)];
    std::iter::once(daemon.host.number).chain(others.into_iter().flatten()).collect()
}

/// Returns a grant, even if it has been collected.
fn issued_grant(
    txn: &mut dyn ReadTxn,
    givers: &[Owner],
    id: &FormulaId,
) -> Result<Option<Grant>, StoreFault> {
    if let Some(grant) = table::grant(txn, id)? {
        return Ok(Some(grant));
    }
    for giver in givers {
        if let Some(grant) = query::issued_grant(txn, giver, id)? {
            return Ok(Some(grant));
        }
    }
    Ok(None)
}

/// Adds the grant of a call. For a call of an agent or of code, adds the whole chain of grants. For a worker's call,
/// one grant suffices, because its run names the command that endowed it.
pub(super) fn call_grants(
    daemon: &HostDaemon,
    run: &Run,
    proposal: &Proposal,
    reasons: &mut Vec<Reason>,
) -> Result<(), Failure> {
    let givers = givers(daemon, run);
    let Some(grant) = daemon.read(|txn| issued_grant(txn, &givers, &proposal.grant))? else {
        reasons.push(Reason::new(format!("grant {}", proposal.grant.short()), "is gone since"));
        return Ok(());
    };
    if proposal.caller == Caller::Code {
        return grant_chain(daemon, &givers, grant, reasons);
    }
    let made_on = call_target(daemon, proposal)?;
    let words = made_on.map_or_else(|| grant.words.clone(), |formula| describe_grant(&grant, &formula));
    let methods: Vec<_> = grant.methods.iter().map(String::as_str).collect();
    // The number of a grant means nothing to others than its giver.
    let what = match grant.owner.0 == daemon.host.number {
        true => grant.number.to_string(),
        false => grant.id.short(),
    };
    let said = quoting!("`{}` is {} ({})", grant.slot, words, methods.join(", "));
    reasons.push(Reason::new(format!("grant {what}"), said));
    Ok(())
}

/// Adds a grant, the grants that it was derived from, and the message behind the first of them.
fn grant_chain(
    daemon: &HostDaemon,
    givers: &[Owner],
    first: Grant,
    reasons: &mut Vec<Reason>,
) -> Result<(), Failure> {
    let host = daemon.host;
    let view = daemon.view(host);
    let mut grant = first;
    for _ in 0..MAX_CHAIN_LEN {
        let is_own = grant.owner.0 == host.number;
        let (told, by, above) = daemon.query(|txn| {
            let (told, by) = origin::grant_origin(daemon, txn, &view, &grant)?;
            let above = match is_own {
                true => None,
                false => issued_grant(txn, givers, &grant.target)?,
            };
            Ok((told, by, above))
        })?;
        reasons.extend(told);
        if let Some(message) = by {
            let giver = FormulaId { number: grant.owner.0, node: grant.id.node };
            command_reason(daemon, &giver, message, reasons)?;
        }
        match above {
            Some(above) => grant = above,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Adds the endowments of code and the messages behind them, if the run is the journal of code.
pub(super) fn code_endowments(
    daemon: &HostDaemon,
    run: &Run,
    reasons: &mut Vec<Reason>,
) -> Result<(), Failure> {
    let mut held = Vec::new();
    for giver in givers(daemon, run).into_iter().collect::<BTreeSet<_>>() {
        held.extend(daemon.read(|txn| query::grants(txn, &giver))?);
    }
    held.retain(|grant| grant.holder == run.worker);
    let is_code = run.endowed_by.is_some()
        || daemon.read(|txn| {
            Ok::<_, StoreFault>(matches!(
                table::formula(txn, &run.worker)?.map(|row| row.formula),
                Some(Formula::Eval { .. })
            ))
        })?;
    if !is_code {
        return Ok(());
    }
    let mut told = BTreeSet::new();
    for grant in held.into_iter().take(MAX_ENDOWED_GRANTS) {
        let mut of_grant = Vec::new();
        grant_chain(daemon, &givers(daemon, run), grant, &mut of_grant)?;
        // Usually one message gave all grants, so repeated reasons are left out.
        reasons.extend(
            of_grant.into_iter().filter(|one| told.insert((one.what.clone(), one.says.raw().to_owned()))),
        );
    }
    Ok(())
}
