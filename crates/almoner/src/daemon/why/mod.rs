//! Why: from a thing back to the rule, the approval, the grant and the message that caused it.

mod file;
mod hands;

use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::message::{Answer, Body};
use kernel::proposal::{Decision, Proposal, Verdict};
use kernel::run::{Completion, Entry, Parent, Place, Run, Step};
use kernel::{FormulaId, MessageNumber, RunNumber, StepRef, query, standing, table};
use passable::{visible_line, with_article};
use worker::World as _;

use crate::daemon::desk::Desk;
use crate::daemon::listing;
use crate::daemon::world::Daemon;
use control::exit::{Exit, Failure};
use control::show::card::source;
use control::show::journal::{finding_line, state};
use control::show::letter as letters;
use control::show::reason::{Reason, Thing};

/// What a formula is to the person who endowed it.
pub fn target_words(formula: &Formula) -> String {
    match formula {
        Formula::Mount { path, .. } => path.clone(),
        Formula::Spool { path } => format!("mail spool {path}"),
        Formula::Program(programs) => programs.words(),
        Formula::HandedSecret(secret) => secret.words(),
        Formula::Web(web) => web.words(),
        Formula::Repository(repository) => repository.words(),
        Formula::Worker { model: Some(model), .. } => format!("model {model}"),
        Formula::Mcp(server) => server.words(),
        Formula::Worker { name, definition, .. } => format!("worker {name} ({})", definition.short()),
        Formula::Myself => "this worker again".to_owned(),
        Formula::Eval { .. } | Formula::Export { .. } => query::words(formula),
        other => other.kind().to_owned(),
    }
}

/// What a staged copy is to a person: it lies where nobody looks, and goes by the directory that it is one of.
pub fn staged_words(real: &str) -> String {
    format!("staged copy of directory {real}")
}

/// What a formula is to the person who endowed it, reached through these grants.
pub fn words_through<'a>(grants: impl IntoIterator<Item = &'a Grant>, formula: &Formula) -> String {
    let staged = grants.into_iter().find_map(|grant| grant.attenuation.staged_from.as_ref());
    match staged {
        Some(real) => staged_words(real),
        None => target_words(formula),
    }
}

/// The chain of reasons for a thing.
pub fn why(desk: &Desk, thing: &str) -> Result<Vec<Reason>, Failure> {
    // Every text is some thing.
    match thing.parse().unwrap_or_else(|_| Thing::Name(thing.to_owned())) {
        Thing::Run(run) => of_run(desk, run),
        Thing::Step(step) => of_step(desk, step),
        Thing::Message(number) => of_message(desk, number),
        Thing::Name(name) => file::of_name(desk, &name),
    }
}

fn run(desk: &Desk, number: RunNumber) -> Result<Run, Failure> {
    let daemon = &desk.daemon;
    daemon.read(|txn| table::run(txn, &daemon.host.number, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no run {number}")).help("see `almoner runs`")
    })
}

fn of_run(desk: &Desk, number: RunNumber) -> Result<Vec<Reason>, Failure> {
    let run = run(desk, number)?;
    let name = listing::name(&desk.daemon, &run)?;
    let mut reasons =
        vec![Reason::new(number.to_string(), format!("`{}`, {}", visible_line(&name), state(&run)))];
    let read: Vec<String> = run.provenance.sources.iter().map(source).collect();
    reasons.push(Reason::new("has been shown", read.join(", ")));
    cause_of_run(desk, &run, &mut reasons)?;
    if run.is_standing() {
        hands::of_code(desk, &run, &mut reasons)?;
    }
    Ok(reasons)
}

/// Which runs and which command a run goes back to.
pub(super) fn cause_of_run(desk: &Desk, run: &Run, reasons: &mut Vec<Reason>) -> Result<(), Failure> {
    let mut at = run.clone();
    while let Some(Parent { run: parent, place }) = at.parent {
        let step = match place {
            Place::Call { proposal } => StepRef { run: parent, step: proposal }.to_string(),
            Place::Item { index } => format!("{parent}, item {}", index + 1),
        };
        at = self::run(desk, parent)?;
        reasons.push(Reason::new(step, format!("started it, in `{}`", visible_line(&at.name))));
    }
    match at.cause() {
        Some(message) => command(desk, &desk.daemon.host, message, reasons),
        None => {
            let who = visible_line(&listing::name(&desk.daemon, &at)?).into_owned();
            reasons.push(Reason::new(at.number.to_string(), format!("{who} did it without a run")));
            Ok(())
        }
    }
}

