//! Runs: a driver that makes the moves of a real driver, and now and then a forbidden one.

use std::collections::{BTreeMap, BTreeSet};

use kernel::budget::LimitKind;
use kernel::command::{Act, Advance, Binding, Judgement, Move, Reply, SlotGrant, Start, Target, Writing};
use kernel::formula::Formula;
use kernel::proposal::{Caller, Decision, Effect, Finding, Pin, Proposal, Verdict};
use kernel::provenance::Provenance;
use kernel::run::{
    CallSite, Completion, ConversationView, Entry, Origin, Phase, Run, Shape, State, Trouble, Usage,
};
use kernel::slot::Slot;
use kernel::{BlobHash, FormulaId, RunNumber, StepRef, Value};

use crate::laws::{Broken, Law};
use crate::simulation::Simulation;

use super::{act, endow, mail, outcome, text};

/// The slots that runs ask for.
pub(crate) const WISHED: [&str; 3] = ["four", "five", "six"];

/// The names of the workers that runs make.
const MADE: [&str; 3] = ["one", "two", "three"];

pub(super) fn step(world: &mut Simulation) -> Law {
    let open: Vec<_> = world.runs.iter().filter(|(_, run)| !run.is_finished()).map(|(key, _)| *key).collect();
    if world.random.one_in(20) {
        return open_journal(world);
    }
    if open.len() < 2 || world.random.one_in(12) {
        return start(world);
    }
    if world.random.one_in(60) {
        let is_over = |run: &kernel::run::Run| run.is_finished();
        let over: Vec<_> = world.runs.iter().filter(|(_, run)| is_over(run)).map(|(key, _)| *key).collect();
        let over = world.random.any(&over).map(|(owner, number)| (*owner, RunNumber(*number)));
        let (owner, number) = over.unwrap_or_else(|| super::some_run(world));
        return settle(world, FormulaId { number: owner, node: world.root().node }, number);
    }
    let (owner, number) = if world.random.one_in(40) {
        super::some_run(world)
    } else {
        let (owner, number) = *world.random.pick(&open);
        (owner, RunNumber(number))
    };
    let actor = FormulaId { number: owner, node: world.root().node };
    let Some(run) = world.runs.get(&(owner, number.0)).cloned() else {
        let advance = Advance { run: number, moves: vec![] };
        return act(world, actor, Act::Advance(advance));
    };
    match run.state {
        State::Stalled { .. } if !world.random.one_in(8) => act(world, actor, resume(number)),
        _ if world.random.one_in(if run.shape == Shape::Chat { 4 } else { 200 }) => {
            let (said, text) = (text("and then?"), text("almoner chat"));
            act(world, actor, Act::Say { run: number, said, documents: vec![], text })
        }
        State::Waiting if !world.random.one_in(8) => mail::answer(world, actor),
        _ if world.random.one_in(60) => act(world, actor, resume(number)),
        _ => advance(world, actor, &run),
    }
}

fn resume(run: RunNumber) -> Act {
    Act::Resume { runs: vec![run], named: Some(run) }
}

/// Records that the changes of a run were undone, applied or discarded, or forgets the documents that it worked on.
fn settle(world: &mut Simulation, actor: FormulaId, run: RunNumber) -> Law {
    let files = vec![];
    let what = match world.random.below(4) {
        0 => Act::Undo { run, files },
        1 => Act::Apply { run, files },
        2 => Act::Discard { run, files: vec![] },
        _ => Act::Forget { run },
    };
    act(world, actor, what)
}

/// Opens the journal in which an agent acts without a run, and proposes a call in it.
fn open_journal(world: &mut Simulation) -> Law {
    let agents: Vec<FormulaId> = world.agents.iter().map(|agent| agent.id).collect();
    let agent = *world.random.pick(&agents);
    let root = world.root();
    let actor = if world.random.one_in(10) { super::actor(world) } else { root };
    let found = world.apply(actor, Act::OpenAgentJournal { agent })?;
    let Ok(Reply::AgentJournal { at }) = found.map(|outcome| outcome.reply) else { return Ok(()) };
    let Some(run) = world.runs.get(&(at.host.number, at.run.0)).cloned() else { return Ok(()) };
    let moves = vec![Move::Propose { proposals: vec![judgement(world, at.host, &run)] }];
    act(world, at.host, Act::Advance(Advance { run: at.run, moves }))
}

