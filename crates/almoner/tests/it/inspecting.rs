//! Tests of the details behind identifiers: the uses of a grant, references, the authority graph, and who may read
//! them.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use crate::sends::{COUNTER, TIMEOUT, evaluated, wait_for_mail};
use crate::test_home::TestHome;
use crate::wire::Control;

/// Returns a run that has read something private, could send mail, and has written a file; and a guest who holds
/// nothing of it.
fn home() -> (TestHome, Control) {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { docs: dir, mail: outbox, out: dir rw }\n---\nWork.\n");
    home.write("docs/a.md", "a\n");
    home.write("spool/.keep", "");
    let calls = json!([
        { "name": "docs_read", "arguments": { "path": "a.md" } },
        { "name": "out_write", "arguments": { "path": "b.md", "content": "b\n" } }
    ]);
    home.write("script.json", json!([{ "turns": [{ "calls": calls }, { "text": "done" }] }]).to_string());
    let model = format!("scripted:{}", home.path("script.json").display());
    home.write_config(&format!("[models]\nprivate = [{}]\n", json!(model)));
    let run = ["run", "w.worker", "-m", &model, "-edocs=docs?private", "-email=spool", "-eout=out:rw"];
    home.almoner(&[&run[..], &["--allow", "out.write"]].concat()).expect(0);
    home.almoner(&["mkguest", "fae"]).expect(0);
    let control = Control::open(&home);
    (home, control)
}

#[track_caller]
fn look(control: &mut Control, look: Json) -> Json {
    let answer = control.ask(&json!({ "request": "look", "look": look }));
    assert_ne!(answer["response"], "failed", "{answer}");
    answer["body"].clone()
}

/// Returns the grant that fills a slot.
fn of_slot(control: &mut Control, slot: &str) -> Json {
    let grants = look(control, json!({ "look": "grants" }));
    grants.as_array().unwrap().iter().find(|grant| grant["slot"] == slot).unwrap().clone()
}

#[test]
fn grant_shows_its_usage() {
    let (_home, mut control) = home();
    let grant = of_slot(&mut control, "out");
    let told = look(&mut control, json!({ "look": "grant", "grant": grant["number"] }));
    assert_eq!((&told["calls"], &told["runs"]), (&json!(1), &json!([1])), "{told}");
    assert_eq!((&told["last"][0]["method"], &told["last"][0]["outcome"]), (&json!("write"), &json!("done")));
    let unused = of_slot(&mut control, "mail");
    let told = look(&mut control, json!({ "look": "grant", "grant": unused["number"] }));
    assert_eq!((&told["calls"], &told["runs"]), (&json!(0), &json!([])), "{told}");
}

#[test]
fn formula_shows_its_references_to_its_host_only() {
    let (home, mut control) = home();
    let grant = of_slot(&mut control, "out");
    let told = look(&mut control, json!({ "look": "formula", "id": grant["target"] }));
    assert_eq!(told["called"]["kind"], "mount", "{told}");
    assert_eq!(told["grants"][0]["number"], grant["number"], "{told}");
    let of = told["referred_by"].as_array().unwrap();
    assert!(of.iter().any(|one| one["label"] == "target" && one["other"]["id"] == grant["id"]), "{told}");
    let called = look(&mut control, json!({ "look": "formula_summaries", "ids": [grant["id"]] }));
    assert_eq!((&called[0]["grant"]["slot"], &called[0]["target"]), (&json!("out"), &grant["target"]));
    home.almoner(&["why", grant["id"].as_str().unwrap()]).expect(0);
    for wanted in [
        json!({ "look": "formula", "id": grant["target"] }),
        json!({ "look": "formula_summaries", "ids": [grant["id"]] }),
        json!({ "look": "graph", "focus": grant["target"] }),
        json!({ "look": "origin", "thing": grant["id"] }),
        json!({ "look": "retention_paths", "thing": grant["id"] }),
        json!({ "look": "grant", "grant": grant["number"] }),
    ] {
        let asked = json!({ "agent": "profile-for-fae", "request": "look", "look": wanted });
        assert_eq!(control.ask(&asked)["response"], "failed", "{wanted}");
    }
}

/// Returns each holder that reaches both private data and a way out, with its paths to them.
fn risks(graph: &Json) -> Vec<String> {
    let label =
        |at: &Json| graph["links"][at.as_u64().unwrap() as usize]["label"].as_str().unwrap().to_owned();
    let way = |way: &Json| way.as_array().unwrap().iter().map(label).collect::<Vec<_>>().join(">");
    let ways = |ways: &Json| ways.as_array().unwrap().iter().map(way).collect::<Vec<_>>();
    let all = graph["risks"].as_array().unwrap().iter().map(|risk| {
        let holder = &graph["nodes"][risk["holder"].as_u64().unwrap() as usize];
        let who = holder["run"].as_u64().map_or_else(|| holder["kind"].to_string(), |run| format!("r{run}"));
        format!("{who}: {}", [ways(&risk["secrets"]), ways(&risk["outlets"])].concat().join(", "))
    });
    all.collect()
}

