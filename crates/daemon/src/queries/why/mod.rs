//! The answers of `almoner why`: from an object back to the rule, the approval, the grant and the message that caused
//! it.

mod command;
mod file;
mod grant_chain;

use kernel::formula::Formula;
use kernel::grant::{EVERY_METHOD, Grant};
use kernel::message::{Answer, Body};
use kernel::proposal::{Decision, Finding, Proposal, Verdict};
use kernel::provenance::Provenance;
use kernel::run::{Completion, Entry, Parent, Run, Step, WaitReason};
use kernel::{MessageNumber, RunNumber, StepRef, agent_journal, query, table};
use passable::{Quoting, quoting};
use resource::Resource;

use super::runs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::show::card::source_quoting;
use control::show::journal::{ended, finding_quoting, state};
use control::show::outcome;
use control::show::reason::{Reason, WhyTarget};

pub(crate) use command::command_reason;

/// Returns a description of a formula for the user who endowed it.
pub fn describe_target(formula: &Formula) -> String {
    match formula {
        Formula::Resource(_)
        | Formula::Worker { .. }
        | Formula::Myself
        | Formula::Eval { .. }
        | Formula::Export { .. } => query::describe(formula),
        other => other.kind().to_owned(),
    }
}

/// Returns a description of a formula that is reached through these grants, for the user who endowed it.
pub fn describe_through<'a>(grants: impl IntoIterator<Item = &'a Grant>, formula: &Formula) -> String {
    let grants: Vec<&Grant> = grants.into_iter().collect();
    if let Some(real) = grants.iter().find_map(|grant| grant.attenuation.staged_from.as_ref()) {
        return resource::staged_copy(real);
    }
    // Only the methods that every grant allows are left.
    let narrow = grants.iter().copied().filter(|grant| !grant.methods.contains(EVERY_METHOD));
    let methods = narrow.map(|grant| grant.methods.clone()).reduce(|all, own| &all & &own);
    match (formula, methods, grants.is_empty()) {
        (Formula::Resource(resource), Some(methods), _) => resource.summary_with(&methods),
        (Formula::Resource(resource), None, false) => {
            resource.summary_with(&[EVERY_METHOD.to_owned()].into())
        }
        _ => describe_target(formula),
    }
}

/// Returns a description of the target of a grant, with every limit.
fn describe_grant(grant: &Grant, formula: &Formula) -> String {
    match formula {
        Formula::Resource(resource) => resource::describe(resource, &grant.attenuation, &grant.methods),
        other => describe_through([grant], other),
    }
}

/// Returns the chain of reasons for a run, a step, a message, or a name.
pub fn why(daemon: &HostDaemon, thing: &str) -> Result<Vec<Reason>, Failure> {
    // A text in no other form counts as a name.
    match thing.parse().unwrap_or_else(|_| WhyTarget::Name(thing.to_owned())) {
        WhyTarget::Run(run) => why_run(daemon, run),
        WhyTarget::Step(step) => why_step(daemon, step),
        WhyTarget::Message(number) => why_message(daemon, number),
        WhyTarget::Name(name) => file::why_name(daemon, &name),
    }
}

fn load_run(daemon: &HostDaemon, number: RunNumber) -> Result<Run, Failure> {
    daemon.read(|txn| table::run(txn, &daemon.host.number, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, Quoting::ours(format!("there is no run {number}")))
            .help("see `almoner runs`")
    })
}

fn why_run(daemon: &HostDaemon, number: RunNumber) -> Result<Vec<Reason>, Failure> {
    let run = load_run(daemon, number)?;
    let name = runs::name(daemon, &run)?;
    let mut reasons = vec![Reason::new(number.to_string(), quoting!("`{}`, ", name).then(&run_status(&run)))];
    if let Some(message) = run.cancelled_by {
        command_reason(daemon, &daemon.host, message, &mut reasons)?;
    }
    reasons.push(Reason::new("has been shown", sources(&run.provenance)));
    cause_of_run(daemon, &run, &mut reasons)?;
    if run.is_agent_journal() {
        grant_chain::code_endowments(daemon, &run, &mut reasons)?;
    }
    Ok(reasons)
}

