//! Runs: journals, children, recovery.

use kernel::command::{Act, Fault, Move, Reply};
use kernel::proposal::{Decision, Effect};
use kernel::provenance::{Provenance, Source};
use kernel::run::{Attachment, Completion, Entry, Phase, RunOutcome, Shape, State, Trouble, Usage};
use kernel::{BlobHash, FormulaId, RunNumber, StepRef, Value, query};

use crate::fixture::{Fixture, completion, done, text};

pub(crate) fn finish(value: &str) -> Move {
    Move::Finish { outcome: RunOutcome::Done(Value::string(value)) }
}

pub(crate) fn document(name: &str) -> Attachment {
    let hash = BlobHash::of(name.as_bytes());
    Attachment {
        name: name.to_owned(),
        hash,
        text: hash,
        bytes: 3,
        media_type: String::new(),
        notes: vec![],
        rejected: None,
    }
}

#[test]
fn an_allowed_call_begins_and_is_reopened_after_a_crash() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, outcome) = w.propose(run, "out", "write", Decision::Allow);
    assert_eq!(outcome.begun.len(), 1);
    // The process dies here: its memory is gone, the store is not.
    let at = StepRef { run, step };
    let host = w.host;
    let begun = kernel::reopen(&mut w.store, &host, at).unwrap().unwrap();
    assert!(begun.reopened());
    assert_eq!(begun.proposal(), outcome.begun[0].proposal());
    w.advance(run, vec![Move::Complete { proposal: step, completion: done() }, finish("x")]);
    assert!(kernel::reopen(&mut w.store, &host, at).unwrap().is_none());
    assert_eq!(w.steps(run), "proposed judged effect_started completed finished");
    assert!(query::outbox(&mut w.store, &host.number).unwrap().is_empty());
}

#[test]
fn completed_effect_is_found_by_the_name_of_its_file() {
    let mut w = Fixture::new();
    let runs_of = |w: &mut Fixture, path: &str| {
        let host = w.host.number;
        query::runs_of_file(&mut w.store, &host, query::file_name(path).unwrap(), 10).unwrap()
    };
    let (first, other) = (w.start(), w.start());
    for (run, path) in [(first, "a/b.md"), (other, "b.md"), (other, "b.mdx")] {
        let (step, _) = w.propose(run, "out", "write", Decision::Allow);
        let value = Value::from_json(&serde_json::json!({ "path": path })).unwrap();
        let completion = Completion::Done { value, provenance: Provenance::host() };
        w.advance(run, vec![Move::Complete { proposal: step, completion }]);
    }
    assert_eq!(runs_of(&mut w, "/x/b.md"), [other, first]);
    assert_eq!(runs_of(&mut w, "b.mdx"), [other]);
    assert!(runs_of(&mut w, "b.m").is_empty() && runs_of(&mut w, "a").is_empty());
}

#[test]
fn unheld_grant_is_refused_despite_an_allow_verdict() {
    let mut w = Fixture::new();
    let (mine, other) = (w.start(), w.start());
    let mut forged = w.judgement(other, "out", "write", Decision::Allow);
    forged.proposal.run = mine;
    let step = w.run(mine).next_step;
    let outcome = w.advance(mine, vec![Move::Propose { proposals: vec![forged] }]);
    assert!(outcome.begun.is_empty());
    let Some(Completion::Refused(findings)) = completion(&w.journal(mine), step) else { panic!("refused") };
    assert_eq!(findings.last().unwrap().rule, "grant/held");
    let mut unknown = w.judgement(mine, "out", "write", Decision::Allow);
    unknown.proposal.grant = FormulaId { number: [9; 32], node: [9; 32] };
    assert!(w.advance(mine, vec![Move::Propose { proposals: vec![unknown] }]).begun.is_empty());
}

#[test]
fn ungranted_method_is_refused() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, outcome) = w.propose(run, "out", "remove", Decision::Allow);
    assert!(outcome.begun.is_empty());
    let Some(Completion::Refused(findings)) = completion(&w.journal(run), step) else { panic!("refused") };
    assert_eq!(findings[0].rule, "grant/method");
}

