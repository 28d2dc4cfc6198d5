//! Propose: calls are recorded with their verdicts, and begin, wait for a person, or are refused.

use crate::command::{Fault, Judgement};
use crate::id::StepRef;
use crate::message::{Asked, Body};
use crate::proposal::{Decision, Finding};
use crate::provenance::Provenance;
use crate::run::{Completion, Entry, Phase, Run};
use crate::state::State;
use crate::table;
use crate::txn::Table;

use super::begin;

pub(super) fn propose(state: &mut State<'_>, run: &mut Run, judged: Vec<Judgement>) -> Result<(), Fault> {
    let mut asked = Vec::new();
    let mut asked_provenance = Provenance::default();
    // Calls of workers that may begin now or later: each is to find its share of what the run has left.
    let mut calls: u64 = 0;
    for one in judged.iter().filter(|one| one.verdict.decision != Decision::Deny) {
        calls += u64::from(begin::is_call(state, &one.proposal)?);
    }
    for Judgement { site, mut proposal, mut verdict } in judged {
        // What the proposal says of itself is not taken on trust.
        proposal.principal = state.actor;
        proposal.run = run.number;
        proposal.provenance = proposal.provenance.join(&run.provenance);
        if let Some(finding) = refusal(state, run, &proposal)? {
            verdict.decision = Decision::Deny;
            verdict.findings.push(finding);
        }
        let fingerprint = proposal.fingerprint();
        let provenance = proposal.provenance.clone();
        let entry = Entry::Proposed { site, proposal: Box::new(proposal.clone()), fingerprint };
        let step = state.journal(run, entry, provenance.clone())?;
        let at = StepRef { run: run.number, step };
        let may_begin = match verdict.decision {
            Decision::Allow => true,
            Decision::Ask => begin::permission(state, fingerprint, None, run.number)?.is_some(),
            Decision::Deny => false,
        };
        match verdict.decision {
            _ if may_begin => {
                judge(state, run, step, verdict, None)?;
                calls = calls.saturating_sub(u64::from(begin::is_call(state, &proposal)?));
                begin::begin(state, run, at, proposal, calls)?;
            }
            Decision::Allow | Decision::Ask => {
                asked.push((Asked { proposal: at, fingerprint }, verdict));
                asked_provenance = asked_provenance.join(&provenance);
            }
            Decision::Deny => {
                let findings = verdict.findings.clone();
                judge(state, run, step, verdict, None)?;
                let entry = Entry::Completed { proposal: step, completion: Completion::Refused(findings) };
                state.journal(run, entry, Provenance::default())?;
            }
        }
    }
    if asked.is_empty() {
        return Ok(());
    }
    let entries = asked.iter().map(|(asked, _)| *asked).collect();
    let body = Body::Approval { run: run.number, entries };
    let answers = state.message_of(run.source)?;
    let message = state.deliver(body, answers, true, asked_provenance)?;
    for (asked, verdict) in asked {
        run.open.insert(asked.proposal.step, Phase::Asked { message });
        judge(state, run, asked.proposal.step, verdict, Some(message))?;
    }
    Ok(())
}

fn judge(
    state: &mut State<'_>,
    run: &mut Run,
    proposal: u64,
    verdict: crate::proposal::Verdict,
    message: Option<crate::id::MessageNumber>,
) -> Result<(), Fault> {
    state.journal(run, Entry::Judged { proposal, verdict, message }, Provenance::default())?;
    Ok(())
}

/// Why the grant behind a proposal cannot be used by this run, if it cannot. The gates have said so already where
/// they could; the kernel says it again, so that no caller can leave it out.
pub(super) fn refusal(
    state: &mut State<'_>,
    run: &Run,
    proposal: &crate::proposal::Proposal,
) -> Result<Option<Finding>, Fault> {
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
    Ok(reached.refusal(&proposal.method, state.env.now_ms()))
}

/// Forgets the permissions that lasted only as long as the run.
pub(super) fn forget_permissions(state: &mut State<'_>, run: &Run) -> Result<(), Fault> {
    let owner = state.owner();
    let key = run_permissions_key(run);
    let kept: Option<Vec<crate::proposal::Fingerprint>> =
        table::load(state.txn, Table::Meta, &owner, key.as_bytes())?;
    for fingerprint in kept.unwrap_or_default() {
        state.txn.delete(Table::Permission, &owner, &table::permission_key(fingerprint, None))?;
    }
    state.txn.delete(Table::Meta, &owner, key.as_bytes())?;
    Ok(())
}

/// Where the list of a run's lasting permissions is kept until the run ends.
pub(super) fn run_permissions_key(run: &Run) -> String {
    format!("permissions of {}", run.number)
}
