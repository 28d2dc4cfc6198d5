//! A store with a host, and helpers with which tests act on it.

use std::collections::{BTreeMap, BTreeSet};

use kernel::command::{
    Act, Advance, AnswerApproval, Binding, Choice, Command, Fault, Judgement, Move, Outcome, Program, Reply,
    Start, Target, UserCommand,
};
use kernel::env::Env;
use kernel::event::Event;
use kernel::proposal::{Caller, Decision, Effect, Proposal, Verdict};
use kernel::provenance::Provenance;
use kernel::run::{CallSite, Completion, Entry, Input, Limits, Run, Shape, Step};
use kernel::{BlobHash, FormulaId, HostRun, MessageNumber, RunNumber, Value, query, table};
use passable::Untrusted;
use resource::Resource;

use crate::map_store::MapStore;

/// A store with a host, and a clock that ticks once a command.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) store: MapStore,
    pub(crate) host: FormulaId,
    pub(crate) ticks: u64,
    /// The agents that were made by name.
    pub(crate) agents: Vec<FormulaId>,
}

pub(crate) fn env(tick: u64) -> Env {
    let mut entropy = [0; 32];
    entropy[..8].copy_from_slice(&tick.to_le_bytes());
    Env::new(1_000 + i64::try_from(tick).unwrap(), entropy)
}

pub(crate) fn text(text: &str) -> Untrusted {
    Untrusted::new(text)
}

