//! Runs that become workers.

use serde_json::json;

use crate::agents::newest;
use crate::test_home::TestHome;

#[test]
fn question_is_saved_as_a_worker_with_slots_and_a_case() {
    let home = TestHome::new();
    home.write("notes/a.txt", "blue\n");
    let read = json!({ "name": "docs_read", "arguments": { "path": "a.txt" } });
    home.write(
        "script.json",
        json!([{ "contains": "letter", "turns": [{ "calls": [read] }, { "text": "blue it is" }] }])
            .to_string(),
    );
    home.write("a letter.txt", "a letter\n");
    let ask =
        ["ask", "Which {{ colour }}?", "a letter.txt", "-e", "docs=./notes", "-m", "scripted:script.json"];
    assert_eq!(home.almoner(&ask).expect(0).out, "blue it is\n");
    let said = home.almoner(&["save", "last", "as", "colour"]).expect(0);
    assert_eq!(said.out, "almoner run colour.worker 'colour.case/documents/a letter.txt' -e docs=./notes\n");
    let file = home.read("colour.worker");
    assert!(file.contains("docs: dir") && !file.contains("question"), "{file}");
    let run = [
        "run",
        "colour.worker",
        "colour.case/documents/a letter.txt",
        "-e",
        "docs=./notes",
        "-m",
        "scripted:colour.case/replies.json",
    ];
    let again = home.almoner(&[&run[..], &["--json"]].concat()).expect(0).json();
    let expected: serde_json::Value = serde_json::from_str(&home.read("colour.case/result.json")).unwrap();
    assert_eq!(again["value"], expected);
    let told = home.almoner(&[&run[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(told.contains("Which {{ colour }}?"), "{told}");
    // Nothing is replaced.
    home.almoner(&["save", "r1", "as", "colour"]).expect(8);
}

#[test]
fn worker_is_saved_with_its_includes_and_called_workers() {
    let home = TestHome::new();
    home.write(
        "boss.worker",
        "---\ninput: { n: int }\nslots: { helper: worker }\n---\n{% include \"rule.md\" %}\n",
    );
    home.write("rule.md", "Be {{ input.n }} times brief.\n");
    home.write("helper.worker", "---\noutput: { ok: bool }\n---\nHelp.\n");
    let call = json!({ "name": "helper", "arguments": {} });
    let script = json!([
        { "worker": "helper", "turns": [{ "json": { "ok": true } }] },
        { "worker": "boss", "turns": [{ "calls": [call] }, { "text": "helped" }] },
    ]);
    home.write("script.json", script.to_string());
    home.almoner(&["run", "boss.worker", "n:=2", "-m", "scripted:script.json"]).expect(0);
    std::fs::create_dir(home.path("new")).unwrap();
    let in_new = |args: &[&str]| {
        let mut command = home.command(args);
        crate::test_home::Said::of(command.current_dir(home.path("new")).output().unwrap())
    };
    let kept = "helper=./chief.case/workers/helper/helper.worker";
    assert_eq!(
        in_new(&["save", "last", "as", "chief"]).expect(0).out,
        format!("almoner run chief.worker n:=2 -e {kept}\n")
    );
    assert_eq!(home.read("new/rule.md"), "Be {{ input.n }} times brief.\n");
    let run = ["run", "chief.worker", "n:=2", "-e", kept, "-m", "scripted:chief.case/replies.json"];
    assert_eq!(in_new(&run).expect(0).out, "helped\n");
}

#[test]
fn failed_run_is_not_saved() {
    let home = TestHome::new();
    home.write("script.json", r#"[{"turns": [{"error": "bad_request"}]}]"#);
    home.write("w.worker", "---\n---\nx\n");
    home.almoner(&["run", "w.worker", "-m", "scripted:script.json"]);
    home.almoner(&["save", "last", "as", "w2"]).expect(8);
    home.almoner(&["save", "r9", "as", "w2"]).expect(4);
    home.almoner(&["save", "last", "as", "../w2"]).expect(2);
    assert!(!home.path("w2.worker").exists());
}

#[test]
fn run_over_hostile_paths_is_saved_and_runs_again() {
    for (dir, query) in [
        ("two words", "?suffix=.md&max=4097&rate=9/90s&private"),
        ("new\nline", "?methods=list,read"),
        ("tab\there", ""),
        ("\"double\" and 'single'", "?max=4KiB"),
        ("cafe\u{301}", "?rate=100/min"),
        ("-e out=x", "?private"),
        ("ends:rw", "?max=4KiB"),
        ("a?max=1", "?private"),
        ("git:x", ""),
    ] {
        let home = TestHome::new();
        home.write(&format!("{dir}/a.md"), "blue\n");
        home.write("w.worker", "---\nslots: { docs: dir }\n---\nRead.\n");
        let model = format!("scripted:{}", home.path("script.json").display());
        home.write_config(&format!("[models]\nprivate = {}\n", json!([&model])));
        let read = json!({ "name": "docs_read", "arguments": { "path": "a.md" } });
        let script = json!([{ "turns": [{ "calls": [read] }, { "text": "read it" }] }]);
        home.write("script.json", script.to_string());
        let path = home.path(dir).display().to_string().replace('\\', r"\\").replace('"', "\\\"");
        let given = format!("docs=\"{path}\"{query}");
        let run = ["run", "w.worker", "-e", &given, "-m", &model];
        assert_eq!(home.almoner(&run).expect(0).out, "read it\n", "{dir:?}");
        let planned = |args: &[&str]| {
            home.almoner(&[args, &["--dry-run", "--json"]].concat()).expect(0).json()["grants"].clone()
        };
        let before = planned(&run);
        home.almoner(&["save", "last", "as", "again"]).expect(0);
        let recorded: serde_json::Value = serde_json::from_str(&home.read("again.case/case.json")).unwrap();
        let words = recorded["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        let saved: Vec<&str> = ["run"].into_iter().chain(words).chain(["-m", &model]).collect();
        assert_eq!(planned(&saved), before, "{saved:?}");
        assert_eq!(home.almoner(&saved).expect(0).out, "read it\n", "{saved:?}");
        // A case over private data is not tested: its replies lie in another home, where no model may read private
        // data.
        if !query.contains("private") {
            let tried = home.almoner(&["test", "again.worker"]).expect(0).out;
            assert!(tried.starts_with("same"), "{saved:?}: {tried}");
        }
    }
}

#[test]
fn run_with_narrowed_grant_is_saved_no_wider() {
    let home = TestHome::new();
    home.write("docs/a.md", "blue\n");
    home.write("w.worker", "---\nslots: { docs: dir }\n---\nRead.\n");
    let read = json!({ "name": "docs_read", "arguments": { "path": "a.md" } });
    let script = json!([{ "turns": [{ "calls": [read] }, { "text": "read it" }] }]);
    home.write("script.json", script.to_string());
    home.almoner(&["mkguest", "fae"]).expect(0);
    home.almoner(&["mount", "docs", "big"]).expect(0);
    home.almoner(&["narrow", "big", "small", "--methods", "list,read", "--suffix", ".md"]).expect(0);
    home.almoner(&["narrow", "small", "brief", "--lasts", "1h"]).expect(0);
    let endow = |name: &str| {
        home.almoner(&["--as", "fae", "define", "w.worker"]).expect(0);
        let number = newest(&home, None, "definition");
        let bound = format!("docs={name}");
        let said = home.almoner(&["endow", &number, &bound, "-m", "scripted:script.json"]).expect(0);
        assert_eq!(said.out, "read it\n", "{name}");
    };
    endow("small");
    let typed = "docs=./docs?suffix=.md&methods=list,read";
    let saved = home.almoner(&["save", "last", "as", "again"]).expect(0).out;
    assert_eq!(saved, format!("almoner run again.worker -e '{typed}'\n"));
    let again = ["run", "again.worker", "-e", typed, "-m", "scripted:again.case/replies.json"];
    assert_eq!(home.almoner(&again).expect(0).out, "read it\n");
    // Nothing that is typed ends by itself.
    endow("brief");
    let saved = home.almoner(&["save", "last", "as", "short"]).expect(0);
    assert_eq!(saved.out, "almoner run short.worker\n");
    let note = "with limits that cannot be typed: until ";
    assert!(saved.err.contains("slot `docs` is not kept") && saved.err.contains(note), "{}", saved.err);
}

#[test]
fn model_bound_to_a_worker_slot_is_saved_and_runs_again() {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { editor: worker }\n---\nWrite.\n");
    let ask = json!({ "name": "editor", "arguments": { "input": { "prompt": "Shorten this." } } });
    let script = json!([{ "worker": "w", "turns": [{ "calls": [ask] }, { "text": "done" }] }]);
    home.write("script.json", script.to_string());
    home.write("other.json", json!([{ "turns": [{ "text": "the other model's words" }] }]).to_string());
    let model = format!("editor=model:scripted:{}", home.path("other.json").display());
    home.almoner(&["run", "w.worker", "-e", &model, "-m", "scripted:script.json"]).expect(0);
    assert!(home.trace("r1").to_string().contains("the other model's words"));
    home.almoner(&["save", "last", "as", "again"]).expect(0);
    let case: serde_json::Value = serde_json::from_str(&home.read("again.case/case.json")).unwrap();
    let words = case["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let plan = ["--dry-run", "-m", "scripted:script.json"];
    let saved: Vec<&str> = ["run"].into_iter().chain(words).chain(plan).collect();
    assert!(saved.contains(&model.as_str()), "{saved:?}");
    let told = home.almoner(&saved).expect(0).out;
    assert!(told.contains("editor = model scripted:"), "{told}");
}
