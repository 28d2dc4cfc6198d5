//! A worker that a run makes, with additions that a person has bound by name.

use std::collections::BTreeMap;

use kernel::command::{
    Act, Addition, AnswerApproval, Binding, Choice, Fault, Move, Outcome, Program, SlotGrant, Target,
};
use kernel::proposal::Decision;
use kernel::run::{Completion, Limits, Shape};
use kernel::{BlobHash, MessageNumber, RunNumber, Value};

use crate::agents::{path, remove, store, string};
use crate::fixture::{Fixture, completion, methods, text};

const SOURCE: &str = "Judge it.";

/// Returns a world with a run that asks whether it may make a worker: the run, the proposal, the message that asks.
fn asking() -> (Fixture, RunNumber, u64, MessageNumber) {
    let mut w = Fixture::new();
    w.mount("cap");
    let run = w.start_bound(Shape::Single, vec![], None, |bindings| {
        bindings.push(Binding {
            slot: "create_worker".to_owned(),
            target: Target::Workshop,
            methods: methods(&["create"]),
            attenuation: Default::default(),
            allow: Default::default(),
            ask: Default::default(),
        });
    });
    let mut judgement = w.judgement(run, "create_worker", "create", Decision::Ask);
    let slots = Value::record_from_map(BTreeMap::from([("place".to_owned(), Value::Null)]));
    judgement.proposal.args = vec![Value::string("judge"), Value::string(SOURCE), slots];
    let step = w.run(run).next_step;
    w.advance(run, vec![Move::Propose { proposals: vec![judgement] }]);
    let message = w.open_mail()[0];
    (w, run, step, message)
}

/// Approves the card and binds `cap` to the slot. The precondition is that `cap` still stands for the formula seen.
fn yes(w: &mut Fixture, message: MessageNumber, seen: kernel::FormulaId) -> Result<Outcome, Fault> {
    let binding = Binding {
        slot: "place".to_owned(),
        target: Target::Named { path: path("cap") },
        methods: methods(&["read"]),
        attenuation: Default::default(),
        allow: Default::default(),
        ask: Default::default(),
    };
    let addition = Addition { bindings: vec![binding], edited: None, seen: vec![(path("cap"), seen)] };
    w.try_apply(Act::Answer(AnswerApproval {
        text: text("approve"),
        message,
        entries: None,
        choice: Choice::Approve { for_run: false },
        addition: Some(addition),
    }))
}

fn made(w: &mut Fixture, run: RunNumber, proposal: u64) -> Completion {
    let program = Program {
        name: "judge".to_owned(),
        definition: BlobHash::of(SOURCE.as_bytes()),
        includes: BTreeMap::new(),
        limits: Limits::default(),
    };
    let slots: BTreeMap<String, SlotGrant> = BTreeMap::new();
    w.advance(run, vec![Move::Begin { proposal }]);
    w.advance(run, vec![Move::Make { proposal, program, slots }]);
    let steps = w.journal(run);
    completion(&steps, proposal).unwrap()
}

#[test]
fn worker_is_not_made_if_an_added_name_has_changed() {
    // The name stands for something else when the person says yes, when the worker is made, or never.
    for when in ["before", "between", "never"] {
        let (mut w, run, step, message) = asking();
        let host = w.host;
        let seen = w.id(host, "cap");
        let exchange = |w: &mut Fixture| {
            w.as_agent(host, remove("cap"));
            w.as_agent(host, store(string("else"), "cap"));
        };
        if when == "before" {
            exchange(&mut w);
            let fault = yes(&mut w, message, seen).unwrap_err().to_string();
            assert!(fault.contains("stands for something else"), "{fault}");
            assert_eq!(w.open_mail(), [message], "nothing was answered");
            continue;
        }
        yes(&mut w, message, seen).unwrap();
        if when == "between" {
            exchange(&mut w);
        }
        let came = made(&mut w, run, step);
        match when {
            "never" => assert!(matches!(came, Completion::Done { .. }), "{came:?}"),
            _ => {
                assert!(format!("{came:?}").contains("something else by now"), "{came:?}");
                assert!(!w.run(run).grants.contains_key("judge"));
            }
        }
    }
}
