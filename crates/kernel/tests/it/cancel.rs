//! Cancelling: effects that had begun complete, nothing else begins, and no agent waits for ever.

use std::collections::BTreeMap;

use kernel::command::{Act, Cancel, Choice, Fault, FieldValue, MailAct, Move, Reply, Target};
use kernel::message::Answer;
use kernel::proposal::Decision;
use kernel::run::{Completion, ResultGoesTo, RunOutcome, Shape, State};
use kernel::table::PromiseRow;
use kernel::txn::Table;
use kernel::{FormulaId, MessageNumber, Pattern, RunNumber, query};

use crate::agents::{bind, code, copy, define, endow, mail, path, request, start, store, string};
use crate::fixture::{Fixture, completion, done, program, text};

fn cancel(run: RunNumber) -> Act {
    Act::Cancel { what: Cancel::Run { run }, reason: text("enough") }
}

fn cancel_name(name: &str) -> Act {
    Act::Cancel { what: Cancel::Name { path: path(name) }, reason: text("enough") }
}

fn is_over(w: &mut Fixture, run: RunNumber) -> bool {
    match w.run(run).state {
        State::Finished { outcome: RunOutcome::Failed(trouble) } => {
            assert_eq!((trouble.code.as_str(), trouble.message.raw()), ("run/cancelled", "enough"));
            true
        }
        State::Finished { .. } => panic!("it ended by itself"),
        _ => false,
    }
}

fn rejected() -> PromiseRow {
    PromiseRow::Rejected { reason: "enough".to_owned() }
}

#[test]
fn cancelling_an_asking_run_closes_its_card() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, _) = w.propose(run, "out", "write", Decision::Ask);
    let card = w.open_mail()[0];
    w.apply(cancel(run));
    assert!(is_over(&mut w, run));
    assert!(w.open_mail().is_empty());
    assert!(matches!(completion(&w.journal(run), step), Some(Completion::Refused(_))));
    let result = w.run(run).result;
    assert_eq!(w.promise(result), rejected());
    let before = w.store.clone();
    for choice in [Choice::Approve { for_run: false }, Choice::Deny { reason: text("no") }] {
        assert_eq!(w.answer(card, choice), Reply::AlreadyAnswered { run });
    }
    assert_eq!(w.store, before, "a late press changes nothing");
    assert!(query::outbox(&mut w.store, &w.host.number).unwrap().is_empty());
}

