//! Workers in the slots of workers: each holds the bindings of its own slots, and nothing of its caller's.

use std::collections::{BTreeMap, BTreeSet};

use kernel::command::{Act, Binding, Move, Reply, Start, Target};
use kernel::proposal::Decision;
use kernel::run::{Input, Phase, RunOutcome, Shape, Usage};
use kernel::{BlobHash, RunNumber, Value};
use resource::Resource;

use crate::fixture::{Fixture, methods, program, text};

fn binding(slot: &str, target: Target, names: &[&str]) -> Binding {
    Binding {
        slot: slot.to_owned(),
        target,
        methods: methods(names),
        attenuation: Default::default(),
        allow: BTreeSet::new(),
        ask: BTreeSet::new(),
    }
}

fn mount(path: &str) -> Target {
    Target::Resource(Resource::directory(path))
}

pub(crate) fn start(world: &mut Fixture, reader: Target) -> RunNumber {
    let start = Start {
        text: text("almoner run clerk.worker"),
        worker: program("clerk"),
        shape: Shape::Single,
        private: false,
        model: "scripted:x".to_owned(),
        input: Input {
            values: Value::record_from_map(BTreeMap::new()),
            attachments: vec![],
            items: vec![],
            origins: vec![],
            earlier: None,
        },
        bindings: vec![
            binding("out", mount("/out"), &["read", "write"]),
            binding("reader", reader, &["call"]),
        ],
        key: None,
    };
    match world.apply(Act::Start(Box::new(start))).reply {
        Reply::Started { run } => run,
        other => panic!("{other:?}"),
    }
}

/// Calls the worker in the slot `reader`; the run that this begins, if it does.
fn call(world: &mut Fixture, run: RunNumber) -> Option<RunNumber> {
    let judgement = world.judgement(run, "reader", "call", Decision::Allow);
    world.advance(run, vec![Move::Propose { proposals: vec![judgement] }]);
    world.run(run).open.values().find_map(|phase| match phase {
        Phase::Called { child } => Some(*child),
        _ => None,
    })
}

#[test]
fn nested_worker_holds_only_its_own_slot_bindings() {
    let mut world = Fixture::new();
    let deeper = Target::Endowed {
        program: program("deeper"),
        bindings: vec![binding("place", mount("/deeper"), &["read"])],
    };
    let reader = Target::Endowed {
        program: program("reader"),
        bindings: vec![
            binding("place", mount("/reports"), &["read", "write"]),
            binding("reader", deeper, &["call"]),
        ],
    };
    let run = start(&mut world, reader);
    let child = call(&mut world, run).unwrap();
    let held: Vec<String> = world.run(child).grants.keys().cloned().collect();
    assert_eq!(held, ["place", "reader"]);
    assert_ne!(world.run(child).worker, world.run(run).worker);
    let own: BTreeSet<_> = world.run(run).grants.values().copied().collect();
    assert!(world.run(child).grants.values().all(|grant| !own.contains(grant)));
    let last = call(&mut world, child).unwrap();
    assert_eq!(world.run(last).grants.keys().collect::<Vec<_>>(), ["place"]);
    assert_eq!(world.run(last).depth, 2);
}

#[test]
fn self_calling_worker_keeps_its_grants_and_its_depth_limit() {
    let mut world = Fixture::new();
    let run = start(&mut world, Target::Myself);
    let limit = world.run(run).limits.depth;
    let mut at = run;
    for depth in 1..=limit {
        let child = call(&mut world, at).unwrap();
        assert_eq!(world.run(child).grants, world.run(run).grants);
        assert_eq!((world.run(child).worker, world.run(child).depth), (world.run(run).worker, depth));
        at = child;
    }
    assert_eq!(call(&mut world, at), None);
    let said = format!("{:?}", world.journal(at).last());
    assert!(said.contains("depth/limit"), "{said}");
}

/// Has the model of a run answer, for so many tokens, and ends the run.
fn answer(world: &mut Fixture, run: RunNumber, tokens: u64) {
    let prompted = world.run(run).next_step;
    let (request, model) = (BlobHash::of(b"request"), "m".to_owned());
    world.advance(run, vec![Move::Prompt { request, model }]);
    let usage = Usage { input_tokens: tokens, ..Usage::default() };
    let reply = Move::Reply { prompted, reply: BlobHash::of(b"reply"), usage, model: None };
    world.advance(run, vec![reply]);
    world.advance(run, vec![Move::Finish { outcome: RunOutcome::Done(Value::string("done")) }]);
}

#[test]
fn bytes_kept_for_a_child_count_for_its_caller() {
    let mut world = Fixture::new();
    let mut program = program("reader");
    program.limits.kept = 1 << 30;
    let run = start(&mut world, Target::Endowed { program, bindings: vec![] });
    let child = call(&mut world, run).unwrap();
    // The caller lends what is left of its own limit.
    let (limit, used) = (world.run(run).limits.kept, world.run(run).used.kept_bytes);
    let lent = world.run(child).limits.kept;
    assert!(lent < limit && lent >= limit - used, "{lent} of {limit}");
    let before = world.run(run).used.kept_bytes;
    let prompted = world.run(child).next_step;
    let (request, model) = (BlobHash::of(b"request"), "m".to_owned());
    world.advance(child, vec![Move::Prompt { request, model }]);
    let usage = Usage { kept_bytes: 5000, ..Usage::default() };
    let reply = Move::Reply { prompted, reply: BlobHash::of(b"reply"), usage, model: None };
    world.advance(child, vec![reply]);
    let own = world.run(child).used.kept_bytes;
    assert!(own > 5000, "the steps of the journal count too: {own}");
    assert_eq!(world.run(run).used.kept_bytes - before, own);
    world.advance(child, vec![Move::Finish { outcome: RunOutcome::Done(Value::string("done")) }]);
    let (caller, child) = (world.run(run).used.kept_bytes, world.run(child).used.kept_bytes);
    assert!(caller > before + child && child > own, "{caller} {before} {child} {own}");
}

#[test]
fn model_token_limit_is_shared_by_all_calls() {
    let mut world = Fixture::new();
    let mut program = program("model");
    program.limits.tokens = 100;
    let run = start(&mut world, Target::Model { program, model: "scripted:other".to_owned() });
    let first = call(&mut world, run).unwrap();
    assert_eq!(world.run(first).model, "scripted:other");
    assert_eq!(world.run(first).limits.tokens, 100);
    // All that there is has been lent.
    let refused = |world: &mut Fixture| {
        let judgement = world.judgement(run, "reader", "call", Decision::Allow);
        world.advance(run, vec![Move::Propose { proposals: vec![judgement] }]);
        format!("{:?}", world.journal(run).last()).contains("model/budget")
    };
    assert!(refused(&mut world));
    answer(&mut world, first, 40);
    assert_eq!(world.run(run).used.tokens(), 40);
    let second = call(&mut world, run).unwrap();
    assert_eq!(world.run(second).limits.tokens, 60);
    answer(&mut world, second, 70);
    assert!(refused(&mut world));
}
