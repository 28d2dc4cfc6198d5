//! Define, edit, endow, ask for an evaluation: an inert program gets its endowments from a person, days later.

use std::collections::BTreeMap;

use kernel::command::{Act, Choice, MailAct, Reply, Target, Text};
use kernel::formula::Formula;
use kernel::message::Body;
use kernel::run::{ResultGoesTo, RunOutcome, Trouble};
use kernel::slot::Slot;
use kernel::table::{PromiseRow, Task};
use kernel::{FormulaId, MessageNumber, Pattern, Value, query};
use resource::Resource;

use crate::agents::{
    bind, code, define, dismiss, endow, mail, path, program_of, record, reject, remove, start, store, string,
    worker,
};
use crate::fixture::{Fixture, text};

fn world() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let host = w.host;
    w.mount("cap");
    w.as_agent(host, store(string("five"), "five"));
    let fae = w.guest("fae");
    (w, host, fae)
}

/// Defines as the guest; the guest's promise and the host's message.
fn defined(w: &mut Fixture, fae: FormulaId, slots: &[(&str, Pattern)]) -> (FormulaId, u64) {
    let promise = w.ask(fae, define(code("code", slots), None));
    let host = w.host;
    (promise, w.last(host).number.0)
}

fn endow_worker(
    number: u64,
    source: &str,
    bindings: Vec<kernel::command::Binding>,
    goes_to: ResultGoesTo,
) -> Act {
    let start = Box::new(start(program_of(source), bindings));
    mail(MailAct::EndowWorker { number: MessageNumber(number), start, goes_to, result_name: None })
}

fn failure() -> RunOutcome {
    let message = text("cannot open /home/me/secret");
    RunOutcome::Failed(Trouble { code: "io/missing".to_owned(), message, help: String::new() })
}

#[test]
fn a_definition_is_inert() {
    let (mut w, host, fae) = world();
    let (promise, number) = defined(&mut w, fae, &[("x", Pattern::any())]);
    let id = w.id(host, &format!("@mail/{number}/@definition"));
    assert!(w.formula(id).references().is_empty(), "it refers to nothing");
    assert!(query::outbox(&mut w.store, &host.number).unwrap().is_empty());
    assert_eq!(w.promise(promise), PromiseRow::Pending);
    assert!(query::grants(&mut w.store, &fae.number).unwrap().is_empty());
    assert_eq!(w.fault(fae, endow(0, &[], ResultGoesTo::Host)), "not allowed: only a host can endow");
}

#[test]
fn endowed_code_waits_for_a_vat_in_the_outbox() {
    let (mut w, host, fae) = world();
    let (_, number) = defined(&mut w, fae, &[("x", Pattern::string())]);
    let (eval, promise) = w.parked(host, endow(number, &[("x", "five")], ResultGoesTo::GuestData));
    assert_eq!(query::outbox(&mut w.store, &host.number).unwrap(), [Task::Eval { eval }]);
    // A restart changes nothing about it.
    w.apply(Act::Recover);
    assert_eq!(query::outbox(&mut w.store, &host.number).unwrap(), [Task::Eval { eval }]);
    assert_eq!(w.evaluated(eval, string("done")), Reply::Done);
    assert!(query::outbox(&mut w.store, &host.number).unwrap().is_empty());
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("done") });
    assert_eq!(w.evaluated(eval, string("again")), Reply::AlreadySettled);
}

#[test]
fn first_shared_outcome_settles_and_later_outcomes_are_sent() {
    let (mut w, host, fae) = world();
    let (promise, number) = defined(&mut w, fae, &[]);
    let goes = [ResultGoesTo::Host, ResultGoesTo::GuestData, ResultGoesTo::GuestData];
    let evals: Vec<_> = goes.into_iter().map(|goes| w.parked(host, endow(number, &[], goes)).0).collect();
    w.evaluated(evals[0], string("mine"));
    assert_eq!(w.promise(promise), PromiseRow::Pending, "what goes to the host is not shared");
    w.evaluated(evals[2], string("first"));
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("first") });
    let letters = w.letters(fae).len();
    w.evaluated(evals[1], string("later"));
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("first") });
    assert_eq!(w.letters(fae).len(), letters + 1);
    let Body::Value { value } = w.last_body(fae) else { panic!("a value") };
    assert_eq!(w.formula(value), Formula::Marshal { value: string("later") });
}

