//! The acts of agents: random commands, most of them sensible, some of them not.

mod endow;
pub(crate) use endow::{ADDED, GIVEN};
mod mail;
mod names;
mod runs;
mod timers;

use std::collections::{BTreeMap, BTreeSet};

use kernel::code::{CodeEntry, CodePromise, HeapReference, OutcomeSubject, Reference};
use kernel::command::{
    Act, AgentKind, Cancel, CodeAct, Command, ExportedObject, Fault, MailAct, NameAct, ProvideAgent, Reply,
};
use kernel::env::Env;
use kernel::facet::Then;
use kernel::grant_usage::{GrantUsage, GrantUse};
use kernel::message::Mail;
use kernel::run::{RunOutcome, Trouble};
use kernel::{FormulaId, MessageNumber, NamePath, RunNumber, Value};
use passable::Untrusted;

use crate::image::Image;
use crate::laws::{self, Broken, Law};
use crate::simulation::Simulation;

/// The names that agents choose. Few, so that they meet.
pub(crate) const NAMES: [&str; 8] = ["a", "b", "c", "d", "dir", "box", "x", "\u{430}"];

/// How many commands a script has, at least; the collection at its end comes on top.
const COMMANDS: u64 = 205;

/// Plays one script to its end.
pub(crate) fn play(world: &mut Simulation) -> Law {
    set_up(world)?;
    while world.counts.commands < COMMANDS {
        step(world)?;
        match world.random.below(80) {
            0 => world.crash()?,
            1..20 => world.commit(),
            _ => {}
        }
    }
    laws::at_rest(world)
}

pub(crate) fn text(text: &str) -> Untrusted {
    Untrusted::new(text)
}

pub(crate) fn path(text: &str) -> NamePath {
    NamePath::parse(text).unwrap()
}

fn provide(kind: AgentKind, name: &str, agent_name: Option<&str>, introduced: &[(&str, &str)]) -> Act {
    Act::Provide(ProvideAgent {
        kind,
        name: Some(path(name)),
        agent_name: agent_name.map(path),
        introduced: introduced
            .iter()
            .map(|(mine, theirs)| ((*mine).to_owned(), (*theirs).to_owned()))
            .collect(),
    })
}

/// Returns a host, a host below it, two guests of the first and one of the second, who know of each other.
fn set_up(world: &mut Simulation) -> Law {
    // Before genesis there is nothing to act on.
    if world.random.one_in(32) {
        let root = world.root();
        let unborn = Env::new(0, [0; 32]);
        let command = Command { actor: root, act: Act::Recover, said: None };
        match kernel::apply(&mut Image::new(), &unborn, command) {
            Err(fault @ Fault::Genesis(_)) => world.counts.refused("recover", &fault),
            other => return Err(Broken::of("nothing-comes-before-genesis", format!("{other:?}"))),
        }
    }
    let root = world.root();
    insist(world, root, provide(AgentKind::Guest, "g1", Some("g1-agent"), &[]))?;
    insist(world, root, provide(AgentKind::Guest, "g2", None, &[("g1", "peer")]))?;
    let sub = insist(world, root, provide(AgentKind::Host, "sub", Some("sub-agent"), &[("g1", "g1")]))?;
    if let Reply::Agent { agent, .. } = sub {
        insist(world, agent, provide(AgentKind::Guest, "g3", None, &[]))?;
    }
    insist(world, root, provide(AgentKind::Guest, "g1", None, &[("g2", "peer")]))?;
    world.commit();
    Ok(())
}

/// Does it again until there is room for it.
fn insist(world: &mut Simulation, actor: FormulaId, act: Act) -> Result<Reply, Broken> {
    loop {
        match world.apply(actor, act.clone())? {
            Ok(outcome) => return Ok(outcome.reply),
            Err(Fault::Store(_)) => {}
            Err(fault) => return Err(Broken::of("a-setting-can-be-made", fault.to_string())),
        }
    }
}

