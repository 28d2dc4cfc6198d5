//! Why: from a thing back to the rule, the approval, the grant and the message that caused it.

use std::collections::BTreeMap;

use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::message::{Answer, Body};
use kernel::proposal::{Caller, Decision, Proposal, Verdict};
use kernel::run::{Completion, Entry, Parent, Place, Run, Step};
use kernel::{FormulaId, MessageNumber, RunNumber, StepRef, query, standing, table};
use passable::{visible_line, with_article};
use worker::World as _;

use super::desk::Desk;
use super::listing;
use super::world::Daemon;
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

/// The chain of reasons for a thing.
pub fn why(desk: &Desk, thing: &str) -> Result<Vec<Reason>, Failure> {
    // Every text is some thing.
    match thing.parse().unwrap_or_else(|_| Thing::Name(thing.to_owned())) {
        Thing::Run(run) => of_run(desk, run),
        Thing::Step(step) => of_step(desk, step),
        Thing::Message(number) => of_message(desk, number),
        Thing::Name(name) => of_name(desk, &name),
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
                grant(desk, proposal, reasons)?;
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

fn grant(desk: &Desk, proposal: &Proposal, reasons: &mut Vec<Reason>) -> Result<(), Failure> {
    let found = desk.daemon.read(|txn| table::grant(txn, &proposal.grant))?;
    let Some(grant) = found else {
        reasons.push(Reason::new(format!("grant {}", proposal.grant.short()), "is gone since"));
        return Ok(());
    };
    let words = made_on(&desk.daemon, proposal)?.map_or_else(|| grant.words.clone(), |f| target_words(&f));
    let methods: Vec<_> = grant.methods.iter().map(String::as_str).collect();
    reasons.push(Reason::new(
        format!("grant {}", grant.id.short()),
        format!("`{}` is {} ({})", grant.slot, words, methods.join(", ")),
    ));
    // Whose work it is says by which command it was endowed; what an agent has was sent to it.
    if let (Caller::Code, Some(source)) = (proposal.caller, grant.source) {
        let owner = FormulaId { number: grant.owner.0, node: grant.id.node };
        let by = match owner == desk.daemon.host {
            true => "you gave it",
            false => "it was given",
        };
        reasons.push(Reason::new(format!("message {source}"), by.to_owned()));
        command(desk, &owner, source, reasons)?;
    }
    Ok(())
}

/// A directory without links, as the client names files; as it was endowed, if it is gone.
fn real(path: &str) -> std::path::PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// What a run has to do with a name, the most telling last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A slot of it, or a directory that it was given.
    Slot,
    /// It read the file.
    Read,
    /// It changed the file in a staged copy that was not put in place.
    Staged,
    /// It changed the file.
    Changed,
}

/// What is known of a name from one run.
struct Known {
    part: Part,
    /// When it was done: what a run changes is done once it completes, or is put in place.
    at_ms: i64,
    at: String,
    reasons: Vec<Reason>,
}

/// How many runs are still looked at for a later change once one is found.
const LATER: usize = 5_000;

/// A name is a file that was written, or a slot.
fn of_name(desk: &Desk, name: &str) -> Result<Vec<Reason>, Failure> {
    let (mut best, mut staged, mut looked_at): (Option<Known>, Option<(i64, String)>, _) = (None, None, 0);
    // The youngest run need not have changed it last: another may have waited for an answer.
    listing::for_each_run(&desk.daemon, None, |run| {
        if let Some(best) = best.as_ref().filter(|best| best.part == Part::Changed) {
            looked_at += 1;
            if last_ms(desk, &run)? < best.at_ms {
                return Ok(looked_at < LATER);
            }
        }
        let Some(known) = of_name_in(desk, name, &run)? else { return Ok(looked_at < LATER) };
        if known.part == Part::Staged && staged.is_none() {
            staged = Some((known.at_ms, known.at.clone()));
        }
        if best.as_ref().is_none_or(|best| (best.part, best.at_ms) < (known.part, known.at_ms)) {
            best = Some(known);
        }
        Ok(looked_at < LATER && best.as_ref().is_none_or(|best| best.part != Part::Slot))
    })?;
    let Some(mut best) = best else {
        return Err(Failure::new(Exit::NotFound, format!("nothing is known of `{name}`")).help(
            "ask about a run (r17), a step (r17#9), a message number, a slot, or a file that a run wrote",
        ));
    };
    if best.part == Part::Changed
        && let Some((at_ms, at)) = staged
        && at_ms > best.at_ms
    {
        let said = "changed it later in a staged copy alone: that is not what lies there";
        best.reasons.insert(1, Reason::new(at, said));
    }
    Ok(best.reasons)
}

/// When something was last recorded of a run, or of the one above all others: there stands what was put in place.
fn last_ms(desk: &Desk, run: &Run) -> Result<i64, Failure> {
    let mut latest = run.started_ms;
    for run in [run, &top(desk, run)?] {
        listing::for_each_step(&desk.daemon, run.number, run.next_step.saturating_sub(1), |step| {
            latest = latest.max(step.at_ms);
            true
        })?;
    }
    Ok(latest)
}

/// The run that a person started.
fn top(desk: &Desk, run: &Run) -> Result<Run, Failure> {
    let mut top = run.clone();
    while let Some(Parent { run: parent, .. }) = top.parent {
        top = self::run(desk, parent)?;
    }
    Ok(top)
}

/// The last call of an agent's that put a file there.
fn of_file_in(desk: &Desk, name: &str, run: &Run) -> Result<Option<Known>, Failure> {
    let (daemon, wanted) = (&desk.daemon, std::path::Path::new(name));
    let (mut open, mut last, mut roots) = (BTreeMap::new(), None, BTreeMap::new());
    listing::for_each_step(daemon, run.number, 1, |step| {
        match step.entry {
            Entry::Proposed { proposal, .. } if proposal.effect != passable::Effect::Observe => {
                open.insert(step.number, proposal);
            }
            Entry::Completed { proposal, completion } => {
                let made = open.remove(&proposal);
                if let (Some(made), Completion::Done { value, .. }) = (made, completion)
                    && let Some(path) = value.get("path").and_then(kernel::Value::as_str)
                {
                    let root = roots.entry(standing::target(&made)).or_insert_with(|| {
                        match made_on(daemon, &made) {
                            Ok(Some(Formula::Mount { path, .. })) => Some(real(&path)),
                            _ => None,
                        }
                    });
                    if path == name || root.as_ref().is_some_and(|root| root.join(path) == wanted) {
                        last = Some((proposal, step.at_ms));
                    }
                }
            }
            _ => {}
        }
        true
    })?;
    let Some((step, at_ms)) = last else { return Ok(None) };
    let at = StepRef { run: run.number, step };
    let mut reasons = vec![Reason::new(name, "was written by an effect")];
    reasons.extend(of_step(desk, at)?);
    Ok(Some(Known { part: Part::Changed, at_ms, at: at.to_string(), reasons }))
}

/// What a person had done since a step of a run with what that run changed of a file: put in place, put back. The newest
/// first. It stands in the journal of the run that a person started.
fn settled(desk: &Desk, run: &Run, file: &std::path::Path, since: u64) -> Result<Vec<Settled>, Failure> {
    let top = top(desk, run)?;
    // A step of a child cannot be compared with those of the run above it; nothing is settled before all is over.
    let from = if top.number == run.number { since } else { 1 };
    let mut found = Vec::new();
    listing::for_each_step(&desk.daemon, top.number, from, |step| {
        let (at, at_ms) = (StepRef { run: top.number, step: step.number }.to_string(), step.at_ms);
        let (files, what) = match step.entry {
            Entry::Undone { files } => (files, "undone: it is again what it was"),
            Entry::Applied { files } => (files, "applied: it is what the run left in its staged copy"),
            Entry::Discarded => {
                let said = format!("you had the staged copy of {} thrown away", top.number);
                found.push(Settled { at_ms, in_place: false, reason: Reason::new(at, said) });
                return true;
            }
            _ => return true,
        };
        if let Some(put_back) =
            files.into_iter().find(|put_back| std::path::Path::new(&put_back.path) == file)
        {
            let said = format!("you had {} {what} ({})", top.number, put_back.to);
            found.push(Settled { at_ms, in_place: true, reason: Reason::new(at, said) });
        }
        true
    })?;
    found.reverse();
    Ok(found)
}

/// What a person had done with what a run changed.
struct Settled {
    at_ms: i64,
    /// Whether the file itself changed by it.
    in_place: bool,
    reason: Reason,
}

/// What one run has to do with the name; nothing, most often.
fn of_name_in(desk: &Desk, name: &str, run: &Run) -> Result<Option<Known>, Failure> {
    let daemon = &desk.daemon;
    if run.is_standing() {
        return of_file_in(desk, name, run);
    }
    let wanted = std::path::Path::new(name);
    let mut directories = BTreeMap::new();
    for (slot, id) in &run.grants {
        // What was collected since has left no path to compare.
        let Ok((grant, formula)) = daemon.grant(id) else { continue };
        let formula = meant(&grant, formula);
        let directory = match &formula {
            Formula::Mount { path, .. } | Formula::Spool { path } => Some(real(path)),
            _ => None,
        };
        directories.insert(*id, (slot, grant, formula, directory));
    }
    // A file that could be one of this run's is looked for in its journal.
    let is_near = directories.values().any(|(.., directory)| {
        directory.as_ref().is_some_and(|directory| wanted.starts_with(directory) || wanted.is_relative())
    });
    if is_near {
        let steps = daemon.read(|txn| query::journal(txn, &daemon.host.number, run.number, 1))?;
        let proposals: BTreeMap<u64, &Proposal> = steps
            .iter()
            .filter_map(|step| match &step.entry {
                Entry::Proposed { proposal, .. } => Some((step.number, &**proposal)),
                _ => None,
            })
            .collect();
        // What was done last, not what was proposed last. Reading is told of only if nothing was done.
        let mut read = None;
        for step in steps.iter().rev() {
            let Entry::Completed { proposal: at, completion: Completion::Done { value, .. } } = &step.entry
            else {
                continue;
            };
            let Some(proposal) = proposals.get(at) else { continue };
            let Some((.., Some(directory))) = directories.get(&proposal.grant) else { continue };
            let made = ["path", "file", "directory"]
                .into_iter()
                .find_map(|field| value.get(field)?.as_str().map(str::to_owned));
            let Some(made) = made else { continue };
            let is_read = proposal.effect == passable::Effect::Observe;
            let file = directory.join(&made);
            if file != wanted && (is_read || made != name) {
                continue;
            }
            if !is_read {
                return Ok(Some(of_change(desk, name, run, &steps, (*at, step.at_ms), proposal, &file)?));
            }
            if read.is_none() {
                read = Some((*at, step.at_ms));
            }
        }
        if let Some((at, at_ms)) = read {
            let mut reasons = vec![Reason::new(name, "was read")];
            of_proposal(desk, run, &steps, at, &mut reasons)?;
            cause_of_run(desk, run, &mut reasons)?;
            let at = StepRef { run: run.number, step: at }.to_string();
            return Ok(Some(Known { part: Part::Read, at_ms, at, reasons }));
        }
    }
    for (slot, grant, formula, directory) in directories.values() {
        if *slot == name || directory.as_ref().is_some_and(|directory| directory == wanted) {
            let mut reasons = vec![Reason::new(
                format!("slot {slot}"),
                format!("is {} for {}", target_words(formula), run.number),
            )];
            if let Some(source) = grant.source {
                command(desk, &desk.daemon.host, source, &mut reasons)?;
            }
            let at = run.number.to_string();
            return Ok(Some(Known { part: Part::Slot, at_ms: run.started_ms, at, reasons }));
        }
    }
    Ok(None)
}

/// A change that a run made of a file, with what a person had done with it since.
fn of_change(
    desk: &Desk,
    name: &str,
    run: &Run,
    steps: &[Step],
    (proposed, done_ms): (u64, i64),
    proposal: &Proposal,
    file: &std::path::Path,
) -> Result<Known, Failure> {
    let since = settled(desk, run, file, proposed)?;
    let put = since.iter().filter(|one| one.in_place).map(|one| one.at_ms).max();
    let grant = desk.daemon.read(|txn| table::grant(txn, &proposal.grant))?;
    let is_staged = grant.is_some_and(|grant| grant.attenuation.staged_from.is_some());
    let part = if is_staged && put.is_none() { Part::Staged } else { Part::Changed };
    let mut reasons: Vec<Reason> = since.into_iter().map(|one| one.reason).collect();
    let done = match proposal.method.as_str() {
        "remove" => "removed",
        "move" => "moved there",
        "make_directory" => "made",
        _ => "written",
    };
    let place = if is_staged { "in a staged copy, " } else { "" };
    reasons.push(Reason::new(name, format!("was {done} {place}by an effect")));
    of_proposal(desk, run, steps, proposed, &mut reasons)?;
    cause_of_run(desk, run, &mut reasons)?;
    let at_ms = put.map_or(done_ms, |put| put.max(done_ms));
    let at = StepRef { run: run.number, step: proposed }.to_string();
    Ok(Known { part, at_ms, at, reasons })
}
