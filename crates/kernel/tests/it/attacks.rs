//! The attempts of an agent to reach more than it was given.

use std::collections::BTreeMap;

use kernel::command::{
    Act, AgentKind, Cancel, Choice, Fault, FieldValue, GrantAct, MailAct, Move, NameAct, ProvideAgent, Reply,
};
use kernel::formula::Formula;
use kernel::message::Body;
use kernel::proposal::Decision;
use kernel::provenance::{Provenance, Source};
use kernel::run::{ResultGoesTo, RunOutcome};
use kernel::table::PromiseRow;
use kernel::{FormulaId, Number, Pattern, Value, table};
use resource::Resource;

use crate::agents::{
    code, copy, define, endow, field, form, mail, path, program_of, record, reject, request, resolve, send,
    start, store, string, worker,
};
use crate::fixture::{Fixture, text};

fn identifier(id: FormulaId, name: &str) -> Act {
    Act::Name(NameAct::StoreIdentifier { id, path: path(name) })
}

/// Returns a host with a capability `cap`, and a guest.
fn world() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let cap = w.mount("cap");
    let fae = w.guest("fae");
    (w, fae, cap)
}

/// Endows the guest's code with `cap`. Returns the code, its grant of the capability, and the guest's promise.
fn endowed(w: &mut Fixture, fae: FormulaId, goes_to: ResultGoesTo) -> (FormulaId, FormulaId, FormulaId) {
    let host = w.host;
    let promise = w.ask(fae, define(code("dir", &[("dir", Pattern::remotable("dir"))]), Some("answer")));
    let number = w.last(host).number.0;
    let (eval, _) = w.parked(host, endow(number, &[("dir", "cap")], goes_to));
    let Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
    (eval, endowments["dir"], promise)
}

#[test]
fn result_with_an_endowed_capability_is_withheld() {
    let answers = [Choice::Approve { for_run: false }, Choice::Deny { reason: text("not that") }];
    for choice in answers {
        let (mut w, fae, _) = world();
        let (eval, dir, promise) = endowed(&mut w, fae, ResultGoesTo::GuestData);
        let mail_before = w.letters(fae).len();
        w.evaluated(eval, record(&[("dir", Value::remotable(dir))]));
        assert_eq!(w.promise(promise), PromiseRow::Pending, "it is withheld");
        assert_eq!(w.letters(fae).len(), mail_before);
        let host = w.host;
        let Body::Release { gives, guest, .. } = w.last_body(host) else { panic!("the host is asked") };
        assert_eq!((gives, guest), (vec!["directory /cap".to_owned()], fae));
        assert!(w.last(host).mail.needs_you);
        let number = w.last(host).number;
        let before = w.store.count(kernel::txn::Table::Grant);
        w.answer(number, choice.clone());
        match (choice, w.promise(promise)) {
            (Choice::Approve { .. }, PromiseRow::Fulfilled { value }) => {
                let given = *value.get("dir").unwrap().as_reference().unwrap();
                let Formula::Grant { target, holder, .. } = w.formula(given) else { panic!("a grant") };
                assert_eq!((target, holder), (dir, fae));
                assert!(w.holds(fae, given) && !w.holds(fae, dir));
            }
            (Choice::Deny { .. }, PromiseRow::Rejected { reason }) => {
                assert_eq!(reason, "not that");
                assert_eq!(w.store.count(kernel::txn::Table::Grant), before);
            }
            (_, other) => panic!("{other:?}"),
        }
        assert_eq!(w.answer(number, Choice::Approve { for_run: false }), Reply::AlreadySettled);
    }
}

#[test]
fn sender_is_always_the_acting_agent() {
    let (mut w, fae, _) = world();
    let eve = w.guest("eve");
    let host = w.host;
    w.as_agent(eve, send("@host", &[]));
    let from = w.last(host).message.unwrap().from;
    assert_eq!(from, w.id(host, "eve"), "the sender is whoever acts");
    // Nothing but an agent acts, and none that is not there.
    let none = w.id(host, "@none");
    let handle = w.id(host, "fae");
    for actor in [none, handle, w.host_part("@mail"), w.host_part("@endo")] {
        assert!(w.fault(actor, request("@host", "x", None)).contains("does nothing of its own"));
    }
    let nobody = FormulaId { number: [9; 32], node: host.node };
    assert!(matches!(w.try_as(nobody, send("@host", &[])), Err(Fault::Dangling(_))));
    assert_eq!(w.letters(fae).len(), 0);
}