#[test]
fn closed_card_keeps_answers_and_withdraws_open_entries() {
    let mut w = Fixture::new();
    let run = w.start();
    let proposals = (0..3).map(|_| w.judgement(run, "out", "write", Decision::Ask)).collect();
    w.advance(run, vec![Move::Propose { proposals }]);
    let card = w.open_mail()[0];
    w.answer_some(card, Some(vec![1]), Choice::Deny { reason: text("no") }).unwrap();
    w.apply(cancel(run));
    let host = w.host;
    let letter = query::message(&mut w.store, &host, card).unwrap().unwrap();
    let said: Vec<_> = letter
        .mail
        .answers
        .iter()
        .map(|(entry, answer)| match answer {
            Answer::Denied { .. } => (*entry, "denied"),
            Answer::Withdrawn { reason, .. } if reason.raw() == "the run was cancelled" => {
                (*entry, "withdrawn")
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(said, [(0, "withdrawn"), (1, "denied"), (2, "withdrawn")]);
    assert!(!letter.mail.needs_you);
}

#[test]
fn cancelled_run_drops_its_approved_call_and_permission() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, _) = w.propose(run, "out", "write", Decision::Ask);
    let card = w.open_mail()[0];
    w.answer(card, Choice::Approve { for_run: false });
    w.apply(cancel(run));
    assert!(is_over(&mut w, run));
    assert_eq!(w.store.count(Table::Permission), 0);
    assert!(w.try_advance(run, vec![Move::Begin { proposal: step }]).is_err());
}

#[test]
fn cancelled_run_ends_after_its_begun_effect_completes() {
    let mut w = Fixture::new();
    let run = w.start();
    let (step, _) = w.propose(run, "out", "write", Decision::Allow);
    w.apply(cancel(run));
    assert!(!is_over(&mut w, run));
    let judgement = w.judgement(run, "out", "write", Decision::Allow);
    let propose = Move::Propose { proposals: vec![judgement] };
    assert!(matches!(w.try_advance(run, vec![propose]), Err(Fault::Cancelled(_))));
    w.apply(Act::Recover);
    let host = w.host;
    let begun = kernel::reopen(&mut w.store, &host, kernel::StepRef { run, step }).unwrap();
    assert!(begun.is_some(), "a restart takes the effect up again");
    w.advance(run, vec![Move::Complete { proposal: step, completion: done() }]);
    assert!(is_over(&mut w, run));
    assert!(query::outbox(&mut w.store, &host.number).unwrap().is_empty());
}

#[test]
fn cancelling_a_run_cancels_its_children() {
    let mut w = Fixture::new();
    let run = w.start();
    w.propose(run, "reader", "call", Decision::Allow);
    let each = w.start_shaped(Shape::Each { jobs: 2, waiting: 100 }, vec![document("a"), document("b")]);
    w.advance(each, vec![Move::Spawn { index: 0 }, Move::Spawn { index: 1 }]);
    let children: Vec<RunNumber> = w.run(each).children.into_values().collect();
    w.advance(each, vec![Move::Suspend { seen: 3, why: String::new() }]);
    for (parent, children) in [(run, vec![RunNumber(run.0 + 1)]), (each, children)] {
        w.apply(cancel(parent));
        for child in children {
            assert!(is_over(&mut w, child));
        }
        assert!(is_over(&mut w, parent));
    }
}

fn document(name: &str) -> kernel::run::Attachment {
    let hash = kernel::BlobHash::of(name.as_bytes());
    kernel::run::Attachment {
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
fn cancelled_parent_waits_for_a_childs_begun_effect() {
    let mut w = Fixture::new();
    w.mount("cap");
    let each = w.start_shaped(Shape::Each { jobs: 2, waiting: 100 }, vec![document("a")]);
    w.advance(each, vec![Move::Spawn { index: 0 }]);
    let child = w.run(each).children[&0];
    let (step, _) = w.propose(child, "out", "write", Decision::Allow);
    w.apply(cancel(each));
    assert!(!is_over(&mut w, each) && !is_over(&mut w, child));
    w.advance(child, vec![Move::Complete { proposal: step, completion: done() }]);
    assert!(is_over(&mut w, child) && is_over(&mut w, each));
}

#[test]
fn cancelling_twice_or_late_changes_nothing() {
    let mut w = Fixture::new();
    let run = w.start();
    w.apply(cancel(run));
    let after = (w.run(run), w.steps(run));
    w.apply(cancel(run));
    assert_eq!((w.run(run), w.steps(run)), after);
    assert!(matches!(w.try_apply(cancel(RunNumber(99))), Err(Fault::NoRun(_))));
    // One that ended by itself has ended as it did.
    let done = w.start();
    w.advance(done, vec![Move::Finish { outcome: RunOutcome::Done(string("kept")) }]);
    let after = (w.run(done), w.steps(done));
    w.apply(cancel(done));
    assert_eq!((w.run(done), w.steps(done)), after);
}

#[test]
fn cancelled_waiting_parent_is_ready_until_its_child_ends() {
    let mut w = Fixture::new();
    let each = w.start_shaped(Shape::Each { jobs: 2, waiting: 100 }, vec![document("a")]);
    w.advance(each, vec![Move::Spawn { index: 0 }]);
    let child = w.run(each).children[&0];
    let (step, _) = w.propose(child, "out", "write", Decision::Allow);
    let seen = w.run(each).next_step;
    w.advance(each, vec![Move::Suspend { seen, why: "for its child".to_owned() }]);
    assert_eq!(w.run(each).state, State::Waiting);
    let ready = w.apply(cancel(each)).ready;
    assert_eq!(w.run(each).state, State::Ready, "a restart takes it up");
    // The child was at work and is not told again.
    assert_eq!(ready, [w.mine(each)]);
    w.advance(child, vec![Move::Complete { proposal: step, completion: done() }]);
    assert!(is_over(&mut w, child) && is_over(&mut w, each));
}

#[test]
fn cancel_by_name_ignores_a_mismatched_run_number() {
    let mut w = Fixture::new();
    let host = w.host;
    let (first, second) = (w.start(), w.start());
    let id = w.run(first).id;
    w.give_name(host, "it", id);
    // Damaged: the formula of the first says the number of the second.
    let mut row = kernel::table::formula(&mut w.store, &id).unwrap().unwrap();
    let kernel::formula::Formula::Run { run, .. } = &mut row.formula else { panic!("{row:?}") };
    *run = second;
    kernel::table::save(&mut w.store, Table::Formula, &kernel::txn::NO_OWNER, &id.number, &row, None)
        .unwrap();
    w.as_agent(host, cancel_name("it"));
    assert!(!is_over(&mut w, first) && !is_over(&mut w, second));
}

#[test]
fn host_cannot_withdraw_anothers_request() {
    let (mut w, host, fae) = with_fae();
    let promise = w.ask(fae, request("@host", "x", None));
    let number = w.last(host).number;
    w.as_agent(host, cancel_name(&format!("@mail/{number}/@promise")));
    assert_eq!(w.promise(promise), PromiseRow::Pending, "it is answered or refused");
    assert!(!is_withdrawn(&mut w, host, number.0));
    w.as_agent(host, crate::agents::resolve(number.0, "five"));
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("five") });
}

#[test]
fn cancel_by_name_ends_exactly_the_dependent_work() {
    let mut w = Fixture::new();
    w.mount("cap");
    let host = w.host;
    w.as_agent(
        host,
        Act::Grant(kernel::command::GrantAct::Attenuate {
            is: None,
            expires_ms: None,
            force: false,
            path: path("cap"),
            methods: vec!["read".to_owned()],
            attenuation: Default::default(),
            to: path("narrow"),
        }),
    );
    let run_with = |w: &mut Fixture, name: &str| {
        let target = Target::Named { path: path(name) };
        let start = start(program("clerk"), vec![bind("out", target, &["read"])]);
        match w.apply(Act::Start(Box::new(start))).reply {
            Reply::Started { run } => run,
            other => panic!("{other:?}"),
        }
    };
    let (narrow, wide, other) = (run_with(&mut w, "narrow"), run_with(&mut w, "cap"), w.start());
    let names = vec!["cap".to_owned()];
    let evaluate = MailAct::Evaluate {
        vat: None,
        source: text("1"),
        names,
        paths: vec![path("cap")],
        result_name: None,
    };
    let (_, promise) = w.parked(host, mail(evaluate));
    let state = |w: &mut Fixture| [narrow, wide, other].map(|run| is_over(w, run));
    w.as_agent(host, cancel_name("narrow"));
    assert_eq!(state(&mut w), [true, false, false], "a grant: what was made of that grant");
    assert_eq!(w.promise(promise), PromiseRow::Pending);
    w.as_agent(host, cancel_name("cap"));
    assert_eq!(state(&mut w), [true, true, false], "a capability: all that was made of it");
    assert_eq!(w.promise(promise), rejected());
    w.as_agent(host, cancel_name("cap"));
    assert!(query::outbox(&mut w.store, &host.number).unwrap().len() == 1, "the other run is still there");
    let cap = w.id(host, "cap");
    assert!(w.behind(cap).is_ok(), "what is cancelled can be used again");
}

#[test]
fn cancel_accepts_names_of_runs_workers_and_promises() {
    let mut w = Fixture::new();
    let host = w.host;
    let fae = w.guest("fae");
    let run = w.start();
    let letter = w.run(run).source;
    w.as_agent(host, copy(&format!("@mail/{letter}/@value"), "the-run"));
    w.as_agent(host, cancel_name("the-run"));
    assert!(is_over(&mut w, run));
    let second = w.start();
    let worker = w.run(second).worker;
    w.give_name(host, "the-worker", worker);
    w.as_agent(host, cancel_name("the-worker"));
    assert!(is_over(&mut w, second));
    let promise = w.ask(host, request("fae", "x", Some("answer")));
    w.as_agent(host, cancel_name("answer"));
    assert_eq!(w.promise(promise), rejected());
    assert!(w.fault(fae, crate::agents::reject(0, "late")).contains("was withdrawn"));
    assert_eq!(w.promise(promise), rejected(), "a promise settles once");
}

#[test]
fn guest_sees_the_cancellation_but_not_its_reason() {
    let mut w = Fixture::new();
    let host = w.host;
    let fae = w.guest("fae");
    let promise = w.ask(fae, define(code("x", &[]), None));
    let number = w.last(host).number.0;
    let (eval, mine) = w.parked(host, endow(number, &[], ResultGoesTo::GuestData));
    w.give_name(host, "it", eval);
    w.as_agent(host, cancel_name("it"));
    assert_eq!(w.promise(mine), rejected());
    assert_eq!(w.promise(promise), PromiseRow::Rejected { reason: "it failed: run/cancelled".to_owned() });
    assert_eq!(w.evaluated(eval, kernel::Value::null()), Reply::AlreadySettled);
}

/// Returns whether the message is marked as withdrawn in the agent's mailbox, and asks for nothing.
fn is_withdrawn(w: &mut Fixture, agent: FormulaId, number: u64) -> bool {
    let letter = query::message(&mut w.store, &agent, MessageNumber(number)).unwrap().unwrap();
    let withdrawn = matches!(letter.mail.answers.get(&0), Some(Answer::Withdrawn { reason, .. }) if reason.raw() == "enough");
    assert!(!(withdrawn && letter.mail.needs_you));
    withdrawn
}

#[test]
fn withdrawn_guest_request_can_no_longer_be_answered() {
    let (mut w, host, fae) = with_fae();
    let field = || vec![crate::agents::field("say", Pattern::string())];
    let evaluation = MailAct::RequestEvaluation {
        source: text("v"),
        names: vec!["v".to_owned()],
        paths: vec![path("mine")],
        result_name: None,
    };
    let submit = |number| {
        let values = BTreeMap::from([("say".to_owned(), FieldValue::Value { value: string("x") })]);
        mail(MailAct::Submit { number, values })
    };
    let grant = |number| mail(MailAct::Grant { number, goes_to: ResultGoesTo::GuestData });
    w.as_agent(fae, store(string("mine"), "mine"));
    type Answering<'a> = &'a dyn Fn(MessageNumber) -> Act;
    let endow = |number: MessageNumber| endow(number.0, &[], ResultGoesTo::GuestData);
    let edit = |number| mail(MailAct::Edit { number, program: code("y", &[]) });
    let resolve = |number: MessageNumber| crate::agents::resolve(number.0, "five");
    let asks: [(Act, &[Answering<'_>]); 4] = [
        (request("@host", "x", None), &[&resolve]),
        (define(code("x", &[]), None), &[&endow, &edit]),
        (mail(MailAct::Form(crate::agents::form("@host", field()))), &[&submit]),
        (mail(evaluation), &[&grant]),
    ];
    for (ask, answers) in asks {
        let promise = w.ask(fae, ask);
        let (theirs, number) = (w.last(fae).number, w.last(host).number);
        assert!(w.last(host).mail.needs_you);
        let withdraw = cancel_name(&format!("@mail/{theirs}/@promise"));
        assert_eq!(w.as_agent(fae, withdraw.clone()), Reply::Done);
        assert_eq!(w.promise(promise), rejected());
        assert!(is_withdrawn(&mut w, host, number.0));
        let reject = |number: MessageNumber| crate::agents::reject(number.0, "no");
        for answer in answers.iter().copied().chain([&reject as Answering<'_>]) {
            let fault = w.try_as(host, answer(number)).expect_err("a conflict");
            assert_eq!(fault, Fault::Withdrawn(number));
        }
        let before = w.store.clone();
        assert_eq!(w.as_agent(fae, withdraw), Reply::AlreadySettled, "twice is once");
        assert_eq!(w.store, before);
        w.as_agent(host, crate::agents::dismiss(number.0));
    }
}

#[test]
fn guest_cannot_cancel_work_of_others() {
    let (mut w, host, fae) = with_fae();
    let asked = w.ask(host, request("fae", "x", Some("answer")));
    let number = w.last(fae).number;
    let refused = "not allowed: a guest cancels only what it asked for itself";
    for name in [format!("@mail/{number}/@promise"), format!("@mail/{number}/@message"), "@host".to_owned()] {
        assert_eq!(w.fault(fae, cancel_name(&name)), refused, "{name}");
    }
    assert_eq!(w.fault(fae, cancel(RunNumber(1))), "not allowed: only a host can cancel runs");
    assert_eq!(w.promise(asked), PromiseRow::Pending);
    assert!(!is_withdrawn(&mut w, fae, number.0));
}

#[test]
fn result_of_withdrawn_work_stays_with_the_host() {
    // The definition is edited, endowed, and withdrawn while the code runs. Both messages are marked, the work goes
    // on, and the guest gets nothing: neither a result nor a withheld capability.
    for capability in [false, true] {
        let (mut w, host, fae) = with_fae();
        w.mount("cap");
        let slots = [("cap", Pattern::any())];
        let promise = w.ask(fae, define(code("x", &slots), Some("result")));
        let first = w.last(host).number;
        let edit = mail(MailAct::Edit { number: first, program: code("y", &[]) });
        let Reply::Sent { number: second } = w.as_agent(host, edit) else { panic!("sent") };
        let (eval, mine) = w.parked(host, endow(second.0, &[("cap", "cap")], ResultGoesTo::GuestData));
        let kernel::formula::Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
        let value = match capability {
            true => kernel::Value::remotable(endowments["cap"]),
            false => string("done"),
        };
        if capability {
            w.evaluated(eval, value.clone());
            assert!(w.last(host).mail.needs_you, "it is withheld");
        }
        let held = w.last(host).number;
        w.as_agent(fae, cancel_name("result"));
        assert!([first, second].iter().all(|number| is_withdrawn(&mut w, host, number.0)));
        let letters = w.letters(fae).len();
        if capability {
            assert!(is_withdrawn(&mut w, host, held.0));
            let approve = w.answer_some(held, None, Choice::Approve { for_run: false });
            assert_eq!(approve.map(|outcome| outcome.reply), Err(Fault::Withdrawn(held)));
        } else {
            w.evaluated(eval, value.clone());
        }
        assert_eq!(w.promise(mine), PromiseRow::Fulfilled { value }, "the host has what it paid for");
        assert_eq!(w.promise(promise), rejected());
        assert_eq!(w.letters(fae).len(), letters, "nothing comes to the guest");
    }
}

#[test]
fn guest_cancels_own_code_by_its_promise_name() {
    let (mut w, _, fae) = with_fae();
    let evaluate = MailAct::Evaluate {
        vat: None,
        source: text("1"),
        names: vec![],
        paths: vec![],
        result_name: Some(path("result")),
    };
    let (eval, promise) = w.parked(fae, mail(evaluate));
    w.as_agent(fae, cancel_name("result"));
    assert_eq!(w.promise(promise), rejected());
    assert!(query::outbox(&mut w.store, &w.host.number).unwrap().is_empty(), "it will not run");
    assert_eq!(w.evaluated(eval, kernel::Value::null()), Reply::AlreadySettled);
}

/// Returns a store with a host that has a `five`, and a guest.
fn with_fae() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, store(string("five"), "five"));
    let fae = w.guest("fae");
    (w, host, fae)
}
