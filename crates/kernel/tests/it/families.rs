//! Families of runs: the questions of a run and of the workers that it calls are counted together.

use kernel::budget::{LimitKind, MAX_CARDS};
use kernel::command::{Choice, Judgement, Move, Reply, Target};
use kernel::proposal::Decision;
use kernel::run::{CallSite, State, Trouble};
use kernel::{MessageNumber, RunNumber};

use crate::fixture::{Fixture, text};
use crate::nested::start;

/// Calls the worker in the slot `reader`. Returns the run that this begins.
fn call(world: &mut Fixture, run: RunNumber) -> Option<RunNumber> {
    let before: Vec<RunNumber> = world.run(run).open_children().collect();
    let judgement = world.judgement(run, "reader", "call", Decision::Allow);
    world.advance(run, vec![Move::Propose { proposals: vec![judgement] }]);
    world.run(run).open_children().find(|child| !before.contains(child))
}

/// Returns a call that a model makes in this turn, and about which the user is asked.
fn asking(world: &mut Fixture, run: RunNumber, method: &str, turn: u64) -> Judgement {
    let site = CallSite::Turn { replied: turn, index: 0, id: String::new() };
    Judgement { site, ..world.judgement(run, "out", method, Decision::Ask) }
}

/// Asks about one call. Returns the message, if the run may ask.
fn ask(world: &mut Fixture, run: RunNumber, method: &str, turn: u64) -> Option<MessageNumber> {
    let before = world.open_mail();
    let judgement = asking(world, run, method, turn);
    world.advance(run, vec![Move::Propose { proposals: vec![judgement] }]);
    world.open_mail().into_iter().find(|message| !before.contains(message))
}

fn deny() -> Choice {
    Choice::Deny { reason: text("no") }
}

fn exhaust(world: &mut Fixture, run: RunNumber, limit: LimitKind) -> MessageNumber {
    let trouble = Trouble { code: "budget/x".to_owned(), message: text("x"), help: String::new() };
    world.advance(run, vec![Move::Exhaust { limit, trouble }]);
    world.run(run).exhausted.unwrap().message
}

/// A hijacked model had its workers ask in turn, by several methods, and was never stopped.
#[test]
fn refusals_count_over_workers_and_methods() {
    let mut world = Fixture::new();
    let run = start(&mut world, Target::Myself);
    let children = [call(&mut world, run).unwrap(), call(&mut world, run).unwrap()];
    for (child, method) in children.into_iter().zip(["write", "read"]) {
        let message = ask(&mut world, child, method, 5).unwrap();
        world.answer(message, deny());
    }
    assert_eq!(world.run(run).questions.most_refused(), None);
    for (child, turn) in [(children[0], 6), (children[1], 7)] {
        assert_eq!(world.run(run).questions.most_refused(), None);
        let message = ask(&mut world, child, "read", turn).unwrap();
        world.answer(message, deny());
    }
    let refused = world.run(run).questions;
    let most = refused.most_refused().unwrap();
    assert_eq!((most.times, most.slot, most.methods), (3, "out", vec!["read"]));
    assert!(world.run(children[0]).questions.is_nothing() && world.run(children[1]).questions.is_nothing());
}

#[test]
fn cards_count_over_workers_and_calls_of_one_turn() {
    let mut world = Fixture::new();
    let run = start(&mut world, Target::Myself);
    let child = call(&mut world, run).unwrap();
    // Several calls on one card are several questions.
    let many: Vec<_> = (0..MAX_CARDS - 1).map(|turn| asking(&mut world, child, "write", turn)).collect();
    world.advance(child, vec![Move::Propose { proposals: many }]);
    assert_eq!(world.run(run).questions.cards_left(), 1);
    let other = call(&mut world, run).unwrap();
    let two: Vec<_> = (0..2).map(|turn| asking(&mut world, other, "write", turn)).collect();
    let before = world.run(other).next_step;
    let outcome = world.advance(other, vec![Move::Propose { proposals: two }]);
    assert!(matches!(outcome.reply, Reply::NotSuspended), "{:?}", outcome.reply);
    assert_eq!(world.run(other).next_step, before);
    assert!(ask(&mut world, other, "write", 9).is_some());
    assert_eq!(world.run(run).questions.cards_left(), 0);
    let last = call(&mut world, run).unwrap();
    assert_eq!(ask(&mut world, last, "write", 9), None);
}

#[test]
fn runs_of_a_family_wait_for_one_answer_together() {
    for limit in [LimitKind::Cards, LimitKind::Refusals] {
        let mut world = Fixture::new();
        let run = start(&mut world, Target::Myself);
        let children = [(); 3].map(|()| call(&mut world, run).unwrap());
        let messages = children.map(|child| exhaust(&mut world, child, limit));
        assert_eq!(world.open_mail(), [messages[0]]);
        assert!(messages.iter().all(|message| *message == messages[0]));
        world.answer(messages[0], Choice::Approve { for_run: false });
        for child in children {
            let child = world.run(child);
            assert!(child.exhausted.is_none() && child.state == State::Ready, "{child:?}");
        }
        // The next question is a new one.
        assert_ne!(exhaust(&mut world, children[1], limit), messages[0]);
    }
}

#[test]
fn stop_after_refusals_ends_the_whole_family() {
    let mut world = Fixture::new();
    let run = start(&mut world, Target::Myself);
    let children = [(); 2].map(|()| call(&mut world, run).unwrap());
    let message = children.map(|child| exhaust(&mut world, child, LimitKind::Refusals))[0];
    world.answer(message, deny());
    assert!([run, children[0], children[1]].into_iter().all(|run| world.run(run).is_finished()));
    assert!(world.open_mail().is_empty());
}

#[test]
fn question_of_a_family_stays_open_for_its_other_runs() {
    let mut world = Fixture::new();
    let run = start(&mut world, Target::Myself);
    let children = [(); 2].map(|()| call(&mut world, run).unwrap());
    let message = children.map(|child| exhaust(&mut world, child, LimitKind::Cards))[0];
    let cancel = |run| kernel::command::Act::Cancel {
        what: kernel::command::Cancel::Run { run },
        reason: text("enough"),
    };
    world.apply(cancel(children[0]));
    assert_eq!(world.open_mail(), [message]);
    world.answer(message, Choice::Approve { for_run: false });
    assert_eq!(world.run(children[1]).state, State::Ready);
    assert!(world.run(children[0]).is_finished());
}
