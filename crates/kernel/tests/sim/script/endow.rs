//! Definitions, endowments and evaluations.

use std::collections::{BTreeMap, BTreeSet};

use kernel::command::{Act, Binding, Define, MailAct, Program, Start, Target, Text};
use kernel::formula::Formula;
use kernel::message::Body;
use kernel::modules::{ModuleFormat, Modules};
use kernel::run::{Attachment, Input, Limits, ResultGoesTo, Shape};
use kernel::slot::Slot;
use kernel::{BlobHash, FormulaId, NamePath, Pattern, Value};
use resource::Resource;

use crate::laws::Law;
use crate::simulation::Simulation;

use super::{NAMES, act, letter, mail, names, text};

pub(super) fn program(name: &str) -> Program {
    Program {
        name: name.to_owned(),
        definition: BlobHash::of(name.as_bytes()),
        includes: BTreeMap::new(),
        limits: Limits { depth: 3, ..Limits::default() },
    }
}

/// Slots that a program may have, by name.
fn pattern(slot: &str) -> Pattern {
    match slot {
        "out" => Pattern::remotable("dir rw"),
        "post" => Pattern::remotable("outbox"),
        "w" => Pattern::remotable("worker"),
        "a" => Pattern::any_remotable(),
        "b" => Pattern::any(),
        _ => Pattern::string(),
    }
}

fn program_text(world: &mut Simulation, worker: bool) -> Text {
    // Code names things as agents do, so that a name of one could be taken for that of another.
    let known: &[&str] = if worker { &["out", "post", "w", "a"] } else { &["a", "b", "s"] };
    let mut slots = BTreeMap::new();
    for name in known {
        if world.random.one_in(2) {
            let slot = Slot { label: text("what it is for"), pattern: pattern(name).to_value() };
            slots.insert((*name).to_owned(), slot);
        }
    }
    let worker = worker.then(|| program("guest-worker"));
    let source = if worker.is_some() { "guest-worker" } else { "E(a).go()" };
    Text { source: text(source), worker, slots }
}

pub(super) fn step(world: &mut Simulation, actor: FormulaId) -> Law {
    let it = match world.random.below(26) {
        0..5 => {
            let worker = world.random.one_in(2);
            let program = program_text(world, worker);
            let to = if world.random.one_in(8) { mail::party(world, actor) } else { super::path("@host") };
            MailAct::Define(Define { to, program, result_name: mail::result_name(world) })
        }
        5..7 => {
            let number =
                letter(world, &actor, |mail, received| received && mail.envelope.kind == "definition");
            let worker = world.random.one_in(2);
            MailAct::Edit { number, program: program_text(world, worker) }
        }
        7..15 => return endow(world, actor),
        15..18 => {
            let (names, paths) = mail::edges(world, actor, &NAMES[..2]);
            MailAct::RequestEvaluation {
                source: text("a + b"),
                names,
                paths,
                result_name: mail::result_name(world),
            }
        }
        18..22 => {
            let number =
                letter(world, &actor, |mail, received| received && mail.envelope.kind == "eval-request");
            MailAct::Grant { number, goes_to: goes_to(world) }
        }
        22..24 => MailAct::Make {
            vat: vat(world),
            modules: modules(world),
            powers: world.random.one_in(2).then(|| names::path(world, actor)),
            new_guest: world.random.one_in(4),
            result_name: mail::result_name(world),
        },
        _ => {
            let (names, paths) = mail::edges(world, actor, &NAMES[..2]);
            MailAct::Evaluate {
                vat: vat(world),
                source: text("a"),
                names,
                paths,
                result_name: mail::result_name(world),
            }
        }
    };
    act(world, actor, Act::Mail(Box::new(it)))
}

fn modules(world: &mut Simulation) -> Modules {
    let packed = *world.random.pick(&[ModuleFormat::Archive, ModuleFormat::Bundle, ModuleFormat::Tree]);
    let env = BTreeMap::from([("K".to_owned(), "v".to_owned())]);
    Modules { packed, hash: BlobHash::of(b"modules"), bytes: 7, entry: text("index.js"), env }
}