/// Hosts have more to do than guests, the first most of all.
fn actor(world: &mut Simulation) -> FormulaId {
    let at = match world.random.below(10) {
        0..4 => 0,
        _ => world.random.below(world.agents.len()),
    };
    let actor = world.agents[at].id;
    // The dead speak only now and then.
    if world.is_alive(&actor) || world.random.one_in(20) { actor } else { world.root() }
}

fn step(world: &mut Simulation) -> Law {
    let actor = actor(world);
    match world.random.below(112) {
        100.. => timers::step(world, actor),
        0..21 => names::step(world, actor),
        21..50 => mail::step(world, actor),
        50..62 => endow::step(world, actor),
        62..80 => runs::step(world),
        80..88 => names::grants(world, actor),
        88..94 => collect(world, actor),
        94..96 => cancel(world, actor),
        96 => recover(world),
        97 => more_agents(world),
        _ => evaluated(world, actor),
    }
}

pub(crate) fn act(world: &mut Simulation, actor: FormulaId, act: Act) -> Law {
    world.apply(actor, act).map(drop)
}

fn collect(world: &mut Simulation, actor: FormulaId) -> Law {
    // It is the daemon that collects.
    let actor = if world.random.one_in(20) { actor } else { world.root() };
    let budget = u32::try_from(*world.random.pick(&[1, 2, 3, 5, 20, 200])).unwrap();
    let mut pinned = BTreeSet::new();
    if world.random.one_in(4) {
        let seen = world.seen.clone();
        pinned.extend(world.random.any(&seen).copied());
    }
    let there: Vec<FormulaId> = pinned.iter().copied().filter(|id| world.is_alive(id)).collect();
    let fresh = !crate::laws::is_collecting(world);
    act(world, actor, Act::Collect { budget, pinned })?;
    for id in there {
        // A formula that was being removed before it was pinned counts as gone already.
        laws::expect(!fresh || world.is_alive(&id), "what-is-pinned-stays", || format!("{id:?}"))?;
    }
    Ok(())
}

fn cancel(world: &mut Simulation, actor: FormulaId) -> Law {
    let what = match world.random.below(4) {
        0 | 1 => Cancel::Name { path: names::path(world, actor) },
        2 if world.random.one_in(2) => return withdraw(world, actor),
        2 => {
            let named = world.random.one_in(2).then(|| names::path(world, actor).to_string());
            let vat = world.found(actor, named.as_deref().unwrap_or("@main"));
            Cancel::Vat { vat: vat.unwrap_or(actor) }
        }
        _ => {
            let (owner, run) = some_run(world);
            let what = Cancel::Run { run };
            let owner = FormulaId { number: owner, node: actor.node };
            return act(world, owner, Act::Cancel { what, reason: text("enough") });
        }
    };
    act(world, actor, Act::Cancel { what, reason: text("") })
}

/// Withdraws a request. Now and then its recipient still tries to answer it.
fn withdraw(world: &mut Simulation, actor: FormulaId) -> Law {
    let number = letter(world, &actor, |mail, received| !received && mail.envelope.kind == "request");
    let message = world.message(&actor, number);
    let what = Cancel::Name { path: path(&format!("@mail/{number}/@promise")) };
    act(world, actor, Act::Cancel { what, reason: text("never mind") })?;
    if world.random.one_in(2) {
        return Ok(());
    }
    let Some(message) = message else { return Ok(()) };
    let copy = world.letters.iter().find_map(|(owner, letters)| {
        let has = |mail: &Mail| mail.message == Some(message) && *owner != actor.number;
        letters.iter().find(|(_, mail)| has(mail)).map(|(number, _)| (*owner, *number))
    });
    let Some((owner, number)) = copy else { return Ok(()) };
    let asked = FormulaId { number: owner, node: actor.node };
    let answer = MailAct::Reject { number, reason: text("too late") };
    act(world, asked, Act::Mail(Box::new(answer)))
}

fn recover(world: &mut Simulation) -> Law {
    world.recover()
}

