//! Names that look like others are refused, unless a person insists. Earlier changes of the directory do not matter.

use std::collections::BTreeSet;

use kernel::command::{Act, Fault, MailAct, NameAct, ProvideAgent};
use kernel::confusables;
use kernel::txn::Table;
use proptest::prelude::*;

use crate::agents::{copy, mail, path, remove, request, send, store, string};
use crate::fixture::Fixture;

/// A set of names, in which many look like one another.
const NAMES: [&str; 19] = [
    "counter",
    "counter.",
    "counter\u{301}",
    " counter",
    "соunter",
    "сounter",
    "counter\u{200B}",
    "é",
    "e\u{301}",
    "е\u{301}",
    "a1",
    "al",
    "aI",
    "0",
    "O",
    "О",
    "modern",
    "modem",
    "plain",
];

fn forced(act: Act) -> Act {
    match act {
        Act::Name(act) => Act::Name(NameAct::Forced { act: Box::new(act) }),
        other => other,
    }
}

fn rows(w: &Fixture) -> usize {
    w.store.rows(Table::Meta).iter().filter(|(key, _)| key.starts_with(confusables::SKELETON_PREFIX)).count()
}

/// An operation on the names of one directory.
#[derive(Clone, Debug)]
enum Deed {
    Store(usize, bool),
    Copy(usize, usize, bool),
    Move(usize, usize, bool),
    Remove(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let name = || 0..NAMES.len();
    // Most are not forced, or soon everything is there.
    let force = || prop::bool::weighted(0.2);
    prop_oneof![
        4 => (name(), force()).prop_map(|(name, force)| Deed::Store(name, force)),
        2 => (name(), name(), force()).prop_map(|(from, to, force)| Deed::Copy(from, to, force)),
        3 => (name(), name(), force()).prop_map(|(from, to, force)| Deed::Move(from, to, force)),
        3 => name().prop_map(Deed::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn look_alike_check_agrees_with_a_full_comparison(deeds in prop::collection::vec(deed(), 1..40)) {
        let mut w = Fixture::new();
        let host = w.host;
        let before = rows(&w);
        let mut names = BTreeSet::new();
        for deed in deeds {
            let (act, from, to, goes, force) = match deed {
                Deed::Store(to, force) => (store(string("x"), NAMES[to]), None, Some(to), None, force),
                Deed::Copy(from, to, force) => (copy(NAMES[from], NAMES[to]), Some(from), Some(to), None, force),
                Deed::Move(from, to, force) => {
                    let (from_path, to_path) = (path(NAMES[from]), path(NAMES[to]));
                    let act = Act::Name(NameAct::Move { from: from_path, to: to_path });
                    (act, Some(from), Some(to), Some(from), force)
                }
                Deed::Remove(name) => (remove(NAMES[name]), Some(name), None, Some(name), false),
            };
            let result = w.try_as(host, if force { forced(act) } else { act });
            if from.is_some_and(|from| !names.contains(&from)) {
                prop_assert!(matches!(result, Err(Fault::UnknownName(_))), "{:?}", result.map(|done| done.reply));
                continue;
            }
            let is_new = to.filter(|to| !force && !names.contains(to));
            if is_new.is_some_and(|to| confusables::has_hidden_characters(NAMES[to])) {
                prop_assert!(matches!(result, Err(Fault::Hides { .. })), "{:?}", result.map(|done| done.reply));
                continue;
            }
            let taken_for = is_new.is_some_and(|to| {
                let look = confusables::skeleton(NAMES[to]);
                names.iter().any(|n| *n != to && Some(*n) != goes && confusables::skeleton(NAMES[*n]) == look)
            });
            if taken_for {
                prop_assert!(matches!(result, Err(Fault::LooksLike { .. })), "{:?}", result.map(|done| done.reply));
                continue;
            }
            prop_assert!(result.is_ok(), "{:?}", result.map(|done| done.reply));
            names.extend(to);
            if let Some(goes) = goes.filter(|goes| to != Some(*goes)) {
                names.remove(&goes);
            }
            let noted = names.iter().filter(|n| confusables::skeleton(NAMES[**n]) != NAMES[**n]).count();
            prop_assert_eq!(rows(&w) - before, noted);
        }
    }
}

#[test]
fn skeleton_of_a_skeleton_is_the_same() {
    for letter in ('\0'..=char::MAX).filter(|c| !c.is_ascii()) {
        let once = confusables::skeleton(&letter.to_string());
        assert_eq!(confusables::skeleton(&once), once, "{letter:?}");
    }
}

#[test]
fn look_alike_name_is_refused_by_every_naming_command() {
    let mut w = Fixture::new();
    let host = w.host;
    let fae = w.guest("fae");
    for (agent, name) in [(host, "counter"), (fae, "counter"), (host, "thing")] {
        w.as_agent(agent, store(string("x"), name));
    }
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("d") }));
    w.as_agent(fae, send("@host", &[("it", "counter")]));
    let number = w.last(host).number;
    let fake = "соunter";
    let expected = "\"соunter\" (\\u{441}\\u{43e}unter) looks like \"counter\", a name in the same directory";
    let provide = |introduced: &[(&str, &str)], name: &str| {
        Act::Provide(ProvideAgent {
            kind: kernel::command::AgentKind::Guest,
            name: Some(path(name)),
            agent_name: None,
            introduced: introduced.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
        })
    };
    for (agent, act) in [
        (host, store(string("y"), fake)),
        (host, copy("thing", fake)),
        (host, Act::Name(NameAct::Move { from: path("thing"), to: path(fake) })),
        (host, Act::Name(NameAct::MakeDirectory { path: path(fake) })),
        (host, mail(MailAct::Adopt { number, edge: "it".to_owned(), path: path(fake) })),
        (host, provide(&[], fake)),
        // The result of a guest's request gets a name among the guest's own.
        (fae, request("@host", "something", Some(fake))),
    ] {
        assert_eq!(w.fault(agent, act.clone()), expected, "{act:?}");
    }
    // A new guest has names of its own: only the names introduced together are compared.
    w.as_agent(host, provide(&[("counter", fake)], "eve"));
    let twice = provide(&[("counter", "counter"), ("thing", fake)], "kim");
    assert!(w.fault(host, twice).contains("looks like"));
    // Elsewhere the name is free; and a person can insist.
    w.as_agent(host, store(string("y"), &format!("d/{fake}")));
    w.as_agent(host, forced(store(string("y"), fake)));
    w.as_agent(host, store(string("z"), fake));
    assert_eq!(
        w.list(host, "@agent").iter().filter(|name| confusables::skeleton(name) == "counter").count(),
        2
    );
}