#[test]
fn listed_identifier_gives_no_authority() {
    let (mut w, fae, cap) = world();
    let host = w.host;
    let parts: Vec<FormulaId> = ["@agent", "@mail", "@pins", "@endo", "@main"]
        .into_iter()
        .map(|name| w.id(host, name))
        .chain([cap])
        .collect();
    for id in parts {
        assert!(w.fault(fae, identifier(id, "x")).contains("an identifier alone is no authority"));
        for value in [
            Value::remotable(id),
            Value::promise(id),
            record(&[("deep", Value::array([Value::remotable(id)]))]),
        ] {
            assert!(w.fault(fae, store(value, "x")).contains("an identifier alone is no authority"));
        }
    }
    // An agent may name an object that it holds by its identifier.
    let own = w.id(fae, "@self");
    w.as_agent(fae, identifier(own, "me"));
    assert_eq!(w.id(fae, "me"), own);
}

#[test]
fn guest_path_never_shadows_the_hosts_path() {
    let (mut w, fae, _) = world();
    let host = w.host;
    for (agent, value) in [(host, "the host's"), (fae, "EVIL-from-guest")] {
        w.as_agent(agent, Act::Name(NameAct::MakeDirectory { path: path("d") }));
        w.as_agent(agent, store(string(value), "d/c"));
    }
    w.ask(fae, define(code("c", &[("c", Pattern::string())]), None));
    let number = w.last(host).number.0;
    let (eval, _) = w.parked(host, endow(number, &[("c", "d/c")], ResultGoesTo::Host));
    // The choice is final: a later change of the name changes nothing.
    w.as_agent(host, store(string("later"), "d/c"));
    let Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
    assert_eq!(w.formula(endowments["c"]), Formula::Marshal { value: string("the host's") });
}

#[test]
fn slot_refuses_the_wrong_kind() {
    let (mut w, fae, _) = world();
    let host = w.host;
    w.as_agent(host, store(Value::number(42.0), "number"));
    w.as_agent(
        host,
        Act::Grant(GrantAct::Attenuate {
            is: None,
            expires_ms: None,
            force: false,
            path: path("cap"),
            methods: vec!["read".to_owned()],
            attenuation: Default::default(),
            to: path("readable"),
        }),
    );
    let mut check = |pattern: Pattern, name: &str, expected: Option<&str>| {
        w.ask(fae, define(code("s", &[("s", pattern)]), None));
        let number = w.last(host).number.0;
        let act = endow(number, &[("s", name)], ResultGoesTo::Host);
        match expected {
            Some(expected) => assert_eq!(w.fault(host, act), expected),
            None => drop(w.parked(host, act)),
        }
    };
    check(Pattern::any_remotable(), "number", Some("slot \"s\" wants a capability, not a value (number)"));
    check(Pattern::remotable("dir"), "number", Some("slot \"s\" wants a directory, not a value (number)"));
    check(Pattern::remotable("dir"), "fae", Some("slot \"s\" wants a directory, not a mail address"));
    check(Pattern::remotable("outbox"), "cap", Some("slot \"s\" wants an outbox, not directory /cap"));
    check(Pattern::remotable("worker"), "cap", Some("slot \"s\" wants a worker, not directory /cap"));
    check(Pattern::remotable("secret"), "cap", Some("slot \"s\" wants a secret, not directory /cap"));
    check(
        Pattern::remotable("dir rw"),
        "readable",
        Some("slot \"s\" wants a directory that may be written, not directory /cap"),
    );
    check(Pattern::string(), "number", Some("slot \"s\": number (a number) - Must be a string"));
    check(Pattern::number(), "cap", Some("slot \"s\": remotable (an object) - Must be a number"));
    check(Pattern::any_remotable(), "cap", None);
    check(Pattern::remotable("dir rw"), "cap", None);
    check(Pattern::remotable("dir"), "readable", None);
    check(Pattern::number(), "number", None);
}