/// Checks that the graph finds and draws each risky path, however many names there are.
#[test]
fn graph_shows_every_path_from_secret_to_outside() {
    let home = TestHome::new();
    home.write("reader.worker", "---\nslots: { docs: dir, teller: worker, out: dir rw }\n---\nRead.\n");
    home.write("sender.worker", "---\nslots: { box: outbox }\n---\nSend.\n");
    home.write("docs/a.md", "a\n");
    home.write("outbox/.keep", "");
    let calls = json!([{ "name": "out_write", "arguments": { "path": "b.md", "content": "b" } }]);
    home.write("script.json", json!([{ "turns": [{ "calls": calls }, { "text": "done" }] }]).to_string());
    let model = format!("scripted:{}", home.path("script.json").display());
    home.write_config(&format!("[models]\nprivate = [{}]\n", json!(model)));
    let run = ["run", "reader.worker", "-m", &model, "-edocs=docs?private", "-eout=out:rw"];
    let slots = ["-eteller=sender.worker", "-eteller.box=outbox"];
    home.almoner(&[&run[..], &slots].concat()).expect(7);
    let many: Vec<String> = (0..300).map(|at| format!("n{at}=1")).collect();
    home.almoner(&[&["store"][..], &many.iter().map(String::as_str).collect::<Vec<_>>()].concat()).expect(0);
    let mut control = Control::open(&home);
    for focus in [Json::Null, json!("r1")] {
        let graph = look(&mut control, json!({ "look": "graph", "focus": focus }));
        assert_eq!(risks(&graph), ["r1: docs, teller>box"], "{graph}");
        let nodes = graph["nodes"].as_array().unwrap();
        assert!(nodes.len() < 100, "{}", nodes.len());
        // One node stands for all that the graph does not draw, with their number.
        let more = nodes.iter().find(|node| node["kind"] == "more").map(|node| node["words"].clone());
        assert_eq!(more.is_some(), focus.is_null(), "{more:?}");
    }
}

#[test]
fn graph_continues_through_promises_and_narrowed_grants() {
    let home = TestHome::new();
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["show", "counter", "--wait"]).expect(0);
    home.almoner(&["narrow", "counter", "small", "--methods", "incr"]).expect(0);
    let mut control = Control::open(&home);
    for focus in ["counter", "small"] {
        let graph = look(&mut control, json!({ "look": "graph", "focus": focus }));
        let kinds: Vec<&str> =
            graph["nodes"].as_array().unwrap().iter().map(|node| node["kind"].as_str().unwrap()).collect();
        assert!(kinds.len() > 1 && kinds.contains(&"export"), "{focus}: {graph}");
    }
    // `small` is a grant of an object that the user calls `counter`.
    let small = look(&mut control, json!({ "look": "identifier", "path": ["small"] }));
    let told = look(&mut control, json!({ "look": "formula", "id": small }));
    assert_eq!(told["called"]["grant"]["name"], "counter", "{told}");
}

#[test]
fn graph_of_a_run_shows_possible_leaks() {
    let (_home, mut control) = home();
    let graph = look(&mut control, json!({ "look": "graph", "focus": "r1" }));
    assert_eq!(risks(&graph), ["r1: docs, mail"], "{graph}");
    // The run is over: it is nothing that the person's names or open runs lead to.
    let own = look(&mut control, json!({ "look": "graph" }));
    assert_eq!((&own["nodes"][0]["kind"], &own["risks"]), (&json!("host"), &json!([])), "{own}");
    assert!(own["nodes"].as_array().unwrap().iter().all(|node| node["kind"] != "spool"), "{own}");
}