#[test]
fn result_goes_to_the_recipient_chosen_by_the_host() {
    for (goes_to, carries, expected) in [
        (ResultGoesTo::Host, false, "pending"),
        (ResultGoesTo::Host, true, "pending"),
        (ResultGoesTo::GuestData, false, "value"),
        (ResultGoesTo::GuestData, true, "asked"),
        (ResultGoesTo::GuestCapabilities, false, "value"),
        (ResultGoesTo::GuestCapabilities, true, "grant"),
    ] {
        let (mut w, host, fae) = world();
        let (promise, number) = defined(&mut w, fae, &[("d", Pattern::remotable("dir"))]);
        let (eval, mine) = w.parked(host, endow(number, &[("d", "cap")], goes_to));
        let Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
        let value = if carries { Value::remotable(endowments["d"]) } else { string("data") };
        w.evaluated(eval, value.clone());
        assert_eq!(w.promise(mine), PromiseRow::Fulfilled { value: value.clone() }, "the host has it");
        let came = match (w.promise(promise), w.last_body(host)) {
            (PromiseRow::Pending, Body::Release { .. }) => "asked",
            (PromiseRow::Pending, _) => "pending",
            (PromiseRow::Fulfilled { value: given }, _) if given == value => "value",
            (PromiseRow::Fulfilled { value: given }, _) => {
                let grant = w.last_grant(host);
                assert_eq!(given, Value::remotable(grant.id));
                assert_eq!((grant.target, grant.holder), (endowments["d"], fae));
                "grant"
            }
            (other, _) => panic!("{other:?}"),
        };
        assert_eq!(came, expected, "{goes_to:?}, {carries}");
    }
}

#[test]
fn guest_sees_only_the_kind_of_a_failure() {
    let (mut w, host, fae) = world();
    let (promise, number) = defined(&mut w, fae, &[]);
    let (eval, mine) = w.parked(host, endow(number, &[], ResultGoesTo::GuestData));
    w.apply(Act::Evaluated { eval, outcome: failure() });
    assert_eq!(w.promise(promise), PromiseRow::Rejected { reason: "it failed: io/missing".to_owned() });
    let reason = "cannot open /home/me/secret".to_owned();
    assert_eq!(w.promise(mine), PromiseRow::Rejected { reason });
}

#[test]
fn endow_binds_exactly_the_defined_slots() {
    let (mut w, host, fae) = world();
    let (_, number) = defined(&mut w, fae, &[("a", Pattern::string()), ("b", Pattern::any())]);
    let mut check = |bindings: &[(&str, &str)], expected: &str| {
        assert_eq!(w.fault(host, endow(number, bindings, ResultGoesTo::Host)), expected);
    };
    check(&[("a", "five")], "slot \"b\" is not bound");
    check(&[("a", "five"), ("b", "five"), ("c", "five")], "there is no slot \"c\"");
    check(&[("a", "five"), ("b", "nothing")], "Unknown pet name: \"nothing\"");
    w.parked(host, endow(number, &[("a", "five"), ("b", "cap")], ResultGoesTo::Host));
}

#[test]
fn invalid_slots_are_refused_at_definition() {
    let (mut w, _, fae) = world();
    let mut check = |name: &str, pattern: Value, expected: &str| {
        let slot = Slot { label: text("l"), pattern };
        let mut program = code("x", &[]);
        program.slots = BTreeMap::from([(name.to_owned(), slot)]);
        let fault = w.fault(fae, define(program, None));
        assert!(fault.contains(expected), "{fault}");
    };
    check("", Pattern::any().to_value(), "cannot be the name of a slot");
    check("a/b", Pattern::any().to_value(), "cannot be the name of a slot");
    check("a\n", Pattern::any().to_value(), "cannot be the name of a slot");
    let broken = Value::tagged("match:or", Value::number(1.0));
    check("a", broken, "has no pattern that could be checked");
    let many: Vec<_> = (0..81).map(|i| format!("s{i}")).collect();
    let slots: Vec<_> = many.iter().map(|name| (name.as_str(), Pattern::any())).collect();
    assert!(w.fault(fae, define(code("x", &slots), None)).contains("at most 80 slots"));
}