#[test]
fn second_submit_changes_nothing() {
    let (mut w, fae, _) = world();
    let host = w.host;
    let promise = w.ask(fae, mail(MailAct::Form(form("@host", vec![field("n", Pattern::number())]))));
    let number = w.last(host).number;
    let submit = |n: f64| {
        let values = BTreeMap::from([("n".to_owned(), FieldValue::Value { value: Value::number(n) })]);
        mail(MailAct::Submit { number, values })
    };
    w.as_agent(host, submit(1.0));
    let (settled, letters) = (w.promise(promise), w.letters(fae));
    assert_eq!(settled, PromiseRow::Fulfilled { value: record(&[("n", Value::number(1.0))]) });
    assert_eq!(w.as_agent(host, submit(2.0)), Reply::AlreadySettled);
    assert_eq!((w.promise(promise), w.letters(fae)), (settled, letters));
}

#[test]
fn copied_message_gives_no_access_to_anothers_grant() {
    let (mut w, fae, cap) = world();
    let eve = w.guest("eve");
    let host = w.host;
    w.as_agent(host, send("fae", &[("tool", "cap")]));
    let given = w.id(fae, "@mail/0/tool");
    assert!(w.holds(fae, given) && !w.holds(host, given));
    let sent = format!("@mail/{}/tool", w.last(host).number);
    assert_eq!(w.id(host, &sent), cap, "the sender sees what it held");
    // In its own copy of a request for an evaluation, the guest sees its grant and not the target behind it.
    w.as_agent(fae, copy("@mail/0/tool", "tool"));
    let names = vec!["tool".to_owned()];
    let paths = vec![path("tool")];
    w.ask(fae, mail(MailAct::RequestEvaluation { source: text("1"), names, paths, result_name: None }));
    assert_eq!(w.id(fae, "@mail/1/tool"), given);
    // A message that is passed on opens only to those between whom it went.
    w.as_agent(host, send("eve", &[]));
    w.as_agent(fae, send("@host", &[("letter", "@mail/0")]));
    let number = w.last(host).number;
    w.as_agent(host, send("eve", &[("letter", &format!("@mail/{number}/letter"))]));
    assert!(matches!(w.found(eve, "@mail/1/letter/tool"), Err(Fault::NotADirectory(_))));
    let letter = w.id(fae, "@mail/0");
    assert!(!w.holds(eve, letter) && !w.holds(eve, given));
}

#[test]
fn asker_cannot_reach_its_resolver() {
    let (mut w, fae, _) = world();
    let host = w.host;
    w.ask(fae, request("@host", "x", None));
    let Body::Request { resolver, promise, .. } = w.last_body(host) else { panic!("a request") };
    assert!(w.found(fae, "@mail/0/@resolver").is_err());
    assert!(!w.list(fae, "@mail/0").contains(&"@resolver".to_owned()));
    assert!(!w.holds(fae, resolver) && w.holds(fae, promise) && w.holds(host, resolver));
    assert!(w.fault(fae, identifier(resolver, "r")).contains("an identifier alone is no authority"));
    assert!(w.fault(fae, resolve(0, "@self")).contains("only who was asked can answer"));
    assert!(w.fault(fae, crate::agents::reject(0, "no")).contains("only who was asked can refuse"));
}

#[test]
fn form_default_with_a_reference_is_refused() {
    let (mut w, fae, cap) = world();
    let default = |value: Value| {
        let mut asked = field("d", Pattern::any());
        asked.default = Some(value.clone());
        let mut shown = field("e", Pattern::any());
        shown.example = Some(value);
        [asked, shown]
    };
    for asked in default(Value::remotable(cap)) {
        let fault = w.fault(fae, mail(MailAct::Form(form("@host", vec![asked]))));
        assert!(fault.contains("is no data"), "{fault}");
    }
    // Nor can a pattern carry it.
    let literal = Pattern::literal(Value::remotable(cap)).unwrap();
    let fault = w.fault(fae, mail(MailAct::Form(form("@host", vec![field("d", literal.clone())]))));
    assert!(fault.contains("a pattern is data"), "{fault}");
    assert!(w.fault(fae, define(code("x", &[("d", literal)]), None)).contains("a pattern is data"));
}