/// Returns a run, or a number that no run has.
fn some_run(world: &mut Simulation) -> (kernel::txn::Owner, RunNumber) {
    let open: Vec<_> = world.runs.iter().filter(|(_, run)| !run.is_finished()).map(|(key, _)| *key).collect();
    let all: Vec<_> = world.runs.keys().copied().collect();
    let from = if world.random.one_in(5) { &all } else { &open };
    match world.random.any(from) {
        Some((owner, number)) => (*owner, RunNumber(*number)),
        None => (world.root().number, RunNumber(999)),
    }
}

fn more_agents(world: &mut Simulation) -> Law {
    let hosts: Vec<FormulaId> =
        world.agents.iter().filter(|agent| agent.is_host).map(|agent| agent.id).collect();
    let host = if world.random.one_in(8) { actor(world) } else { *world.random.pick(&hosts) };
    let kind = if world.random.one_in(4) { AgentKind::Host } else { AgentKind::Guest };
    let name = *world.random.pick(&["g1", "g2", "h", "h", "box", "sub"]);
    let agent_name = world.random.one_in(4).then_some("h-agent");
    let mine = *world.random.pick(&["g1", "dir", "a", "b", "@agent", "@self"]);
    act(world, host, provide(kind, name, agent_name, &[(mine, "shared")]))
}

/// Returns something that code does, or is said to do.
fn code(world: &mut Simulation, actor: FormulaId, eval: FormulaId, endowments: &[FormulaId]) -> Law {
    let seen = world.seen.clone();
    let thing = |world: &mut Simulation| *world.random.pick(&seen);
    let number = |world: &mut Simulation, most| u32::try_from(world.random.below(most)).unwrap_or_default();
    let done = match world.random.below(15) {
        0..3 => {
            let from = kernel::code::length(&mut world.store, &eval).unwrap_or_default();
            let (id, agent) = (thing(world), thing(world));
            let through = if world.random.one_in(3) { vec![thing(world)] } else { vec![] };
            let to = Reference::Object { id, agent, through };
            let bound = vec![HeapReference { slot: 0, to }];
            let heard = CodeEntry::Heard { of: OutcomeSubject::Send(0), outcome: String::new(), bound };
            CodeAct::Record { eval, from: from + u64::from(world.random.one_in(10)), entries: vec![heard] }
        }
        3..6 => {
            let base = if world.random.one_in(4) {
                thing(world)
            } else {
                *world.random.any(endowments).unwrap_or(&eval)
            };
            let path = NamePath::new([(*world.random.pick(&["x", "y"])).to_owned()]).unwrap();
            let inside = NameAct::MakeDirectory { path };
            let within = Act::Name(NameAct::Within { base, act: Box::new(inside) });
            let keep = CodeAct::Keep { eval, name: "k".to_owned(), value: Some(Value::null()) };
            let cancel = CodeAct::Cancel { eval, reason: text("of its own") };
            let act = match world.random.below(8) {
                0 => Act::Code(cancel),
                1..4 => Act::Code(keep),
                _ => within,
            };
            let act = Box::new(act);
            let send = world.random.one_in(2).then(|| number(world, 4));
            let actor = if world.random.one_in(4) { thing(world) } else { eval };
            CodeAct::Do { eval, send, actor, then: Then::Nothing, reach: Box::new(Reference::Passing), act }
        }
        6 => {
            let exported =
                ExportedObject { number: number(world, 3), interface: "Alleged: X".to_owned(), guard: None };
            CodeAct::Export { eval, objects: vec![exported] }
        }
        7 => CodeAct::Promise { eval, promises: vec![code_promise(world)] },
        8 => {
            let what = match world.random.below(4) {
                0 => Value::promise(kernel::code::promise_id(&eval, code_promise(world))),
                1 => Value::remotable(thing(world)),
                _ => Value::string("kept"),
            };
            CodeAct::Settle { eval, settled: vec![(code_promise(world), RunOutcome::Done(what))] }
        }
        9 | 10 => {
            let held = *world.random.any(endowments).unwrap_or(&eval);
            let other = world.random.any(&world.evals.iter().copied().collect::<Vec<_>>()).copied();
            let agents: Vec<FormulaId> = world.agents.iter().map(|agent| agent.id).collect();
            let agent = *world.random.pick(&agents);
            let to = if world.random.one_in(2) { agent } else { other.unwrap_or(eval) };
            // Now and then the giver or the recipient is another formula, or the giver does not hold the object.
            let giver = if world.random.one_in(6) { thing(world) } else { eval };
            let to = if world.random.one_in(10) { thing(world) } else { to };
            let id = if world.random.one_in(6) { thing(world) } else { held };
            let through = if world.random.one_in(6) { vec![held] } else { vec![] };
            CodeAct::Give { giver, id, through, to, name: "argument".to_owned() }
        }
        13 => {
            let call = GrantUse::new(0, eval, "m", world.random.one_in(2));
            let uses = (0..2).map(|_| {
                let mut used = GrantUsage::default();
                used.add(call.clone());
                (thing(world), used)
            });
            CodeAct::Use { used: uses.collect() }
        }
        12 => CodeAct::Remake { eval, engine: "another".to_owned() },
        11 if world.random.one_in(3) => CodeAct::Cancel { eval, reason: text("of its own") },
        _ => CodeAct::Keep { eval, name: "n".to_owned(), value: world.random.one_in(2).then(Value::null) },
    };
    act(world, actor, Act::Code(done))
}