#[test]
fn an_endowed_capability_is_a_grant_of_the_host_for_the_code() {
    let (mut w, host, fae) = world();
    let (_, number) = defined(&mut w, fae, &[("d", Pattern::remotable("dir"))]);
    let (eval, _) = w.parked(host, endow(number, &[("d", "cap")], ResultGoesTo::Host));
    let grant = w.last_grant(host);
    assert_eq!((grant.holder, grant.target, grant.slot.as_str()), (eval, w.id(host, "cap"), "d"));
    assert_eq!(grant.source, Some(MessageNumber(number)));
}

#[test]
fn edited_definition_is_new_and_links_the_original() {
    let (mut w, host, fae) = world();
    let (promise, number) = defined(&mut w, fae, &[]);
    let original = w.id(host, &format!("@mail/{number}/@definition"));
    let letters = w.letters(fae).len();
    let edit = mail(MailAct::Edit { number: MessageNumber(number), program: code("better", &[]) });
    let Reply::Sent { number: posted } = w.as_agent(host, edit) else { panic!("sent") };
    let edited = w.id(host, &format!("@mail/{posted}/@definition"));
    assert_ne!(edited, original);
    let Formula::Definition { original: linked, source, .. } = w.formula(edited) else {
        panic!("a definition")
    };
    assert_eq!((linked, source.raw()), (Some(original), "better"));
    let Formula::Definition { source, .. } = w.formula(original) else { panic!("a definition") };
    assert_eq!(source.raw(), "code", "the original stays as it is");
    assert_eq!(w.letters(fae).len(), letters + 1, "the creator is told");
    let Body::Package { strings, .. } = w.last_body(fae) else { panic!("a package") };
    assert!(strings[0].raw().contains("edited"));
    assert!(w.letters(host).iter().all(|l| l.mail.needs_you == (l.number == posted)));
    // The result of the edited definition settles the guest's promise.
    let (eval, _) = w.parked(host, endow(posted.0, &[], ResultGoesTo::GuestData));
    w.evaluated(eval, string("better"));
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("better") });
}

#[test]
fn edited_code_keeps_its_slots_unless_new_slots_are_given() {
    let (mut w, host, fae) = world();
    let names = |w: &mut Fixture, text: &str, program: Text, slots: &[(&str, Pattern)]| -> Vec<String> {
        let (_, number) = match text {
            "" => defined(w, fae, slots),
            source => {
                w.ask(fae, define(worker(source, slots), None));
                (fae, w.last(host).number.0)
            }
        };
        let edit = mail(MailAct::Edit { number: MessageNumber(number), program });
        let Reply::Sent { number: posted } = w.as_agent(host, edit) else { panic!("sent") };
        let edited = w.id(host, &format!("@mail/{posted}/@definition"));
        let Formula::Definition { slots: kept, .. } = w.formula(edited) else { panic!("a definition") };
        let original = w.id(host, &format!("@mail/{number}/@definition"));
        let Formula::Definition { slots: before, .. } = w.formula(original) else { panic!("a definition") };
        // A kept slot is kept whole: pattern and label.
        assert!(kept.iter().all(|(name, slot)| before.get(name).is_none_or(|known| known == slot)));
        kept.into_keys().collect()
    };
    let slots = [("a", Pattern::nat()), ("b", Pattern::any())];
    assert_eq!(names(&mut w, "", code("better", &[]), &slots), ["a", "b"]);
    let other = [("c", Pattern::any())];
    assert_eq!(names(&mut w, "", code("better", &other), &slots), ["c"]);
    assert_eq!(names(&mut w, "", code("better", &[]), &[]), [""; 0]);
    // A worker file says its slots itself, and code in its place has none of them.
    assert_eq!(names(&mut w, "", worker("W", &[]), &slots), [""; 0]);
    assert_eq!(names(&mut w, "W", code("better", &[]), &slots), [""; 0]);
}

