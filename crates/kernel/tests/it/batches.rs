//! Runs over many items: their places, items that fail at once, stalled runs, and answers to many approvals.

use kernel::command::{Act, AnswerAll, Choice, Fault, Move, Reply, SeenApproval};
use kernel::message::Body;
use kernel::proposal::Decision;
use kernel::query;
use kernel::run::{Attachment, MAX_STALLED_ITEMS, Rejection, RunOutcome, Shape, State, Trouble, YieldReason};
use kernel::{MessageNumber, RunNumber, Value};

use crate::fixture::{Fixture, text};
use crate::runs::document;

const YES: Choice = Choice::Approve { for_run: false };

fn items(count: usize) -> Vec<Attachment> {
    (0..count).map(|at| document(&format!("d{at}"))).collect()
}

fn trouble() -> Trouble {
    Trouble {
        code: "model/down".to_owned(),
        message: text("the server is down"),
        help: "start it".to_owned(),
    }
}

/// Returns a batch whose first items have children.
fn batch(w: &mut Fixture, jobs: u32, count: usize, begun: usize) -> (RunNumber, Vec<RunNumber>) {
    let run = w.start_shaped(Shape::Each { jobs, waiting: 100 }, items(count));
    w.advance(run, (0..begun).map(|index| Move::Spawn { index }).collect());
    let children = w.run(run).children.into_values().collect();
    (run, children)
}

fn suspend(w: &mut Fixture, run: RunNumber) {
    let seen = w.run(run).next_step;
    w.advance(run, vec![Move::Suspend { seen, why: "to wait".to_owned() }]);
}

/// Lets a child ask for a call and wait for the answer. Returns the message that asks.
fn ask(w: &mut Fixture, child: RunNumber) -> MessageNumber {
    w.propose(child, "out", "write", Decision::Ask);
    suspend(w, child);
    *w.open_mail().last().unwrap()
}

fn seen(w: &mut Fixture, message: MessageNumber) -> SeenApproval {
    let host = w.host;
    let letter = query::message(&mut w.store, &host, message).unwrap().unwrap();
    let Some(Body::Approval { entries, .. }) = letter.body() else { panic!("an approval") };
    SeenApproval { message, fingerprints: entries.iter().map(|entry| entry.fingerprint).collect() }
}

/// Reported of other programs: coalesce-labs/catalyst#1301, elastic/kibana#276952 (a wait for a person holds a slot).
#[test]
fn waiting_item_yields_its_place_until_it_goes_on() {
    let mut w = Fixture::new();
    let (run, children) = batch(&mut w, 2, 4, 2);
    suspend(&mut w, run);
    let message = ask(&mut w, children[0]);
    let found = w.run(run);
    assert_eq!(found.state, State::Ready, "the batch goes on");
    assert_eq!(found.yielded.into_iter().collect::<Vec<_>>(), [(0, YieldReason::Person)]);
    assert!(w.steps(run).ends_with("suspended yielded resumed"), "{}", w.steps(run));
    // The batch is woken before the item is seen to wait, so that it never looks idle.
    let events = w.events();
    let at = |run: RunNumber, name: &str| {
        events.iter().rposition(|event| {
            matches!(&event.change, kernel::event::Change::Step { run: of, entry, .. } if *of == run && entry == name)
        })
    };
    assert!(at(run, "resumed") < at(children[0], "suspended"));
    w.advance(run, vec![Move::Spawn { index: 2 }]);
    w.answer(message, YES);
    let found = w.run(run);
    assert!(found.yielded.is_empty() && found.children.len() == 3, "the item takes a place again");
    assert_eq!(w.run(children[0]).state, State::Ready);
}

#[test]
fn batch_at_work_notices_an_item_that_yields() {
    let mut w = Fixture::new();
    let (run, children) = batch(&mut w, 1, 2, 1);
    let seen = w.run(run).next_step;
    ask(&mut w, children[0]);
    let outcome = w.advance(run, vec![Move::Suspend { seen, why: "for its children".to_owned() }]);
    assert_eq!(outcome.reply, Reply::NotSuspended);
}

#[test]
fn item_yields_only_if_all_that_it_called_waits() {
    let mut w = Fixture::new();
    let (run, children) = batch(&mut w, 1, 3, 1);
    let call = |w: &mut Fixture| w.judgement(children[0], "reader", "call", Decision::Allow);
    let calls = vec![call(&mut w), call(&mut w)];
    w.advance(children[0], vec![Move::Propose { proposals: calls }]);
    let called: Vec<RunNumber> = w.run(children[0]).open_children().collect();
    suspend(&mut w, children[0]);
    assert!(w.run(run).yielded.is_empty(), "the called workers are at work");
    w.advance(called[0], vec![Move::Stall { trouble: trouble() }]);
    assert!(w.run(run).yielded.is_empty(), "one called worker is at work");
    w.advance(called[1], vec![Move::Stall { trouble: trouble() }]);
    assert_eq!(w.run(run).yielded.get(&0), Some(&YieldReason::Stall));
    w.apply(Act::Resume { runs: vec![called[1]], named: None });
    assert!(w.run(run).yielded.is_empty(), "a called worker goes on");
}