#[test]
fn mail_address_gives_no_access_to_agent_powers() {
    let (mut w, fae, _) = world();
    let host = w.host;
    let sub = w.agent(AgentKind::Host, "second");
    w.as_agent(host, send("second", &[("fae", "fae")]));
    w.as_agent(sub, copy("@mail/0/fae", "fae"));
    w.as_agent(sub, copy("@host", "boss"));
    let provide = |kind, name: &str| {
        Act::Provide(ProvideAgent { kind, name: Some(path(name)), agent_name: None, introduced: vec![] })
    };
    for (kind, name) in [(AgentKind::Guest, "fae"), (AgentKind::Host, "boss")] {
        assert!(w.fault(sub, provide(kind, name)).contains("is the name of something else"));
    }
    assert_eq!(w.fault(sub, provide(AgentKind::Host, "@host")), r#"Invalid pet name "@host""#);
    assert_ne!(fae, sub);
}

#[test]
fn invalid_edge_names_in_a_message_are_refused() {
    let (mut w, fae, _) = world();
    for name in ["@from", "@promise", "a/b", "", ".", "@"] {
        let fault = w.fault(fae, send("@host", &[(name, "@self")]));
        assert!(fault.starts_with("Invalid pet name"), "{fault}");
    }
    let fault = w.fault(fae, send("@host", &[("a", "@self"), ("a", "@self")]));
    assert_eq!(fault, "Duplicate edge name \"a\"");
}

/// Checks that a pending promise is passed on as a promise that follows it. The follower settles with a grant of the
/// result, never with the promise itself.
#[test]
fn passed_on_promise_settles_with_a_grant_of_the_result() {
    let (mut w, fae, _) = world();
    let host = w.host;
    w.ask(fae, request("@host", "x", Some("answer")));
    let asked = w.last(host).number.0;
    let own = w.id(fae, "answer");
    w.as_agent(fae, send("@host", &[("p", "answer")]));
    let number = w.last(host).number;
    let id = w.id(host, &format!("@mail/{number}/p"));
    assert_ne!(id, own, "the promise itself is its asker's");
    assert_eq!(w.promise(id), PromiseRow::Pending);
    // The host hands it on again: three follow one another.
    w.as_agent(host, copy(&format!("@mail/{number}/p"), "later"));
    w.as_agent(host, send("fae", &[("back", "later")]));
    w.as_agent(host, resolve(asked, "cap"));
    let PromiseRow::Fulfilled { value } = w.promise(own) else { panic!("it is not kept") };
    let first = *value.as_reference().unwrap();
    let PromiseRow::Fulfilled { value } = w.promise(id) else { panic!("it does not follow") };
    let second = *value.as_reference().unwrap();
    // The agent that passed the promise on has granted the result, and can revoke that grant.
    let Formula::Grant { owner, holder, .. } = w.formula(second) else { panic!("it is no grant") };
    assert_eq!((owner.0, holder), (fae.number, host));
    assert_ne!(first, second);
    let mail = w.letters(fae).len() - 1;
    let third = w.id(fae, &format!("@mail/{mail}/back"));
    assert!(matches!(w.promise(third), PromiseRow::Fulfilled { .. }), "{:?}", w.promise(third));

    // A rejection reaches all followers, and a settled promise is passed on as its value at once.
    w.ask(fae, request("@host", "y", Some("no")));
    let asked = w.last(host).number.0;
    w.as_agent(fae, send("@host", &[("p", "no")]));
    let number = w.last(host).number;
    let id = w.id(host, &format!("@mail/{number}/p"));
    w.as_agent(host, reject(asked, "never"));
    assert_eq!(w.promise(id), PromiseRow::Rejected { reason: "never".to_owned() });
    w.ask(fae, request("@host", "z", Some("yes")));
    let asked = w.last(host).number.0;
    w.as_agent(host, store(string("yes"), "yes"));
    w.as_agent(host, resolve(asked, "yes"));
    w.as_agent(fae, send("@host", &[("p", "yes")]));
    let number = w.last(host).number;
    let id = w.id(host, &format!("@mail/{number}/p"));
    assert_eq!(w.formula(id), Formula::Marshal { value: string("yes") }, "its value is");
}

#[test]
fn revoked_grant_ends_a_passed_on_promise_result() {
    let (mut w, fae, _) = world();
    let host = w.host;
    // The guest passes its promise from the host back to the host.
    w.ask(fae, request("@host", "x", Some("answer")));
    let asked = w.last(host).number.0;
    w.as_agent(fae, send("@host", &[("p", "answer")]));
    let number = w.last(host).number;
    let id = w.id(host, &format!("@mail/{number}/p"));
    let grants_before = kernel::query::grants(&mut w.store, &fae.number).unwrap().len();
    w.as_agent(host, resolve(asked, "cap"));
    let grants = kernel::query::grants(&mut w.store, &fae.number).unwrap();
    assert_eq!(grants.len(), grants_before + 1, "only what came was granted");
    w.as_agent(fae, Act::Grant(GrantAct::Revoke { grant: grants.last().unwrap().number }));
    let PromiseRow::Fulfilled { value } = w.promise(id) else { panic!("it does not follow") };
    assert!(w.behind(*value.as_reference().unwrap()).is_err(), "it was taken back");
}

#[test]
fn grant_chain_length_is_limited() {
    let (mut w, fae, _) = world();
    let host = w.host;
    w.as_agent(host, send("fae", &[("g", "cap")]));
    w.as_agent(fae, copy("@mail/0/g", "g"));
    let mut longest = 1;
    loop {
        let number = w.letters(fae).len();
        if w.try_as(fae, send("@self", &[("g", "g")])).is_err() {
            break;
        }
        longest += 1;
        w.as_agent(fae, copy(&format!("@mail/{number}/g"), "g"));
        let id = w.id(fae, "g");
        assert!(w.behind(id).is_ok());
    }
    assert_eq!(longest, table::MAX_CHAIN_LEN);
    let narrower = Act::Grant(GrantAct::Attenuate {
        is: None,
        expires_ms: None,
        force: false,
        path: path("g"),
        methods: vec!["read".to_owned()],
        attenuation: Default::default(),
        to: path("narrower"),
    });
    let too_often = "this was passed on too often to be passed on again";
    assert_eq!(w.fault(fae, narrower), too_often);
    assert_eq!(w.fault(fae, send("@self", &[("g", "g")])), too_often);
}

#[test]
fn nested_values_neither_hang_nor_overflow() {
    let (mut w, fae, _) = world();
    let own = w.id(fae, "@self");
    w.as_agent(fae, store(Value::array([Value::remotable(own)]), "v"));
    // Each holds the one before twice: 2^40 ways, 40 formulas.
    for _ in 0..40 {
        let before = w.id(fae, "v");
        w.as_agent(fae, store(Value::array([Value::remotable(before), Value::remotable(before)]), "v"));
    }
    w.as_agent(fae, send("@host", &[("v", "v")]));
    for _ in 0..40 {
        let before = w.id(fae, "v");
        w.as_agent(fae, store(Value::array([Value::remotable(before)]), "v"));
    }
    assert!(w.fault(fae, send("@host", &[("v", "v")])).contains("more than 64 deep"));
}

#[test]
fn guest_content_stays_untrusted_when_passed_on() {
    let (mut w, fae, _) = world();
    let host = w.host;
    let agent = Source::Agent(Number(fae.number));
    let provenance =
        |w: &mut Fixture, id: FormulaId| table::formula(&mut w.store, &id).unwrap().unwrap().provenance;
    w.as_agent(fae, store(string("x"), "x"));
    let id = w.id(fae, "x");
    assert_eq!(provenance(&mut w, id), Provenance::of(agent.clone()));
    w.as_agent(fae, send("@host", &[("x", "x")]));
    let letter = w.last(host).number;
    let message = w.id(host, &format!("@mail/{letter}"));
    assert!(provenance(&mut w, message).is_untrusted());
    w.as_agent(host, send("fae", &[("back", &format!("@mail/{letter}/x"))]));
    let last = w.last(fae).number;
    let message = w.id(fae, &format!("@mail/{last}"));
    assert!(provenance(&mut w, message).sources.contains(&agent), "passing on does not launder");
    // A worker that a guest wrote is a guest's words in every run of it, also when the host has edited it.
    for edited in [false, true] {
        w.ask(fae, define(worker("W", &[]), None));
        let mut number = w.last(host).number;
        let mut source = "W";
        if edited {
            source = "W edited";
            let program = worker(source, &[]);
            let Reply::Sent { number: posted } = w.as_agent(host, mail(MailAct::Edit { number, program }))
            else {
                panic!("sent")
            };
            number = posted;
        }
        let start = Box::new(start(program_of(source), vec![]));
        let act = MailAct::EndowWorker { number, start, goes_to: ResultGoesTo::Host, result_name: None };
        let Reply::Started { run } = w.as_agent(host, mail(act)) else { panic!("started") };
        assert!(w.run(run).provenance.sources.contains(&agent), "edited: {edited}");
        let definition = w.run(run).definition;
        let blob = table::blob(&mut w.store, definition).unwrap().unwrap();
        assert!(blob.provenance.is_untrusted(), "edited: {edited}");
    }
}

#[test]
fn worker_must_match_its_proposed_text() {
    let (mut w, fae, _) = world();
    let mut program = worker("harmless", &[]);
    program.worker = Some(program_of("harmful"));
    assert!(w.fault(fae, define(program, None)).contains("is not what its digest says"));
    // The host must also start the worker that was proposed.
    let host = w.host;
    w.ask(fae, define(worker("harmless", &[]), None));
    let number = w.last(host).number;
    let start = Box::new(start(program_of("harmful"), vec![]));
    let act = MailAct::EndowWorker { number, start, goes_to: ResultGoesTo::Host, result_name: None };
    assert!(w.fault(host, mail(act)).contains("this is not the worker of message"));
}

#[test]
fn result_with_an_unheld_reference_is_refused() {
    let (mut w, fae, cap) = world();
    let (eval, dir, _) = endowed(&mut w, fae, ResultGoesTo::GuestCapabilities);
    let done = |value: Value| RunOutcome::Done(value);
    let outcome = done(Value::remotable(cap));
    assert!(w.fault(w.host, Act::Evaluated { eval, outcome }).contains("is not held"));
    assert_eq!(w.evaluated(eval, Value::remotable(dir)), Reply::Done);
    let run = w.start();
    let outcome = done(Value::remotable(cap));
    assert!(matches!(w.try_advance(run, vec![Move::Finish { outcome }]), Err(Fault::NotHeld(_))));
}

#[test]
fn result_name_in_anothers_directory_is_refused() {
    let (mut w, fae, _) = world();
    let eve = w.guest("eve");
    let host = w.host;
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("d") }));
    for name in ["fae", "eve"] {
        w.as_agent(host, send(name, &[("d", "d")]));
    }
    for agent in [fae, eve] {
        w.as_agent(agent, copy("@mail/0/d", "d"));
        let fault = w.fault(agent, request("@host", "x", Some("d/answer")));
        assert!(fault.contains("somebody else's directory"), "{fault}");
    }
}

