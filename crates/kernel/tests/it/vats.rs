//! Places where code runs. Emptying a place ends the actor's own code that waits there, and leaves the place.

use kernel::command::{Act, Cancel, MailAct, NameAct, ProvidedObject};
use kernel::formula::Formula;
use kernel::table::{PromiseRow, Task};
use kernel::{FormulaId, Value, query};

use crate::agents::{copy, mail, path, send};
use crate::fixture::{Fixture, text};

/// Parks code in a place, endowed with the targets of these names, and returns it with its promise.
fn waiting(w: &mut Fixture, actor: FormulaId, vat: Option<&str>, names: &[&str]) -> (FormulaId, FormulaId) {
    let act = MailAct::Evaluate {
        vat: vat.map(path),
        source: text("1"),
        names: (0..names.len()).map(|i| format!("n{i}")).collect(),
        paths: names.iter().map(|name| path(name)).collect(),
        result_name: None,
    };
    w.parked(actor, mail(act))
}

fn empty(vat: FormulaId) -> Act {
    Act::Cancel { what: Cancel::Vat { vat }, reason: text("enough") }
}

fn rejected() -> PromiseRow {
    PromiseRow::Rejected { reason: "enough".to_owned() }
}

/// Returns a host with two places, `one` and `two`, and a guest who was given the first.
fn world() -> (Fixture, FormulaId, FormulaId) {
    let mut w = Fixture::new();
    let host = w.host;
    for name in ["one", "two"] {
        w.as_agent(host, Act::Name(NameAct::Provide { thing: ProvidedObject::Vat, path: path(name) }));
    }
    let fae = w.guest("fae");
    w.as_agent(host, send("fae", &[("vat", "one")]));
    w.as_agent(fae, copy("@mail/0/vat", "vat"));
    (w, host, fae)
}

#[test]
fn emptied_vat_ends_only_its_own_waiting_code() {
    let (mut w, host, _) = world();
    w.start();
    let one = w.id(host, "one");
    let here = [(); 2].map(|()| waiting(&mut w, host, Some("one"), &[]));
    let elsewhere = [Some("two"), None].map(|vat| waiting(&mut w, host, vat, &[]));
    w.as_agent(host, empty(one));
    for (eval, promise) in here {
        assert_eq!(w.promise(promise), rejected());
        assert!(!query::outbox(&mut w.store, &host.number).unwrap().contains(&Task::Eval { eval }));
    }
    for (eval, promise) in elsewhere {
        assert_eq!(w.promise(promise), PromiseRow::Pending);
        assert!(query::outbox(&mut w.store, &host.number).unwrap().contains(&Task::Eval { eval }));
    }
    // The place is there for the next code, and is emptied again.
    assert!(matches!(w.formula(one), Formula::Vat { .. }));
    let (eval, promise) = waiting(&mut w, host, Some("one"), &[]);
    assert_eq!(w.promise(promise), PromiseRow::Pending);
    w.as_agent(host, empty(one));
    assert_eq!(w.promise(promise), rejected());
    assert_eq!(w.evaluated(eval, Value::null()), kernel::command::Reply::AlreadySettled);
}

#[test]
fn guest_empties_only_its_own_code_from_a_vat() {
    let (mut w, host, fae) = world();
    let (one, given) = (w.id(host, "one"), w.id(fae, "vat"));
    let (_, hosts) = waiting(&mut w, host, Some("one"), &[]);
    let (_, own) = waiting(&mut w, fae, Some("vat"), &[]);
    // The guest does not hold the identifier of the place itself; and its own address is no place.
    assert!(w.fault(fae, empty(one)).contains("an identifier alone is no authority"));
    let me = w.id(fae, "@self");
    assert!(w.fault(fae, empty(me)).contains("is no place to run"));
    w.as_agent(fae, empty(given));
    assert_eq!((w.promise(own), w.promise(hosts)), (rejected(), PromiseRow::Pending));
    w.as_agent(host, empty(one));
    assert_eq!(w.promise(hosts), rejected());
}

#[test]
fn cancel_does_not_follow_names_inside_a_directory() {
    let (mut w, host, _) = world();
    w.mount("cap");
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("d") }));
    w.as_agent(host, copy("cap", "d/cap"));
    let cancel = |name: &str| Act::Cancel { what: Cancel::Name { path: path(name) }, reason: text("enough") };
    let (_, of_directory) = waiting(&mut w, host, None, &["d"]);
    let (_, of_cap) = waiting(&mut w, host, None, &["cap"]);
    w.as_agent(host, cancel("cap"));
    assert_eq!((w.promise(of_cap), w.promise(of_directory)), (rejected(), PromiseRow::Pending));
    w.as_agent(host, cancel("d"));
    assert_eq!(w.promise(of_directory), rejected());
}