/// Returns one of the few promises that code makes here.
fn code_promise(world: &mut Simulation) -> CodePromise {
    match u32::try_from(world.random.below(3)).unwrap_or_default() {
        0 => CodePromise::Answer(0),
        number => CodePromise::Numbered(number),
    }
}

fn evaluated(world: &mut Simulation, actor: FormulaId) -> Law {
    let open: Vec<FormulaId> = world.evals.iter().copied().collect();
    let seen = world.seen.clone();
    let root = world.root();
    let eval = match world.random.any(&open) {
        Some(eval) if !world.random.one_in(20) => *eval,
        _ => *world.random.pick(&seen),
    };
    let endowments: Vec<FormulaId> = match world.formula(&eval) {
        Some(kernel::formula::Formula::Eval { endowments, .. }) => endowments.into_values().collect(),
        _ => vec![],
    };
    let actor = if world.random.one_in(20) { actor } else { root };
    if !world.random.one_in(3) {
        return code(world, actor, eval, &endowments);
    }
    let outcome = outcome(world, &endowments);
    act(world, actor, Act::Evaluated { eval, outcome })
}

/// Returns an outcome of work: data, a capability that the work had, or a failure.
pub(crate) fn outcome(world: &mut Simulation, had: &[FormulaId]) -> RunOutcome {
    match world.random.below(6) {
        0 => RunOutcome::Failed(Trouble {
            code: "model/unauthorized".to_owned(),
            message: text("the key was refused"),
            help: "set another".to_owned(),
        }),
        1 => RunOutcome::Done(Value::string("done")),
        _ => match world.random.any(had).copied() {
            Some(id) if world.random.one_in(2) => RunOutcome::Done(Value::remotable(id)),
            Some(id) => RunOutcome::Done(Value::record_from_map(BTreeMap::from([(
                "it".to_owned(),
                Value::remotable(id),
            )]))),
            None => RunOutcome::Done(Value::number(42.0)),
        },
    }
}

/// Returns a message in an agent's mailbox that fits, or any number.
pub(crate) fn letter(
    world: &mut Simulation,
    actor: &FormulaId,
    fits: impl Fn(&Mail, bool) -> bool,
) -> MessageNumber {
    let handle = world.agents.iter().find(|agent| agent.id == *actor).map(|agent| agent.handle.number);
    let all: Vec<MessageNumber> = world
        .letters
        .get(&actor.number)
        .into_iter()
        .flatten()
        .filter(|(_, mail)| mail.message.is_some() && fits(mail, Some(mail.envelope.to.0) == handle))
        .map(|(number, _)| *number)
        .collect();
    match world.random.any(&all) {
        Some(number) if !world.random.one_in(25) => *number,
        _ => MessageNumber(world.random.below(30) as u64),
    }
}