#[test]
fn rejected_definition_stays_rejected_with_its_reason() {
    let (mut w, host, fae) = world();
    let (promise, number) = defined(&mut w, fae, &[]);
    w.as_agent(host, reject(number, "too broad"));
    assert_eq!(w.promise(promise), PromiseRow::Rejected { reason: "too broad".to_owned() });
    let fault = w.fault(host, endow(number, &[], ResultGoesTo::Host));
    assert_eq!(fault, format!("message {number} is a definition: it was rejected"));
}

#[test]
fn the_same_definition_under_the_same_name_attaches() {
    let (mut w, host, fae) = world();
    let promise = w.ask(fae, define(code("code", &[]), Some("answer")));
    let attached = Reply::RequestSent { promise, number: None };
    assert_eq!(w.as_agent(fae, define(code("code", &[]), Some("answer"))), attached);
    assert!(w.fault(fae, define(code("other", &[]), Some("answer"))).contains("something else"));
    let number = w.last(host).number.0;
    let (eval, _) = w.parked(host, endow(number, &[], ResultGoesTo::GuestData));
    w.apply(Act::Recover);
    w.evaluated(eval, string("done"));
    assert_eq!(w.as_agent(fae, define(code("code", &[]), Some("answer"))), attached);
}

#[test]
fn a_proposed_worker_is_endowed_and_its_run_settles_the_promise() {
    let (mut w, host, fae) = world();
    let slots = [("out", Pattern::remotable("dir rw")), ("mail", Pattern::remotable("outbox"))];
    let promise = w.ask(fae, define(worker("W", &slots), Some("answer")));
    let number = w.last(host).number.0;
    let dir = || bind("out", Target::Named { path: path("cap") }, &["read", "write"]);
    let spool = || bind("mail", Target::Resource(Resource::Outbox { path: "/out".to_owned() }), &["send"]);
    let goes = ResultGoesTo::GuestData;
    let mut check = |bindings: Vec<kernel::command::Binding>, expected: &str| {
        assert_eq!(w.fault(host, endow_worker(number, "W", bindings, goes)), expected);
    };
    check(vec![dir()], "slot \"mail\" is not bound");
    check(
        vec![dir(), spool(), bind("x", Target::Resource(Resource::Outbox { path: "/x".to_owned() }), &[])],
        "there is no slot \"x\"",
    );
    let mount = bind("mail", Target::Resource(Resource::directory("/out")), &["read"]);
    check(vec![dir(), mount], "slot \"mail\" wants an outbox, not directory /out");
    let named = bind("mail", Target::Named { path: path("cap") }, &["read"]);
    check(vec![dir(), named], "slot \"mail\" wants an outbox, not directory /cap");
    let Reply::Started { run } = w.as_agent(host, endow_worker(number, "W", vec![dir(), spool()], goes))
    else {
        panic!("started")
    };
    w.apply(Act::Recover);
    let outcome = RunOutcome::Done(record(&[("n", Value::number(3.0))]));
    w.advance(run, vec![kernel::command::Move::Finish { outcome }]);
    let value = record(&[("n", Value::number(3.0))]);
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value });
    assert_eq!(w.id(fae, "answer"), promise);
    let code = w.fault(host, endow(number, &[("out", "cap"), ("mail", "cap")], goes));
    assert!(code.contains("it is a worker: endow it as one"), "{code}");
}

#[test]
fn failed_worker_run_reveals_only_the_failure_kind() {
    let (mut w, host, fae) = world();
    let promise = w.ask(fae, define(worker("W", &[]), None));
    let number = w.last(host).number.0;
    let Reply::Started { run } = w.as_agent(host, endow_worker(number, "W", vec![], ResultGoesTo::GuestData))
    else {
        panic!("started")
    };
    w.advance(run, vec![kernel::command::Move::Finish { outcome: failure() }]);
    assert_eq!(w.promise(promise), PromiseRow::Rejected { reason: "it failed: io/missing".to_owned() });
}

