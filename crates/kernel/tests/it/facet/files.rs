//! Objects with files, as the agents that were handed them see them, and the places that are looked up in them.

use kernel::facet::{FileCall, FileOp, Part};

use super::*;

/// Returns the file operation that a call leads to, with the grants that it remembers.
fn call(
    desk: &mut FacetFixture,
    who: &str,
    target: &str,
    method: &str,
    args: &str,
) -> Result<FileCall, String> {
    let agent = desk.agent(who);
    let target = if target.is_empty() { agent } else { desk.id(agent, target) };
    let args = desk.arguments(agent, args);
    let view = desk.view(agent);
    match facet::plan(&mut desk.store, &view, &target, method, &args) {
        Ok(Plan::Need(need)) => match *need {
            Need::Files(call) => Ok(call),
            other => Err(format!("{other:?}")),
        },
        Ok(other) => Err(format!("{other:?}")),
        Err(refusal) => Err(refusal.to_string()),
    }
}

fn said(desk: &mut FacetFixture, call: &FileCall) -> Result<(), String> {
    let now_ms = desk.view(desk.host).now_ms;
    facet::check_access(&mut desk.store, now_ms, call).map(drop).map_err(|refusal| refusal.to_string())
}

fn shared() -> FacetFixture {
    let mut desk = FacetFixture::new();
    for (who, method, args) in [
        ("host", "provideMount", r#"["/data", "mnt"]"#),
        ("host", "makeDirectory", r#"["dir"]"#),
        ("host", "copy", r#"[["mnt"], ["dir", "inner"]]"#),
        ("host", "send", r#"["fae", ["", "", ""], ["mnt", "dir"], ["mnt", "dir"]]"#),
        ("fae", "adopt", r#"[0n, "mnt", "mine"]"#),
        ("fae", "adopt", r#"[0n, "dir", "dir"]"#),
    ] {
        let said = desk.call(who, "", method, args);
        assert!(!said.contains("Error"), "{method}: {said}");
    }
    desk
}

#[test]
fn found_file_ends_with_the_grant_of_its_directory() {
    for (target, method, args) in [
        ("mine", "lookup", r#"["a"]"#),
        ("", "lookup", r#"[["mine", "a"]]"#),
        ("", "readText", r#"[["dir", "inner", "a"]]"#),
    ] {
        let mut desk = shared();
        let found = call(&mut desk, "fae", target, method, args).unwrap();
        // A later call on the found object reaches the same place, behind the same grants.
        let later = FileCall { op: FileOp::Write { way: vec![], text: String::new() }, ..found };
        assert_eq!(said(&mut desk, &later), Ok(()), "{method} {args}");
        for number in [1, 2] {
            let act = kernel::command::GrantAct::Revoke { grant: kernel::GrantNumber(number) };
            let command = Command { actor: desk.host, act: kernel::command::Act::Grant(act), said: None };
            desk.ticks += 1;
            kernel::apply(&mut desk.store, &env(desk.ticks), command).unwrap();
        }
        let refused = said(&mut desk, &later).unwrap_err();
        assert!(refused.contains("was revoked"), "{method} {args}: {refused}");
    }
}

#[test]
fn narrow_grant_allows_its_methods_under_either_name() {
    use kernel::command::GrantAct;
    for (granted, passes, refused) in [
        ("readText", "readText", "list"),
        ("read", "readText", "lookup"),
        ("list", "lookup", "readText"),
        ("write", "writeText", "remove"),
        ("read", "snapshot", "writeText"),
        ("remove", "remove", "move"),
    ] {
        let mut desk = shared();
        let act = GrantAct::Attenuate {
            is: None,
            expires_ms: None,
            force: false,
            path: NamePath::parse("mine").unwrap(),
            methods: vec![granted.to_owned()],
            attenuation: Default::default(),
            to: NamePath::parse("narrow").unwrap(),
        };
        let command = Command { actor: desk.fae, act: kernel::command::Act::Grant(act), said: None };
        kernel::apply(&mut desk.store, &env(99), command).unwrap();
        let arguments = |method| match method {
            "writeText" => r#"["a", "text"]"#,
            "move" => r#"["a", "b"]"#,
            "list" | "snapshot" => "[]",
            _ => r#"["a"]"#,
        };
        let found = call(&mut desk, "fae", "narrow", passes, arguments(passes)).unwrap();
        assert_eq!(said(&mut desk, &found), Ok(()), "{granted}: {passes}");
        let found = call(&mut desk, "fae", "narrow", refused, arguments(refused)).unwrap();
        let why = said(&mut desk, &found).unwrap_err();
        assert!(why.contains("without this method"), "{granted}: {refused}: {why}");
    }
}

#[test]
fn file_part_refuses_foreign_methods_and_escaping_names() {
    let check = |part, method, args: &str, expected: &str| {
        let args = Value::parse(args).unwrap();
        let said = match facet::part(part, method, args.as_array().unwrap()) {
            Ok(Ok(op)) => format!("{:?}", op.behind(&["sub".to_owned()])),
            Ok(Err(value)) => format!("{value:?}"),
            Err(refusal) => refusal.to_string(),
        };
        assert!(said.contains(expected), "{part:?} {method}: {said}");
    };
    check(Part::Directory, "list", "[]", r#"List(["sub"])"#);
    check(Part::Directory, "lookup", r#"[["a", "b"]]"#, r#"Lookup(["sub", "a", "b"])"#);
    check(Part::Directory, "move", r#"["a", "b"]"#, r#"from: ["sub", "a"], to: ["sub", "b"]"#);
    check(Part::Directory, "text", "[]", "has no method");
    check(Part::File, "text", "[]", r#"Read { way: ["sub"], maybe: false }"#);
    check(Part::File, "writeText", r#"["x"]"#, r#"Write { way: ["sub"], text: "x" }"#);
    check(Part::File, "writeText", "[1]", "Must be a string");
    check(Part::File, "list", "[]", "has no method");
    check(Part::File, "help", "[]", "EndoMountFile");
    check(Part::Tree, "writeText", r#"["a", "b"]"#, "has no method");
    check(Part::Tree, "sha256", "[]", "Digest");
    check(Part::Blob, "json", "[]", "ReadJson");
    check(Part::Blob, "writeText", r#"["a"]"#, "has no method");
    let long = "x".repeat(256);
    for name in ["", ".", "..", "a/b", "/etc", "a\0b", long.as_str()] {
        let name = format!("{name:?}").replace("\\0", "\\u0000");
        check(Part::Directory, "lookup", &format!("[{name}]"), "Invalid name");
        check(Part::Directory, "readText", &format!(r#"[["a", {name}]]"#), "Invalid name");
        check(Part::Directory, "move", &format!(r#"["a", {name}]"#), "Invalid name");
        check(Part::Directory, "has", &format!("[{name}]"), "Invalid name");
    }
    let deep = format!("[{:?}]", vec!["a"; 65]);
    check(Part::Directory, "lookup", &deep, "Invalid name path");
}

fn graph(desk: &mut FacetFixture, agent: FormulaId) -> Value {
    let view = desk.view(agent);
    match facet::plan(&mut desk.store, &view, &agent, "getFormulaGraph", &[]) {
        Ok(Plan::Value(value)) => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn host_graph_excludes_formulas_of_other_hosts() {
    let mut desk = shared();
    let made = desk.call("host", "", "provideHost", r#"["ho", {agentName: "ho-agent"}]"#);
    assert!(made.starts_with("remotable("), "{made}");
    let agent = desk.host;
    let host = graph(&mut desk, agent);
    let kinds = |graph: &Value| -> BTreeSet<String> {
        let nodes = graph.get("nodes").unwrap().as_array().unwrap().to_vec();
        nodes.iter().map(|node| node.get("type").unwrap().as_str().unwrap().to_owned()).collect()
    };
    assert!(kinds(&host).is_superset(&["mount", "grant", "guest"].map(str::to_owned).into()), "{host:?}");
    let edge = host.get("edges").unwrap().as_array().unwrap()[0].clone();
    assert!(["sourceId", "targetId", "label"].iter().all(|name| edge.get(name).is_some()), "{edge:?}");
    let ho = desk.id(desk.host, "ho-agent");
    let theirs = kinds(&graph(&mut desk, ho));
    assert!(!theirs.contains("mount") && !theirs.contains("guest"), "{theirs:?}");
}

#[test]
fn resolver_is_usable_only_by_the_recipient() {
    let mut desk = FacetFixture::new();
    desk.call("host", "", "makeDirectory", r#"["dir"]"#);
    desk.call("fae", "", "request", r#"["@host", "a directory", "it"]"#);
    let resolver = desk.id(desk.host, "@mail/0/@resolver");
    let dir = desk.id(desk.host, "dir");
    // The asker does not know the resolver's identifier, and cannot use it either.
    let settle = |desk: &mut FacetFixture, actor: FormulaId, id: FormulaId| {
        let act = kernel::command::MailAct::ResolveWith { resolver, id };
        let command = Command { actor, act: kernel::command::Act::Mail(Box::new(act)), said: None };
        desk.ticks += 1;
        let mut after = desk.store.clone();
        let done = kernel::apply(&mut after, &env(desk.ticks), command);
        if done.is_ok() {
            desk.store = after;
        }
        done.map(|outcome| format!("{:?}", outcome.reply)).map_err(|fault| fault.to_string())
    };
    let fae = desk.fae;
    assert!(settle(&mut desk, fae, fae).unwrap_err().contains("only who was asked"));
    let host = desk.host;
    assert_eq!(settle(&mut desk, host, dir).unwrap(), "Done");
    assert_eq!(settle(&mut desk, host, dir).unwrap(), "AlreadySettled");
    assert!(desk.call("fae", "", "lookup", r#"["it"]"#).starts_with("remotable("));
    // A path leads through a promise that was kept.
    assert_eq!(desk.call("host", "", "storeValue", r#"["deep", ["dir", "x"]]"#), "undefined");
    assert_eq!(desk.call("fae", "", "lookup", r#"[["it", "x"]]"#), r#""deep""#);
    assert_eq!(desk.call("fae", "", "has", r#"["it", "y"]"#), "false");
}

#[test]
fn path_through_an_unkept_promise_is_refused() {
    let mut desk = FacetFixture::new();
    desk.call("fae", "", "request", r#"["@host", "a directory", "it"]"#);
    let said = desk.call("fae", "", "lookup", r#"[["it", "x"]]"#);
    assert_eq!(said, "Error: nobody has answered yet: there is nothing to look into");
    desk.call("host", "", "reject", r#"[0n, "no"]"#);
    let said = desk.call("fae", "", "lookup", r#"[["it", "x"]]"#);
    assert_eq!(said, "Error: what was asked for was refused: no");
}

#[test]
fn settled_promise_argument_becomes_its_value() {
    let mut desk = FacetFixture::new();
    desk.call("host", "", "storeValue", r#"["some text", "text"]"#);
    desk.call("fae", "", "request", r#"["@host", "a text", "it"]"#);
    let promise = Value::promise(desk.id(desk.fae, "it"));
    let mut store = |promise: &Value| {
        let (view, fae) = (desk.view(desk.fae), desk.fae);
        let args = [promise.clone(), Value::string("kept")];
        match facet::plan(&mut desk.store, &view, &fae, "storeValue", &args) {
            Ok(Plan::Act(action)) => match action.act {
                kernel::command::Act::Name(kernel::command::NameAct::StoreValue { value, .. }) => value,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(store(&promise), promise, "nothing has come of it yet");
    desk.call("host", "", "resolve", r#"[0n, "text"]"#);
    let (view, fae) = (desk.view(desk.fae), desk.fae);
    let args = [promise, Value::string("kept")];
    let Ok(Plan::Act(action)) = facet::plan(&mut desk.store, &view, &fae, "storeValue", &args) else {
        panic!("no act")
    };
    assert!(format!("{:?}", action.act).contains("some text"), "{:?}", action.act);
}
