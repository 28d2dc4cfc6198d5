//! The surface as a whole: no method is missing, and an unsupported method says so.

use super::*;

/// The methods of upstream's objects, by kind.
const UPSTREAM: &[(&[&str], &str)] = &[
    (
        &["endo"],
        "help ping terminate host leastAuthority greeter gateway nodeId sign reviveNetworks revivePins \
         addPeerInfo listKnownPeers followPeerChanges",
    ),
    (
        &["host", "guest", "directory", "mail-hub", "message"],
        "help has identify locate reverseLocate followLocatorNameChanges list listIdentifiers listLocators \
         followNameChanges lookup maybeLookup reverseLookup storeIdentifier storeLocator remove move copy",
    ),
    (&["host", "guest", "directory"], "makeDirectory readText maybeReadText writeText"),
    (
        &["host", "guest", "least-authority"],
        "handle listMessages followMessages resolve reject adopt dismiss dismissAll request send reply deliver \
         reverseIdentify lookupById storeBlob storeValue form submit sendValue evaluate",
    ),
    (&["guest"], "define requestEvaluation"),
    (
        &["host"],
        "endow storeTree provideMount provideScratchMount provideGuest provideHost provideWorker makeUnconfined \
         makeArchive makeFromTree stageTree makeUnconfinedFromTree makeChannel makeTimer cancel greeter gateway \
         sign getPeerInfo addPeerInfo listKnownPeers followPeerChanges locateForSharing adoptFromLocator invite \
         accept getFormulaGraph",
    ),
    (&["readable-blob"], "sha256 streamBase64 text json help"),
    (
        &["mount", "scratch-mount"],
        "help has list lookup readText maybeReadText writeText remove move makeDirectory readOnly snapshot",
    ),
    (&["mount-file"], "help text streamBase64 json writeText writeBytes readOnly"),
    (&["readable-tree"], "help sha256 has list lookup"),
    (&["resolver"], "resolveWithId"),
    (&["timer"], "subscribe getLabel getInterval help"),
    (&["vat"], "terminate"),
];

#[test]
fn every_method_of_upstream_is_there() {
    for (kinds, names) in UPSTREAM {
        for kind in *kinds {
            for name in names.split_whitespace() {
                assert!(facet::facet(kind).methods.contains_key(name), "{kind} has no {name}");
            }
        }
    }
}