#[test]
fn work_of_a_forgotten_guest_still_completes() {
    let (mut w, host, fae) = world();
    let promise = w.ask(fae, define(worker("W", &[]), None));
    let number = w.last(host).number.0;
    let act = endow_worker(number, "W", vec![], ResultGoesTo::GuestData);
    let Reply::Started { run } = w.as_agent(host, act) else { panic!("started") };
    w.as_agent(host, dismiss(number));
    w.as_agent(host, remove("fae"));
    w.collect(1000);
    assert!(w.is_there(fae) && w.is_there(promise), "work that is open keeps who waits for it");
    let outcome = RunOutcome::Done(string("done"));
    w.advance(run, vec![kernel::command::Move::Finish { outcome }]);
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("done") });
    w.collect(1000);
    assert!(!w.is_there(fae) && !w.is_there(promise));
}

#[test]
fn requested_evaluation_uses_names_as_of_sending() {
    let (mut w, host, fae) = world();
    w.as_agent(fae, store(string("before"), "x"));
    let ask = || {
        let (names, paths) = (vec!["x".to_owned()], vec![path("x")]);
        let result_name = Some(path("answer"));
        mail(MailAct::RequestEvaluation { source: text("x"), names, paths, result_name })
    };
    let promise = w.ask(fae, ask());
    assert_eq!(w.as_agent(fae, ask()), Reply::RequestSent { promise, number: None });
    w.as_agent(fae, store(string("after"), "x"));
    let number = w.last(host).number;
    let agree = || mail(MailAct::Grant { number, goes_to: ResultGoesTo::GuestData });
    assert!(w.fault(fae, agree()).contains("only a host can agree"));
    let (eval, _) = w.parked(host, agree());
    assert_eq!(w.as_agent(host, agree()), Reply::AlreadySettled);
    let Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
    assert_eq!(w.formula(endowments["x"]), Formula::Marshal { value: string("before") });
    w.evaluated(eval, string("done"));
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("done") });
}

#[test]
fn a_withheld_result_survives_a_restart_and_is_given_once() {
    let (mut w, host, fae) = world();
    let (promise, number) = defined(&mut w, fae, &[("d", Pattern::remotable("dir"))]);
    let (eval, _) = w.parked(host, endow(number, &[("d", "cap")], ResultGoesTo::GuestData));
    let Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
    w.evaluated(eval, Value::remotable(endowments["d"]));
    w.apply(Act::Recover);
    let card = w.last(host).number;
    // It lies in the thread of the program that came to it.
    let id =
        query::message(&mut w.store, &host, kernel::MessageNumber(number)).unwrap().unwrap().mail.envelope.id;
    assert_eq!(w.last(host).mail.envelope.reply_to, Some(id));
    let refused = w.fault(host, mail(MailAct::Dismiss { number: card }));
    assert!(refused.contains("answer it first"), "{refused}");
    w.collect(1000);
    w.answer(card, Choice::Approve { for_run: false });
    let grants = w.last_grant(host).number;
    assert!(matches!(w.promise(promise), PromiseRow::Fulfilled { .. }));
    assert_eq!(w.answer(card, Choice::Approve { for_run: false }), Reply::AlreadySettled);
    assert_eq!(w.last_grant(host).number, grants);
}

#[test]
fn endow_refuses_names_changed_since_display() {
    let (mut w, host, fae) = world();
    let (_, number) = defined(&mut w, fae, &[("x", Pattern::string())]);
    let (five, free) = ((path("five"), Some(w.id(host, "five"))), (path("mine"), None));
    let seen = vec![five, free.clone()];
    let endow = || as_seen(endow(number, &[("x", "five")], ResultGoesTo::Host), &seen, None);
    let twice = as_seen(endow(), &seen, None);
    assert_eq!(w.fault(host, twice), "what was seen is said once");
    // A name that was free, for the result, and is not any more.
    w.as_agent(host, store(string("mine"), "mine"));
    let fault = w.fault(host, endow());
    assert!(fault.starts_with("mine stands for something else"), "{fault}");
    w.as_agent(host, remove("mine"));
    w.as_agent(host, remove("five"));
    w.as_agent(host, store(string("six"), "five"));
    let fault = w.fault(host, endow());
    assert!(fault.contains("stands for something else"), "{fault}");
    assert!(query::outbox(&mut w.store, &host.number).unwrap().is_empty(), "nothing was begun");
}

/// Returns the act with a precondition: these names, and the use count of the definition, are as they were displayed.
fn as_seen(act: Act, seen: &[(kernel::NamePath, Option<FormulaId>)], done: Option<u64>) -> Act {
    match act {
        Act::Mail(act) => mail(MailAct::IfUnchanged { seen: seen.to_vec(), done, act }),
        other => other,
    }
}