#[test]
fn called_worker_is_a_child_run_without_inherited_grants() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, outcome) = w.propose(run, "reader", "call", Decision::Allow);
    assert!(outcome.begun.is_empty(), "a call has no effect of its own");
    let Phase::Called { child } = w.run(run).open[&step] else { panic!("called") };
    let callee = w.run(child);
    assert!(callee.grants.is_empty());
    assert_eq!((callee.depth, callee.model.as_str()), (1, "scripted:x"));
    assert!(matches!(w.try_advance(run, vec![finish("early")]), Err(Fault::OutOfOrder { .. })));
    let seen = w.run(run).next_step;
    w.advance(run, vec![Move::Suspend { seen, why: "for its children".to_owned() }]);
    let outcome = w.advance(child, vec![finish("facts")]);
    assert_eq!(outcome.ready, [w.mine(run)], "the parent goes on in the same transaction");
    let Some(Completion::Done { value, provenance }) = completion(&w.journal(run), step) else {
        panic!("done")
    };
    assert_eq!(value.as_str(), Some("facts"));
    assert!(provenance.sources.contains(&Source::Run(child)));
}

/// Checks that one command can hold a turn of the model, the call that it asks for, and the wait for it. The effect
/// is that of one command for each.
#[test]
fn one_command_takes_a_run_from_wait_to_wait() {
    let mut w = Fixture::new();
    let run = w.start();
    let first = w.run(run).next_step;
    let hash = BlobHash([7; 32]);
    let turn = |prompted| {
        let model = "scripted:x".to_owned();
        let usage = Usage::default();
        [Move::Prompt { request: hash, model }, Move::Reply { prompted, reply: hash, usage, model: None }]
    };
    let suspend = |seen| Move::Suspend { seen, why: "for its children".to_owned() };
    let judged = w.judgement(run, "reader", "call", Decision::Allow);
    let propose = || Move::Propose { proposals: vec![judged.clone()] };
    // Somebody else came first: nothing of it happens, and a wait is not begun by one who has not seen all.
    let stale: Vec<Move> = turn(first - 1).into_iter().chain([propose(), suspend(first - 1)]).collect();
    assert!(matches!(w.try_advance(run, stale), Err(Fault::OutOfOrder { .. })));
    assert_eq!(w.run(run).next_step, first);
    let all: Vec<Move> = turn(first).into_iter().chain([propose(), suspend(first)]).collect();
    let outcome = w.advance(run, all);
    assert_eq!((outcome.reply, outcome.ready.len()), (Reply::Done, 1));
    assert_eq!(w.run(run).state, State::Waiting);
    // A refused call leaves the run something to do, so it does not wait.
    let other = w.start();
    let denied = w.judgement(other, "reader", "call", Decision::Deny);
    let first = w.run(other).next_step;
    let moves = vec![Move::Propose { proposals: vec![denied] }, suspend(first)];
    assert_eq!(w.advance(other, moves).reply, Reply::NotSuspended);
    assert_eq!(w.run(other).state, State::Ready);
}

#[test]
fn call_passes_on_only_named_documents_of_its_run() {
    let list = |names: &[&str]| Value::array(names.iter().map(|name| Value::string(*name)));
    let none: [&str; 0] = [];
    for (handed, expected) in [
        (None, Ok(none.to_vec())),
        (Some(list(&[])), Ok(none.to_vec())),
        (Some(list(&["b"])), Ok(vec!["b"])),
        (Some(list(&["b", "a"])), Ok(vec!["b", "a"])),
        (Some(list(&["c"])), Err("a, b")),
        (Some(list(&["a", "c"])), Err("a, b")),
        (Some(Value::array([Value::number(1.0)])), Err("a, b")),
    ] {
        let mut w = Fixture::new();
        let run = w.start();
        let mut row = w.run(run);
        row.input.attachments = vec![document("a"), document("b")];
        let (owner, key) = (w.host.number, kernel::table::number_key(run.0));
        kernel::table::save(&mut w.store, kernel::txn::Table::Run, &owner, &key, &row, None).unwrap();
        let mut judgement = w.judgement(run, "reader", "call", Decision::Allow);
        judgement.proposal.args.extend(handed.clone());
        let step = row.next_step;
        w.advance(run, vec![Move::Propose { proposals: vec![judgement] }]);
        match (w.run(run).open.get(&step).copied(), expected) {
            (Some(Phase::Called { child }), Ok(names)) => {
                let documents: Vec<Attachment> = names.into_iter().map(document).collect();
                assert_eq!(w.run(child).input.attachments, documents);
            }
            (None, Err(allowed)) => {
                let refused = completion(&w.journal(run), step);
                let Some(Completion::Refused(findings)) = refused else { panic!("{refused:?}") };
                assert_eq!(findings[0].rule, "call/attachment");
                assert_eq!(findings[0].allowed.as_deref(), Some(allowed));
                assert_eq!(w.run(run).open_children().count(), 0);
            }
            (phase, expected) => panic!("{handed:?}: {phase:?}, not {expected:?}"),
        }
    }
}

