//! Tests of workers in the slots of workers: their bindings, as they are shown and as they are enforced.

use serde_json::{Value as Json, json};

use crate::test_home::TestHome;

const CHIEF: &str =
    "---\nslots: { docs: dir, judge: worker }\nattachments: { max: 3 }\n---\nHave it judged.\n";
const JUDGE: &str = "---\ndescription: Judges.\nslots: { out: dir rw, scribe: worker }\nattachments: { max: 3 }\n---\nJudge.\n";
const SCRIBE: &str = "---\ndescription: Writes.\nslots: { log: dir rw }\n---\nWrite.\n";

fn call(name: &str, arguments: Json) -> Json {
    json!({ "name": name, "arguments": arguments })
}

fn write(slot: &str, path: &str) -> Json {
    call(&format!("{slot}_write"), json!({ "path": path, "content": "done\n" }))
}

fn home(script: &[(&str, &[Json])]) -> TestHome {
    let home = TestHome::new();
    home.write("chief.worker", CHIEF);
    home.write("judge.worker", JUDGE);
    home.write("scribe.worker", SCRIBE);
    home.write("docs/a.md", "a\n");
    home.write("notes.md", "notes\n");
    home.write("deck.txt", "deck\n");
    let script = script.iter().map(|(worker, calls)| {
        let turns = calls.iter().map(|call| json!({ "calls": [call] }));
        let turns: Json = turns.chain([json!({ "text": "done" })]).collect();
        json!({ "worker": worker, "turns": turns })
    });
    home.write("script.json", script.collect::<Json>().to_string());
    home
}

const RUN: [&str; 6] =
    ["run", "chief.worker", "deck.txt", "notes.md", "-mscripted:script.json", "-edocs=docs"];
const NESTED: [&str; 3] = ["-ejudge=judge.worker", "-ejudge.out=reports:rw", "-ejudge.scribe.log=log:rw"];

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().chain(more).copied().collect()
}

#[test]
fn nested_worker_has_only_the_bindings_of_its_own_slots() {
    let home = home(&[
        ("chief", &[call("judge", json!({}))]),
        ("judge", &[write("out", "r.md"), write("docs", "stolen.md"), call("scribe", json!({}))]),
        ("scribe", &[write("log", "l.md"), write("out", "stolen.md")]),
    ]);
    let mut words = run(&NESTED);
    let planned = home.almoner(&[&words[..], &["--dry-run"]].concat()).expect(0).out;
    for line in
        ["judge = worker judge", "judge.out = ", "judge.scribe = worker scribe", "judge.scribe.log = "]
    {
        assert!(planned.contains(line), "{line} in {planned}");
    }
    assert!(planned.contains("/reports (") && !home.path("reports").exists(), "{planned}");
    words.extend(["--allow", "judge.scribe.log.write"]);
    home.almoner(&words).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("changes out.write") && card.contains("/reports"), "{card}");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert_eq!(
        (home.read("reports/r.md"), home.read("log/l.md")),
        ("done\n".to_owned(), "done\n".to_owned())
    );
    for (dir, count) in [("reports", 1), ("log", 1), ("docs", 1)] {
        assert_eq!(std::fs::read_dir(home.path(dir)).unwrap().count(), count, "{dir}");
    }
}

#[test]
fn nested_slot_error_names_its_full_path() {
    let home = home(&[]);
    for (more, said, way_out) in [
        (&["-ejudge=judge.worker"][..], "slot `judge.out` is not bound", "-e judge.out=PATH:rw"),
        (&["-ejudge=judge.worker", "-ejudge.out=o"], "slot `judge.out` writes", "judge.out=PATH:rw"),
        (&["-ejudge=judge.worker", "-ejudge.out=o:stage"], "judge.out", "judge.out=PATH:rw"),
        (
            &["-ejudge=judge.worker", "-ejudge.out=o:rw"],
            "slot `judge.scribe.log` is not bound",
            "judge.scribe.log=",
        ),
        (&["-ejudge.what=o"], "no slot `what`", "its slots: out, scribe"),
        (&["-edocs.what=o"], "no slot `docs` that takes a worker", "SLOT.INNER"),
        (&["-enobody.what=o"], "no slot `nobody`", "SLOT.INNER"),
        (&["--allow", "docs.out.write"], "no slot `docs` that takes a worker", "SLOT.INNER"),
    ] {
        let said_in_full = home.almoner(&run(more)).expect(2).err;
        assert!(said_in_full.contains(said) && said_in_full.contains(way_out), "{more:?}: {said_in_full}");
    }
    assert_eq!(home.almoner(&["runs", "--json"]).expect(0).json(), json!([]));
}

