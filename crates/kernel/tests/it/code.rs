//! The journal of endowed code, its commands that happen once, its stored data, and its objects.

use kernel::code::{self, CodeEntry, CodePromise, HeapReference, Origin, OutcomeSubject, Reference};
use kernel::command::{Act, CodeAct, ExportedObject, Fault, GrantAct, MailAct, NameAct, Reply};
use kernel::facet::Then;
use kernel::formula::Formula;
use kernel::run::{RunOutcome, Trouble};
use kernel::table::{self, PromiseRow};
use kernel::{BlobHash, FormulaId, Value, query};

use crate::agents::{mail, path};
use crate::fixture::{Fixture, text};

/// Returns a host's own code, endowed with one of its directories.
fn world() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("dir") }));
    let act = MailAct::Evaluate {
        vat: None,
        source: text("1"),
        names: vec!["d".to_owned()],
        paths: vec![path("dir")],
        result_name: None,
    };
    let (eval, _) = w.parked(host, mail(act));
    (w, eval, host)
}

fn endowment(w: &mut Fixture, eval: FormulaId) -> FormulaId {
    let Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
    endowments["d"]
}

fn sent(send: u32) -> CodeEntry {
    CodeEntry::Sent { send, digest: BlobHash::of(b"x"), line: text("x") }
}

/// Returns the fault with which an agent's act is refused.
fn refused(w: &mut Fixture, actor: FormulaId, act: Act) -> Fault {
    w.try_as(actor, act).expect_err("a fault")
}

fn record(eval: FormulaId, from: u64, entries: Vec<CodeEntry>) -> Act {
    Act::Code(CodeAct::Record { eval, from, entries })
}

#[test]
fn code_journal_is_append_only_and_keeps_its_references() {
    let (mut w, eval, host) = world();
    let thing =
        w.as_agent(host, Act::Name(NameAct::StoreValue { value: Value::string("kept"), path: path("t") }));
    let Reply::Made { id: thing } = thing else { panic!("{thing:?}") };
    let object = Reference::Object { id: thing, agent: eval, through: vec![] };
    let heard = CodeEntry::Heard {
        of: OutcomeSubject::Send(0),
        outcome: "{}".to_owned(),
        bound: vec![HeapReference { slot: 0, to: object }],
    };
    assert_eq!(w.apply(record(eval, 0, vec![sent(0), heard.clone()])).reply, Reply::Done);
    assert_eq!(code::length(&mut w.store, &eval).unwrap(), 2);
    // Two writers do not both write the same entry.
    let again = refused(&mut w, host, record(eval, 0, vec![sent(0)]));
    assert!(matches!(again, Fault::Misfit { .. }), "{again:?}");
    assert_eq!(w.apply(record(eval, 2, vec![sent(1)])).reply, Reply::Done);
    let entries: Vec<CodeEntry> =
        code::journal(&mut w.store, &eval, 0).unwrap().into_iter().map(|record| record.entry).collect();
    assert_eq!(entries, [sent(0), heard, sent(1)]);
    // An object in the journal stays as long as the code may be restarted, even without its name.
    w.as_agent(host, Act::Name(NameAct::Remove { path: path("t") }));
    w.collect(50);
    assert!(matches!(w.formula(thing), Formula::Marshal { .. }));
    // Code that has come to its end hears nothing more.
    w.evaluated(eval, Value::string("done"));
    assert_eq!(w.apply(record(eval, 3, vec![sent(2)])).reply, Reply::AlreadySettled);
    w.collect(50);
    assert_eq!(code::length(&mut w.store, &eval).unwrap(), 0, "nothing refers to the code any more");
    assert!(kernel::table::formula(&mut w.store, &thing).unwrap().is_none(), "it is kept for nobody");
}

#[test]
fn a_journal_is_read_page_by_page() {
    let (mut w, eval, _) = world();
    w.apply(record(eval, 0, (0..10).map(sent).collect()));
    let mut page = |from, most| {
        let page = code::page(&mut w.store, &eval, from, most).unwrap();
        page.into_iter().map(|record| record.number).collect::<Vec<_>>()
    };
    assert_eq!(page(0, 4), [0, 1, 2, 3]);
    assert_eq!(page(8, 4), [8, 9]);
    assert_eq!(page(10, 4), [] as [u64; 0]);
}