/// What a call is made on; `None` if that is gone.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn made_on(daemon: &Daemon, proposal: &Proposal) -> Result<Option<Formula>, Failure> {
    let target = standing::target(proposal);
    match daemon.grant(&proposal.grant) {
        Ok((grant, formula)) if target == proposal.grant => Ok(Some(meant(&grant, formula))),
        _ => {
            let reached = daemon.read(|txn| table::reach(txn, &target))?;
            Ok(reached.map(|reached| match reached.formula {
                Formula::Scratch { read_only } => daemon.scratch(&reached.id, read_only),
                other => other,
            }))
        }
    }
}

/// What is meant by what a grant leads to: by a staged copy, the directory itself.
fn meant(grant: &Grant, formula: Formula) -> Formula {
    match (&grant.attenuation.staged_from, formula) {
        (Some(real), Formula::Mount { read_only, .. }) => Formula::Mount { path: real.clone(), read_only },
        (_, formula) => formula,
    }
}

/// The command that a message of the agent's keeps, if it is one, or what a run asked for with it.
pub(super) fn command(
    desk: &Desk,
    agent: &FormulaId,
    number: MessageNumber,
    reasons: &mut Vec<Reason>,
) -> Result<(), Failure> {
    let Some(letter) = desk.daemon.read(|txn| query::message(txn, agent, number))? else { return Ok(()) };
    let said = match letter.body() {
        Some(Body::Command { text, .. }) => format!("you said: {}", text.visible_line()),
        Some(body @ Body::Request { by: Some(_), .. }) => format!("you gave it: {}", letters::summary(body)),
        _ => return Ok(()),
    };
    reasons.push(Reason::new(format!("message {number}"), said));
    Ok(())
}

fn of_message(desk: &Desk, number: MessageNumber) -> Result<Vec<Reason>, Failure> {
    let daemon = &desk.daemon;
    let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no message {number}")).help("see `almoner inbox`")
    })?;
    let mut reasons = Vec::new();
    match letter.body() {
        Some(Body::Command { text, run, .. }) => {
            reasons
                .push(Reason::new(format!("message {number}"), format!("you said: {}", text.visible_line())));
            if let Some(run) = run {
                reasons.push(Reason::new("it is about", run.to_string()));
            }
        }
        Some(Body::Approval { run, entries }) => {
            reasons.push(Reason::new(
                format!("message {number}"),
                format!("{run} asks about {}", entries.len()),
            ));
            for asked in entries {
                reasons.extend(of_step(desk, asked.proposal)?);
            }
        }
        Some(Body::Budget { run, trouble, .. }) => {
            let asks = format!("{run} asks for more: {}", trouble.message.visible_line());
            reasons.push(Reason::new(format!("message {number}"), asks));
        }
        Some(Body::Doubt { run, entry }) => {
            let asks = format!("{run} asks whether {} happened", entry.proposal);
            reasons.push(Reason::new(format!("message {number}"), asks));
            reasons.extend(of_step(desk, entry.proposal)?);
        }
        Some(
            body
            @ (Body::Request { .. } | Body::Package { .. } | Body::Definition { .. } | Body::Form { .. }),
        ) if body.run().is_some() => {
            reasons.push(Reason::new(format!("message {number}"), letters::summary(body)));
            if let Some(run) = body.run() {
                reasons.extend(of_run(desk, run)?);
            }
        }
        other => {
            let kind = other.map_or_else(|| letter.mail.envelope.kind.clone(), |body| body.kind().to_owned());
            reasons.push(Reason::new(format!("message {number}"), format!("is {}", with_article(&kind))));
        }
    }
    Ok(reasons)
}

fn of_step(desk: &Desk, at: StepRef) -> Result<Vec<Reason>, Failure> {
    let run = run(desk, at.run)?;
    let daemon = &desk.daemon;
    let steps = match run.is_standing() {
        false => daemon.read(|txn| query::journal(txn, &daemon.host.number, at.run, 1))?,
        true => around(desk, at)?,
    };
    let step = steps.iter().find(|s| s.number == at.step).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("{} has no step {}", at.run, at.step))
            .help(format!("see `almoner trace {}`", at.run))
    })?;
    let proposed = match &step.entry {
        Entry::Judged { proposal, .. }
        | Entry::Answered { proposal, .. }
        | Entry::Doubted { proposal, .. }
        | Entry::Vouched { proposal, .. }
        | Entry::Begun { proposal, .. }
        | Entry::Completed { proposal, .. } => *proposal,
        _ => step.number,
    };
    let mut reasons = vec![Reason::new(at.to_string(), step.entry.name())];
    of_proposal(desk, &run, &steps, proposed, &mut reasons)?;
    cause_of_run(desk, &run, &mut reasons)?;
    Ok(reasons)
}