/// Reported of another program: promptfoo/promptfoo#145 (a server that is down is asked again for each item).
#[test]
fn only_few_stalled_items_yield_their_place() {
    let mut w = Fixture::new();
    let (run, children) = batch(&mut w, 8, 20, 8);
    for child in &children {
        w.advance(*child, vec![Move::Stall { trouble: trouble() }]);
    }
    assert_eq!(w.run(run).yielded.len(), MAX_STALLED_ITEMS);
}

#[test]
fn waiting_item_keeps_no_share_of_the_tokens() {
    let mut w = Fixture::new();
    let (run, children) = batch(&mut w, 1, 3, 1);
    let limit = w.run(run).limits.tokens;
    ask(&mut w, children[0]);
    w.advance(run, vec![Move::Spawn { index: 1 }]);
    let second = w.run(run).children[&1];
    assert_eq!(w.run(second).limits.tokens, limit);
}

#[test]
fn rejected_item_fails_without_a_child() {
    let mut w = Fixture::new();
    let mut all = items(2);
    let rejection =
        Rejection { trouble: trouble(), is_read: false, path: Some("/in/d0".to_owned()), within: None };
    all[0].rejected = Some(Box::new(rejection));
    let run = w.start_shaped(Shape::Each { jobs: 1, waiting: 100 }, all);
    w.advance(run, vec![Move::Spawn { index: 0 }, Move::Spawn { index: 1 }]);
    let found = w.run(run);
    assert_eq!(found.children.keys().copied().collect::<Vec<_>>(), [1]);
    assert!(w.journal(run).iter().any(|step| matches!(
        &step.entry,
        kernel::run::Entry::Collected { index: 0, outcome: RunOutcome::Failed(found) } if *found == trouble()
    )));
}

#[test]
fn stalled_runs_are_listed_until_they_go_on_or_end() {
    let mut w = Fixture::new();
    let owner = w.host.number;
    let listed = |w: &mut Fixture| query::stalled(&mut w.store, &owner, 10).unwrap();
    let runs: Vec<RunNumber> = (0..3).map(|_| w.start()).collect();
    for run in &runs {
        w.advance(*run, vec![Move::Stall { trouble: trouble() }]);
    }
    assert_eq!(listed(&mut w), runs);
    w.apply(Act::Resume { runs: vec![runs[0]], named: None });
    w.apply(Act::Cancel { what: kernel::command::Cancel::Run { run: runs[1] }, reason: text("no") });
    assert_eq!(listed(&mut w), [runs[2]]);
    w.apply(Act::Resume { runs: vec![runs[2]], named: None });
    w.advance(runs[2], vec![Move::Finish { outcome: RunOutcome::Done(Value::null()) }]);
    assert_eq!(listed(&mut w), []);
}

/// Reported of other programs: dust-tt/dust#25006, anthropics/claude-code#91624 (one yes for several calls).
#[test]
fn one_answer_covers_exactly_the_approvals_it_names() {
    let mut w = Fixture::new();
    let (_, children) = batch(&mut w, 3, 3, 3);
    let messages: Vec<MessageNumber> = children.iter().map(|child| ask(&mut w, *child)).collect();
    let all: Vec<SeenApproval> = messages.iter().map(|message| seen(&mut w, *message)).collect();
    let answer = |approvals: &[SeenApproval], choice| {
        Act::AnswerAll(AnswerAll { text: text("approve"), approvals: approvals.to_vec(), choice })
    };
    // An approval that differs from the one that was seen refuses the whole answer.
    let mut other = all[..2].to_vec();
    other[1].fingerprints = all[2].fingerprints.clone();
    let before = w.store.clone();
    assert!(matches!(w.try_apply(answer(&other, YES)), Err(Fault::NotAsSeen { .. })));
    assert!(matches!(
        w.try_apply(answer(&all, Choice::Approve { for_run: true })),
        Err(Fault::Misfit { .. })
    ));
    assert_eq!(w.store, before);
    let done = w.apply(answer(&all[..2], YES)).reply;
    assert_eq!(done, Reply::AnsweredAll { messages: messages[..2].to_vec(), already: vec![] });
    assert_eq!(w.open_mail(), messages[2..]);
    // A second answer covers what is still open, and says what was answered before.
    let done = w.apply(answer(&all, Choice::Deny { reason: text("no") })).reply;
    assert_eq!(
        done,
        Reply::AnsweredAll { messages: messages[2..].to_vec(), already: messages[..2].to_vec() }
    );
    assert!(w.open_mail().is_empty());
}
