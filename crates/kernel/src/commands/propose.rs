//! Propose: calls are recorded with their verdicts, and begin, wait for a person, or are refused.

use std::collections::BTreeSet;

use passable::quoting;

use crate::command::{Fault, Judgement};
use crate::id::StepRef;
use crate::message::{ApprovalEntry, Body};
use crate::proposal::{Decision, Finding, Pin};
use crate::provenance::Provenance;
use crate::run::{CallSite, Completion, Entry, Phase, Run};
use crate::state::State;
use crate::table;
use crate::txn::Table;

use super::grant_check::refusal;
use super::{begin, permission};

/// Records calls of a run. Returns `false` and does nothing if they ask about more calls than the run's family still
/// may. Other runs of the family may have asked since the driver looked, so the driver must look again.
pub(super) fn propose(state: &mut State<'_>, run: &mut Run, judged: Vec<Judgement>) -> Result<bool, Fault> {
    let asking = judged.iter().filter(|one| one.verdict.decision == Decision::Ask);
    let asking = questions(asking.map(|one| &one.site));
    if asking > 0
        && !run.is_agent_journal()
        && asking > state.count_questions(run, |count| count.cards_left())?
    {
        return Ok(false);
    }
    propose_after(state, run, judged, None)?;
    Ok(true)
}

/// Returns the number of questions that calls at these places are. The steps of a worker file are one question together.
fn questions<'a>(sites: impl Iterator<Item = &'a CallSite>) -> u64 {
    let (mut of_model, mut of_file) = (0, 0);
    for site in sites {
        match site {
            CallSite::Turn { .. } => of_model += 1,
            _ => of_file = 1,
        }
    }
    of_model + of_file
}

/// Spends the approval of one call without making the call, because the state on which the call depended has changed
/// since. The same call is proposed on the present state. A person is asked again, even if the gates allow the call.
pub(super) fn restate(
    state: &mut State<'_>,
    run: &mut Run,
    step: u64,
    mut judgement: Judgement,
) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step };
    if run.open.get(&step) != Some(&Phase::Approved) {
        return Err(Fault::OutOfOrder { at, what: "only an approved proposal can be stated anew" });
    }
    let Entry::Proposed { site, proposal: old, fingerprint, .. } = state.step(at)?.entry else {
        return Err(Fault::OutOfOrder { at, what: "this step proposes nothing" });
    };
    let new = &judgement.proposal;
    let is_same = site == judgement.site
        && (old.grant, &old.slot, &old.method, &old.args) == (new.grant, &new.slot, &new.method, &new.args);
    if !is_same || old.pins == new.pins {
        return Err(Fault::OutOfOrder { at, what: "only what a call depends on can be stated anew" });
    }
    let owner = state.owner();
    state.txn.delete(Table::Permission, &owner, &table::permission_key(fingerprint, Some(at)))?;
    run.open.remove(&step);
    let finding = stale(&old.pins, &new.pins);
    let completion = Completion::Refused(vec![finding.clone()]);
    state.journal(run, Entry::Completed { proposal: step, completion }, Provenance::default())?;
    judgement.verdict.decision = judgement.verdict.decision.max(Decision::Ask);
    judgement.verdict.findings.push(finding);
    propose_after(state, run, vec![judgement], Some(step))
}

/// Spends the approval of one call without making the call, because a rule that is newer than the approval forbids it.
pub(super) fn forbid(
    state: &mut State<'_>,
    run: &mut Run,
    step: u64,
    findings: Vec<Finding>,
) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step };
    if run.open.get(&step) != Some(&Phase::Approved) {
        return Err(Fault::OutOfOrder { at, what: "only an approved proposal can be forbidden" });
    }
    if findings.is_empty() {
        return Err(Fault::OutOfOrder { at, what: "a call is forbidden for a reason" });
    }
    let Entry::Proposed { fingerprint, .. } = state.step(at)?.entry else {
        return Err(Fault::OutOfOrder { at, what: "this step proposes nothing" });
    };
    let owner = state.owner();
    state.txn.delete(Table::Permission, &owner, &table::permission_key(fingerprint, Some(at)))?;
    run.open.remove(&step);
    let completion = Completion::Refused(findings);
    state.journal(run, Entry::Completed { proposal: step, completion }, Provenance::default())?;
    Ok(())
}