#[test]
fn a_command_of_code_happens_once() {
    let (mut w, eval, host) = world();
    w.guest("fae");
    let base = endowment(&mut w, eval);
    let act = |name: &str| {
        let act = NameAct::MakeDirectory { path: path(name) };
        Box::new(Act::Name(NameAct::Within { base, act: Box::new(act) }))
    };
    let done = |send, name: &str| {
        let then = Then::Object { interface: "EndoDirectory".into() };
        Act::Code(CodeAct::Do {
            eval,
            send,
            actor: eval,
            then,
            reach: Box::new(Reference::Passing),
            act: act(name),
        })
    };
    let Reply::Made { id } = w.apply(done(Some(0), "a")).reply else { panic!("made") };
    let mark = code::mark(&mut w.store, &Origin { eval, send: 0 }).unwrap().expect("a mark");
    assert_eq!(mark.reply, Reply::Made { id });
    assert_eq!(w.apply(done(Some(0), "b")).reply, Reply::AlreadySettled);
    assert!(code::mark(&mut w.store, &Origin { eval, send: 1 }).unwrap().is_none());
    // Only the daemon reports the commands of code, and code has no names of its own.
    let other = w.guest("ann");
    assert!(matches!(refused(&mut w, other, done(Some(2), "c")), Fault::NotAllowed(_)));
    let own = Act::Name(NameAct::MakeDirectory { path: path("x") });
    let own = Act::Code(CodeAct::Do {
        eval,
        send: Some(3),
        actor: eval,
        then: Then::Nothing,
        reach: Box::new(Reference::Passing),
        act: Box::new(own),
    });
    assert!(matches!(refused(&mut w, host, own), Fault::NotAllowed(_)));
    // Code cannot use a directory that it was not handed.
    let dir = w.id(host, "dir");
    let inside = NameAct::MakeDirectory { path: path("x") };
    let act = Box::new(Act::Name(NameAct::Within { base: dir, act: Box::new(inside) }));
    let stolen = Act::Code(CodeAct::Do {
        eval,
        send: Some(4),
        actor: eval,
        then: Then::Nothing,
        reach: Box::new(Reference::Passing),
        act,
    });
    assert!(matches!(refused(&mut w, host, stolen), Fault::NotHeld(_)));
    // Marks go when the code has come to its end.
    w.evaluated(eval, Value::string("done"));
    assert!(code::mark(&mut w.store, &Origin { eval, send: 0 }).unwrap().is_none());
}

#[test]
fn stored_data_of_code_is_limited() {
    let (mut w, eval, host) = world();
    let keep =
        |name: &str, value: Option<Value>| Act::Code(CodeAct::Keep { eval, name: name.to_owned(), value });
    w.apply(keep("b", Some(Value::number(2.0))));
    w.apply(keep("a", Some(Value::number(1.0))));
    assert_eq!(code::kept_names(&mut w.store, &eval).unwrap(), ["a", "b"]);
    assert_eq!(code::kept_value(&mut w.store, &eval, "b").unwrap(), Some(Value::number(2.0)));
    w.apply(keep("b", None));
    assert_eq!(code::kept_value(&mut w.store, &eval, "b").unwrap(), None);
    let object = Value::remotable(host);
    for (name, value) in [("c", object), (&*"n".repeat(256), Value::Undefined)] {
        assert!(matches!(refused(&mut w, host, keep(name, Some(value))), Fault::Misfit { .. }), "{name}");
    }
    assert_eq!(code::kept_names(&mut w.store, &eval).unwrap(), ["a"]);
}

#[test]
fn exported_objects_keep_their_identity_and_their_code() {
    let (mut w, eval, host) = world();
    let objects = vec![ExportedObject { number: 3, interface: "Alleged: A".to_owned(), guard: None }];
    let export = || Act::Code(CodeAct::Export { eval, objects: objects.clone() });
    w.apply(export());
    w.apply(export());
    let id = code::export_id(&eval, 3);
    let made = Formula::Export {
        guard: None,
        eval,
        number: 3,
        interface: "Alleged: A".to_owned(),
        holder: Some(kernel::Number(host.number)),
    };
    assert_eq!(w.formula(id), made);
    assert!(query::holds(&mut w.store, &host, &id).unwrap(), "its own code's");
    assert_ne!(id, code::export_id(&eval, 4));
    // A result that refers to it is one that the code may have.
    w.evaluated(eval, Value::remotable(id));
    w.as_agent(host, Act::Name(NameAct::StoreValue { value: Value::remotable(id), path: path("kept") }));
    w.collect(50);
    assert!(matches!(w.formula(eval), Formula::Eval { .. }), "what makes it again stays");
    w.as_agent(host, Act::Name(NameAct::Remove { path: path("kept") }));
    w.collect(50);
    assert!(kernel::table::formula(&mut w.store, &eval).unwrap().is_none(), "nobody holds it any more");
    assert!(!query::holds(&mut w.store, &eval, &id).unwrap());
}

fn promise(eval: FormulaId, which: CodePromise) -> Act {
    Act::Code(CodeAct::Promise { eval, promises: vec![which] })
}

fn settle(eval: FormulaId, promise: CodePromise, value: Value) -> Act {
    Act::Code(CodeAct::Settle { eval, settled: vec![(promise, RunOutcome::Done(value))] })
}