#[test]
fn token_cannot_be_reissued_by_another_agent() {
    let (mut w, fae, _) = world();
    let host = w.host;
    let token = Number([5; 32]);
    let share = |name: &str| Act::Grant(GrantAct::Share { path: path(name), token, expires_ms: i64::MAX });
    w.as_agent(host, share("cap"));
    assert_eq!(w.fault(fae, share("@self")), Fault::NoToken.to_string(), "a token is not given anew");
    w.as_agent(fae, Act::Grant(GrantAct::Accept { token, path: path("cap") }));
    let id = w.id(fae, "cap");
    assert_eq!(
        w.behind(id),
        Ok(Formula::Resource(Resource::Directory { path: "/cap".to_owned(), read_only: false }))
    );
}

#[test]
fn guest_cannot_cancel_others_work_on_a_shared_object() {
    let (mut w, fae, _) = world();
    let host = w.host;
    w.as_agent(host, send("fae", &[("cap", "cap")]));
    let (eval, promise) = w.parked(
        host,
        mail(MailAct::Evaluate {
            vat: None,
            source: text("cap"),
            names: vec!["cap".to_owned()],
            paths: vec![path("cap")],
            result_name: None,
        }),
    );
    let cancel = |name: &str| Act::Cancel { what: Cancel::Name { path: path(name) }, reason: text("") };
    assert_eq!(
        w.fault(fae, cancel("@mail/0/cap")),
        "not allowed: a guest cancels only what it asked for itself"
    );
    let sub = w.agent(AgentKind::Host, "second");
    w.as_agent(host, send("second", &[("cap", "cap")]));
    w.as_agent(sub, cancel("@mail/0/cap"));
    assert_eq!(w.promise(promise), PromiseRow::Pending);
    assert_eq!(w.evaluated(eval, Value::null()), Reply::Done);
}