/// Adds the parent runs of a run, and the command that began the first of them.
pub(crate) fn cause_of_run(daemon: &HostDaemon, run: &Run, reasons: &mut Vec<Reason>) -> Result<(), Failure> {
    let mut at = run.clone();
    while let Some(Parent { run: parent, place }) = at.parent {
        let step = match place {
            WaitReason::Call { proposal } => StepRef { run: parent, step: proposal }.to_string(),
            WaitReason::Item { index } => format!("{parent}, item {}", index + 1),
        };
        at = self::load_run(daemon, parent)?;
        reasons.push(Reason::new(step, quoting!("started it, in `{}`", at.name)));
    }
    let host = daemon.host;
    let Some(message) = at.cause() else {
        let who = runs::name(daemon, &at)?;
        reasons.push(Reason::new(at.number.to_string(), quoting!("{} did it without a run", who)));
        return Ok(());
    };
    command_reason(daemon, &host, message, reasons)?;
    // In stores of an earlier version, a command does not name the message that it answers.
    if let Some(delivery) = at.delivery {
        let what = format!("message {}", delivery.message);
        if !reasons.iter().any(|reason| reason.what == what)
            && let Some(letter) = daemon.read(|txn| query::message(txn, &host, delivery.message))?
        {
            reasons.push(Reason::new(what, command::describe_ask(daemon, &host, &letter)?));
        }
    }
    Ok(())
}

/// Returns a description of a run's state. The reason for a failure is quoted, because a model or a server may have
/// chosen its words.
pub(crate) fn run_status(run: &Run) -> Quoting {
    use kernel::run::{RunOutcome, State};
    match &run.state {
        State::Stalled { trouble } => Quoting::ours("stalled: ").quote(trouble.message.raw()),
        State::Finished { outcome: RunOutcome::Failed(trouble) } => {
            Quoting::ours(ended(run)).and(": ").quote(trouble.message.raw())
        }
        _ => Quoting::ours(state(run)),
    }
}

/// Returns a description of all sources in a provenance.
pub(crate) fn sources(provenance: &Provenance) -> Quoting {
    Quoting::joined(provenance.sources.iter().map(source_quoting), ", ")
}

/// Returns the target of a call, or `None` if it is gone.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn call_target(daemon: &HostDaemon, proposal: &Proposal) -> Result<Option<Formula>, Failure> {
    let target = agent_journal::target(proposal);
    match daemon.grant(&proposal.grant) {
        Ok((grant, formula)) if target == proposal.grant => Ok(Some(intended_formula(&grant, formula))),
        _ => {
            let reached = daemon.read(|txn| table::reach(txn, &target))?;
            Ok(reached.map(|reached| match reached.formula {
                Formula::Scratch { read_only } => daemon.scratch(&reached.id, read_only),
                other => other,
            }))
        }
    }
}

/// Returns the formula that the user means by the target of a grant. For a staged copy, it is the original directory.
fn intended_formula(grant: &Grant, formula: Formula) -> Formula {
    match (&grant.attenuation.staged_from, formula) {
        (Some(real), Formula::Resource(Resource::Directory { read_only, .. })) => {
            Formula::Resource(Resource::Directory { path: real.clone(), read_only })
        }
        (_, formula) => formula,
    }
}