#[test]
fn recursive_worker_stops_at_its_depth_limit() {
    let worker = "---\nslots: { docs: dir, again: worker }\nlimits: { depth: 2 }\n---\nGo down.\n";
    let home = home(&[("down", &[call("docs_list", json!({})), call("again", json!({}))])]);
    home.write("down.worker", worker);
    let down = ["run", "down.worker", "-mscripted:script.json", "-edocs=docs", "-eagain=self"];
    home.almoner(&[&down[..], &["--on-ask", "deny"]].concat()).expect(0);
    let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 3, "{runs}");
    let last = home.trace("r3").to_string();
    assert!(last.contains("a.md") && last.contains("depth/"), "{last}");
}

/// Checks that both sides limit the documents before the child exists: the callee by its file, and the user by the
/// binding.
#[test]
fn document_is_passed_only_if_caller_and_callee_allow_it() {
    let judge = "---\nattachments: { max: 1, suffixes: [.md, .txt] }\n---\nJudge.\n";
    let hand = |names: &[&str]| call("judge", json!({ "attachments": names }));
    for (binding, names, fits) in [
        ("judge=judge.worker", &["deck.txt"][..], true),
        ("judge=judge.worker", &["deck.txt", "notes.md"], false),
        ("judge=judge.worker?suffix=.md", &["notes.md"], true),
        ("judge=judge.worker?suffix=.md", &["deck.txt"], false),
        ("judge=judge.worker?max=5", &["deck.txt"], true),
        ("judge=judge.worker?max=5", &["notes.md"], false),
        ("judge=judge.worker?total=5", &["notes.md"], false),
    ] {
        fits_or_not(&hand(names), None, judge, binding, fits);
    }
    // The caller's own file limits them as well, and none of the three limits lifts another one.
    for (own, names, fits) in [
        ("{ suffixes: [.md] }", &["notes.md"][..], true),
        ("{ suffixes: [.md] }", &["deck.txt"], false),
        ("{ bytes: 5 }", &["deck.txt"], true),
        ("{ bytes: 5 }", &["notes.md"], false),
        ("{ max: 0 }", &["deck.txt"], false),
        ("{ max: 9 }", &["deck.txt", "notes.md"], false),
    ] {
        fits_or_not(&hand(names), Some(own), judge, "judge=judge.worker", fits);
    }
}

fn fits_or_not(hand: &Json, own: Option<&str>, judge: &str, binding: &str, fits: bool) {
    let home = home(&[("chief", std::slice::from_ref(hand)), ("judge", &[])]);
    home.write("judge.worker", judge);
    if let Some(own) = own {
        let file = home.read("chief.worker");
        let is = format!("judge: {{ is: worker, attachments: {own} }}");
        assert!(file.contains("judge: worker"), "{file}");
        home.write("chief.worker", file.replace("judge: worker", &is));
    }
    home.almoner(&run(&["-e", binding])).expect(0);
    let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).json().as_array().unwrap().len();
    assert_eq!(runs, if fits { 2 } else { 1 }, "{binding} {own:?} {hand}");
    let trace = home.trace("r1").to_string();
    assert_eq!(trace.contains("call/attachments"), !fits, "{binding} {own:?} {hand}: {trace}");
}

#[test]
fn endlessly_nested_workers_are_refused_and_daemon_survives() {
    let home = home(&[]);
    home.write("loop.worker", "---\nslots: { loop: worker }\n---\nx\n");
    home.write("a.worker", "---\nslots: { b: worker }\n---\nx\n");
    home.write("b.worker", "---\nslots: { a: worker }\n---\nx\n");
    // Each finds two of the next: a hundred in all, eight deep.
    for n in 0..8 {
        let next = n + 1;
        home.write(
            &format!("w{n}.worker"),
            format!("---\nslots: {{ w{next}: worker, v{next}: worker }}\n---\nx\n"),
        );
        home.write(
            &format!("v{n}.worker"),
            format!("---\nslots: {{ w{next}: worker, v{next}: worker }}\n---\nx\n"),
        );
    }
    home.write("w8.worker", "---\n---\nx\n");
    home.write("v8.worker", "---\n---\nx\n");
    let pid = || home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_u64();
    let before = pid();
    for (worker, says) in [("loop", "8 deep"), ("a", "8 deep"), ("w0", "more than 64")] {
        let said = home
            .almoner(&["run", &format!("{worker}.worker"), "-mscripted:script.json", "--dry-run"])
            .expect(6);
        assert!(said.err.contains(says), "{worker}: {}", said.err);
    }
    assert_eq!(pid(), before);
}