/// Returns where a call comes from that an agent makes without a run, and a grant that it may have.
fn direct(world: &mut Simulation, agent: FormulaId) -> (CallSite, Option<FormulaId>) {
    let seen = world.seen.clone();
    let open: Vec<FormulaId> = world.evals.iter().copied().collect();
    let origin = world.random.one_in(3).then(|| Origin {
        eval: match world.random.any(&open) {
            Some(eval) if !world.random.one_in(8) => *eval,
            _ => *world.random.pick(&seen),
        },
        send: u32::try_from(world.random.below(3)).unwrap_or_default(),
    });
    let mut grant = None;
    for _ in 0..12 {
        let id = *world.random.pick(&seen);
        let row = kernel::table::formula(&mut world.store, &id).ok().flatten();
        if let Some(Formula::Grant { holder, .. }) = row.map(|row| row.formula)
            && holder == agent
        {
            grant = Some(id);
        }
    }
    (CallSite::Direct { origin }, grant)
}

fn start(world: &mut Simulation) -> Law {
    let hosts: Vec<FormulaId> =
        world.agents.iter().filter(|agent| agent.is_host).map(|agent| agent.id).collect();
    let host = match world.random.below(10) {
        0 => super::actor(world),
        1..4 => *world.random.pick(&hosts),
        _ => world.root(),
    };
    let mut slots = vec!["out"];
    slots.extend(["w", "a", "post", "make"].into_iter().filter(|_| world.random.one_in(2)));
    slots.extend(["q", "t"].into_iter().filter(|_| world.random.one_in(6)));
    slots.extend(["m"].into_iter().filter(|_| world.random.one_in(4)));
    let bindings = slots.into_iter().map(|slot| endow::bind(world, host, slot)).collect();
    let mut start = Start { bindings, ..endow::start(world, "clerk") };
    if world.random.one_in(5) {
        start.shape = Shape::Chat;
    }
    act(world, host, Act::Start(Box::new(start)))
}

/// Starts a run whose one slot is bound to a name.
pub(super) fn start_with(
    world: &mut Simulation,
    host: FormulaId,
    name: &str,
) -> Result<Option<RunNumber>, Broken> {
    let target = Target::Named { path: super::path(name) };
    let binding = Binding { target, ..endow::bind(world, host, "a") };
    let start = Start { bindings: vec![binding], shape: Shape::Single, ..endow::start(world, "clerk") };
    let started = world.apply(host, Act::Start(Box::new(start)))?;
    Ok(match started.map(|outcome| outcome.reply) {
        Ok(Reply::Started { run }) => Some(run),
        _ => None,
    })
}

/// Lets a run try to use one of its grants.
pub(super) fn use_once(world: &mut Simulation, actor: FormulaId, number: RunNumber) -> Law {
    let Some(run) = world.runs.get(&(actor.number, number.0)).cloned() else { return Ok(()) };
    let mut judged = judgement(world, actor, &run);
    judged.verdict.decision = Decision::Allow;
    act(
        world,
        actor,
        Act::Advance(Advance { run: number, moves: vec![Move::Propose { proposals: vec![judged] }] }),
    )
}

fn advance(world: &mut Simulation, actor: FormulaId, run: &Run) -> Law {
    let mut moves = vec![one(world, actor, run)];
    if world.random.one_in(6) {
        moves.push(one(world, actor, run));
    }
    let prompt = run.next_step;
    let prompts = matches!(moves[0], Move::Prompt { .. });
    let asks = matches!(moves[0], Move::Write { writing: Writing::Request { .. }, .. });
    let result = world.apply(actor, Act::Advance(Advance { run: run.number, moves }))?;
    if prompts && result.is_ok() {
        world.last_prompt.insert((actor.number, run.number.0), prompt);
    }
    // The recipient may answer at once.
    if asks && result.is_ok() && world.random.one_in(2) {
        return mail::give_something(world, actor);
    }
    Ok(())
}