#[test]
fn a_failed_child_is_a_failed_call() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, _) = w.propose(run, "reader", "call", Decision::Allow);
    let trouble = Trouble { code: "x/y".to_owned(), message: text("no luck"), help: "try".to_owned() };
    w.advance(RunNumber(2), vec![Move::Finish { outcome: RunOutcome::Failed(trouble) }]);
    let Some(Completion::Failed(finding)) = completion(&w.journal(run), step) else { panic!("failed") };
    assert_eq!(finding.message, "no luck");
}

#[test]
fn worker_calls_are_refused_beyond_the_depth_limit() {
    let mut w = Fixture::new();
    let mut run = w.start();
    let depth = w.run(run).limits.depth;
    for _ in 0..depth {
        // Each child gets the grants of its parent here, which no real call gives it.
        let (step, _) = w.propose(run, "reader", "call", Decision::Allow);
        let Phase::Called { child } = w.run(run).open[&step] else { panic!("called") };
        let mut child_run = w.run(child);
        let parent = w.run(run);
        (child_run.worker, child_run.grants) = (parent.worker, parent.grants);
        let key = kernel::table::number_key(child.0);
        let owner = w.host.number;
        kernel::table::save(&mut w.store, kernel::txn::Table::Run, &owner, &key, &child_run, None).unwrap();
        run = child;
    }
    let (step, _) = w.propose(run, "reader", "call", Decision::Allow);
    let Some(Completion::Refused(findings)) = completion(&w.journal(run), step) else { panic!("refused") };
    assert_eq!(findings[0].rule, "depth/limit");
}

#[test]
fn each_child_sees_only_its_own_document() {
    let mut w = Fixture::new();
    let run = w.start_shaped(Shape::Each { jobs: 2, waiting: 100 }, vec![document("a"), document("b")]);
    w.advance(run, vec![Move::Spawn { index: 0 }, Move::Spawn { index: 1 }]);
    let children = w.run(run).children;
    let names: Vec<_> = children
        .values()
        .map(|c| w.run(*c).input.attachments.iter().map(|a| a.name.clone()).collect::<Vec<_>>())
        .collect();
    assert_eq!(names, [["a"], ["b"]]);
    assert!(matches!(w.try_advance(run, vec![Move::Spawn { index: 2 }]), Err(Fault::OutOfOrder { .. })));
    w.advance(children[&1], vec![finish("second")]);
    w.advance(children[&0], vec![finish("first")]);
    let collected: Vec<_> = w
        .journal(run)
        .into_iter()
        .filter_map(|s| match s.entry {
            Entry::Collected { index, outcome: RunOutcome::Done(value) } => {
                Some((index, value.as_str().map(str::to_owned)))
            }
            _ => None,
        })
        .collect();
    assert_eq!(collected, [(1, Some("second".to_owned())), (0, Some("first".to_owned()))]);
    let sources = w.run(run).provenance.sources;
    assert_eq!(sources.iter().filter(|s| matches!(s, Source::Document { .. })).count(), 2);
}

fn usage(tokens: u64) -> kernel::run::Usage {
    kernel::run::Usage { input_tokens: tokens, ..kernel::run::Usage::default() }
}

/// Records one request of the run to its model, and the tokens that it used.
fn spend(w: &mut Fixture, run: RunNumber, tokens: u64) {
    let prompted = w.run(run).next_step;
    let (request, model) = (BlobHash::of(b"request"), "m".to_owned());
    w.advance(run, vec![Move::Prompt { request, model }]);
    w.advance(
        run,
        vec![Move::Reply { prompted, reply: BlobHash::of(b"reply"), usage: usage(tokens), model: None }],
    );
}

