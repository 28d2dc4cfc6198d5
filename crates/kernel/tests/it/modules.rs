//! Programs of modules: who makes them, with which powers, and how they end.

use std::collections::BTreeMap;

use kernel::code;
use kernel::command::{Act, Cancel, CodeAct, Fault, MailAct, NameAct, Outcome, Reply};
use kernel::facet::Then;
use kernel::formula::Formula;
use kernel::modules::{ModuleFormat, Modules};
use kernel::table::PromiseRow;
use kernel::{BlobHash, FormulaId, NamePath, Value, table};

use crate::agents::{mail, path};
use crate::fixture::{Fixture, text};

fn modules(env: &[(&str, &str)]) -> Modules {
    Modules {
        packed: ModuleFormat::Archive,
        hash: BlobHash::of(b"modules"),
        bytes: 7,
        entry: text("index.js"),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

fn make(powers: Option<&str>, new_guest: bool, result_name: Option<&str>) -> Act {
    let named = |name: &str| -> NamePath { path(name) };
    mail(MailAct::Make {
        vat: None,
        modules: modules(&[("A", "b")]),
        powers: powers.map(named),
        new_guest,
        result_name: result_name.map(named),
    })
}

/// Returns the powers of the program: the formula at the end of its grants.
fn powers(w: &mut Fixture, eval: FormulaId) -> FormulaId {
    let Formula::Eval { endowments, .. } = w.formula(eval) else { panic!("an eval") };
    assert_eq!(endowments.keys().collect::<Vec<_>>(), ["powers"]);
    table::reach(&mut w.store, &endowments["powers"]).unwrap().unwrap().id
}

#[test]
fn program_gets_the_named_powers_or_no_powers() {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("dir") }));
    let (eval, promise) = w.parked(host, make(Some("dir"), false, Some("made")));
    assert_eq!(powers(&mut w, eval), w.id(host, "dir"));
    assert_eq!(w.id(host, "made"), promise);
    let Formula::Eval { modules: Some(kept), source, .. } = w.formula(eval) else { panic!("modules") };
    assert_eq!((kept, source.raw()), (modules(&[("A", "b")]), ""));
    assert_eq!(w.formula(eval).kind(), "make-archive");
    let row = table::blob(&mut w.store, BlobHash::of(b"modules")).unwrap();
    assert_eq!(row.map(|row| row.bytes), Some(7), "its bytes are known");
    let (eval, _) = w.parked(host, make(None, false, None));
    let none = powers(&mut w, eval);
    assert_eq!(w.formula(none), Formula::LeastAuthority);
}

#[test]
fn free_powers_name_makes_a_new_guest_on_request() {
    let mut w = Fixture::new();
    let host = w.host;
    let refused = w.try_as(host, make(Some("fresh"), false, None)).unwrap_err();
    assert!(matches!(refused, Fault::UnknownName(_)), "{refused:?}");
    let (eval, _) = w.parked(host, make(Some("fresh"), true, None));
    let guest = powers(&mut w, eval);
    assert_eq!(w.id(host, "fresh"), guest);
    assert!(matches!(w.formula(guest), Formula::Guest { .. }));
    let (again, _) = w.parked(host, make(Some("fresh"), true, None));
    assert_eq!(powers(&mut w, again), guest, "the same name is the same guest");
    let wrong = w.try_as(host, make(Some("fresh/x/y"), true, None)).unwrap_err();
    assert!(matches!(wrong, Fault::UnknownName(_) | Fault::NotADirectory(_)), "{wrong:?}");
}