fn one(world: &mut Simulation, actor: FormulaId, run: &Run) -> Move {
    let steps: Vec<(u64, Phase)> = run.open.iter().map(|(step, phase)| (*step, *phase)).collect();
    let approved = steps.iter().find(|(_, phase)| *phase == Phase::Approved).map(|(step, _)| *step);
    let begun =
        steps.iter().find(|(_, phase)| matches!(phase, Phase::Executing { .. })).map(|(step, _)| *step);
    if let Some(proposal) = begun
        && let Some(written) = write(world, actor, run, proposal)
    {
        return written;
    }
    if let Some(proposal) = begun
        && world.random.one_in(3)
    {
        if let Some(asked) = ask(world, actor, run, proposal) {
            return asked;
        }
        if let Some(made) = make(world, actor, run, proposal) {
            return made;
        }
        if world.random.one_in(6) {
            return Move::Spill { proposal, whole: BlobHash::of(b"whole"), bytes: 100_000 };
        }
        if world.random.one_in(8) {
            return Move::Keep { bytes: 50_000 };
        }
        if world.random.one_in(4) {
            return Move::OutcomeUnknown { proposal };
        }
        return Move::Complete { proposal, completion: completion(world) };
    }
    if let Some(proposal) = approved
        && world.random.one_in(2)
    {
        if world.random.one_in(4)
            && let Some(judgement) = anew(world, actor, run, proposal)
        {
            return Move::Restate { proposal, judgement: Box::new(judgement) };
        }
        if world.random.one_in(8) {
            let findings = vec![Finding::new("operator/managed/none", "not on this machine")];
            return Move::Forbid { proposal, findings };
        }
        return Move::Begin { proposal };
    }
    let any = steps.first().map_or(1, |(step, _)| *step);
    if run.open.is_empty() && world.random.one_in(12) || world.random.one_in(80) {
        return exhaust(world);
    }
    match world.random.below(24) {
        0..3 => Move::Prompt { request: BlobHash::of(b"request"), model: run.model.clone() },
        3..5 => Move::Reply {
            prompted: world.last_prompt.get(&(actor.number, run.number.0)).copied().unwrap_or(1),
            reply: BlobHash::of(b"reply"),
            usage: Usage {
                input_tokens: 5,
                output_tokens: 2,
                model_ms: 9,
                usd_micros: 3,
                kept_bytes: 40,
                ..Usage::default()
            },
            model: None,
        },
        5 if world.random.one_in(4) => Move::Shrink {
            view: ConversationView { results_before: any, turns_before: 0, max_bytes: None },
            why: "the model reads no more".to_owned(),
        },
        5 if world.random.one_in(2) => {
            let site = CallSite::Turn { replied: 1, index: 0, id: "x".to_owned() };
            Move::Page { site, of: any, from: 0, bytes: 10 }
        }
        5 => Move::Reject { site: None, findings: vec![Finding::new("output/invalid", "no")] },
        6..13 => propose(world, actor, run),
        13 => Move::Begin { proposal: any },
        14 => Move::Complete { proposal: any, completion: completion(world) },
        15..17 if matches!(run.shape, Shape::Each { .. }) => {
            let next = (0..2).find(|i| !run.children.contains_key(i)).unwrap_or(7);
            Move::Spawn { index: next }
        }
        15 | 16 => Move::Spawn { index: 5 },
        17..20 if world.random.one_in(4) => Move::Pause {
            prompted: world.last_prompt.get(&(actor.number, run.number.0)).copied().unwrap_or(1),
            until_ms: world.now_ms + i64::try_from(world.random.below(400)).unwrap() - 50,
            why: "the server asks to slow down".to_owned(),
        },
        17..20 => Move::Suspend {
            seen: if world.random.one_in(8) { 1 } else { run.next_step },
            why: "somebody is asked".to_owned(),
        },
        20 => Move::Stall {
            trouble: Trouble {
                code: "model/down".to_owned(),
                message: text("down"),
                help: "wait".to_owned(),
            },
        },
        _ => {
            let grants: Vec<FormulaId> = run.grants.values().copied().collect();
            Move::Finish { outcome: outcome(world, &grants) }
        }
    }
}