fn why_message(daemon: &HostDaemon, number: MessageNumber) -> Result<Vec<Reason>, Failure> {
    let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, Quoting::ours(format!("there is no message {number}")))
            .help("see `almoner inbox`")
    })?;
    let what = format!("message {number}");
    let mut reasons = Vec::new();
    match letter.body() {
        Some(Body::Command { text, run, grant, .. }) => {
            let mut said = Reason::new(&*what, Quoting::ours("you said: ").quote(text.raw()));
            if let Some(came) = &letter.mail.outcome {
                said = said.and(Quoting::ours("; ").then(&outcome::render_outcome(came)));
            }
            reasons.push(said);
            let run = run.map(|run| run.to_string());
            let about = run.or(grant.map(|grant| format!("grant {grant}")));
            reasons.extend(about.map(|about| Reason::new("it is about", Quoting::ours(about))));
            command::answered_messages(daemon, &daemon.host, letter, &mut reasons)?;
        }
        Some(body @ Body::Approval { entries, .. }) => {
            reasons.push(Reason::new(what, command::summary(body)));
            for asked in entries {
                reasons.extend(why_step(daemon, asked.proposal)?);
            }
        }
        Some(body @ Body::Budget { .. }) => reasons.push(Reason::new(what, command::summary(body))),
        Some(body @ Body::OutcomeUnknown { entry, .. }) => {
            reasons.push(Reason::new(what, command::summary(body)));
            reasons.extend(why_step(daemon, entry.proposal)?);
        }
        Some(
            body
            @ (Body::Request { .. } | Body::Package { .. } | Body::Definition { .. } | Body::Form { .. }),
        ) if body.run().is_some() => {
            reasons.push(Reason::new(what, command::summary(body)));
            if let Some(run) = body.run() {
                reasons.extend(why_run(daemon, run)?);
            }
        }
        _ => {
            reasons.push(Reason::new(what, command::describe_ask(daemon, &daemon.host, &letter)?));
            command::answered_messages(daemon, &daemon.host, letter, &mut reasons)?;
        }
    }
    Ok(reasons)
}

fn why_step(daemon: &HostDaemon, at: StepRef) -> Result<Vec<Reason>, Failure> {
    let run = load_run(daemon, at.run)?;
    let steps = match run.is_agent_journal() {
        false => daemon.read(|txn| query::journal(txn, &daemon.host.number, at.run, 1))?,
        true => nearby_steps(daemon, at)?,
    };
    let step = steps.iter().find(|s| s.number == at.step).ok_or_else(|| {
        Failure::new(Exit::NotFound, Quoting::ours(format!("{} has no step {}", at.run, at.step)))
            .help(format!("see `almoner trace {}`", at.run))
    })?;
    let proposed = match &step.entry {
        Entry::Judged { proposal, .. }
        | Entry::Answered { proposal, .. }
        | Entry::OutcomeUnknown { proposal, .. }
        | Entry::OutcomeConfirmed { proposal, .. }
        | Entry::EffectStarted { proposal, .. }
        | Entry::Completed { proposal, .. } => *proposal,
        _ => step.number,
    };
    let mut reasons = vec![Reason::new(at.to_string(), step.entry.name())];
    proposal_reasons(daemon, &run, &steps, proposed, &mut reasons)?;
    cause_of_run(daemon, &run, &mut reasons)?;
    Ok(reasons)
}

/// Returns the steps of an agent's journal near one step. Steps about the same call are usually near each other, and
/// the journal may be too long to read.
fn nearby_steps(daemon: &HostDaemon, at: StepRef) -> Result<Vec<Step>, Failure> {
    /// The number of steps that are read on either side.
    const MAX_STEP_DISTANCE: u64 = 2000;
    let (from, to) =
        (at.step.saturating_sub(MAX_STEP_DISTANCE).max(1), at.step.saturating_add(MAX_STEP_DISTANCE));
    let mut steps = Vec::new();
    runs::for_each_step(daemon, at.run, from, |step| {
        let more = step.number < to;
        steps.push(step);
        more
    })?;
    Ok(steps)
}

