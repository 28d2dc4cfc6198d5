//! The work in an agent's journal that is not part of a call: approved effects, and effects that a crash has
//! interrupted.

use std::path::Path;

use caps::{Capability as _, Settled};
use kernel::command::{Fault, Judgement, Move, Reply};
use kernel::proposal::{Finding, Proposal, Verdict};
use kernel::run::{Completion, Entry, Phase, State, Trouble};
use kernel::started_effect::StartedEffect;
use kernel::{HostRun, RunNumber, StepRef, table};
use passable::Untrusted;
use policy::{MACHINE_RULES, Rules};

use super::access::capability_of;
use super::call::redact_completion;
use crate::state::daemon::{self, HostDaemon};
use control::exit::Failure;
use worker::DriverPort as _;

/// Carries out all effects that no other thread carries out. Then suspends the journal's run if nothing is left to
/// do.
///
/// # Errors
/// When the store fails.
pub fn drive(daemon: &HostDaemon, state: &Path, number: RunNumber) -> Result<(), Trouble> {
    let at = HostRun { host: daemon.host, run: number };
    loop {
        let run = daemon.run(number)?;
        if run.is_finished() || daemon.is_stopping() {
            return Ok(());
        }
        for step in daemon.orphaned_effects.take(at) {
            if let Some(Phase::Executing { .. }) = run.open.get(&step.step)
                && let Err(trouble) = settle(daemon, state, step)
            {
                daemon.orphaned_effects.add(at.host, step);
                return Err(trouble);
            }
        }
        let approved = run.open.iter().filter(|(_, phase)| **phase == Phase::Approved);
        let approved: Vec<u64> = approved.map(|(step, _)| *step).collect();
        if approved.is_empty() {
            if run.state != State::Ready {
                return Ok(());
            }
            let suspend = Move::Suspend { seen: run.next_step, why: "nothing is left to do".to_owned() };
            match daemon.advance(number, vec![suspend])?.reply {
                Reply::NotSuspended => continue,
                _ => return Ok(()),
            }
        }
        for step in approved {
            begin(daemon, state, StepRef { run: number, step })?;
        }
    }
}

/// Begins an approved effect, and carries it out. If its preconditions have changed since the approval, restates the
/// effect for a new approval by the host.
fn begin(daemon: &HostDaemon, state: &Path, at: StepRef) -> Result<(), Trouble> {
    let step =
        |number| daemon.read(|txn| table::step(txn, &daemon.host.number, StepRef { step: number, ..at }));
    let proposed = step(at.step).map_err(|failure| stall_reason(&failure))?.map(|step| step.entry);
    let judged =
        step(at.step.saturating_add(1)).map_err(|failure| stall_reason(&failure))?.map(|step| step.entry);
    let mut next = Move::Begin { proposal: at.step };
    // The verdict is the step right after the proposal.
    if let (Some(Entry::Proposed { site, proposal, .. }), Some(Entry::Judged { verdict, .. })) =
        (proposed, judged)
        && let Ok(capability) = capability_of(daemon, state, &proposal)
    {
        let pins = capability.facts(&proposal.method, &proposal.args).pins;
        if let Some(finding) =
            newer_machine_policies(daemon, &verdict).map_err(|failure| stall_reason(&failure))?
        {
            next = Move::Forbid { proposal: at.step, findings: vec![finding] };
        } else if pins != proposal.pins {
            for pin in &pins {
                if let Some(bytes) = capability.operand(pin) {
                    daemon.put_blob(&bytes)?;
                }
            }
            let proposal = Proposal { pins, ..*proposal };
            let judgement = Box::new(Judgement { site, proposal, verdict });
            next = Move::Restate { proposal: at.step, judgement };
        }
    }
    for begun in daemon.advance(at.run, vec![next])?.begun {
        let step = begun.step();
        if let Err(trouble) = perform(daemon, state, &begun) {
            daemon.orphaned_effects.add(daemon.host, step);
            return Err(trouble);
        }
    }
    Ok(())
}

/// Returns the finding that an approved call was judged by other rules than those of now, if the machine's administrator
/// has policies. The call cannot be judged again here, so it is refused.
fn newer_machine_policies(daemon: &HostDaemon, verdict: &Verdict) -> Result<Option<Finding>, Failure> {
    if config::managed::rules()?.policies().is_none() {
        return Ok(None);
    }
    let rules = Rules::clone(&daemon::Daemon::rules(daemon));
    let rules = match daemon.policies.operator()? {
        Some(operator) => rules.with_operator(operator),
        None => rules,
    };
    if policy::rules_hash(&rules) == verdict.gates {
        return Ok(None);
    }
    let message = "the rules of the machine's administrator may have changed since the call was asked about";
    let finding = Finding::new(format!("{MACHINE_RULES}changed"), message).at("method");
    Ok(Some(finding.allowed("the same call, made anew")))
}

/// Settles an effect that has begun and has no recorded outcome.
fn settle(daemon: &HostDaemon, state: &Path, at: StepRef) -> Result<(), Trouble> {
    match daemon.store.read(|txn| kernel::reopen(txn, &daemon.host, at)) {
        Ok(None) => Ok(()),
        Ok(Some(begun)) => perform(daemon, state, &begun),
        // The agent no longer holds the object that the effect used.
        Err(store::ReadError::Refused(Fault::Dangling(_))) => complete(daemon, at, lost_completion()),
        Err(other) => Err(Trouble {
            code: "store/failed".to_owned(),
            message: Untrusted::new(other.to_string()),
            help: "`almoner doctor` examines the store".to_owned(),
        }),
    }
}

fn lost_completion() -> Completion {
    let message = "it may or may not have happened: what it went through is gone since";
    Completion::Failed(Finding::new("effect/unknown", message))
}

/// Carries out an effect that has begun, or finds out whether it was carried out. Records the outcome.
fn perform(daemon: &HostDaemon, state: &Path, begun: &StartedEffect) -> Result<(), Trouble> {
    let at = begun.step();
    let Ok(capability) = capability_of(daemon, state, begun.proposal()) else {
        let completion = match begun.reopened() {
            true => lost_completion(),
            false => Completion::Failed(Finding::new("mount/gone", "what it was to be made on is gone")),
        };
        return complete(daemon, at, completion);
    };
    match caps::settle(&capability, begun) {
        Settled::Completed(mut completion) => {
            redact_completion(&daemon.secrets(), &mut completion);
            complete(daemon, at, completion)
        }
        Settled::Unknown => {
            daemon.advance(at.run, vec![Move::OutcomeUnknown { proposal: at.step }]).map(drop)
        }
    }
}

fn complete(daemon: &HostDaemon, at: StepRef, completion: Completion) -> Result<(), Trouble> {
    daemon.advance(at.run, vec![Move::Complete { proposal: at.step, completion }]).map(drop)
}

fn stall_reason(failure: &Failure) -> Trouble {
    Trouble { code: "store/failed".to_owned(), message: failure.message.clone(), help: failure.help.clone() }
}
