//! Names: paths, special names, and the rules for choosing them.

use kernel::command::{Act, AgentKind, NameAct, ProvideAgent};
use kernel::formula::Formula;
use kernel::name_lookup::PathTarget;
use kernel::{FormulaId, NamePath, Value, query};
use resource::Resource;

use crate::agents::{copy, path, remove, send, store, string};
use crate::fixture::Fixture;

fn make_directory(name: &str) -> Act {
    Act::Name(NameAct::MakeDirectory { path: path(name) })
}

fn move_to(from: &str, to: &str) -> Act {
    Act::Name(NameAct::Move { from: path(from), to: path(to) })
}

/// Returns a host with `a`, `d/b`, `d/e/c` and a guest `fae`.
fn world() -> Fixture {
    let mut w = Fixture::new();
    let host = w.host;
    for act in [
        store(string("A"), "a"),
        make_directory("d"),
        store(string("B"), "d/b"),
        make_directory("d/e"),
        store(string("C"), "d/e/c"),
    ] {
        w.as_agent(host, act);
    }
    w.guest("fae");
    w
}

#[test]
fn paths_lead_to_formulas_of_the_right_kind() {
    let mut w = world();
    let host = w.host;
    let fae = w.agents[0];
    let mut check = |agent, name: &str, kind: &str| {
        let id = w.id(agent, name);
        assert_eq!(w.formula(id).kind(), kind, "{name}");
    };
    for name in ["a", "d/b", "d/e/c", "@agent/d/e/c", "AGENT/a"] {
        check(host, name, "marshal");
    }
    for (name, kind) in [
        ("d", "directory"),
        ("d/e", "directory"),
        ("fae", "handle"),
        ("@self", "handle"),
        ("SELF", "handle"),
        ("@host", "handle"),
        ("@mail", "mail-hub"),
        ("MAIL", "mail-hub"),
        ("@agent", "host"),
        ("@main", "vat"),
        ("@endo", "endo"),
        ("@pins", "directory"),
        ("@none", "least-authority"),
    ] {
        check(host, name, kind);
    }
    for (name, kind) in [("@agent", "guest"), ("@self", "handle"), ("@host", "handle"), ("@mail", "mail-hub")]
    {
        check(fae, name, kind);
    }
    assert_eq!(w.id(fae, "@host"), w.id(host, "@self"));
    assert_eq!(w.id(host, "fae"), w.id(fae, "@self"));
}