/// Returns everything of each kind, by path in the host's directory.
fn one_of_each(desk: &mut FacetFixture) -> Vec<FormulaId> {
    desk.call("host", "", "makeDirectory", r#"["dir"]"#);
    desk.call("host", "", "writeText", r#"["blob", "text"]"#);
    desk.call("fae", "", "request", r#"["@host", "something"]"#);
    let paths = [
        "@endo",
        "@agent",
        "fae-agent",
        "dir",
        "@mail",
        "@mail/0",
        "@self",
        "blob",
        "@mail/0/@resolver",
        "@main",
        "@mail/0/@promise",
    ];
    paths.iter().map(|path| desk.id(desk.host, path)).collect()
}

#[test]
fn unsupported_method_is_refused_by_name() {
    let mut desk = FacetFixture::new();
    let mut refused = 0;
    for target in one_of_each(&mut desk) {
        let kind = table::formula(&mut desk.store, &target).unwrap().unwrap().formula.kind();
        let view = desk.view(desk.host);
        for (name, method) in &facet::facet(kind).methods {
            if method.support != Support::NotYet {
                continue;
            }
            refused += 1;
            for args in [vec![], vec![Value::string("x"), Value::null()]] {
                let refusal = facet::plan(&mut desk.store, &view, &target, name, &args).unwrap_err();
                assert_eq!(refusal.to_string(), format!("not supported by almoner yet: {name}"), "{kind}");
            }
        }
    }
    assert!(refused > 15, "{refused}");
}

#[test]
fn the_agent_without_authority_refuses_every_method() {
    let mut desk = FacetFixture::new();
    let none = desk.id(desk.host, "@none");
    let view = desk.view(desk.host);
    for name in facet::facet("least-authority").methods.keys() {
        let refusal = facet::plan(&mut desk.store, &view, &none, name, &[]).unwrap_err();
        assert_eq!(refusal.to_string(), "not allowed", "{name}");
    }
}

#[test]
fn every_object_lists_its_methods_and_guard() {
    let mut desk = FacetFixture::new();
    for target in one_of_each(&mut desk) {
        let kind = table::formula(&mut desk.store, &target).unwrap().unwrap().formula.kind();
        let view = desk.view(desk.host);
        let facet = facet::facet(kind);
        let mut ask = |method: &str| match facet::plan(&mut desk.store, &view, &target, method, &[]) {
            Ok(Plan::Value(value)) => value,
            other => panic!("{other:?}"),
        };
        let names = ask("__getMethodNames__");
        let names: Vec<_> = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(names, facet.method_names(), "{kind}");
        // The guard that is sent out is read again as the guard that is checked.
        let guard = passable::InterfaceGuard::from_value(&ask("__getInterfaceGuard__")).unwrap();
        for name in facet.methods.keys() {
            assert_eq!(guard.method(name), facet.guard().method(name), "{name} of a {kind}");
        }
    }
}

#[test]
fn an_identifier_of_another_node_is_never_held() {
    let mut desk = FacetFixture::new();
    let id = desk.id(desk.host, "fae");
    let foreign = FormulaId { node: [9; 32], ..id };
    let view = desk.view(desk.host);
    let host = desk.host;
    for (method, args) in [
        ("lookupById", vec![Value::string(foreign.to_string())]),
        ("storeIdentifier", vec![Value::string("x"), Value::string(foreign.to_string())]),
    ] {
        let refusal = facet::plan(&mut desk.store, &view, &host, method, &args).unwrap_err();
        assert!(refusal.to_string().contains("is not held"), "{method}: {refusal}");
    }
}

/// Returns the promises of the first listed message: whether its request was kept, and that it was dismissed.
fn promises(desk: &mut FacetFixture, who: &str) -> [Live; 2] {
    let agent = desk.agent(who);
    let view = desk.view(agent);
    let Ok(Plan::Live(all)) = facet::plan(&mut desk.store, &view, &agent, "listMessages", &[]) else {
        panic!("messages")
    };
    let first = &all.as_array().unwrap()[0];
    ["settled", "dismissed"].map(|name| *first.get(name).unwrap().as_reference().unwrap())
}

#[test]
fn listed_message_promises_follow_settling_and_dismissal() {
    for (method, args, settled) in [
        ("resolve", r#"[0n, "fae"]"#, "fulfilled"),
        ("reject", r#"[0n, "no"]"#, "rejected"),
        ("dismiss", "[0n]", "rejected"),
    ] {
        let mut desk = FacetFixture::new();
        desk.call("fae", "", "request", r#"["@host", "something", "it"]"#);
        let (theirs, mine) = (promises(&mut desk, "fae"), promises(&mut desk, "host"));
        let mut become_ = |live: Live| live.becomes(&mut desk.store).unwrap();
        assert!(theirs.iter().chain(&mine).all(|live| become_(*live).is_none()), "{method}");
        assert_eq!(desk.call("host", "", method, args), "undefined");
        let mut become_ = |live: Live| live.becomes(&mut desk.store).unwrap();
        let word = Some(Value::string(settled));
        assert_eq!((become_(theirs[0]), become_(mine[0])), (word.clone(), word), "{method}");
        // Each mailbox is its owner's.
        let gone = (method == "dismiss").then(Value::undefined);
        assert_eq!((become_(theirs[1]), become_(mine[1])), (None, gone), "{method}");
        assert_eq!(become_(Live::Formula(desk.host)), None);
    }
}

#[test]
fn unnamed_directory_is_writable_by_its_holder() {
    let mut desk = FacetFixture::new();
    for (who, target, method, args) in [
        ("host", "", "makeDirectory", r#"["shared"]"#),
        ("host", "", "send", r#"["fae", ["", ""], ["dir"], ["shared"]]"#),
        ("fae", "", "adopt", r#"[0n, "dir", "mine"]"#),
    ] {
        assert!(!desk.call(who, target, method, args).contains("Error"), "{method}");
    }
    let (host, fae) = (desk.host, desk.fae);
    let (raw, given) = (desk.id(host, "shared"), desk.id(fae, "mine"));
    desk.call("fae", "", "remove", r#"["mine"]"#);
    desk.call("fae", "", "dismiss", "[0n]");
    let mut call = |agent: FormulaId, target: &FormulaId, method: &str, args: &str| {
        let args = desk.arguments(agent, args);
        let view = desk.view(agent);
        let said = facet::plan(&mut desk.store, &view, target, method, &args);
        said.and_then(|plan| desk.carry_out(plan)).unwrap_or_else(|refusal| refusal.to_string())
    };
    // No name of the guest's leads there any more; its grant does.
    for (method, args) in [
        ("makeDirectory", r#"["sub"]"#),
        ("writeText", r#"["note", "hello"]"#),
        ("copy", r#"[["note"], ["sub", "note"]]"#),
        ("move", r#"[["note"], ["moved"]]"#),
        ("remove", r#"["moved"]"#),
        ("storeIdentifier", r#"["me", "$id @self"]"#),
    ] {
        let said = call(fae, &given, method, args);
        let well = said.ends_with("undefined") || said.starts_with("remotable(");
        assert!(well, "{method}: {said}");
    }
    assert_eq!(call(fae, &given, "list", r#"["sub"]"#), r#"["note"]"#);
    assert_eq!(call(host, &raw, "list", "[]"), r#"["me", "sub"]"#);
    // An identifier that the guest knows, and does not hold, is no place to begin.
    let refused = call(fae, &raw, "remove", r#"["me"]"#);
    assert!(refused.contains("you have no name for this directory"), "{refused}");
}

#[test]
fn bytes_are_read_as_text_or_json() {
    let check = |read_as: facet::ReadFormat, bytes: &[u8], expected: &str| {
        let said = match read_as.value(bytes) {
            Ok(value) => format!("{value:?}"),
            Err(refusal) => refusal.to_string(),
        };
        assert_eq!(said, expected);
    };
    check(facet::ReadFormat::Text, b"hello", "\"hello\"");
    check(facet::ReadFormat::Text, b"\xff", "these bytes are not text in UTF-8");
    check(facet::ReadFormat::Json, br#"{"a": [1, null]}"#, "{\"a\": [1, null]}");
    check(facet::ReadFormat::Json, b"{", "these bytes are not JSON");
}

/// Compares all method tables, as people read them, with the snapshot.
#[test]
fn the_tables() {
    let mut text = String::new();
    for (kind, facet) in facets() {
        text.push_str(&format!("{kind}: {} - {}\n", facet.name, facet.about));
        for method in facet.methods.values() {
            let support = match method.support {
                Support::Full => "",
                Support::NotYet => " (not yet)",
                Support::Never(_) => " (never)",
            };
            let command = if method.planning == Planning::Command { " (command)" } else { "" };
            let foreign = if method.foreign == Foreign::Used { " (takes foreign)" } else { "" };
            let (effect, signature) = (method.effect.as_words(), method.signature());
            text.push_str(&format!("  {effect:<7} {signature}{support}{command}{foreign}\n"));
        }
    }
    insta::assert_snapshot!(text);
}