/// Returns the form of a call that asks, if it is one; now and then of one that is none, or that asks for a secret.
fn ask(world: &mut Simulation, actor: FormulaId, run: &Run, proposal: u64) -> Option<Move> {
    let at = StepRef { run: run.number, step: proposal };
    let step = kernel::table::step(&mut world.store, &actor.number, at).ok()??;
    let Entry::Proposed { proposal: called, .. } = step.entry else { return None };
    if called.method == "wait" || world.random.one_in(80) {
        let until_ms = world.now_ms + i64::try_from(world.random.below(400)).unwrap() - 50;
        return Some(Move::Wait { proposal, until_ms });
    }
    if called.method != "ask" && !world.random.one_in(60) {
        return None;
    }
    let field = kernel::message::Field {
        name: "answer".to_owned(),
        label: text(""),
        pattern: kernel::Pattern::any().to_value(),
        default: None,
        example: None,
        secret: world.random.one_in(30),
    };
    Some(Move::Ask { proposal, description: text("which?"), fields: vec![field] })
}

/// Returns the text that a call writes to the host. Now and then it differs from the proposed text, or belongs to a
/// call that does not write to the host.
fn write(world: &mut Simulation, actor: FormulaId, run: &Run, proposal: u64) -> Option<Move> {
    let at = StepRef { run: run.number, step: proposal };
    let step = kernel::table::step(&mut world.store, &actor.number, at).ok()??;
    let Entry::Proposed { proposal: called, .. } = step.entry else { return None };
    if called.slot != "m" && !world.random.one_in(200) {
        return None;
    }
    let said = called.args.first().and_then(Value::as_str).unwrap_or_default().to_owned();
    let said = if world.random.one_in(40) { text("other words") } else { text(&said) };
    let writing = match called.method.as_str() {
        "request" => {
            let slot = called.args.get(1).and_then(Value::as_str).unwrap_or_default().to_owned();
            Writing::Request { description: said, slot }
        }
        "define" => {
            let slot = Slot { label: text("what it is"), pattern: kernel::Pattern::any().to_value() };
            let slots = BTreeMap::from([("a".to_owned(), slot)]);
            Writing::Define { source: said, slots, description: text("for a sum") }
        }
        _ => Writing::Say { text: said },
    };
    Some(Move::Write { proposal, writing })
}

/// Returns the move of a run that has used up a limit.
fn exhaust(world: &mut Simulation) -> Move {
    let limit = *world.random.pick(&[
        LimitKind::Turns,
        LimitKind::Calls,
        LimitKind::Depth,
        LimitKind::Tokens,
        LimitKind::Usd,
        LimitKind::Wall,
        LimitKind::Refusals,
        LimitKind::Cards,
    ]);
    let trouble =
        Trouble { code: "budget/any".to_owned(), message: text("used up"), help: "raise".to_owned() };
    Move::Exhaust { limit, trouble }
}

/// Returns the move that makes a worker, if the call makes one. The worker gets grants of its maker or, now and then,
/// more.
fn make(world: &mut Simulation, actor: FormulaId, run: &Run, proposal: u64) -> Option<Move> {
    let at = StepRef { run: run.number, step: proposal };
    let step = kernel::table::step(&mut world.store, &actor.number, at).ok()??;
    let Entry::Proposed { proposal: called, .. } = step.entry else { return None };
    if called.method != "create" && !world.random.one_in(40) {
        return None;
    }
    let text = |index: usize| called.args.get(index).and_then(Value::as_str).unwrap_or_default().to_owned();
    let own: Vec<String> = run.grants.keys().cloned().collect();
    let mut slots = BTreeMap::new();
    for slot in ["out", "w", "make"] {
        if world.random.one_in(2) {
            continue;
        }
        let from = match world.random.any(&own) {
            Some(_) if world.random.one_in(20) => "what it has not".to_owned(),
            Some(own) => own.clone(),
            None => continue,
        };
        let grant = run.grants.get(&from).copied();
        let row = grant.and_then(|grant| kernel::table::grant(&mut world.store, &grant).ok().flatten());
        let methods = ["read", "write", "call", "send", "create"].into_iter();
        let held = |method: &&str| row.as_ref().is_some_and(|row| row.allows(method));
        let methods = methods.filter(held).map(str::to_owned).collect();
        slots.insert(slot.to_owned(), SlotGrant { from, methods, ask: BTreeSet::new() });
    }
    // Now and then more than its maker may.
    if world.random.one_in(10)
        && let Some(given) = slots.values_mut().next()
    {
        given.methods.insert("erase".to_owned());
    }
    let edited = run.additions.get(&proposal).and_then(|(_, addition)| addition.edited);
    let program = kernel::command::Program {
        name: text(0),
        definition: edited.unwrap_or_else(|| BlobHash::of(text(1).as_bytes())),
        includes: BTreeMap::new(),
        limits: kernel::run::Limits::default(),
    };
    Some(Move::Make { proposal, program, slots })
}

