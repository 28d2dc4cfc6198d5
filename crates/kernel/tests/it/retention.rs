//! Retention: formulas without a reachable reference are removed, in bounded steps, and nothing else is.

use std::collections::BTreeSet;

use kernel::command::{Act, GrantAct, Move, NameAct, Reply};
use kernel::grant::Rate;
use kernel::proposal::Decision;
use kernel::run::{RunOutcome, Shape};
use kernel::txn::Table;
use kernel::{FormulaId, Number, Value, query};

use crate::agents::{copy, dismiss, mail, path, remove, request, resolve, send, store, string};
use crate::fixture::{Fixture, done, env};
use crate::runs::finish;

fn make_directory(name: &str) -> Act {
    Act::Name(NameAct::MakeDirectory { path: path(name) })
}

fn paths(w: &mut Fixture, id: FormulaId) -> Vec<String> {
    let ways = query::retention(&mut w.store, &id, 10).unwrap();
    let line = |way: query::Path| way.iter().map(|(_, part)| part.clone()).collect::<Vec<_>>().join(" > ");
    ways.into_iter().map(line).collect()
}

#[test]
fn formula_without_a_name_is_collected() {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, store(string("x"), "x"));
    w.as_agent(host, copy("x", "y"));
    let x = w.id(host, "x");
    for (name, stays) in [("x", true), ("y", false)] {
        w.as_agent(host, remove(name));
        w.collect(1000);
        assert_eq!(w.is_there(x), stays, "after {name}");
    }
}

#[test]
fn directory_is_collected_with_formulas_named_only_there() {
    let mut w = Fixture::new();
    let host = w.host;
    for act in
        [make_directory("d"), make_directory("d/e"), store(string("x"), "d/e/x"), copy("d/e/x", "kept")]
    {
        w.as_agent(host, act);
    }
    w.as_agent(host, store(string("y"), "d/e/y"));
    let (kept, gone) = (w.id(host, "kept"), [w.id(host, "d"), w.id(host, "d/e"), w.id(host, "d/e/y")]);
    w.as_agent(host, remove("d"));
    w.collect(1000);
    assert!(w.is_there(kept));
    assert!(gone.iter().all(|id| !w.is_there(*id)));
    assert_eq!(w.store.count(Table::PetName), 1, "no row is left of it");
}

#[test]
fn unreachable_cycles_are_collected() {
    let mut w = Fixture::new();
    let host = w.host;
    let before = w.store.count(Table::Formula);
    let (fae, eve) = (w.guest("fae"), w.guest("eve"));
    w.as_agent(host, send("fae", &[("eve", "eve")]));
    w.as_agent(host, send("eve", &[("fae", "fae")]));
    w.as_agent(fae, copy("@mail/0/eve", "eve"));
    w.as_agent(eve, copy("@mail/0/fae", "fae"));
    w.as_agent(fae, send("eve", &[("me", "@agent")]));
    w.as_agent(eve, send("fae", &[("me", "@agent")]));
    for number in [0, 1] {
        w.as_agent(host, dismiss(number));
    }
    w.collect(1000);
    assert!(w.is_there(fae) && w.is_there(eve), "the host has names for them");
    w.as_agent(host, remove("fae"));
    w.collect(1000);
    assert!(w.is_there(fae), "the other guest has a name for it");
    w.as_agent(host, remove("eve"));
    w.collect(1000);
    assert!(!w.is_there(fae) && !w.is_there(eve));
    assert_eq!(w.store.count(Table::Formula), before, "nothing of them is left");
    for table in [Table::PetName, Table::Held] {
        let owned = w.store.owned(table, &fae.number) + w.store.owned(table, &eve.number);
        assert_eq!(owned, 0, "{table:?}");
    }
}

#[test]
fn self_naming_directory_is_collected() {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, make_directory("d"));
    w.as_agent(host, copy("d", "d/self"));
    let d = w.id(host, "d");
    w.as_agent(host, remove("d"));
    w.collect(1000);
    assert!(!w.is_there(d));
}