fn proposal_reasons(
    daemon: &HostDaemon,
    run: &Run,
    steps: &[Step],
    proposed: u64,
    reasons: &mut Vec<Reason>,
) -> Result<(), Failure> {
    for step in steps.iter().rev() {
        let at = format!("{}#{}", run.number, step.number);
        match &step.entry {
            Entry::Completed { proposal, completion } if *proposal == proposed => {
                let (said, found) = match completion {
                    Completion::Done { .. } => (Quoting::ours("it was done"), &[][..]),
                    Completion::Refused(f) => {
                        (Quoting::ours("refused: ").then(&describe_findings(f)), f.as_slice())
                    }
                    Completion::Failed(f) => {
                        (Quoting::ours("failed: ").then(&finding_quoting(f)), std::slice::from_ref(f))
                    }
                };
                reasons.push(Reason::new(at, said));
                if let Some(message) = run.cancelled_by
                    && found.iter().any(|finding| finding.rule == "run/cancelled")
                {
                    command_reason(daemon, &daemon.host, message, reasons)?;
                }
            }
            Entry::Answered { proposal, message, approved } if *proposal == proposed => {
                reasons.push(Reason::new(at, describe_answer(daemon, *message, *approved)?));
            }
            Entry::OutcomeConfirmed { proposal, message } if *proposal == proposed => {
                let said = format!("you said that it happened (message {message})");
                reasons.push(Reason::new(at, Quoting::ours(said)));
            }
            Entry::OutcomeUnknown { proposal, message } if *proposal == proposed => {
                let said = format!("a crash cut it off: message {message} asked whether it happened");
                reasons.push(Reason::new(at, Quoting::ours(said)));
            }
            Entry::Judged { proposal, verdict, message } if *proposal == proposed => {
                if verdict.decision == Decision::Ask
                    && message.is_none()
                    && let Some((given, message)) = earlier_approval(steps, proposed)
                {
                    let said = format!("you approved message {message} for the whole run");
                    reasons.push(Reason::new(format!("{}#{given}", run.number), Quoting::ours(said)));
                }
                reasons.push(Reason::new(at, describe_verdict(verdict)));
            }
            Entry::Proposed { proposal, .. } if step.number == proposed => {
                let called = quoting!("{}.{} was proposed", proposal.slot, proposal.method);
                reasons.push(Reason::new(at, called));
                reasons.push(Reason::new("it depends on", sources(&proposal.provenance)));
                grant_chain::call_grants(daemon, run, proposal, reasons)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the approval for a whole run under which a later identical call began without a question. The result is
/// the step of the approval, and the message that asked.
fn earlier_approval(steps: &[Step], proposed: u64) -> Option<(u64, MessageNumber)> {
    let print = |at: u64| {
        steps.iter().find(|step| step.number == at).and_then(|step| match &step.entry {
            Entry::Proposed { fingerprint, .. } => Some(*fingerprint),
            _ => None,
        })
    };
    let same = print(proposed)?;
    steps.iter().rev().filter(|step| step.number < proposed).find_map(|step| match &step.entry {
        Entry::Answered { proposal, message, approved: true } if print(*proposal) == Some(same) => {
            Some((step.number, *message))
        }
        _ => None,
    })
}

/// Returns a description of the gates' verdict. The verdict on an allowed call may have no findings.
fn describe_verdict(verdict: &Verdict) -> Quoting {
    let decision = format!("{:?}", verdict.decision).to_lowercase();
    let said = Quoting::ours(format!("the gates said {decision}"));
    match verdict.findings.is_empty() {
        true => said,
        false => said.and(": ").then(&describe_findings(&verdict.findings)),
    }
}

fn describe_findings(findings: &[Finding]) -> Quoting {
    Quoting::joined(findings.iter().map(finding_quoting), "; ")
}

fn describe_answer(daemon: &HostDaemon, number: MessageNumber, approved: bool) -> Result<Quoting, Failure> {
    let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?;
    let reason = letter.iter().flat_map(|l| l.mail.answers.values()).find_map(|a| match a {
        Answer::Denied { reason, .. } if !approved => Some(reason.raw().to_owned()),
        _ => None,
    });
    Ok(match (approved, reason) {
        (true, _) => Quoting::ours(format!("you approved message {number}")),
        (false, Some(reason)) => Quoting::ours(format!("you denied message {number}: ")).quote(reason),
        (false, None) => Quoting::ours(format!("you denied message {number}")),
    })
}
