//! Effects with an unknown outcome, and approvals of files that have changed since. The user is asked about both, and
//! each is settled once.

use std::collections::BTreeSet;

use kernel::command::{Act, Cancel, Choice, Fault, Judgement, Move, Reply};
use kernel::message::Body;
use kernel::proposal::{Decision, Finding, Pin};
use kernel::run::{CallSite, Completion, Entry, Phase};
use kernel::started_effect::StartedEffect;
use kernel::txn::Table;
use kernel::{BlobHash, MessageNumber, RunNumber, StepRef, Value};

use crate::fixture::{Fixture, completion, done, text};

const YES: Choice = Choice::Approve { for_run: false };

/// Returns a run with an effect that had begun and whose outcome is unknown, with its step and its card.
fn in_doubt(w: &mut Fixture) -> (RunNumber, u64, MessageNumber) {
    let run = w.start();
    let (step, _) = w.propose(run, "out", "write", Decision::Allow);
    w.advance(run, vec![Move::OutcomeUnknown { proposal: step }]);
    (run, step, w.open_mail()[0])
}

fn reopen(w: &mut Fixture, at: StepRef) -> Option<StartedEffect> {
    let host = w.host;
    kernel::reopen(&mut w.store, &host, at).unwrap()
}

#[test]
fn unknown_effect_repeats_once_and_only_on_the_hosts_answer() {
    let mut w = Fixture::new();
    let (run, step, message) = in_doubt(&mut w);
    let at = StepRef { run, step };
    let host = w.host;
    assert!(matches!(w.last_body(host), Body::OutcomeUnknown { entry, .. } if entry.proposal == at));
    assert_eq!(w.store.count(Table::Outbox), 1, "nothing but the run itself is at work");
    assert!(reopen(&mut w, at).is_none(), "what is in doubt is not taken up by itself");
    assert!(w.try_advance(run, vec![Move::Begin { proposal: step }]).is_err());
    assert!(matches!(w.answer(message, Choice::Repeat), Reply::Answered { .. }));
    assert_eq!(w.answer(message, Choice::Repeat), Reply::AlreadyAnswered { run });
    assert_eq!(w.answer(message, Choice::Happened), Reply::AlreadyAnswered { run });
    let begun = w.advance(run, vec![Move::Begin { proposal: step }]).begun;
    assert!(begun.len() == 1 && !begun[0].reopened());
    assert!(w.try_advance(run, vec![Move::Begin { proposal: step }]).is_err());
    // Cut off again: it is in doubt again.
    assert!(reopen(&mut w, at).is_some_and(|begun| begun.reopened()));
    w.advance(run, vec![Move::OutcomeUnknown { proposal: step }]);
    let again = w.open_mail()[0];
    assert_ne!(again, message);
    w.answer(again, Choice::Happened);
    assert!(matches!(completion(&w.journal(run), step), Some(Completion::Done { value: Value::Null, .. })));
    assert!(w.try_advance(run, vec![Move::Complete { proposal: step, completion: done() }]).is_err());
}

#[test]
fn answer_of_another_kind_is_refused() {
    let mut w = Fixture::new();
    let (_, _, doubt) = in_doubt(&mut w);
    for choice in [YES, Choice::Approve { for_run: true }, Choice::Deny { reason: text("no") }] {
        assert!(matches!(w.answer_some(doubt, None, choice), Err(Fault::WrongKind { .. })));
    }
    let run = w.start();
    w.propose(run, "out", "write", Decision::Ask);
    let approval = *w.open_mail().last().unwrap();
    for choice in [Choice::Happened, Choice::Repeat] {
        assert!(matches!(w.answer_some(approval, None, choice), Err(Fault::WrongKind { .. })));
    }
    assert_eq!(w.open_mail().len(), 2, "both still wait");
}

#[test]
fn only_a_begun_effect_can_have_an_unknown_outcome() {
    let mut w = Fixture::new();
    let run = w.start();
    let (asked, _) = w.propose(run, "out", "write", Decision::Ask);
    let (refused, _) = w.propose(run, "out", "write", Decision::Deny);
    for proposal in [asked, refused, 99] {
        let tried = w.try_advance(run, vec![Move::OutcomeUnknown { proposal }]);
        assert!(matches!(tried, Err(Fault::OutOfOrder { .. })), "{proposal}");
    }
}

/// Returns a judgement of the same call, with a file as it is now.
fn with_file(mut judgement: Judgement, digest: Option<BlobHash>) -> Judgement {
    judgement.proposal.pins =
        BTreeSet::from([Pin { kind: "file".to_owned(), name: "a.md".to_owned(), digest }]);
    judgement
}