/// Returns the tokens that a run has used and that its open children may still use. Checks that they are within its
/// limit.
#[track_caller]
fn within_limit(w: &mut Fixture, run: RunNumber) -> u64 {
    let parent = w.run(run);
    let children: Vec<RunNumber> = parent.open_children().collect();
    let lent: u64 = children.into_iter().map(|c| w.run(c)).map(|c| c.limits.tokens - c.used.tokens()).sum();
    let most = parent.used.tokens() + lent;
    assert!(most <= parent.limits.tokens, "{most} of {}", parent.limits.tokens);
    most
}

#[test]
fn parallel_children_share_the_remaining_tokens() {
    let mut w = Fixture::new();
    let items = ["a", "b", "c", "d", "e"].map(document).to_vec();
    let run = w.start_shaped(Shape::Each { jobs: 3, waiting: 100 }, items);
    let limit = w.run(run).limits.tokens;
    w.advance(run, (0..3).map(|index| Move::Spawn { index }).collect());
    let children: Vec<RunNumber> = w.run(run).children.into_values().collect();
    let lent: Vec<u64> = children.iter().map(|c| w.run(*c).limits.tokens).collect();
    assert!(lent.iter().all(|share| *share >= limit / 3), "{lent:?}");
    assert!(limit - within_limit(&mut w, run) < 3, "nothing is kept back");
    // One child uses up its share, and one ends early: the rest of its share is there for the next.
    spend(&mut w, children[0], lent[0]);
    spend(&mut w, children[1], 1_000);
    within_limit(&mut w, run);
    w.advance(children[1], vec![finish("early")]);
    w.advance(run, vec![Move::Spawn { index: 3 }]);
    let next = w.run(run).children[&3];
    assert!(w.run(next).limits.tokens >= lent[1] - 1_000);
    within_limit(&mut w, run);
    // The last one has it all to itself.
    for child in [children[0], children[2], next] {
        w.advance(child, vec![finish("x")]);
    }
    w.advance(run, vec![Move::Spawn { index: 4 }]);
    let last = w.run(run).children[&4];
    assert_eq!(w.run(last).limits.tokens, limit - w.run(run).used.tokens());
    // One reply can exceed the remaining tokens; it takes nothing from the shares of others.
    spend(&mut w, last, limit);
    assert!(w.run(run).used.tokens() > limit);
}

#[test]
fn workers_called_in_one_turn_share_the_remaining_tokens() {
    let mut w = Fixture::new();
    let run = w.start();
    spend(&mut w, run, 20_000);
    let limit = w.run(run).limits.tokens;
    let allowed = || vec![Decision::Allow, Decision::Ask, Decision::Allow, Decision::Deny, Decision::Ask];
    let judged = allowed().into_iter().map(|d| w.judgement(run, "reader", "call", d)).collect();
    w.advance(run, vec![Move::Propose { proposals: judged }]);
    let share = (limit - 20_000) / 4;
    let children: Vec<RunNumber> = w.run(run).open_children().collect();
    assert_eq!(children.iter().map(|c| w.run(*c).limits.tokens).collect::<Vec<_>>(), [share, share]);
    // Those that were asked about find their shares, one after the other.
    let message = w.open_mail()[0];
    w.answer(message, kernel::command::Choice::Approve { for_run: false });
    let approved = |w: &mut Fixture| -> Vec<Move> {
        let open = w.run(run).open;
        let ready = open.iter().filter(|(_, phase)| **phase == Phase::Approved);
        ready.map(|(step, _)| Move::Begin { proposal: *step }).collect()
    };
    let moves = approved(&mut w);
    w.advance(run, moves);
    let children: Vec<RunNumber> = w.run(run).open_children().collect();
    assert_eq!(children.iter().map(|c| w.run(*c).limits.tokens).collect::<Vec<_>>(), [share; 4]);
    assert_eq!(within_limit(&mut w, run), limit);
    // A child that lends on does so out of its own.
    spend(&mut w, children[0], 5_000);
    assert_eq!(within_limit(&mut w, run), limit);
}