#[test]
fn name_with_hidden_characters_needs_force() {
    let mut w = Fixture::new();
    let host = w.host;
    for name in ["thing\u{200B}", "\u{202E}thing", "thing ", " thing", "a  b"] {
        let fault = w.fault(host, store(string("x"), name));
        assert!(fault.contains("that nobody sees"), "{name:?}: {fault}");
        w.as_agent(host, forced(store(string("x"), name)));
        // An agent that has such a name can go on using it.
        w.as_agent(host, store(string("y"), name));
        w.as_agent(host, remove(name));
    }
}

#[test]
fn name_can_be_moved_to_its_own_look_alike() {
    let mut w = Fixture::new();
    let host = w.host;
    w.as_agent(host, store(string("x"), "соunter"));
    w.as_agent(host, Act::Name(NameAct::Move { from: path("соunter"), to: path("counter") }));
    assert_eq!(
        w.list(host, "@agent").iter().filter(|name| confusables::skeleton(name) == "counter").count(),
        1
    );
}

#[test]
fn look_alike_rows_are_removed_with_their_directory() {
    let mut w = Fixture::new();
    let host = w.host;
    let before = rows(&w);
    w.as_agent(host, Act::Name(NameAct::MakeDirectory { path: path("d") }));
    for name in ["d/a1", "d/соunter", "d/plain"] {
        w.as_agent(host, store(string("x"), name));
    }
    assert_eq!(rows(&w) - before, 2);
    w.as_agent(host, remove("d"));
    w.collect(1000);
    assert_eq!(rows(&w), before);
}