/// The steps of an agent's journal that a step may be about, or that may be about it: the journal may be long.
fn around(desk: &Desk, at: StepRef) -> Result<Vec<Step>, Failure> {
    /// How many steps are looked at on either side.
    const NEAR: u64 = 2000;
    let (from, to) = (at.step.saturating_sub(NEAR).max(1), at.step.saturating_add(NEAR));
    let mut steps = Vec::new();
    listing::for_each_step(&desk.daemon, at.run, from, |step| {
        let more = step.number < to;
        steps.push(step);
        more
    })?;
    Ok(steps)
}

fn of_proposal(
    desk: &Desk,
    run: &Run,
    steps: &[Step],
    proposed: u64,
    reasons: &mut Vec<Reason>,
) -> Result<(), Failure> {
    for step in steps.iter().rev() {
        let at = format!("{}#{}", run.number, step.number);
        match &step.entry {
            Entry::Completed { proposal, completion } if *proposal == proposed => {
                let said = match completion {
                    Completion::Done { .. } => "it was done".to_owned(),
                    Completion::Refused(f) => {
                        format!("refused: {}", f.iter().map(finding_line).collect::<Vec<_>>().join("; "))
                    }
                    Completion::Failed(f) => format!("failed: {}", finding_line(f)),
                };
                reasons.push(Reason::new(at, said));
            }
            Entry::Answered { proposal, message, approved } if *proposal == proposed => {
                reasons.push(Reason::new(at, answer(desk, *message, *approved)?));
            }
            Entry::Vouched { proposal, message } if *proposal == proposed => {
                reasons.push(Reason::new(at, format!("you said that it happened (message {message})")));
            }
            Entry::Doubted { proposal, message } if *proposal == proposed => {
                let said = format!("a crash cut it off: message {message} asked whether it happened");
                reasons.push(Reason::new(at, said));
            }
            Entry::Judged { proposal, verdict, message } if *proposal == proposed => {
                if verdict.decision == Decision::Ask
                    && message.is_none()
                    && let Some((given, message)) = earlier_yes(steps, proposed)
                {
                    let said = format!("you approved message {message} for the whole run");
                    reasons.push(Reason::new(format!("{}#{given}", run.number), said));
                }
                reasons.push(Reason::new(at, judged(verdict)));
            }
            Entry::Proposed { proposal, .. } if step.number == proposed => {
                reasons.push(Reason::new(at, format!("{}.{} was proposed", proposal.slot, proposal.method)));
                let from: Vec<_> = proposal.provenance.sources.iter().map(source).collect();
                reasons.push(Reason::new("it depends on", from.join(", ")));
                hands::of_call(desk, run, proposal, reasons)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The yes for the whole run under which a call began that was not asked about: the step, and the message that asked
/// about the same call before.
fn earlier_yes(steps: &[Step], proposed: u64) -> Option<(u64, MessageNumber)> {
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

/// What the gates said; nothing need be said for what is allowed.
fn judged(verdict: &Verdict) -> String {
    let found: Vec<_> = verdict.findings.iter().map(finding_line).collect();
    let decision = format!("{:?}", verdict.decision).to_lowercase();
    match found.is_empty() {
        true => format!("the gates said {decision}"),
        false => format!("the gates said {decision}: {}", found.join("; ")),
    }
}

fn answer(desk: &Desk, number: MessageNumber, approved: bool) -> Result<String, Failure> {
    let daemon = &desk.daemon;
    let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?;
    let reason = letter.iter().flat_map(|l| l.mail.answers.values()).find_map(|a| match a {
        Answer::Denied { reason, .. } if !approved => Some(reason.visible_line().into_owned()),
        _ => None,
    });
    Ok(match (approved, reason) {
        (true, _) => format!("you approved message {number}"),
        (false, Some(reason)) => format!("you denied message {number}: {reason}"),
        (false, None) => format!("you denied message {number}"),
    })
}