#[test]
fn only_a_host_makes_programs_within_the_limits() {
    let mut w = Fixture::new();
    let (host, fae) = (w.host, w.guest("fae"));
    let refused = w.try_as(fae, make(None, false, None)).unwrap_err();
    assert!(matches!(&refused, Fault::NotAllowed(what) if what.contains("only a host")), "{refused:?}");
    let many: BTreeMap<String, String> = (0..257).map(|n| (n.to_string(), String::new())).collect();
    let long = BTreeMap::from([("A".to_owned(), "x".repeat(64 << 10))]);
    for (env, says) in [(many, "257 variables"), (long, "65537 bytes")] {
        let modules = Modules { env, ..modules(&[]) };
        let act = MailAct::Make { vat: None, modules, powers: None, new_guest: false, result_name: None };
        let refused = w.try_as(host, mail(act)).unwrap_err();
        assert!(matches!(&refused, Fault::Misfit { what } if what.contains(says)), "{refused:?}");
    }
}

#[test]
fn code_can_cancel_itself_and_no_other_code() {
    let mut w = Fixture::new();
    let host = w.host;
    let (eval, promise) = w.parked(host, make(None, false, None));
    let (other, _) = w.parked(host, make(None, false, None));
    let cancel = |of: FormulaId, by: FormulaId| {
        let act = Box::new(Act::Code(CodeAct::Cancel { eval: of, reason: text("enough") }));
        let reach = Box::new(kernel::code::Reference::Passing);
        Act::Code(CodeAct::Do { eval: by, send: Some(0), actor: by, then: Then::Nothing, reach, act })
    };
    let refused = w.try_as(host, cancel(other, eval)).unwrap_err();
    assert!(matches!(refused, Fault::NotAllowed(_)), "{refused:?}");
    assert_eq!(w.apply(cancel(eval, eval)).reply, Reply::Done);
    let settled = table::promise(&mut w.store, &promise).unwrap();
    assert_eq!(settled, Some(PromiseRow::Rejected { reason: "enough".to_owned() }));
    assert!(code::mark(&mut w.store, &code::Origin { eval, send: 0 }).unwrap().is_none());
    assert_eq!(w.apply(cancel(eval, eval)).reply, Reply::AlreadySettled);
    let heard = Act::Code(CodeAct::Record { eval, from: 0, entries: vec![] });
    assert_eq!(w.apply(heard).reply, Reply::AlreadySettled);
    w.evaluated(other, Value::string("done"));
    // Code without a reference to it is removed.
    w.collect(200);
    assert!(table::formula(&mut w.store, &eval).unwrap().is_none());
}

#[test]
fn cancelling_finished_code_drops_only_dependent_heaps() {
    let mut w = Fixture::new();
    let (host, fae) = (w.host, w.guest("fae"));
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("dir") }));
    let (eval, _) = w.parked(host, make(Some("dir"), false, Some("made")));
    let (beside, _) = w.parked(host, make(None, false, Some("beside")));
    let cancel = |name: &str| Act::Cancel { what: Cancel::Name { path: path(name) }, reason: text("enough") };
    let cancelled = |outcome: Outcome| -> Vec<(FormulaId, String)> {
        outcome.cancelled.into_iter().map(|one| (one.eval, one.reason.raw().to_owned())).collect()
    };
    // Cancelling unfinished code rejects its promise. The holder of its heap sees that, so the reply does not list
    // the code.
    assert_eq!(cancelled(w.apply(cancel("beside"))), []);
    assert!(table::eval(&mut w.store, &beside).unwrap().is_none());
    w.evaluated(eval, Value::string("made"));
    let outcome = w.apply(cancel("made"));
    assert_eq!(outcome.cancelled[0].author, kernel::Number(host.number));
    assert_eq!(cancelled(outcome), [(eval, "enough".to_owned())]);
    assert!(matches!(w.formula(eval), Formula::Eval { .. }), "it is made anew when somebody uses it");
    // Cancelling an endowment also drops the heap of the code that depends on it, and no other heap.
    assert_eq!(cancelled(w.apply(cancel("dir"))), [(eval, "enough".to_owned())]);
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("other") }));
    assert_eq!(cancelled(w.apply(cancel("other"))), []);
    // A guest ends nothing of its host's.
    let refused = w.try_as(fae, cancel("made")).unwrap_err();
    assert!(matches!(refused, Fault::UnknownName(_)), "{refused:?}");
}