#[test]
fn unnamed_promise_is_collected_with_its_messages() {
    let mut w = Fixture::new();
    let host = w.host;
    let fae = w.guest("fae");
    w.as_agent(host, store(string("five"), "five"));
    let promise = w.ask(fae, request("@host", "x", None));
    w.as_agent(host, resolve(0, "five"));
    w.collect(1000);
    assert!(w.is_there(promise));
    w.as_agent(host, dismiss(0));
    w.collect(1000);
    assert!(w.is_there(promise), "the guest's copy keeps it");
    w.as_agent(fae, dismiss(0));
    w.collect(1000);
    assert!(!w.is_there(promise));
    assert_eq!(w.letters(fae).len(), 1, "the envelope stays");
    let five = w.id(host, "five");
    assert!(w.is_there(five));
}

#[test]
fn finished_run_is_collected_and_its_journal_stays() {
    let mut w = Fixture::new();
    let host = w.host;
    let before = w.store.count(Table::Formula);
    let run = w.start();
    let id = w.run(run).id;
    w.as_agent(host, dismiss(0));
    w.collect(1000);
    assert!(w.is_there(id), "a run that is open is kept");
    w.advance(run, vec![Move::Finish { outcome: RunOutcome::Done(Value::null()) }]);
    w.collect(1000);
    assert!(!w.is_there(id));
    assert_eq!(w.store.count(Table::Formula), before);
    assert_eq!(w.steps(run), "finished", "the journal is a record, and stays");
    assert!(!query::grants(&mut w.store, &host.number).unwrap().is_empty(), "so do the grants");
}

#[test]
fn small_collection_steps_equal_one_large_step() {
    let prepared = || {
        let mut w = Fixture::new();
        let host = w.host;
        w.as_agent(host, make_directory("d"));
        for i in 0..100 {
            w.as_agent(host, store(string("x"), &format!("d/{i}")));
        }
        w.as_agent(host, copy("d/7", "kept"));
        let fae = w.guest("fae");
        w.as_agent(fae, send("@host", &[]));
        w.as_agent(host, dismiss(0));
        w.as_agent(host, remove("fae"));
        w.as_agent(host, remove("d"));
        w
    };
    let rest = |budget: u32| {
        let mut w = prepared();
        let count = w.collect(budget);
        (count, w.store.rows(Table::Formula), w.store.rows(Table::Edge), w.store.rows(Table::Held))
    };
    assert_eq!(rest(1), rest(1000));
}

#[test]
fn collection_keeps_formulas_moved_during_the_walk() {
    let mut w = Fixture::new();
    let host = w.host;
    for act in [make_directory("a"), make_directory("a/b"), store(string("x"), "a/b/x"), copy("a/b", "b")] {
        w.as_agent(host, act);
    }
    let x = w.id(host, "b/x");
    w.as_agent(host, copy("b/x", "x"));
    w.as_agent(host, remove("x"));
    // At every point of the walk, the thing loses one way and gets another.
    for steps in 0..8 {
        for _ in 0..steps {
            w.apply(Act::Collect { budget: 1, pinned: BTreeSet::new() });
        }
        let (from, to) = if steps % 2 == 0 { ("b/x", "a/x") } else { ("a/x", "b/x") };
        w.as_agent(host, Act::Name(NameAct::Move { from: path(from), to: path(to) }));
        assert!(w.is_there(x), "{steps}");
    }
    w.collect(3);
    assert!(w.is_there(x));
    w.as_agent(host, remove("b/x"));
    w.collect(3);
    assert!(!w.is_there(x));
}

#[test]
fn pinned_formula_is_not_collected() {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, store(string("x"), "x"));
    let x = w.id(host, "x");
    w.as_agent(host, remove("x"));
    let collect = |w: &mut Fixture, pinned: &[FormulaId]| {
        let pinned = pinned.iter().copied().collect();
        w.apply(Act::Collect { budget: 1000, pinned }).reply
    };
    assert_eq!(collect(&mut w, &[x]), Reply::Collected { count: 0, done: true });
    assert!(w.is_there(x));
}

#[test]
fn retention_paths_show_why_a_formula_is_kept() {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, make_directory("d"));
    w.as_agent(host, store(string("x"), "d/x"));
    w.as_agent(host, copy("d/x", "x"));
    let x = w.id(host, "x");
    let ways = paths(&mut w, x);
    assert_eq!(ways[0], " > host > directory > pet-store > name x", "the shortest first");
    let other = " > host > directory > pet-store > name d > pet-store > name x".to_owned();
    assert!(ways.contains(&other), "{ways:?}");
    let fae = w.guest("fae");
    w.as_agent(host, send("fae", &[("x", "x")]));
    w.as_agent(host, remove("x"));
    w.as_agent(host, remove("d"));
    w.collect(1000);
    let ways = paths(&mut w, x);
    assert!(ways.iter().any(|way| way.contains("mailbox > message 0 > edge x")), "{ways:?}");
    w.as_agent(host, dismiss(0));
    w.as_agent(fae, mail(kernel::command::MailAct::Dismiss { number: kernel::MessageNumber(0) }));
    assert!(paths(&mut w, x).is_empty(), "what only waits to be collected has no way");
    w.collect(1000);
    assert!(!w.is_there(x));
}