#[test]
fn non_worker_call_takes_no_token_share() {
    // Beside the worker's call: an effect that begins, one that is asked about, and one that was approved.
    for (slots, asked) in [
        (&[("reader", Decision::Allow), ("out", Decision::Allow)][..], false),
        (&[("reader", Decision::Allow), ("out", Decision::Ask)], false),
        (&[("reader", Decision::Ask), ("out", Decision::Ask)], true),
    ] {
        let mut w = Fixture::new();
        let run = w.start();
        let method = |slot: &str| if slot == "reader" { "call" } else { "write" };
        let judged = slots.iter().map(|(slot, decision)| w.judgement(run, slot, method(slot), *decision));
        let judged = judged.collect();
        let step = w.run(run).next_step;
        w.advance(run, vec![Move::Propose { proposals: judged }]);
        if asked {
            let message = w.open_mail()[0];
            w.answer(message, kernel::command::Choice::Approve { for_run: false });
            w.advance(run, vec![Move::Begin { proposal: step }]);
        }
        let child = w.run(run).open_children().next().unwrap();
        assert_eq!(w.run(child).limits.tokens, w.run(run).limits.tokens, "{slots:?}");
    }
}

#[test]
fn documents_read_by_a_run_taint_its_later_proposals() {
    let mut w = Fixture::new();
    let run = w.start();
    let mut read = w.judgement(run, "out", "read", Decision::Allow);
    read.proposal.effect = Effect::Observe;
    let step = w.run(run).next_step;
    w.advance(run, vec![Move::Propose { proposals: vec![read] }]);
    let letter = Provenance::of(Source::Document { name: "mail/1".to_owned(), hash: BlobHash::of(b"x") });
    let completion = Completion::Done { value: Value::string("…"), provenance: letter.clone() };
    w.advance(run, vec![Move::Complete { proposal: step, completion }]);
    let (step, _) = w.propose(run, "out", "write", Decision::Ask);
    let proposed = w.journal(run).into_iter().find(|s| s.number == step).unwrap();
    let Entry::Proposed { proposal, .. } = proposed.entry else { panic!("proposed") };
    assert!(proposal.provenance.sources.is_superset(&letter.sources), "although the proposal claimed `host`");
    assert!(proposed.provenance.is_untrusted());
}

#[test]
fn stalled_run_continues_only_on_resume() {
    let mut w = Fixture::new();
    let run = w.start();
    let trouble = Trouble { code: "model/busy".to_owned(), message: text("429"), help: "wait".to_owned() };
    w.advance(run, vec![Move::Stall { trouble: trouble.clone() }]);
    assert_eq!(w.run(run).state, State::Stalled { trouble });
    let outcome = w.apply(Act::Resume { runs: vec![run], named: None });
    assert_eq!(outcome.ready, [w.mine(run)]);
    assert_eq!(
        w.apply(Act::Resume { runs: vec![run], named: None }).reply,
        kernel::command::Reply::NotStalled
    );
}

#[test]
fn finished_run_accepts_no_move() {
    let mut w = Fixture::new();
    let run = w.start();
    w.advance(run, vec![finish("x")]);
    assert!(matches!(w.try_advance(run, vec![finish("y")]), Err(Fault::OutOfOrder { .. })));
    assert!(matches!(w.try_advance(RunNumber(99), vec![]), Err(Fault::NoRun(RunNumber(99)))));
}

#[test]
fn the_same_commands_make_the_same_store() {
    let script = |w: &mut Fixture| {
        let run = w.start();
        w.propose(run, "out", "write", Decision::Ask);
        w.propose(run, "reader", "call", Decision::Allow);
        w.propose(run, "out", "write", Decision::Deny);
    };
    let (mut a, mut b) = (Fixture::new(), Fixture::new());
    script(&mut a);
    script(&mut b);
    assert_eq!(a.store, b.store);
}

#[test]
fn genesis_happens_once() {
    let mut w = Fixture::new();
    let before = w.store.clone();
    assert_eq!(kernel::genesis(&mut w.store, &crate::fixture::env(77)), Ok(w.host));
    assert_eq!(w.store, before);
}