#[test]
fn code_promises_are_stored_and_settle_once() {
    let (mut w, eval, host) = world();
    let (own, answer) = (CodePromise::Numbered(1), CodePromise::Answer(1));
    let (first, second) = (code::promise_id(&eval, own), code::promise_id(&eval, answer));
    assert_ne!(first, second);
    for which in [own, answer, own] {
        w.apply(promise(eval, which));
    }
    for id in [first, second] {
        assert_eq!(table::promise(&mut w.store, &id).unwrap(), Some(PromiseRow::Pending));
        assert!(query::holds(&mut w.store, &host, &id).unwrap(), "its own code's");
    }
    // A promise of code settles with data, or with objects that the code made. A grant would be handed to every
    // holder of the promise.
    let base = endowment(&mut w, eval);
    let guest = w.guest("ann");
    let said = refused(&mut w, guest, settle(eval, own, Value::null()));
    assert!(matches!(said, Fault::NotAllowed(_)), "only the daemon says so: {said:?}");
    let third = CodePromise::Numbered(2);
    w.apply(promise(eval, third));
    w.apply(settle(eval, third, Value::remotable(base)));
    let row = table::promise(&mut w.store, &code::promise_id(&eval, third)).unwrap();
    assert!(
        matches!(&row, Some(PromiseRow::Rejected { reason }) if reason.contains("cannot be kept")),
        "{row:?}"
    );
    assert_eq!(w.apply(settle(eval, own, Value::string("yes"))).reply, Reply::Done);
    assert_eq!(w.apply(settle(eval, own, Value::string("no"))).reply, Reply::AlreadySettled);
    let kept = PromiseRow::Fulfilled { value: Value::string("yes") };
    assert_eq!(table::promise(&mut w.store, &first).unwrap(), Some(kept));
    // A holder of the promise keeps the code that settles it.
    w.as_agent(host, Act::Name(NameAct::StoreValue { value: Value::promise(second), path: path("later") }));
    w.evaluated(eval, Value::null());
    w.collect(50);
    assert!(matches!(w.formula(eval), Formula::Eval { .. }));
    assert_eq!(w.id(host, "later"), second, "a name for a promise is a name for what it comes to");
    w.as_agent(host, Act::Name(NameAct::Remove { path: path("later") }));
    w.collect(50);
    assert!(table::formula(&mut w.store, &eval).unwrap().is_none());
    assert!(table::promise(&mut w.store, &second).unwrap().is_none());
    assert!(!query::holds(&mut w.store, &host, &second).unwrap());
}

#[test]
fn failed_code_rejects_its_open_promises() {
    let (mut w, eval, host) = world();
    let which = CodePromise::Numbered(7);
    w.apply(promise(eval, which));
    let id = code::promise_id(&eval, which);
    w.as_agent(host, Act::Name(NameAct::StoreValue { value: Value::promise(id), path: path("p") }));
    let trouble = Trouble { code: "vat/threw".to_owned(), message: text("x"), help: String::new() };
    w.apply(Act::Evaluated { eval, outcome: RunOutcome::Failed(trouble) });
    let row = table::promise(&mut w.store, &id).unwrap();
    assert!(matches!(&row, Some(PromiseRow::Rejected { reason }) if reason.contains("vat/threw")), "{row:?}");
}

#[test]
fn object_given_to_code_twice_is_the_same_grant() {
    let (mut w, eval, host) = world();
    let (other, _) = {
        let act = MailAct::Evaluate {
            vat: None,
            source: text("2"),
            names: vec![],
            paths: vec![],
            result_name: None,
        };
        w.parked(host, mail(act))
    };
    let base = endowment(&mut w, eval);
    let hand = |giver, id, to| {
        let name = "argument".to_owned();
        Act::Code(CodeAct::Give { giver, id, through: vec![], to, name })
    };
    let Reply::Made { id: given } = w.apply(hand(eval, base, other)).reply else { panic!("made") };
    let Formula::Grant { target, holder, .. } = w.formula(given) else { panic!("a grant") };
    assert_eq!((target, holder), (base, other));
    assert_eq!(w.apply(hand(eval, base, other)).reply, Reply::Made { id: given });
    // A revoked grant stays revoked.
    let number = table::grant(&mut w.store, &given).unwrap().unwrap().number;
    w.as_agent(host, Act::Grant(GrantAct::Revoke { grant: number }));
    assert_eq!(w.apply(hand(eval, base, other)).reply, Reply::Made { id: given });
    assert!(table::grant(&mut w.store, &given).unwrap().unwrap().revoked_ms.is_some());
    // A giver must hold the object that it hands over, and only the daemon may report it.
    let dir = w.id(host, "dir");
    let guest = w.guest("ann");
    let stolen = refused(&mut w, host, hand(eval, dir, other));
    assert!(matches!(stolen, Fault::NotHeld(_)), "{stolen:?}");
    assert!(matches!(refused(&mut w, guest, hand(host, dir, other)), Fault::NotAllowed(_)));
    // A grant that goes back to its giver becomes the giver's own object again.
    assert_eq!(w.apply(hand(other, given, eval)).reply, Reply::Made { id: base });
    // An agent gives an object that it holds. A formula that can hold nothing gets nothing.
    let Reply::Made { id: from_host } = w.apply(hand(host, dir, other)).reply else { panic!("made") };
    assert_ne!(from_host, given);
    let nobody = refused(&mut w, host, hand(host, dir, dir));
    assert!(matches!(nobody, Fault::Misfit { .. }), "{nobody:?}");
}