/// Returns a home in which a guest's code has called an object made by the host's code. The guest's code has ended
/// and is gone.
pub(crate) fn endowed_counter() -> TestHome {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    home.write("code.js", "E(count).incr()");
    fae(&["define", "code.js", "--slot", "count:M.remotable('Counter')", "--result", "r"]);
    let number = wait_for_mail(&home, "definition").to_string();
    home.almoner(&["endow", &number, "count=counter"]).expect(0);
    fae(&["show", "r", "--wait"]);
    assert_eq!(evaluated(&home, &["E(c).incr()", "c=counter"]), "2", "it was used");
    let begun = std::time::Instant::now();
    while !home.almoner(&["grants"]).expect(0).out.contains("that has ended") {
        assert!(begun.elapsed() < TIMEOUT, "{}", home.almoner(&["grants"]).out);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    home
}

/// Returns the uses of a grant outside of runs, newest first: the method of each call and its outcome.
#[track_caller]
fn used(home: &TestHome, slot: &str) -> Vec<String> {
    // It may just have been killed.
    home.almoner(&["grants"]).expect(0);
    let mut control = Control::open(home);
    let grants = look(&mut control, json!({ "look": "grants" }));
    let grant = grants.as_array().unwrap().iter().find(|grant| grant["slot"] == slot).unwrap().clone();
    let told = look(&mut control, json!({ "look": "grant", "grant": grant["number"] }));
    let word = |one: &Json, name: &str| one[name].as_str().unwrap().to_owned();
    let last: Vec<String> = told["last"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| word(one, "method") + " " + &word(one, "outcome"))
        .collect();
    assert_eq!(told["calls"], json!(last.len()), "{told}");
    last
}

#[test]
fn calls_by_code_through_a_grant_are_counted_across_restarts() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["mkdir", "shelf"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    home.write("code.js", "Far('Both', { up: () => E(count).incr(), put: async n => { await E(shelf).makeDirectory(n); return n; }, odd: () => E(count)['in\\u202Ecr']() })");
    fae(&["define", "code.js", "--slot", "count:any", "--slot", "shelf:any", "--result", "r"]).expect(0);
    let number = wait_for_mail(&home, "definition").to_string();
    home.almoner(&["endow", &number, "count=counter", "shelf=shelf", "--to", "guest-caps"]).expect(0);
    fae(&["show", "r", "--wait"]).expect(0);
    assert_eq!(used(&home, "count"), [""; 0]);
    fae(&["eval", "E(r).up()", "r=r"]).expect(0);
    fae(&["eval", "E(r).put('box')", "r=r"]).expect(0);
    assert_eq!(used(&home, "count"), ["incr made"]);
    // A use is counted together with the effect of its call, for every caller, even if the daemon is killed.
    let daemon = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(daemon.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    assert_eq!(used(&home, "shelf"), ["makeDirectory made"]);
    assert_eq!(used(&home, "count"), ["incr made"]);
    fae(&["eval", "E(r).odd()", "r=r"]).expect(1);
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let grant = grants.as_array().unwrap().iter().find(|grant| grant["slot"] == "count").unwrap().clone();
    home.almoner(&["revoke", &format!("g{}", grant["number"])]).expect(0);
    fae(&["eval", "E(r).up()", "r=r"]).expect(1);
    assert_eq!(used(&home, "count"), ["incr refused", "in\u{202E}cr made", "incr made"]);
    home.almoner(&["stop"]).expect(0);
    assert_eq!(used(&home, "count"), ["incr refused", "in\u{202E}cr made", "incr made"]);
}

#[test]
fn grant_to_code_shows_its_object_holder_and_cause() {
    let home = endowed_counter();
    let said = home.almoner(&["grants"]).expect(0).out;
    assert!(said.contains("counter, an object that code has made: everything; held by code "), "{said}");
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let grant = grants.as_array().unwrap().iter().find(|grant| grant["slot"] == "count").unwrap().clone();
    assert_eq!(grant["name"], "counter", "{grant}");
    let number = format!("g{}", grant["number"]);

    // The uses of the grant are known, though the code and its journal are gone.
    let mut control = Control::open(&home);
    let told = look(&mut control, json!({ "look": "grant", "grant": grant["number"] }));
    assert_eq!((&told["calls"], &told["target"]["name"]), (&json!(1), &json!("counter")), "{told}");
    let last = &told["last"][0];
    assert_eq!(
        (&last["method"], &last["by"], &last["outcome"]),
        (&json!("incr"), &grant["holder"], &json!("made"))
    );
    assert_eq!(told["code"], json!([{ "id": grant["holder"], "has_journal": false }]), "{told}");

    // The name stands for a promise, and the promise's result was granted.
    let counter = home.almoner(&["show", "counter", "--json"]).expect(0).json()["id"].clone();
    let told = look(&mut control, json!({ "look": "formula", "id": counter }));
    assert_eq!(told["grants"][0]["slot"], "count", "{told}");

    let why = home.almoner(&["why", &number]).expect(0).out;
    for wanted in [
        "you gave it to code ",
        "that has ended: `counter`, an object that code has made",
        "fae proposed what it was given to",
        "made it (`almoner audit`)",
        "you said: almoner endow",
    ] {
        assert!(why.contains(wanted), "no {wanted:?} in\n{why}");
    }
    home.almoner(&["why", "g99"]).expect(4);
    // Other agents learn nothing about the host's grants.
    assert_ne!(home.almoner(&["--as", "agent-fae", "why", &number]).code, 0);
}