/// Returns a finding that lists the changes since the approval.
fn stale(before: &BTreeSet<Pin>, now: &BTreeSet<Pin>) -> Finding {
    let state = |pins: &BTreeSet<Pin>, of: &Pin| {
        let found = pins.iter().find(|pin| (&pin.kind, &pin.name) == (&of.kind, &of.name));
        match found.map(|pin| pin.digest) {
            Some(Some(digest)) => digest.short(),
            _ => "nothing".to_owned(),
        }
    };
    let named: BTreeSet<(&String, &String)> =
        before.symmetric_difference(now).map(|pin| (&pin.kind, &pin.name)).collect();
    let of = |(kind, name): (&String, &String)| Pin { kind: kind.clone(), name: name.clone(), digest: None };
    let changes: Vec<String> = named
        .into_iter()
        .map(of)
        .map(|pin| {
            let what = pin.describe(&format!("`{}`", pin.name));
            format!("{what}: {} then, {} now", state(before, &pin), state(now, &pin))
        })
        .collect();
    Finding::new(
        "approval/stale",
        quoting!("what was approved depends on something that has changed since: {}", changes.join("; ")),
    )
    .at("method")
    .allowed("a person's approval of the call as it is now")
}

fn propose_after(
    state: &mut State<'_>,
    run: &mut Run,
    judged: Vec<Judgement>,
    replaces: Option<u64>,
) -> Result<(), Fault> {
    let (mut asked, mut asked_sites) = (Vec::new(), Vec::new());
    let mut asked_provenance = Provenance::default();
    // The number of calls of workers that may begin now or later. Each of them must get a share of the run's
    // remaining budget.
    let mut calls: u64 = 0;
    for one in judged.iter().filter(|one| one.verdict.decision != Decision::Deny) {
        calls += u64::from(begin::is_call(state, &one.proposal)?);
    }
    for Judgement { site, mut proposal, mut verdict } in judged {
        // The kernel sets these parts itself, and does not trust the proposal.
        proposal.principal = run.principal.unwrap_or(state.actor);
        proposal.run = run.number;
        proposal.provenance = proposal.provenance.join(&run.provenance);
        if let Some(finding) = refusal(state, run, &proposal)? {
            // If the gates did not deny the call, this finding comes first. It refuses the call, and the findings of
            // the gates are only notes.
            let at = if verdict.decision == Decision::Deny { verdict.findings.len() } else { 0 };
            verdict.decision = Decision::Deny;
            verdict.findings.insert(at, finding);
        }
        let fingerprint = proposal.fingerprint();
        let provenance = proposal.provenance.clone();
        let entry = Entry::Proposed {
            site: site.clone(),
            proposal: Box::new(proposal.clone()),
            fingerprint,
            replaces,
        };
        let step = state.journal(run, entry, provenance.clone())?;
        let at = StepRef { run: run.number, step };
        let may_begin = match verdict.decision {
            Decision::Allow => true,
            Decision::Ask => {
                replaces.is_none() && permission::permission(state, fingerprint, None, run.number)?.is_some()
            }
            Decision::Deny => false,
        };
        match verdict.decision {
            _ if may_begin => {
                judge(state, run, step, verdict, None)?;
                calls = calls.saturating_sub(u64::from(begin::is_call(state, &proposal)?));
                begin::begin(state, run, at, proposal, calls)?;
            }
            Decision::Allow | Decision::Ask => {
                asked_sites.push(site);
                asked.push((ApprovalEntry { proposal: at, fingerprint }, verdict));
                asked_provenance = asked_provenance.join(&provenance);
            }
            Decision::Deny => {
                let findings = verdict.findings.clone();
                let is_denied = findings.iter().any(Finding::is_denial);
                judge(state, run, step, verdict, None)?;
                let entry = Entry::Completed { proposal: step, completion: Completion::Refused(findings) };
                state.journal(run, entry, Provenance::default())?;
                if is_denied {
                    state.count_refusal(run, step, None)?;
                }
            }
        }
    }
    if asked.is_empty() {
        return Ok(());
    }
    let questions = questions(asked_sites.iter());
    state.count_questions(run, |count| count.cards = count.cards.saturating_add(questions))?;
    let entries = asked.iter().map(|(asked, _)| *asked).collect();
    let body = Body::Approval { run: run.number, entries };
    let answers = run.cause().map(|number| state.message_of(number)).transpose()?.flatten();
    let message = state.deliver(body, answers, true, asked_provenance)?;
    for (asked, verdict) in asked {
        run.open.insert(asked.proposal.step, Phase::AwaitingApproval { message });
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