pub(crate) fn methods(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

pub(crate) fn program(name: &str) -> Program {
    Program {
        name: name.to_owned(),
        definition: BlobHash::of(name.as_bytes()),
        includes: BTreeMap::new(),
        limits: Limits::default(),
    }
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let mut store = MapStore::default();
        let host = kernel::genesis(&mut store, &env(0)).unwrap();
        Fixture { store, host, ticks: 0, agents: vec![] }
    }

    /// Applies an act as a store does: all of it, or nothing.
    pub(crate) fn try_apply(&mut self, act: Act) -> Result<Outcome, Fault> {
        self.try_as(self.host, act)
    }

    /// Returns the same for any agent.
    pub(crate) fn try_as(&mut self, actor: FormulaId, act: Act) -> Result<Outcome, Fault> {
        self.try_said(actor, None, act)
    }

    /// Returns the same, as a person has said it.
    pub(crate) fn try_said(
        &mut self,
        actor: FormulaId,
        said: Option<&str>,
        act: Act,
    ) -> Result<Outcome, Fault> {
        self.ticks += 1;
        let mut after = self.store.clone();
        let said = said.map(|verb| UserCommand { verb: verb.to_owned(), text: text(verb) });
        let outcome = kernel::apply(&mut after, &env(self.ticks), Command { actor, act, said })?;
        self.store = after;
        self.check_laws();
        Ok(outcome)
    }

    pub(crate) fn apply(&mut self, act: Act) -> Outcome {
        self.try_apply(act).unwrap()
    }

    pub(crate) fn advance(&mut self, run: RunNumber, moves: Vec<Move>) -> Outcome {
        self.apply(Act::Advance(Advance { run, moves }))
    }

    pub(crate) fn try_advance(&mut self, run: RunNumber, moves: Vec<Move>) -> Result<Outcome, Fault> {
        self.try_apply(Act::Advance(Advance { run, moves }))
    }

    /// Returns a run with a directory `out` that it may write and a worker `reader` that it may call.
    pub(crate) fn start(&mut self) -> RunNumber {
        self.start_shaped(Shape::Single, vec![])
    }

    pub(crate) fn start_shaped(&mut self, shape: Shape, items: Vec<kernel::run::Attachment>) -> RunNumber {
        self.start_again(shape, items, None)
    }

    pub(crate) fn start_again(
        &mut self,
        shape: Shape,
        items: Vec<kernel::run::Attachment>,
        earlier: Option<Box<kernel::run::Earlier>>,
    ) -> RunNumber {
        self.start_bound(shape, items, earlier, |_| {})
    }

    /// Returns the same, with something else in its slots.
    pub(crate) fn start_bound(
        &mut self,
        shape: Shape,
        items: Vec<kernel::run::Attachment>,
        earlier: Option<Box<kernel::run::Earlier>>,
        change: impl FnOnce(&mut Vec<Binding>),
    ) -> RunNumber {
        let binding = |slot: &str, target, names: &[&str]| Binding {
            slot: slot.to_owned(),
            target,
            methods: methods(names),
            attenuation: Default::default(),
            allow: BTreeSet::new(),
            ask: BTreeSet::new(),
        };
        let mut start = Start {
            text: text("almoner run clerk.worker"),
            worker: program("clerk"),
            shape,
            private: false,
            model: "scripted:x".to_owned(),
            input: Input {
                values: Value::record_from_map(BTreeMap::new()),
                attachments: vec![],
                items,
                origins: vec![],
                earlier,
            },
            bindings: vec![
                binding("out", Target::Resource(Resource::directory("/out")), &["read", "write"]),
                binding("reader", Target::Worker(program("reader")), &["call"]),
            ],
            key: None,
        };
        change(&mut start.bindings);
        match self.apply(Act::Start(Box::new(start))).reply {
            Reply::Started { run } => run,
            other => panic!("{other:?}"),
        }
    }

    /// Returns a run of the store's own host, among those of all hosts.
    pub(crate) fn mine(&self, run: RunNumber) -> HostRun {
        HostRun { host: self.host, run }
    }

    pub(crate) fn run(&mut self, run: RunNumber) -> Run {
        table::run(&mut self.store, &self.host.number, run).unwrap().unwrap()
    }

    pub(crate) fn journal(&mut self, run: RunNumber) -> Vec<Step> {
        query::journal(&mut self.store, &self.host.number, run, 1).unwrap()
    }

    /// Returns the names of a run's steps.
    pub(crate) fn steps(&mut self, run: RunNumber) -> String {
        self.journal(run).iter().map(|s| s.entry.name()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn judgement(
        &mut self,
        run: RunNumber,
        slot: &str,
        method: &str,
        decision: Decision,
    ) -> Judgement {
        let grant = self.run(run).grants[slot];
        let args = match slot {
            "reader" => vec![Value::record_from_map(BTreeMap::new())],
            _ => vec![Value::string("a.md"), Value::string("text")],
        };
        Judgement {
            site: CallSite::Write { index: 0 },
            proposal: Proposal {
                principal: self.host,
                run,
                grant,
                slot: slot.to_owned(),
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

    /// Proposes one call and returns the step at which it stands, with the outcome.
    pub(crate) fn propose(
        &mut self,
        run: RunNumber,
        slot: &str,
        method: &str,
        decision: Decision,
    ) -> (u64, Outcome) {
        let judgement = self.judgement(run, slot, method, decision);
        let step = self.run(run).next_step;
        let outcome = self.advance(run, vec![Move::Propose { proposals: vec![judgement] }]);
        (step, outcome)
    }

    pub(crate) fn answer(&mut self, message: MessageNumber, choice: Choice) -> Reply {
        self.answer_some(message, None, choice).unwrap().reply
    }

    pub(crate) fn answer_some(
        &mut self,
        message: MessageNumber,
        entries: Option<Vec<usize>>,
        choice: Choice,
    ) -> Result<Outcome, Fault> {
        self.try_apply(Act::Answer(AnswerApproval {
            text: text("answer"),
            message,
            entries,
            choice,
            addition: None,
        }))
    }

    /// Returns the messages that wait for the host.
    pub(crate) fn open_mail(&mut self) -> Vec<MessageNumber> {
        let host = self.host;
        query::inbox(&mut self.store, &host, true).unwrap().iter().map(|l| l.number).collect()
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        query::events(&mut self.store, &self.host.number, 0, usize::MAX).unwrap()
    }

    /// Checks the laws that hold after every command.
    fn check_laws(&mut self) {
        for host in table::hosts(&mut self.store).unwrap() {
            self.check_laws_of(&host.number);
        }
        for agent in [&[self.host][..], &self.agents].concat() {
            if table::formula(&mut self.store, &agent).unwrap().is_none() {
                continue;
            }
            let letters = query::inbox(&mut self.store, &agent, false).unwrap();
            let mut before = None;
            for letter in &letters {
                assert!(letter.number.follows(before), "{} follows {before:?}", letter.number);
                before = Some(letter.number);
            }
        }
        for (key, _) in self.store.rows(kernel::txn::Table::Edge) {
            // The collector removes a formula in several steps.
            let going = [&b"v"[..], &key[32..64]].concat();
            if self.store.has(kernel::txn::Table::Collector, &going) {
                continue;
            }
            for end in [&key[..32], &key[32..64]] {
                let there = self.store.has(kernel::txn::Table::Formula, end);
                assert!(there, "reference {:?} dangles", String::from_utf8_lossy(&key[64..]));
            }
        }
    }

    /// Checks the laws that hold for a host's runs and events after every command.
    fn check_laws_of(&mut self, owner: &kernel::txn::Owner) {
        let mut prev = BlobHash([0; 32]);
        for (i, event) in
            query::events(&mut self.store, owner, 0, usize::MAX).unwrap().into_iter().enumerate()
        {
            assert_eq!(event.seq, i as u64 + 1, "events are dense");
            assert!(event.verify(prev), "event {} follows the one before", event.seq);
            prev = event.hash;
        }
        let outbox = query::outbox(&mut self.store, owner).unwrap();
        for run in query::runs(&mut self.store, owner, None, usize::MAX).unwrap() {
            let drives = outbox
                .iter()
                .filter(|t| matches!(t, table::Task::Drive { run: r } if *r == run.number))
                .count();
            let ready = run.state == kernel::run::State::Ready;
            assert_eq!(drives, usize::from(ready), "{} is driven exactly if it is ready", run.number);
            let begun =
                run.open.values().filter(|p| matches!(p, kernel::run::Phase::Executing { .. })).count();
            let effects = outbox
                .iter()
                .filter(|t| matches!(t, table::Task::Effect { step } if step.run == run.number))
                .count();
            assert_eq!(begun, effects, "{}: every begun effect is in the outbox", run.number);
            let settled = table::promise(&mut self.store, &run.result).unwrap();
            assert_eq!(
                run.is_finished(),
                // The promise may be gone already, if no agent waits for it.
                settled != Some(table::PromiseRow::Pending),
                "{}: the promise settles when the run ends",
                run.number
            );
        }
    }
}

pub(crate) fn done() -> Completion {
    Completion::Done { value: Value::string("ok"), provenance: Provenance::host() }
}

/// Returns the completion that a run's journal has for a proposal.
pub(crate) fn completion(steps: &[Step], wanted: u64) -> Option<Completion> {
    steps.iter().find_map(|step| match &step.entry {
        Entry::Completed { proposal, completion } if *proposal == wanted => Some(completion.clone()),
        _ => None,
    })
}
