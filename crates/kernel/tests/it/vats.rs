//! Places where code runs: emptying one ends what waits there and is one's own to end, and leaves the place.

use kernel::command::{Act, Cancel, MailAct, NameAct, Provided};
use kernel::formula::Formula;
use kernel::table::{PromiseRow, Task};
use kernel::{FormulaId, Value, query};

use crate::agents::{copy, mail, path, send};
use crate::world::{World, text};

/// Code that waits in a place, with these endowed under their own names.
fn waiting(w: &mut World, actor: FormulaId, vat: Option<&str>, names: &[&str]) -> (FormulaId, FormulaId) {
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

/// A host with two places, `one` and `two`, and a guest who was given the first.
fn world() -> (World, FormulaId, FormulaId) {
    let mut w = World::new();
    let host = w.host;
    for name in ["one", "two"] {
        w.as_agent(host, Act::Name(NameAct::Provide { thing: Provided::Vat, path: path(name) }));
    }
    let fae = w.guest("fae");
    w.as_agent(host, send("fae", &[("vat", "one")]));
    w.as_agent(fae, copy("@mail/0/vat", "vat"));
    (w, host, fae)
}

#[test]
fn what_waits_in_a_place_ends_with_it_and_nothing_elsewhere() {
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
fn whoever_was_given_a_place_ends_there_what_is_its_own() {
    let (mut w, host, fae) = world();
    let (one, given) = (w.id(host, "one"), w.id(fae, "vat"));
    let (_, hosts) = waiting(&mut w, host, Some("one"), &[]);
    let (_, own) = waiting(&mut w, fae, Some("vat"), &[]);
    // By the identifier of the place itself, which it does not hold; and what is no place.
    assert!(w.fault(fae, empty(one)).contains("an identifier alone is no authority"));
    let me = w.id(fae, "@self");
    assert!(w.fault(fae, empty(me)).contains("is no place to run"));
    w.as_agent(fae, empty(given));
    assert_eq!((w.promise(own), w.promise(hosts)), (rejected(), PromiseRow::Pending));
    w.as_agent(host, empty(one));
    assert_eq!(w.promise(hosts), rejected());
}

#[test]
fn what_only_leads_to_something_through_a_name_is_not_made_of_it() {
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