#[test]
fn expired_tokens_are_collected_in_bounded_steps() {
    let mut w = Fixture::new();
    let host = w.host;
    let mut shared = Vec::new();
    // One for ever, three that end, and one whose time is long before 1970.
    let ends =
        [i64::MAX, env(w.ticks + 30).now_ms(), env(w.ticks + 31).now_ms(), env(w.ticks + 32).now_ms(), -1];
    for (i, expires_ms) in (0_u8..).zip(ends) {
        w.as_agent(host, store(string("x"), "x"));
        shared.push(w.id(host, "x"));
        let token = Number([i; 32]);
        w.as_agent(host, Act::Grant(GrantAct::Share { path: path("x"), token, expires_ms }));
        w.as_agent(host, remove("x"));
    }
    let there = |w: &mut Fixture| -> Vec<bool> { shared.iter().map(|id| w.is_there(*id)).collect() };
    assert!(kernel::collect::is_due(&mut w.store, 0).unwrap());
    w.collect(1000);
    assert_eq!(there(&mut w), [true, true, true, true, false], "what has not ended stays");
    let now = env(w.ticks).now_ms();
    assert!(!kernel::collect::is_due(&mut w.store, now).unwrap());
    assert!(!kernel::collect::is_due(&mut w.store, ends[1] - 1).unwrap());
    assert!(kernel::collect::is_due(&mut w.store, ends[1]).unwrap(), "the clock alone makes work");
    while env(w.ticks).now_ms() < ends[3] {
        w.apply(Act::Recover);
    }
    // One step is one token. The progress of a step is in the store: the next may come after a restart.
    let mut tokens = vec![w.store.count(Table::Token)];
    for _ in 0..3 {
        let step = w.apply(Act::Collect { budget: 1, pinned: BTreeSet::new() }).reply;
        assert!(matches!(step, Reply::Collected { count: 0, done: false }), "{step:?}");
        tokens.push(w.store.count(Table::Token));
    }
    assert_eq!(tokens, [4, 3, 2, 1]);
    w.collect(1);
    assert_eq!(there(&mut w), [true, false, false, false, false]);
    let fae = w.guest("fae");
    w.as_agent(fae, Act::Grant(GrantAct::Accept { token: Number([0; 32]), path: path("x") }));
    assert_eq!(w.store.count(Table::Token), 0);
    let rows = w.store.rows(Table::Collector);
    assert!(!rows.iter().any(|(key, _)| key.starts_with(b"t")), "nothing waits for a token that is gone");
}

/// Returns the rows of no table of their own that begin so.
fn counted(w: &Fixture, prefix: &[u8]) -> usize {
    let rows = w.store.rows(Table::Meta);
    rows.iter().filter(|(key, _)| key.windows(prefix.len()).any(|part| part == prefix)).count()
}

#[test]
fn usage_times_of_a_grant_are_removed_with_the_grant() {
    let mut w = Fixture::new();
    let rate = Some(Rate { calls: 3, per_ms: 60_000 });
    let run = w.start_bound(Shape::Single, vec![], None, |all| all[0].attenuation.rate = rate);
    assert_eq!(counted(&w, b"rate "), 0);
    let (step, _) = w.propose(run, "out", "write", Decision::Allow);
    assert_eq!(counted(&w, b"rate "), 1);
    w.advance(run, vec![Move::Complete { proposal: step, completion: done() }]);
    w.advance(run, vec![finish("ok")]);
    let grant = w.run(run).grants["out"];
    w.apply(Act::Forget { run });
    let host = w.host;
    // The command that began the run is the last that names its worker.
    w.as_agent(host, dismiss(0));
    w.collect(1000);
    assert!(!w.is_there(grant), "{:?}", paths(&mut w, grant));
    assert_eq!(counted(&w, b"rate "), 0);
}