/// Returns a new judgement of an approved proposal, whose pinned file may have changed.
fn anew(world: &mut Simulation, actor: FormulaId, run: &Run, proposal: u64) -> Option<Judgement> {
    let at = StepRef { run: run.number, step: proposal };
    let step = kernel::table::step(&mut world.store, &actor.number, at).ok()??;
    let Entry::Proposed { site, proposal, .. } = step.entry else { return None };
    let mut judgement = judgement(world, actor, run);
    judgement.site = site;
    judgement.proposal = *proposal;
    let digest = BlobHash::of(world.random.pick(&["one", "two"]).as_bytes());
    judgement.proposal.pins =
        BTreeSet::from([Pin { kind: "file".to_owned(), name: "a.md".to_owned(), digest: Some(digest) }]);
    Some(judgement)
}

fn completion(world: &mut Simulation) -> Completion {
    match world.random.below(4) {
        0 => Completion::Failed(Finding::new("dir/full", "no room")),
        1 => Completion::Refused(vec![Finding::new("dir/changed", "somebody changed it")]),
        _ => Completion::Done { value: Value::string("ok"), provenance: Provenance::host() },
    }
}

fn propose(world: &mut Simulation, actor: FormulaId, run: &Run) -> Move {
    let count = if run.is_agent_journal() { 1 } else { 1 + world.random.below(2) };
    Move::Propose { proposals: (0..count).map(|_| judgement(world, actor, run)).collect() }
}

fn judgement(world: &mut Simulation, actor: FormulaId, run: &Run) -> Judgement {
    let slots: Vec<(String, FormulaId)> = run.grants.iter().map(|(slot, id)| (slot.clone(), *id)).collect();
    let seen = world.seen.clone();
    let (slot, grant) = match world.random.any(&slots).cloned() {
        Some(found) if !world.random.one_in(20) => found,
        _ => ("out".to_owned(), *world.random.pick(&seen)),
    };
    let method = match slot.as_str() {
        "w" => "call",
        "post" => "send",
        "make" => "create",
        "q" => "ask",
        "t" => "wait",
        "m" => *world.random.pick(&["send", "request", "request", "define"]),
        name if MADE.contains(&name) => "call",
        _ if world.random.one_in(12) => "erase",
        _ => "write",
    };
    let args = match slot.as_str() {
        "w" => vec![Value::record_from_map(Default::default())],
        name if MADE.contains(&name) => vec![Value::record_from_map(Default::default())],
        "make" => vec![Value::string(*world.random.pick(&MADE)), Value::string("Do it.")],
        "m" => vec![Value::string("a.md"), Value::string(*world.random.pick(&WISHED))],
        // Few texts, so that the same call is proposed again.
        _ => vec![Value::string(*world.random.pick(&["a.md", "b.md"]))],
    };
    let mut decision = *world.random.pick(&[Decision::Allow, Decision::Ask, Decision::Ask, Decision::Deny]);
    // Writing to the host mostly needs no approval.
    if slot == "m" && !world.random.one_in(4) {
        decision = Decision::Allow;
    }
    let (mut site, mut grant) = (CallSite::Write { index: 0 }, grant);
    if run.is_agent_journal() && !world.random.one_in(30) {
        let (own, found) = direct(world, run.worker);
        (site, grant) = (own, found.unwrap_or(grant));
    }
    Judgement {
        site,
        proposal: Proposal {
            principal: actor,
            run: run.number,
            grant,
            slot,
            method: method.to_owned(),
            args,
            effect: Effect::Modify,
            caller: Caller::Model,
            pins: BTreeSet::new(),
            provenance: Provenance::host(),
            traces: vec![],
            givers: vec![],
            place: None,
        },
        verdict: Verdict { decision, findings: vec![], gates: BlobHash([7; 32]), lift: None },
    }
}
