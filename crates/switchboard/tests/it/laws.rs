//! Any sides doing anything: nothing panics, nothing is delivered to the wrong side, nothing is left over.

use std::collections::HashMap;

use passable::{Text, Value};
use proptest::prelude::*;
use switchboard::{Action, Call, CallTarget, Limits, Name, Outcome, Ref, Side, SideOptions, Switchboard};

/// One step of a side; its numbers choose among the references that exist.
#[derive(Clone, Debug)]
enum Step {
    Object,
    Promise,
    Send { target: usize, mentions: Vec<usize> },
    Resolve { promise: usize, to: usize, good: bool },
    Hold { which: usize },
    Release { which: usize },
    Watch { which: usize },
    Work,
    Leave,
}

fn steps() -> impl Strategy<Value = Vec<(u8, Step)>> {
    let which = 0..64_usize;
    let step = prop_oneof![
        Just(Step::Object),
        Just(Step::Promise),
        (which.clone(), proptest::collection::vec(0..64_usize, 0..3))
            .prop_map(|(target, mentions)| Step::Send { target, mentions }),
        (which.clone(), which.clone(), any::<bool>()).prop_map(|(promise, to, good)| Step::Resolve {
            promise,
            to,
            good
        }),
        which.clone().prop_map(|which| Step::Hold { which }),
        which.clone().prop_map(|which| Step::Release { which }),
        which.prop_map(|which| Step::Watch { which }),
        Just(Step::Work),
        Just(Step::Work),
        Just(Step::Leave),
    ];
    proptest::collection::vec((0..3_u8, step), 0..120)
}

struct TestSwitchboard {
    board: Switchboard,
    sides: Vec<Option<Side>>,
    /// Everything that was ever made, dead or alive.
    all: Vec<Ref>,
    held: Vec<Vec<Ref>>,
    keys: HashMap<u64, u8>,
}

impl TestSwitchboard {
    fn new() -> TestSwitchboard {
        let mut board = Switchboard::new();
        let limits = Limits { owned: 40, held: 30, waiting: 5 };
        let sides = (0..3).map(|i| Some(board.add(SideOptions { limits, pipelines: i == 2 }))).collect();
        TestSwitchboard { board, sides, all: vec![], held: vec![vec![]; 3], keys: HashMap::new() }
    }

    fn pick(&self, which: usize) -> Option<Ref> {
        if self.all.is_empty() { None } else { Some(self.all[which % self.all.len()]) }
    }

    fn value(&self, which: usize) -> Value<Ref> {
        match self.pick(which) {
            Some(found) if which.is_multiple_of(3) => Value::promise(found),
            Some(found) if which % 3 == 1 => Value::remotable(found),
            Some(found) => Value::array([Value::remotable(found), Value::promise(found), Value::null()]),
            None => Value::undefined(),
        }
    }

    fn step(&mut self, who: u8, step: Step) {
        let Some(side) = self.sides[usize::from(who)] else { return };
        let key = u64::try_from(self.all.len()).unwrap() * 3 + u64::from(who);
        self.keys.insert(key, who);
        match step {
            Step::Object => self.all.extend(self.board.object(side, key)),
            Step::Promise => self.all.extend(self.board.promise(side, Some(key))),
            Step::Send { target, mentions } => {
                let Some(target) = self.pick(target) else { return };
                let args = mentions.into_iter().map(|each| self.value(each)).collect();
                let call = Call::Method(Name::Text(Text::from("m")), args);
                if let Ok(answer) = self.board.send(side, target, call) {
                    self.all.push(answer);
                    self.held[usize::from(who)].push(answer);
                }
            }
            Step::Resolve { promise, to, good } => {
                let Some(promise) = self.pick(promise) else { return };
                let value = self.value(to);
                let outcome: Outcome = if good { Ok(value) } else { Err(value) };
                self.board.resolve(side, promise, outcome);
            }
            Step::Hold { which } => {
                let Some(which) = self.pick(which) else { return };
                if self.board.hold(side, which).is_ok() {
                    self.held[usize::from(who)].push(which);
                }
            }
            Step::Release { which } => {
                let held = &mut self.held[usize::from(who)];
                if !held.is_empty() {
                    let released = held.remove(which % held.len());
                    self.board.release(side, released);
                }
            }
            Step::Watch { which } => {
                if let Some(which) = self.pick(which) {
                    self.board.watch(side, which, 1);
                }
            }
            Step::Work => {
                for action in self.board.take(side) {
                    match action {
                        Action::Deliver { to, call, answer } => {
                            if let CallTarget::Object(key) = to {
                                assert_eq!(self.keys[&key], who, "a call to somebody else's object");
                            }
                            let echo = call.args().first().cloned().unwrap_or(Value::Undefined);
                            self.board.resolve(side, answer, Ok(echo));
                        }
                        Action::Settled { outcome, .. } => {
                            assert!(
                                !matches!(outcome, Ok(Value::Promise(_))),
                                "settled, and still a promise"
                            );
                        }
                        Action::Released { key } => assert_eq!(self.keys[&key], who),
                    }
                }
                self.board.give_back(side);
            }
            Step::Leave => {
                self.board.end(side, Value::error("Error", "left"));
                self.sides[usize::from(who)] = None;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn random_steps_leave_no_references_when_all_sides_end(steps in steps()) {
        let mut world = TestSwitchboard::new();
        for (who, step) in steps {
            world.step(who, step);
            prop_assert_eq!(world.board.audit(), Ok(()));
        }
        for who in 0..3 {
            world.step(who, Step::Leave);
        }
        let counts = world.board.counts();
        prop_assert_eq!((counts.sides, counts.actions), (0, 0));
        prop_assert_eq!(counts.references, 0);
    }
}