/// Checks that only a person who knows of the earlier endowment can endow a definition again.
#[test]
fn endow_refuses_a_definition_used_since_display() {
    let (mut w, host, fae) = world();
    let (_, number) = defined(&mut w, fae, &[]);
    let endow = || endow(number, &[], ResultGoesTo::Host);
    let edit = || {
        let number = MessageNumber(number);
        mail(MailAct::Edit { number, program: code("other", &[]) })
    };
    let done = |w: &mut Fixture| {
        let letter = query::message(&mut w.store, &host, MessageNumber(number)).unwrap();
        letter.map(|letter| (letter.mail.done, letter.mail.endowed.len()))
    };
    w.as_agent(host, as_seen(endow(), &[], Some(0)));
    assert_eq!(done(&mut w), Some((1, 1)));
    let refused = format!("message {number} was endowed or edited since you have seen it: nothing was done");
    for act in [endow(), edit()] {
        assert_eq!(w.fault(host, as_seen(act, &[], Some(0))), refused);
    }
    let letters = (w.letters(host).len(), w.letters(fae).len());
    w.as_agent(host, as_seen(edit(), &[], Some(1)));
    // The copy, and the message about it to the author of the original, which lies in both mailboxes.
    assert_eq!((w.letters(host).len(), w.letters(fae).len()), (letters.0 + 2, letters.1 + 1));
    for act in [endow(), edit()] {
        assert_eq!(w.fault(host, as_seen(act, &[], Some(1))), refused);
    }
    w.as_agent(host, as_seen(endow(), &[], Some(2)));
    assert_eq!(done(&mut w), Some((3, 2)));
    assert_eq!(query::outbox(&mut w.store, &host.number).unwrap().len(), 2);
}

/// Checks that the endower keeps the result as long as the definition lies in the mailbox.
#[test]
fn endowed_result_is_kept_with_its_definition() {
    let (mut w, host, fae) = world();
    let (_, number) = defined(&mut w, fae, &[]);
    let (eval, promise) = w.parked(host, endow(number, &[], ResultGoesTo::Host));
    w.evaluated(eval, string("mine alone"));
    w.collect(1000);
    assert_eq!(w.promise(promise), PromiseRow::Fulfilled { value: string("mine alone") });
    // The code itself has ended, and no agent holds anything of it.
    assert!(!w.is_there(eval));
    let letter = query::message(&mut w.store, &host, MessageNumber(number)).unwrap().unwrap();
    assert_eq!(letter.mail.endowed.iter().map(|one| one.made).collect::<Vec<_>>(), [eval]);
    assert_eq!(letter.mail.endowed.iter().map(|one| one.result).collect::<Vec<_>>(), [promise]);
    w.as_agent(host, dismiss(number));
    w.collect(1000);
    assert!(!w.is_there(promise));
    // Of many the last are kept.
    let (_, number) = defined(&mut w, fae, &[]);
    let mut results = Vec::new();
    for _ in 0..101 {
        let (eval, result) = w.parked(host, endow(number, &[], ResultGoesTo::Host));
        w.evaluated(eval, string("x"));
        results.push(result);
    }
    w.collect(10_000);
    assert!(!w.is_there(results[0]) && w.is_there(results[1]) && w.is_there(results[100]));
}

/// Checks that a slot name that code cannot use is refused when the code is proposed.
#[test]
fn slot_names_of_code_must_be_valid_identifiers() {
    let (mut w, _, fae) = world();
    for (name, good) in [
        ("counter", true),
        ("$_1", true),
        ("static", false),
        ("undefined", false),
        ("this", false),
        ("eval", false),
        ("a b", false),
        ("наме", false),
        ("$id", false),
        ("$cancelled", false),
        ("1st", false),
    ] {
        let act = || define(code("1", &[(name, Pattern::any())]), None);
        match good {
            true => drop(w.ask(fae, act())),
            false => {
                let fault = w.fault(fae, act());
                assert!(fault.contains("cannot be the name of a slot"), "{name}: {fault}");
            }
        }
    }
}
