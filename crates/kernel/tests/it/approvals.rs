//! Approvals: exactly once, bound to the displayed call, and never given by accident.

use kernel::command::{Choice, Fault, Move, Reply};
use kernel::proposal::Decision;
use kernel::run::{Completion, RunOutcome, State};
use kernel::txn::Table;
use kernel::{MessageNumber, Value};

use crate::fixture::{Fixture, completion, done, text};

const YES: Choice = Choice::Approve { for_run: false };

#[test]
fn an_asked_call_begins_only_after_a_yes_and_only_once() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, outcome) = w.propose(run, "out", "write", Decision::Ask);
    assert!(outcome.begun.is_empty());
    assert!(w.try_advance(run, vec![Move::Begin { proposal: step }]).is_err(), "not approved yet");
    let message = w.open_mail()[0];
    assert!(matches!(w.answer(message, YES), Reply::Answered { .. }));
    assert_eq!(w.store.count(Table::Permission), 1);
    let begun = w.advance(run, vec![Move::Begin { proposal: step }]).begun;
    assert_eq!(begun.len(), 1);
    assert_eq!(begun[0].step().step, step);
    assert!(!begun[0].reopened());
    assert_eq!(
        w.store.count(Table::Permission),
        0,
        "the permission is consumed by the transaction that begins"
    );
    assert!(w.try_advance(run, vec![Move::Begin { proposal: step }]).is_err(), "a second begin");
    w.advance(run, vec![Move::Complete { proposal: step, completion: done() }]);
    let again = w.try_advance(run, vec![Move::Complete { proposal: step, completion: done() }]);
    assert!(matches!(again, Err(Fault::OutOfOrder { .. })), "a second completion");
    assert!(w.open_mail().is_empty());
}

#[test]
fn second_answer_changes_nothing() {
    let mut w = Fixture::new();
    let run = w.start();
    w.propose(run, "out", "write", Decision::Ask);
    let message = w.open_mail()[0];
    w.answer(message, YES);
    let before = w.store.clone();
    assert_eq!(w.answer(message, YES), Reply::AlreadyAnswered { run });
    assert_eq!(w.answer(message, Choice::Deny { reason: text("no") }), Reply::AlreadyAnswered { run });
    assert_eq!(w.store, before);
}

#[test]
fn denial_becomes_a_finding_and_the_call_never_begins() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, _) = w.propose(run, "out", "write", Decision::Ask);
    let message = w.open_mail()[0];
    w.answer(message, Choice::Deny { reason: text("not to that file") });
    let Some(Completion::Refused(findings)) = completion(&w.journal(run), step) else { panic!("refused") };
    assert_eq!(
        (findings[0].rule.as_str(), findings[0].message.as_str()),
        ("host/denied", "not to that file")
    );
    assert!(w.try_advance(run, vec![Move::Begin { proposal: step }]).is_err());
}

#[test]
fn entries_of_one_step_share_a_card_answered_in_parts() {
    let mut w = Fixture::new();
    let run = w.start();
    let proposals = (0..3).map(|_| w.judgement(run, "out", "write", Decision::Ask)).collect();
    w.advance(run, vec![Move::Propose { proposals }]);
    let mail = w.open_mail();
    assert_eq!(mail.len(), 1);
    let some = w.answer_some(mail[0], Some(vec![1]), YES).unwrap().reply;
    assert_eq!(some, Reply::Answered { run, entries: vec![1], needs_you: true });
    // An answered entry stays answered while the rest of the card waits, and a second answer is not recorded.
    let before = w.store.clone();
    let again = w.answer_some(mail[0], Some(vec![1]), Choice::Deny { reason: text("no") }).unwrap().reply;
    assert_eq!(again, Reply::AlreadyAnswered { run });
    assert!(w.store == before);
    let beyond = w.answer_some(mail[0], Some(vec![3]), YES);
    assert!(matches!(beyond, Err(Fault::NoEntry { entry: 3, count: 3, .. })));
    let none = w.answer_some(mail[0], Some(vec![]), YES);
    assert!(matches!(none, Err(Fault::WrongKind { .. })), "{none:?}");
    let rest = w.answer(mail[0], Choice::Deny { reason: text("") });
    assert_eq!(rest, Reply::Answered { run, entries: vec![0, 2], needs_you: false });
}