#[test]
fn unknown_paths_are_refused() {
    let mut w = world();
    let host = w.host;
    let fae = w.agents[0];
    let mut check = |agent, name: &str, expected: &str| {
        assert_eq!(w.found(agent, name).unwrap_err().to_string(), expected, "{name}");
    };
    check(host, "b", r#"Unknown pet name: "b""#);
    check(host, "d/x", r#"Unknown pet name: "x""#);
    check(host, "d/x/y", r#"Unknown pet name: "x""#);
    check(host, "@nets", r#"Unknown pet name: "@nets""#);
    check(host, "NOBODY", r#"Unknown pet name: "NOBODY""#);
    check(host, "a/b", r#""a" is not a directory"#);
    check(host, "fae/a", r#""fae" is not a directory"#);
    check(host, "@self/a", r#""@self" is not a directory"#);
    check(host, "@mail/99", r#"Unknown pet name: "99""#);
    check(host, "@mail/00", r#"Unknown pet name: "00""#);
    check(host, "@mail/x", r#"Unknown pet name: "x""#);
    for name in ["@endo", "@main", "@pins", "@none", "a", "d"] {
        check(fae, name, &format!("Unknown pet name: {name:?}"));
    }
}

#[test]
fn invalid_names_are_refused() {
    let check = |names: &[&str], expected: &str| {
        assert_eq!(NamePath::new(names.iter().copied()).unwrap_err().to_string(), expected);
    };
    check(&[""], r#"Invalid name """#);
    check(&["."], r#"Invalid name ".""#);
    check(&["a", ".."], r#"Invalid name "..""#);
    check(&["a/b"], r#"Invalid name "a/b""#);
    check(&["a@b"], r#"Invalid name "a@b""#);
    check(&["@Self"], r#"Invalid name "@Self""#);
    check(&["a\0"], r#"Invalid name "a\0""#);
    check(&[], "Invalid name path");
    check(&["a"; 65], "Invalid name path");
}

#[test]
fn special_names_cannot_be_changed_or_chosen() {
    let mut w = world();
    let host = w.host;
    for name in ["@self", "SELF", "@mail", "@host", "@agent", "@new"] {
        let special = path(name).to_string();
        let expected = format!("Invalid pet name {special:?}");
        for act in [
            remove(name),
            store(string("x"), name),
            copy("a", name),
            move_to("a", name),
            make_directory(name),
        ] {
            assert_eq!(w.fault(host, act), expected);
        }
        assert_eq!(w.fault(host, move_to(name, "x")), expected);
    }
    w.as_agent(host, copy("@self", "me"));
    assert_eq!(w.id(host, "me"), w.id(host, "@self"));
}

#[test]
fn special_names_are_listed_first() {
    let mut w = world();
    let (host, fae) = (w.host, w.agents[0]);
    let special = ["@agent", "@endo", "@host", "@mail", "@main", "@none", "@pins", "@self"];
    assert_eq!(w.list(host, ""), [&special[..], &["a", "d", "fae"]].concat());
    assert_eq!(w.list(host, "d"), ["b", "e"]);
    assert_eq!(w.list(fae, ""), ["@agent", "@host", "@mail", "@self"]);
    assert!(w.list(fae, "@mail").is_empty());
    w.as_agent(host, send("fae", &[]));
    assert_eq!(w.list(fae, "@mail"), ["0"]);
}

#[test]
fn names_are_stored_moved_copied_and_removed() {
    let mut w = world();
    let host = w.host;
    let (a, b) = (w.id(host, "a"), w.id(host, "d/b"));
    w.as_agent(host, copy("a", "d/e/also"));
    assert_eq!(w.id(host, "d/e/also"), a);
    w.as_agent(host, move_to("d/b", "d/e/moved"));
    assert_eq!(w.id(host, "d/e/moved"), b);
    assert_eq!(w.list(host, "d"), ["e"]);
    w.as_agent(host, move_to("a", "d/e/moved"));
    assert_eq!(w.id(host, "d/e/moved"), a, "the name is taken from what had it");
    let same = w.store.count(kernel::txn::Table::PetName);
    w.as_agent(host, move_to("d/e/moved", "d/e/moved"));
    assert_eq!((w.id(host, "d/e/moved"), w.store.count(kernel::txn::Table::PetName)), (a, same));
    w.as_agent(host, remove("d/e/moved"));
    assert_eq!(w.list(host, "d/e"), ["also", "c"]);
    assert_eq!(w.fault(host, remove("d/e/moved")), r#"Unknown pet name: "moved""#);
    assert_eq!(w.fault(host, move_to("a", "b")), r#"Unknown pet name: "a""#);
    assert_eq!(w.fault(host, copy("a", "b")), r#"Unknown pet name: "a""#);
    w.as_agent(host, move_to("d", "e"));
    assert_eq!(w.id(host, "e/e/also"), a, "a directory keeps its names, whatever it is called");
    assert_eq!(w.fault(host, store(string("x"), "d/x")), r#"Unknown pet name: "d""#);
}

#[test]
fn any_valid_file_name_is_a_valid_name() {
    let mut w = Fixture::new();
    let host = w.host;
    for name in ["A b.c", "ünï", "...", "1", "a:b", "\u{1f600}"] {
        w.as_agent(host, store(string(name), name));
        assert_eq!(w.found(host, name), Ok(PathTarget::Formula(w.id(host, name))));
    }
}

#[test]
fn message_data_can_be_copied_to_a_name() {
    let mut w = world();
    let (host, fae) = (w.host, w.agents[0]);
    w.as_agent(host, send("fae", &[]));
    w.as_agent(fae, copy("@mail/0/@type", "kind"));
    let kind = w.id(fae, "kind");
    assert_eq!(w.formula(kind), Formula::Marshal { value: string("package") });
    for name in ["@mail/0/mine", "@mail/mine"] {
        assert!(w.fault(fae, store(string("x"), name)).contains("not for choosing"), "{name}");
    }
}

#[test]
fn grants_from_a_shared_directory_end_with_its_grant() {
    let mut w = world();
    let (host, fae) = (w.host, w.agents[0]);
    let capability = w.mount("cap");
    w.as_agent(host, copy("cap", "d/cap"));
    w.as_agent(host, send("fae", &[("shared", "d")]));
    let shared = w.last_grant(host).number;
    w.as_agent(fae, copy("@mail/0/shared", "theirs"));
    assert_eq!(w.list(fae, "theirs"), ["b", "cap", "e"]);
    // Data is data; a capability comes as a grant of the one who shared the directory.
    w.as_agent(fae, copy("theirs/b", "b"));
    assert_eq!(w.id(fae, "b"), w.id(host, "d/b"));
    w.as_agent(fae, copy("theirs/cap", "cap"));
    let mine = w.id(fae, "cap");
    assert_ne!(mine, capability);
    assert_eq!(w.last_grant(host).id, mine);
    assert_eq!(
        w.behind(mine),
        Ok(Formula::Resource(Resource::Directory { path: "/cap".to_owned(), read_only: false }))
    );
    // Passing it on does not shake off where it came from.
    w.as_agent(fae, send("@self", &[("again", "theirs/cap"), ("once", "cap")]));
    let (again, once) = (w.id(fae, "@mail/1/again"), w.id(fae, "@mail/1/once"));
    w.revoke(shared.0);
    for id in [mine, again, once] {
        assert_eq!(w.behind(id), Err("grant/revoked".to_owned()));
    }
    assert_eq!(w.found(fae, "theirs/b").unwrap_err().to_string(), "the grant of `shared` was revoked");
    assert_eq!(
        w.formula(capability),
        Formula::Resource(Resource::Directory { path: "/cap".to_owned(), read_only: false })
    );
}

#[test]
fn object_put_into_a_shared_directory_becomes_a_grant() {
    let mut w = world();
    let (host, fae) = (w.host, w.agents[0]);
    w.as_agent(host, send("fae", &[("shared", "d")]));
    w.as_agent(fae, copy("@mail/0/shared", "theirs"));
    w.as_agent(fae, make_directory("own"));
    w.as_agent(fae, copy("own", "theirs/own"));
    let put = w.id(host, "d/own");
    let grant = w.last_grant(fae);
    assert_eq!((grant.id, grant.holder), (put, host));
    w.as_agent(host, store(string("hello"), "d/own/hello"));
    assert_eq!(w.list(fae, "own"), ["hello"]);
    w.as_agent(fae, Act::Grant(kernel::command::GrantAct::Revoke { grant: grant.number }));
    assert!(w.found(host, "d/own/hello").is_err());
    // Within the directory, things only change their names.
    let before = w.id(host, "d/b");
    w.as_agent(fae, move_to("theirs/b", "theirs/e/b"));
    assert_eq!(w.id(host, "d/e/b"), before);
    w.as_agent(fae, remove("theirs/e/b"));
    assert!(w.found(host, "d/e/b").is_err());
}

#[test]
fn an_agent_is_made_once_under_its_name() {
    let mut w = Fixture::new();
    let host = w.host;
    let provide = |kind, name: &str, introduced: &[(&str, &str)]| {
        let introduced = introduced.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Act::Provide(ProvideAgent {
            kind,
            name: Some(path(name)),
            agent_name: Some(path(&format!("{name}-agent"))),
            introduced,
        })
    };
    w.as_agent(host, store(string("v"), "value"));
    w.mount("tools");
    let introduced = [("tools", "their-tools"), ("value", "value")];
    let first = w.as_agent(host, provide(AgentKind::Guest, "fae", &introduced));
    assert_eq!(w.as_agent(host, provide(AgentKind::Guest, "fae", &[])), first);
    let kernel::command::Reply::Agent { agent, .. } = first else { panic!("an agent") };
    let given = w.id(agent, "their-tools");
    assert!(matches!(w.formula(given), Formula::Grant { .. }), "introduced names are grants");
    assert_eq!(w.id(agent, "value"), w.id(host, "value"), "data is data");
    assert!(w.fault(host, provide(AgentKind::Host, "fae", &[])).contains("is the name of something else"));
    assert!(w.fault(host, provide(AgentKind::Guest, "value", &[])).contains("is the name of something else"));
    assert_eq!(w.id(host, "fae-agent/their-tools"), given, "whoever reaches an agent reaches what it has");
    assert!(w.fault(agent, provide(AgentKind::Guest, "x", &[])).contains("only a host can make agents"));
    w.as_agent(host, store(Value::null(), "fae-agent/gift"));
    assert_eq!(w.list(agent, ""), ["@agent", "@host", "@mail", "@self", "gift", "their-tools", "value"]);
}

/// Returns an act within a directory that the actor holds.
fn within(base: FormulaId, act: NameAct) -> Act {
    Act::Name(NameAct::Within { base, act: Box::new(act) })
}

#[test]
fn act_within_a_held_directory_equals_act_by_path() {
    let make = |name: &str| NameAct::MakeDirectory { path: path(name) };
    let acts = |w: &mut Fixture| {
        let id = w.id(w.host, "@self");
        [
            make("e"),
            NameAct::StoreValue { value: string("v"), path: path("e/v") },
            NameAct::StoreIdentifier { id, path: path("me") },
            NameAct::Copy { from: path("e/v"), to: path("w") },
            NameAct::Move { from: path("w"), to: path("e/w") },
            NameAct::Remove { path: path("e/v") },
        ]
    };
    // Once from the directory itself, once by paths of the actor's own that lead there.
    let [held, named] = [true, false].map(|held| {
        let mut w = Fixture::new();
        let host = w.host;
        w.as_agent(host, Act::Name(make("d")));
        let base = w.id(host, "d");
        for act in acts(&mut w) {
            let act = match held {
                true => within(base, act),
                false => Act::Name(under("d", act)),
            };
            w.as_agent(host, act);
        }
        let names = ["", "d", "d/e"].map(|at| w.list(host, at));
        let words = ["d/me", "d/e/w"].map(|at| {
            let id = w.id(host, at);
            query::describe(&w.formula(id))
        });
        (names, words)
    });
    assert_eq!(held, named);
    assert_eq!(held.0[1..], [vec!["e".to_owned(), "me".to_owned()], vec!["w".to_owned()]]);
}

/// Returns the same act, with paths that begin outside.
fn under(dir: &str, act: NameAct) -> NameAct {
    let at = |path: NamePath| NamePath::parse(&format!("{dir}/{path}")).unwrap();
    match act {
        NameAct::StoreValue { value, path } => NameAct::StoreValue { value, path: at(path) },
        NameAct::StoreIdentifier { id, path } => NameAct::StoreIdentifier { id, path: at(path) },
        NameAct::Copy { from, to } => NameAct::Copy { from: at(from), to: at(to) },
        NameAct::Move { from, to } => NameAct::Move { from: at(from), to: at(to) },
        NameAct::Remove { path } => NameAct::Remove { path: at(path) },
        NameAct::MakeDirectory { path } => NameAct::MakeDirectory { path: at(path) },
        other => panic!("{other:?}"),
    }
}

#[test]
fn act_on_a_name_changed_since_display_is_refused() {
    let mut w = world();
    let host = w.host;
    let (a, b) = (w.id(host, "a"), w.id(host, "d/b"));
    let seen = |is, act: Act| match act {
        Act::Name(act) => Act::Name(NameAct::IfUnchanged { path: path("a"), is, act: Box::new(act) }),
        other => other,
    };
    for act in [remove("a"), copy("a", "z"), move_to("a", "z")] {
        let fault = w.fault(host, seen(b, act));
        assert!(fault.contains("stands for something else by now"), "{fault}");
    }
    assert!(w.found(host, "z").is_err() && w.id(host, "a") == a);
    let twice = w.fault(host, seen(a, seen(a, remove("a"))));
    assert_eq!(twice, "what was seen is said once");
    w.as_agent(host, seen(a, remove("a")));
    assert!(w.found(host, "a").is_err());
}

#[test]
fn object_is_called_by_its_shortest_own_path() {
    let mut w = world();
    let (host, fae) = (w.host, w.agents[0]);
    let called = |w: &mut Fixture, agent: FormulaId, id: &FormulaId| {
        query::path_to(&mut w.store, &agent, id).unwrap().map(|path| path.join("/"))
    };
    let handle = w.id(host, "fae");
    for name in ["a", "d", "d/b", "d/e/c", "fae"] {
        let id = w.id(host, name);
        assert_eq!(called(&mut w, host, &id).as_deref(), Some(name));
        assert_eq!(called(&mut w, fae, &id), None, "{name}");
    }
    let c = w.id(host, "d/e/c");
    // A way round leads nowhere new.
    w.as_agent(host, copy("d", "d/e/up"));
    assert_eq!(called(&mut w, host, &c).as_deref(), Some("d/e/c"));
    w.as_agent(host, copy("d/e/c", "d/short"));
    assert_eq!(called(&mut w, host, &c).as_deref(), Some("d/short"));
    w.as_agent(host, move_to("fae", "d/e/fae"));
    assert_eq!(called(&mut w, host, &handle).as_deref(), Some("d/e/fae"));
    // However much mail has come from there.
    for _ in 0..3 {
        w.as_agent(fae, send("@host", &[]));
    }
    assert_eq!(called(&mut w, host, &handle).as_deref(), Some("d/e/fae"));
    // A directory without a name leads nowhere (its only name is in itself), and the names of other agents are
    // theirs.
    w.as_agent(host, remove("d"));
    w.as_agent(fae, store(string("mine"), "mine"));
    let mine = w.id(fae, "mine");
    assert_eq!((called(&mut w, host, &mine), called(&mut w, fae, &mine).as_deref()), (None, Some("mine")));
    assert_eq!(called(&mut w, host, &handle), None);
}
