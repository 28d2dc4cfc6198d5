//! Tests of the operator's policies, over the whole path: files that change while the daemon runs, and the outcomes
//! of calls.

use serde_json::json;

use crate::places::home_with_branch;
use crate::test_home::{CLERK, Said, TestHome};

const WRITE: &str = r#"{"name": "out_write", "arguments": {"path": "a.md", "content": "text\n"}}"#;
const SEND: &str =
    r#"{"name": "outbox_send", "arguments": {"to": "me@example.org", "subject": "s", "body": "b"}}"#;

const PERMIT: &str = "@id(\"own\") permit(principal, action == Action::\"dir.write\", resource);";
const FORBID: &str = "@id(\"no-notes\") @reason(\"no notes today\") @instead(\"tell me\")\n\
                      forbid(principal, action == Action::\"dir.write\", resource);";

/// Returns a clerk whose model makes these calls and then ends.
fn clerk(calls: &str) -> TestHome {
    TestHome::with_clerk(&format!(r#"{{"calls": [{calls}]}}"#))
}

/// Writes the user's own policy file.
fn own(home: &TestHome, text: &str) {
    let config = home.root().join("config");
    std::fs::create_dir_all(&config).unwrap();
    // In one stroke, as an editor does.
    std::fs::write(config.join("new"), text).unwrap();
    std::fs::rename(config.join("new"), config.join("policy.cedar")).unwrap();
}

fn run(home: &TestHome, exit: i32) -> Said {
    let _ = std::fs::remove_file(home.path("out/a.md"));
    home.almoner(&CLERK).expect(exit)
}

/// Returns the journal of the latest run.
fn trace(home: &TestHome) -> String {
    home.almoner(&["trace", "--json"]).expect(0).out
}

#[test]
fn missing_policy_file_changes_nothing() {
    let home = clerk(WRITE);
    run(&home, 7);
    let shown = home.almoner(&["policy"]).expect(0).out;
    assert!(shown.contains("no policies are in force"), "{shown}");
    let usual = home.almoner(&["policy", "check"]).expect(4).err;
    assert!(usual.contains("the built-in rules hold"), "{usual}");
    let mistyped = home.almoner(&["policy", "check", "nope.cedar"]).expect(4).err;
    assert!(mistyped.contains("name a file that is there") && !mistyped.contains("built-in"), "{mistyped}");
}

#[test]
fn policy_change_takes_effect_at_the_next_call() {
    let home = clerk(WRITE);
    run(&home, 7);
    own(&home, PERMIT);
    run(&home, 0);
    assert_eq!(home.read("out/a.md"), "text\n");
    assert!(trace(&home).contains("operator/own"));
    own(&home, &format!("{PERMIT}\n{FORBID}"));
    run(&home, 0);
    assert!(!home.path("out/a.md").exists());
    let told = trace(&home);
    assert!(told.contains("no notes today (`no-notes` in") && told.contains("tell me"), "{told}");
}

#[test]
fn deleted_or_empty_policy_stays_in_force_until_restart() {
    let home = clerk(WRITE);
    let file = home.root().join("config/policy.cedar");
    let gone: [&dyn Fn(); 3] =
        [&|| std::fs::remove_file(&file).unwrap(), &|| own(&home, "// nothing here\n"), &|| {
            std::fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink("nowhere", &file).unwrap();
        }];
    for (at, goes) in gone.into_iter().enumerate() {
        let _ = std::fs::remove_file(&file);
        own(&home, FORBID);
        run(&home, 0);
        goes();
        run(&home, 0);
        assert!(!home.path("out/a.md").exists(), "{at}: what was forbidden still is");
        let told = trace(&home);
        assert!(told.contains("no notes today") && told.contains("operator/stale"), "{at}: {told}");
        let shown = home.almoner(&["policy"]).expect(6).out;
        assert!(shown.contains("still in force") && shown.contains("no-notes"), "{at}: {shown}");
        let doctor = home.almoner(&["doctor", "policy"]).out;
        assert!(doctor.contains("✗ policy"), "{at}: {doctor}");
    }
    // To a new daemon a link to nothing is a mistake, and no file is none.
    home.almoner(&["stop"]).expect(0);
    run(&home, 6);
    std::fs::remove_file(&file).unwrap();
    home.almoner(&["stop"]).expect(0);
    run(&home, 7);
}

#[test]
fn invalid_policy_keeps_the_previous_one_and_is_reported() {
    let home = clerk(WRITE);
    own(&home, FORBID);
    run(&home, 0);
    own(&home, "forbid(principal, action == Action::\"dir.wrte\", resource);");
    run(&home, 0);
    assert!(!home.path("out/a.md").exists(), "what was forbidden still is");
    let told = trace(&home);
    assert!(told.contains("no notes today") && told.contains("operator/stale"), "{told}");
    let shown = home.almoner(&["policy"]).expect(6).out;
    assert!(shown.contains("policy.cedar:1: ") && shown.contains("still in force"), "{shown}");
    assert!(shown.contains("no-notes"), "{shown}");
    let doctor = home.almoner(&["doctor", "policy"]).out;
    assert!(doctor.contains("✗ policy"), "{doctor}");
    let log = std::fs::read_to_string(home.root().join("state/daemon.log")).unwrap();
    assert!(log.contains("dir.wrte"), "{log}");
}

#[test]
fn invalid_first_policy_refuses_every_run() {
    let home = clerk(WRITE);
    own(&home, "forbid(principal action);");
    let said = run(&home, 6);
    assert!(said.err.contains("policy.cedar:1: "), "{}", said.err);
    assert!(!home.path("out/a.md").exists());
    own(&home, PERMIT);
    run(&home, 0);
    assert_eq!(home.read("out/a.md"), "text\n");
}

#[test]
fn permit_covers_model_text_but_not_text_from_strangers() {
    let home = clerk(SEND);
    own(&home, "permit(principal, action, resource);");
    let sent = |home: &TestHome| std::fs::read_dir(home.path("outbox")).map_or(0, Iterator::count);
    run(&home, 0);
    assert_eq!(sent(&home), 1, "nobody but the user and the model has had a say");
    let read = r#"{"name": "mail_read", "arguments": {"path": "5-mail-from-supplier.eml"}}"#;
    home.write(
        "script.json",
        format!(r#"[{{"turns": [{{"calls": [{read}]}}, {{"calls": [{SEND}]}}, {{"text": "done"}}]}}]"#),
    );
    run(&home, 7);
    assert_eq!(sent(&home), 1);
}

#[test]
fn project_policy_only_forbids_and_is_fixed_for_the_run() {
    let home = clerk(WRITE);
    home.write("policy.cedar", PERMIT);
    let said = run(&home, 6);
    assert!(said.err.contains("may only forbid"), "{}", said.err);
    home.write("policy.cedar", FORBID);
    run(&home, 0);
    assert!(!home.path("out/a.md").exists());
    assert!(trace(&home).contains("no notes today"));
    // The project's policy forbids a call that the user's policy permits.
    own(&home, PERMIT);
    run(&home, 0);
    assert!(!home.path("out/a.md").exists());
    // The policies from the run's beginning apply until its end.
    let ask = "forbid(principal, action == Action::\"outbox.send\", resource);";
    own(&home, "forbid(principal, action == Action::\"http.send\", resource);");
    home.write("policy.cedar", ask);
    home.write(
        "script.json",
        format!(r#"[{{"turns": [{{"calls": [{WRITE}]}}, {{"calls": [{SEND}]}}, {{"text": "done"}}]}}]"#),
    );
    run(&home, 7);
    std::fs::remove_file(home.path("policy.cedar")).unwrap();
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(trace(&home).contains("operator/policy-1"), "{}", trace(&home));
    assert_eq!(std::fs::read_dir(home.path("outbox")).map_or(0, Iterator::count), 0);
}

#[test]
fn policy_examples_in_the_docs_work() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = |kind: &str| -> Vec<String> {
        let fence = format!("```{kind}\n");
        page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
    };
    let (cedar, examples) = (blocks("cedar"), blocks("examples"));
    assert_eq!((cedar.len(), examples.len()), (3, 1));
    let home = TestHome::new();
    home.write("policy.cedar", &cedar[0]);
    let wrong = home.almoner(&["policy", "check", "policy.cedar"]).expect(6);
    assert!(wrong.err.starts_with("error: cannot follow policy.cedar:16: "), "{}", wrong.err);
    assert!(wrong.err.contains("no policy speaks of it") && wrong.err.contains("\n help: "), "{}", wrong.err);
    home.write("asking/policy.cedar", &cedar[2]);
    let said = home.almoner(&["policy", "check", "asking/policy.cedar"]).expect(0).out;
    assert!(
        said.contains("asks     mail-asks") && said.contains("1 policy, 1 example as they must be"),
        "{said}"
    );
    let first = cedar[0].split("@id(\"mail-to-myself\")").next().unwrap();
    home.write("policy.cedar", format!("{first}\n{}", cedar[1]));
    home.write("policy.examples", &examples[0]);
    let said = home.almoner(&["policy", "check", "policy.cedar"]).expect(0).out;
    assert!(said.contains("3 policies, 9 examples as they must be"), "{said}");
    assert!(said.contains("never    keys-stay-here"), "{said}");
    let test = |call: &[&str]| {
        let args = [&["policy", "test", "--file", "policy.cedar"], call].concat();
        home.almoner(&args).expect(0).out
    };
    assert_eq!(test(&["dir.write", "path=my script.sh"]), "forbidden by nothing-executable\n");
    assert_eq!(
        test(&["outbox.send", "worker=reminder", "to=me@example.org"]),
        "permitted by mail-to-myself\n"
    );
    assert_eq!(
        test(&["outbox.send", "to=me@example.org"]),
        "no policy speaks of it: the built-in rules hold\n"
    );
    home.almoner(&["policy", "test", "--file", "policy.cedar", "dir.burn"]).expect(2);
    // A project may not permit.
    home.almoner(&["policy", "check", "--project", "policy.cedar"]).expect(6);
    let schema = home.almoner(&["policy", "show", "--schema"]).expect(0).out;
    // Every word of the page's table is one of the schema's.
    for word in
        ["effect", "caller", "slot", "untrusted", "sources", "replaces", "path", "file", "bytes", "command"]
    {
        assert!(schema.contains(&format!("  {word}")), "{word}\n{schema}");
    }
}

const FILES: &str = "@id(\"no-scripts\") @reason(\"no scripts here\")\n\
    forbid(principal, action == Action::\"dir.write\", resource)\n\
    when { context has path && context.path like \"*.sh\" };\n\
    @id(\"keys-stay\")\n\
    forbid(principal, action in Action::\"dir\", resource)\n\
    when { context has file && context.file like \"*/project/*.key\" };";

#[test]
fn file_policy_binds_the_working_tree_of_a_repository() {
    let options = ["run", "w.worker", "-m", "scripted:script.json", "-e", "repo=git:project:rw"];
    let allow = ["--allow", "repo.switch"];
    for (file, comes) in [("x.sh", false), ("a.key", false), ("x.txt", true)] {
        let home = home_with_branch("repo: git rw", file);
        own(&home, FILES);
        home.almoner(&[&options[..], &allow].concat()).expect(0);
        assert_eq!(home.path(&format!("project/{file}")).exists(), comes, "{file}: {}", trace(&home));
    }
    for (method, arguments, is_read) in [
        ("show", json!({ "revision": "more" }), false),
        ("show", json!({ "revision": "more", "path": "a.key" }), false),
        ("diff", json!({ "from": "main", "to": "more" }), false),
        ("blame", json!({ "path": "nothing.key" }), false),
        ("show", json!({ "revision": "main" }), true),
        ("log", json!({}), true),
    ] {
        let home = home_with_branch("repo: git rw", "a.key");
        own(&home, FILES);
        let call = json!({ "name": format!("repo_{method}"), "arguments": arguments });
        let turns = json!([{ "calls": [call] }, { "text": "done" }]);
        home.write("script.json", json!([{ "worker": "w", "turns": turns }]).to_string());
        home.almoner(&options).expect(0);
        let told = trace(&home);
        assert_eq!(told.contains("operator/keys-stay"), !is_read, "{method} {arguments}: {told}");
        assert!(!told.contains("stolen"), "{method} {arguments}: {told}");
    }
}

#[test]
fn policy_holds_for_every_spelling_of_an_address_and_a_path() {
    const POLICY: &str = "@id(\"not-there\")\n\
        forbid(principal, action == Action::\"outbox.send\", resource)\n\
        when { context.args.to like \"*@evil.example\" };\n\
        @id(\"not-that\")\n\
        forbid(principal, action == Action::\"dir.write\", resource) when { context.args.path == \"a.md\" };";
    let send = |to: &str| {
        format!(r#"{{"name": "outbox_send", "arguments": {{"to": "{to}", "subject": "s", "body": "b"}}}}"#)
    };
    let write = |path: &str| {
        format!(r#"{{"name": "out_write", "arguments": {{"path": "{path}", "content": "text"}}}}"#)
    };
    for (call, exit, rule) in [
        (send("x@evil.example"), 0, "operator/not-there"),
        (send("x@EVIL.Example"), 0, "operator/not-there"),
        (send("X+y@Evil.example"), 0, "operator/not-there"),
        (send("x@good.example"), 7, ""),
        (write("a.md"), 0, "operator/not-that"),
        (write("./a.md"), 0, "operator/not-that"),
        (write(".//a.md"), 0, "operator/not-that"),
        (write("b.md"), 7, ""),
    ] {
        let home = clerk(&call);
        own(&home, POLICY);
        run(&home, exit);
        let told = trace(&home);
        assert!(told.contains(rule), "{call}: {told}");
    }
}

#[test]
fn check_names_what_file_policies_do_not_bind() {
    let home = clerk(WRITE);
    home.write("w.worker", "---\nslots: { tools: program, ask: ask }\n---\nDo it.\n");
    let turns = json!([{ "calls": [{ "name": "tools_run", "arguments": { "argv": ["cp", "a", "b"] } }] }]);
    home.write("script.json", json!([{ "worker": "w", "turns": turns }]).to_string());
    home.write("almoner.toml", "[workers.other.endow]\nbuild = 'program:cp?dir=.:rw'\n");
    std::fs::create_dir_all(home.path("place")).unwrap();
    let place = format!("{}:rw", home.path("place").display());
    home.almoner(&["mcp", "add", "files", "--dir", &place, "--", "cp"]).expect(0);
    let asks = ["run", "w.worker", "-m", "scripted:script.json", "-e", "tools=program:cp?dir=.:rw"];
    home.almoner(&asks).expect(7);
    own(&home, FILES);
    let said = home.almoner(&["policy", "check"]).expect(0);
    for words in [
        "`no-scripts`, `keys-stay` do not bind `tools` of run r1: the program cp in ",
        "do not bind the server `files` of mcp.json, which works in ",
        "do not bind `build` of the worker `other` in almoner.toml: a program in ",
    ] {
        assert!(said.err.contains(words), "{words} in {}", said.err);
    }
    let shown = home.almoner(&["policy"]).expect(0).out;
    assert!(shown.contains("do not bind `tools` of run r1"), "{shown}");
    // A policy that is not about files needs no such note.
    own(&home, "@id(\"no-mail\") forbid(principal, action == Action::\"outbox.send\", resource);");
    let said = home.almoner(&["policy", "check"]).expect(0);
    assert!(!said.err.contains("not bind"), "{}", said.err);
    assert!(said.out.lines().chain(said.err.lines()).all(|line| !line.is_empty()), "{said:?}");
}