#[test]
fn approval_for_a_run_covers_only_its_same_call() {
    let mut w = Fixture::new();
    let run = w.start();
    let (first, _) = w.propose(run, "out", "write", Decision::Ask);
    let message = w.open_mail()[0];
    w.answer(message, Choice::Approve { for_run: true });
    w.advance(run, vec![Move::Begin { proposal: first }]);
    w.advance(run, vec![Move::Complete { proposal: first, completion: done() }]);
    let (_, same) = w.propose(run, "out", "write", Decision::Ask);
    assert_eq!(same.begun.len(), 1, "the same call begins at once");
    let mut other = w.judgement(run, "out", "write", Decision::Ask);
    other.proposal.args[1] = Value::string("other text");
    let outcome = w.advance(run, vec![Move::Propose { proposals: vec![other] }]);
    assert!(outcome.begun.is_empty(), "another content is asked about");
    let second = w.start();
    let (_, elsewhere) = w.propose(second, "out", "write", Decision::Ask);
    assert!(elsewhere.begun.is_empty(), "another run is asked about");
}

#[test]
fn run_permissions_end_with_the_run() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, _) = w.propose(run, "out", "write", Decision::Ask);
    let message = w.open_mail()[0];
    w.answer(message, Choice::Approve { for_run: true });
    w.advance(run, vec![Move::Begin { proposal: step }]);
    w.advance(run, vec![Move::Complete { proposal: step, completion: done() }]);
    assert_eq!(w.store.count(Table::Permission), 1);
    w.advance(run, vec![Move::Finish { outcome: RunOutcome::Done(Value::null()) }]);
    assert_eq!(w.store.count(Table::Permission), 0);
}

#[test]
fn permissions_of_another_run_stay_when_a_run_ends() {
    let mut w = Fixture::new();
    let runs = [w.start(), w.start()];
    for run in runs {
        let (step, _) = w.propose(run, "out", "write", Decision::Ask);
        let message = w.open_mail()[0];
        w.answer(message, Choice::Approve { for_run: true });
        w.advance(run, vec![Move::Begin { proposal: step }]);
        w.advance(run, vec![Move::Complete { proposal: step, completion: done() }]);
    }
    w.advance(runs[0], vec![Move::Finish { outcome: RunOutcome::Done(Value::null()) }]);
    let (_, same) = w.propose(runs[1], "out", "write", Decision::Ask);
    assert_eq!(same.begun.len(), 1, "the yes for the other run still holds");
}

#[test]
fn answer_wakes_the_run_and_deny_verdict_never_asks() {
    let mut w = Fixture::new();
    let run = w.start();
    w.propose(run, "out", "write", Decision::Ask);
    let seen = w.run(run).next_step;
    let stale = w.advance(run, vec![Move::Suspend { seen: seen - 1, why: String::new() }]);
    assert_eq!(stale.reply, Reply::NotSuspended, "the journal has grown since");
    w.advance(run, vec![Move::Suspend { seen, why: "for an answer".to_owned() }]);
    assert_eq!(w.run(run).state, State::Waiting);
    let message = w.open_mail()[0];
    let woken = w.answer_some(message, None, YES).unwrap();
    assert_eq!(woken.ready, [w.mine(run)]);
    assert_eq!(w.run(run).state, State::Ready);
    let (step, outcome) = w.propose(run, "out", "write", Decision::Deny);
    assert!(outcome.begun.is_empty());
    assert!(matches!(completion(&w.journal(run), step), Some(Completion::Refused(_))));
    assert!(w.open_mail().is_empty());
}

#[test]
fn approving_another_kind_of_message_is_refused() {
    let mut w = Fixture::new();
    w.start();
    let command = w.answer_some(MessageNumber(0), None, YES);
    assert!(matches!(command, Err(Fault::NotAnApproval(MessageNumber(0)))));
    assert!(matches!(w.answer_some(MessageNumber(9), None, YES), Err(Fault::NoMessage(MessageNumber(9)))));
}