fn goes_to(world: &mut Simulation) -> ResultGoesTo {
    *world.random.pick(&[
        ResultGoesTo::GuestData,
        ResultGoesTo::GuestData,
        ResultGoesTo::GuestCapabilities,
        ResultGoesTo::Host,
    ])
}

/// Returns the place where code runs: mostly `None`, which leaves it to the kernel.
fn vat(world: &mut Simulation) -> Option<NamePath> {
    world.random.one_in(6).then(|| {
        let name: &&str = world.random.pick(&["@main", "vat", "a"]);
        super::path(name)
    })
}

fn endow(world: &mut Simulation, actor: FormulaId) -> Law {
    let number = letter(world, &actor, |mail, received| received && mail.envelope.kind == "definition");
    let mut worker = false;
    let mut slots: Vec<String> = vec![];
    if let Some(Formula::Message { message }) =
        world.message(&actor, number).and_then(|id| world.formula(&id))
        && let Body::Definition { definition, .. } = message.body
        && let Some(Formula::Definition { worker: program, slots: known, .. }) = world.formula(&definition)
    {
        worker = program.is_some();
        slots = known.into_keys().collect();
    }
    if world.random.one_in(20) {
        slots.pop();
    }
    if world.random.one_in(30) {
        worker = !worker;
    }
    let goes_to = goes_to(world);
    let result_name = world.random.one_in(2).then(|| names::spot(world));
    let it = if worker {
        let bindings = slots.iter().map(|slot| bind(world, actor, slot)).collect();
        let start = Start { bindings, ..start(world, "guest-worker") };
        MailAct::EndowWorker { number, start: Box::new(start), goes_to, result_name }
    } else {
        let bindings = slots.into_iter().map(|slot| (slot, names::path(world, actor))).collect();
        MailAct::EndowCode { number, bindings, vat: vat(world), goes_to, result_name }
    };
    act(world, actor, Act::Mail(Box::new(it)))
}

/// The path of the directory that a person gives to runs that ask for one.
pub(crate) const GIVEN: &str = "/given";

/// Where a person's additions to workers lead.
pub(crate) const ADDED: &str = "/added";

pub(super) fn bind(world: &mut Simulation, actor: FormulaId, slot: &str) -> Binding {
    let target = match slot {
        "out" if !world.random.one_in(4) => Target::Resource(Resource::directory("/out")),
        "post" if !world.random.one_in(4) => Target::Resource(Resource::Outbox { path: "/post".to_owned() }),
        "w" if !world.random.one_in(4) => Target::Worker(program("reader")),
        "make" => Target::Workshop,
        "q" => Target::Resource(Resource::Questions),
        "t" => Target::Resource(Resource::Alarm),
        "m" => Target::Resource(Resource::Mail),
        GIVEN => Target::Resource(Resource::directory(GIVEN)),
        "added" => Target::Resource(Resource::directory(ADDED)),
        _ => Target::Named { path: names::path(world, actor) },
    };
    let allow: &[&str] = if world.random.one_in(2) { &["write"] } else { &[] };
    Binding {
        slot: slot.to_owned(),
        target,
        methods: ["read", "write", "call", "send", "create", "ask", "wait", "request", "define"]
            .map(str::to_owned)
            .into(),
        attenuation: Default::default(),
        allow: allow.iter().map(|method| (*method).to_owned()).collect(),
        ask: BTreeSet::new(),
    }
}

pub(super) fn start(world: &mut Simulation, name: &str) -> Start {
    let document = |name: &str| Attachment {
        name: name.to_owned(),
        hash: BlobHash::of(name.as_bytes()),
        text: BlobHash::of(b"text"),
        bytes: 4,
        media_type: String::new(),
        notes: Vec::new(),
        rejected: None,
    };
    let each = world.random.one_in(3);
    Start {
        text: text("almoner run it"),
        worker: program(name),
        shape: if each { Shape::Each { jobs: 2, waiting: 100 } } else { Shape::Single },
        private: false,
        model: "scripted:x".to_owned(),
        input: Input {
            values: Value::record_from_map(BTreeMap::new()),
            attachments: if each { vec![] } else { vec![document("letter.txt")] },
            items: if each { vec![document("one.txt"), document("two.txt")] } else { vec![] },
            origins: vec![],
            earlier: None,
        },
        bindings: vec![],
        key: None,
    }
}