#[test]
fn an_endowed_capability_is_called_by_its_run_alone() {
    let mut w = Fixture::new();
    let (first, second) = (w.start(), w.start());
    let theirs = w.run(first).grants["out"];
    let mut judgement = w.judgement(second, "out", "write", Decision::Allow);
    judgement.proposal.grant = theirs;
    let outcome = w.advance(second, vec![Move::Propose { proposals: vec![judgement] }]);
    assert!(outcome.begun.is_empty());
}

#[test]
fn a_secret_is_never_taken_unsealed() {
    let (mut w, fae, _) = world();
    let host = w.host;
    let mut key = field("key", Pattern::string());
    key.secret = true;
    w.ask(fae, mail(MailAct::Form(form("@host", vec![key]))));
    let number = w.last(host).number;
    w.as_agent(host, store(string("hunter2"), "password"));
    for filled in
        [FieldValue::Value { value: string("hunter2") }, FieldValue::Name { path: path("password") }]
    {
        let values = BTreeMap::from([("key".to_owned(), filled)]);
        let fault = w.fault(host, mail(MailAct::Submit { number, values }));
        assert_eq!(fault, "field \"key\" is secret, and was not sealed");
    }
}

#[test]
fn act_within_a_directory_still_needs_its_grant() {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("d") }));
    w.as_agent(host, store(string("inside"), "d/x"));
    let raw = w.id(host, "d");
    let fae = w.guest("fae");
    w.as_agent(host, send("fae", &[("d", "d")]));
    let given = w.id(fae, "@mail/0/d");
    let within = |base, act| Act::Name(NameAct::Within { base, act: Box::new(act) });
    let remove = || NameAct::Remove { path: path("x") };
    let held = |id: FormulaId| Fault::NotHeld(id).to_string();
    // The guest knows these only by their identifiers: another agent's directories, and that agent.
    for base in [raw, host, w.host_part("@pins")] {
        assert_eq!(w.fault(fae, within(base, remove())), held(base));
    }
    // The guest holds these, but they are no directory, or one within another.
    let own = w.id(fae, "@self");
    assert!(w.fault(fae, within(own, remove())).contains("is not a directory"));
    let twice = NameAct::Within { base: given, act: Box::new(remove()) };
    assert_eq!(w.fault(fae, within(given, twice)), "paths begin in one place");
    let mail = w.id(fae, "@mail");
    assert!(w.fault(fae, within(mail, remove())).contains("not for choosing"));
    // An object that is put there is handed over as a grant, as by a path.
    w.as_agent(fae, store(string("mine"), "mine"));
    let me = w.id(fae, "@self");
    w.as_agent(fae, within(given, NameAct::StoreIdentifier { id: me, path: path("fae") }));
    let put = w.id(host, "d/fae");
    assert!(matches!(w.formula(put), Formula::Grant { .. }));
    // A grant that takes a method away takes it away here too, and one that has ended is no place to begin.
    let narrow = kernel::command::GrantAct::Attenuate {
        is: None,
        expires_ms: None,
        force: false,
        path: path("@mail/0/d"),
        methods: vec!["lookup".to_owned(), "list".to_owned()],
        attenuation: Default::default(),
        to: path("narrow"),
    };
    w.as_agent(fae, Act::Grant(narrow));
    let narrow = w.id(fae, "narrow");
    assert!(w.try_as(fae, within(narrow, remove())).is_err());
    let number = table::grant(&mut w.store, &given).unwrap().unwrap().number;
    w.revoke(number.0);
    assert!(w.fault(fae, within(given, remove())).contains("was revoked"));
    assert_eq!(w.list(host, "d"), ["fae", "x"]);
}