#[test]
fn approval_is_spent_without_effect_if_the_file_changed() {
    let mut w = Fixture::new();
    let run = w.start();
    let (old, new) = (BlobHash::of(b"old"), BlobHash::of(b"new"));
    let judged = with_file(w.judgement(run, "out", "write", Decision::Ask), Some(old));
    w.advance(run, vec![Move::Propose { proposals: vec![judged.clone()] }]);
    let step = *w.run(run).open.keys().next().unwrap();
    let message = w.open_mail()[0];
    // Even a yes for the whole run was a yes to the file as it was.
    w.answer(message, Choice::Approve { for_run: true });
    // The user is asked about the changed call, even if the gates allow it now.
    let mut judgement = with_file(judged, Some(new));
    judgement.verdict.decision = Decision::Allow;
    let outcome =
        w.advance(run, vec![Move::Restate { proposal: step, judgement: Box::new(judgement.clone()) }]);
    assert!(outcome.begun.is_empty());
    let Some(Completion::Refused(findings)) = completion(&w.journal(run), step) else { panic!("refused") };
    assert_eq!(findings[0].rule, "approval/stale");
    let words = format!("file `a.md`: {} then, {} now", old.short(), new.short());
    assert!(findings[0].message.ends_with(&words), "{}", findings[0].message);
    let again = w.open_mail();
    assert!(again.len() == 1 && again[0] != message, "there is a new card");
    let (anew, phase) = w.run(run).open.into_iter().next().unwrap();
    assert_eq!(phase, Phase::AwaitingApproval { message: again[0] });
    let replaces = w.journal(run).into_iter().find_map(|s| match s.entry {
        Entry::Proposed { replaces, .. } if s.number == anew => replaces,
        _ => None,
    });
    assert_eq!(replaces, Some(step));
    assert!(w.try_advance(run, vec![Move::Begin { proposal: step }]).is_err(), "the old yes is gone");
    assert!(w.try_advance(run, vec![Move::Begin { proposal: anew }]).is_err(), "and is none to the new card");
    w.answer(again[0], YES);
    assert_eq!(w.advance(run, vec![Move::Begin { proposal: anew }]).begun.len(), 1);
}

#[test]
fn approval_is_spent_without_effect_if_a_newer_rule_forbids() {
    let mut w = Fixture::new();
    let run = w.start();
    let judged = w.judgement(run, "out", "write", Decision::Ask);
    w.advance(run, vec![Move::Propose { proposals: vec![judged] }]);
    let step = *w.run(run).open.keys().next().unwrap();
    let forbid = |findings: Vec<Finding>| vec![Move::Forbid { proposal: step, findings }];
    let finding = || Finding::new("operator/managed/none", "not on this machine");
    assert!(w.try_advance(run, forbid(vec![finding()])).is_err(), "nobody has approved it yet");
    let message = w.open_mail()[0];
    w.answer(message, YES);
    assert!(w.try_advance(run, forbid(vec![])).is_err(), "a refusal has a reason");
    let outcome = w.advance(run, forbid(vec![finding()]));
    assert!(outcome.begun.is_empty());
    assert_eq!(completion(&w.journal(run), step), Some(Completion::Refused(vec![finding()])));
    assert!(w.try_advance(run, vec![Move::Begin { proposal: step }]).is_err(), "the yes is gone");
}

#[test]
fn restated_call_may_differ_only_in_its_pins() {
    let mut w = Fixture::new();
    let run = w.start();
    let judged = with_file(w.judgement(run, "out", "write", Decision::Ask), None);
    w.advance(run, vec![Move::Propose { proposals: vec![judged.clone()] }]);
    let step = *w.run(run).open.keys().next().unwrap();
    let now = with_file(judged.clone(), Some(BlobHash::of(b"new")));
    let restate = |judgement: &Judgement| {
        vec![Move::Restate { proposal: step, judgement: Box::new(judgement.clone()) }]
    };
    assert!(w.try_advance(run, restate(&now)).is_err(), "nobody has approved it yet");
    let message = w.open_mail()[0];
    w.answer(message, YES);
    let another = |change: fn(&mut Judgement)| {
        let mut other = now.clone();
        change(&mut other);
        other
    };
    let others: [fn(&mut Judgement); 5] = [
        |j| j.site = CallSite::Write { index: 1 },
        |j| j.proposal.grant.number[0] ^= 1,
        |j| j.proposal.slot = "in".to_owned(),
        |j| j.proposal.method = "read".to_owned(),
        |j| j.proposal.args[1] = Value::string("other text"),
    ];
    for wrong in others.map(another).into_iter().chain([judged]) {
        assert!(matches!(w.try_advance(run, restate(&wrong)), Err(Fault::OutOfOrder { .. })), "{wrong:?}");
    }
    w.advance(run, restate(&now));
}

#[test]
fn cancelled_run_reports_its_unknown_effect_as_unknown() {
    let mut w = Fixture::new();
    let (run, step, message) = in_doubt(&mut w);
    w.apply(Act::Cancel { what: Cancel::Run { run }, reason: text("enough") });
    let Some(Completion::Failed(finding)) = completion(&w.journal(run), step) else { panic!("failed") };
    assert_eq!(finding.rule, "effect/unknown");
    assert!(w.open_mail().is_empty());
    assert_eq!(w.answer(message, Choice::Repeat), Reply::AlreadyAnswered { run });
    let host = w.host;
    let letter = kernel::query::message(&mut w.store, &host, message).unwrap().unwrap();
    assert!(matches!(letter.mail.answers.get(&0), Some(kernel::message::Answer::Withdrawn { .. })));
}
