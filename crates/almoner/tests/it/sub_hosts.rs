//! Hosts that a host made, with the real binary: their runs, approvals and events are theirs.

use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::agents::{NOTE, WRITES, newest};
use crate::kill_sweep::{AFTER, Doomed, until_it_survives};
use crate::test_home::{Said, TestHome};

/// The guest of `bob`, as the store's own host reaches it.
const FAE: &str = "bob/fae";

/// Bob endows the definition, and is asked about nothing. Of several models in turn each turn has commits of its own.
const ALLOWED: [&str; 6] =
    ["-e", "out=notes:rw", "--allow", "out.write", "-m", "scripted:script.json,scripted:script.json"];

/// Returns a home with a host `bob` who has a guest `fae`.
fn with_bob() -> TestHome {
    let home = TestHome::new();
    home.write("note.worker", NOTE);
    home.write("script.json", WRITES);
    home.write("hello.worker", "Say hello.\n");
    home.write("hello.json", r#"[{"turns": [{"text": "hello"}]}]"#);
    home.almoner(&["mkhost", "bob"]).expect(0);
    let made = bob(&home, &["mkguest", "fae"]).expect(0);
    assert!(made.err.contains("`almoner --as bob/profile-for-fae …` acts as it"), "{}", made.err);
    home
}

fn as_agent(home: &TestHome, agent: &str, args: &[&str]) -> Said {
    home.almoner(&[&["--as", agent], args].concat())
}

fn bob(home: &TestHome, args: &[&str]) -> Said {
    as_agent(home, "bob", args)
}

fn hello(home: &TestHome) {
    home.almoner(&["run", "hello.worker", "-m", "scripted:hello.json"]).expect(0);
}

/// Returns the runs that somebody sees, by name.
fn runs(said: Said) -> Vec<String> {
    let runs = said.expect(0).json();
    runs.as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn created_host_endows_and_answers_like_the_first() {
    let home = with_bob();
    // The store's own host has a run of the same number.
    hello(&home);
    as_agent(&home, FAE, &["define", "note.worker", "--result", "note"]).expect(0);
    let number = newest(&home, Some("bob"), "definition");
    let endow = ["endow", &number, "-e", "out=notes:rw", "-m", "scripted:script.json"];
    let waits = bob(&home, &endow).expect(7);
    let card = newest(&home, Some("bob"), "approval");
    assert!(waits.err.contains("r1 `note` asks scripted:"), "its events are followed: {}", waits.err);
    assert!(waits.err.contains(&format!("r1 waits for you: message {card}")), "{}", waits.err);
    assert!(waits.err.contains(&format!("`almoner --as bob approve {card}`")), "{}", waits.err);
    home.almoner(&["stop"]).expect(0);

    // The card lies in bob's mailbox, and no other agent can answer it.
    assert!(bob(&home, &["inbox"]).expect(0).out.contains(" wants to "));
    assert!(home.almoner(&["inbox"]).expect(0).err.contains("nothing waits for you"));
    home.almoner(&["approve", &card]).expect(4);
    as_agent(&home, FAE, &["approve", &card]).expect(4);
    let shown = bob(&home, &["inbox", &card, "--full"]).expect(0);
    assert!(shown.out.contains("out.write") && shown.out.contains("a.md"), "{}", shown.out);
    assert!(shown.err.contains(&format!("`almoner --as bob deny {card} -r WHY`")), "{}", shown.err);
    assert!(!home.path("notes/a.md").exists());
    assert!(bob(&home, &["approve", &card]).expect(0).out.contains("r1 goes on"));
    assert_eq!(bob(&home, &["resume", "r1"]).expect(0).out, "written\n");
    assert_eq!(home.read("notes/a.md"), "kept\n");
    assert_eq!(as_agent(&home, FAE, &["show", "note"]).expect(0).out, "\"written\"\n");

    // Each sees its own, under the same numbers.
    assert_eq!(runs(home.almoner(&["runs", "--all", "--json"])), ["hello"]);
    assert_eq!(runs(bob(&home, &["runs", "--all", "--json"])), ["note"]);
    assert_eq!(home.trace("r1")["run"]["name"], "hello");
    assert_eq!(bob(&home, &["trace", "--json"]).expect(0).json()["run"]["name"], "note");
    let why = bob(&home, &["why", "notes/a.md"]).expect(0).out;
    assert!(why.contains("was written by an effect") && why.contains("--as bob endow"), "{why}");
    home.almoner(&["why", "notes/a.md"]).expect(4);
    bob(&home, &["why", "r1"]).expect(0);
    let doctor = home.almoner(&["doctor", "daemon", "--json"]).json().to_string();
    assert!(doctor.contains("events of 2 hosts, each follows the one before"), "{doctor}");
}

#[test]
fn created_host_denies_runs_and_asks_like_the_first() {
    let home = with_bob();
    let run = ["run", "note.worker", "-e", "out=notes:rw", "-m", "scripted:script.json"];
    bob(&home, &[&run[..], &["--on-ask", "deny"]].concat()).expect(0);
    assert!(!home.path("notes/a.md").exists());
    let events = bob(&home, &["run", "hello.worker", "-m", "scripted:hello.json", "--events"]).expect(0).out;
    let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!((&last["state"], &last["run"]), (&"done".into(), &"r2".into()));
    let first: serde_json::Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert!(first["event"].to_string().contains("\"run\":2"), "only what happened since: {first}");
    home.write("ask.json", r#"[{"worker": "ask", "turns": [{"text": "42"}]}]"#);
    assert_eq!(bob(&home, &["ask", "What is it?", "-m", "scripted:ask.json"]).expect(0).out, "42\n");
    let detached = bob(&home, &["run", "hello.worker", "-m", "scripted:hello.json", "--detach"]).expect(0);
    assert_eq!(detached.out, "r4\n");
    assert_eq!(bob(&home, &["resume", "r4"]).expect(0).out, "hello\n");
    assert_eq!(bob(&home, &["status", "--json"]).expect(0).json()["needs_you"], 0);
    assert!(runs(home.almoner(&["runs", "--json"])).is_empty());
    // Bob may not use commands that concern the whole store.
    for verb in ["stop", "doctor"] {
        bob(&home, &[verb]).expect(2);
    }
}

#[test]
fn guest_has_no_runs_and_is_referred_to_a_host() {
    let home = with_bob();
    home.almoner(&["mkguest", "eve"]).expect(0);
    let hello = ["run", "hello.worker", "-m", "scripted:hello.json"];
    for agent in [FAE, "eve"] {
        for args in
            [&hello[..], &["runs"], &["trace"], &["trace", "r1"], &["resume"], &["status"], &["cancel", "r1"]]
        {
            let said = as_agent(&home, agent, args).expect(5);
            assert!(
                said.err.contains("only a host can cancel") || said.err.contains("is a guest"),
                "{said:?}"
            );
            assert!(args[0] == "cancel" || said.err.contains("help:"), "{said:?}");
        }
    }
    as_agent(&home, "eve", &["define", "note.worker"]).expect(0);
    let number = newest(&home, Some("eve"), "definition");
    as_agent(&home, "eve", &[&["endow", &number], &ALLOWED[..]].concat()).expect(5);
}

#[test]
fn host_cancels_only_its_own_run() {
    let home = with_bob();
    let run = ["run", "note.worker", "-e", "out=notes:rw", "-m", "scripted:script.json"];
    home.almoner(&run).expect(7);
    bob(&home, &run).expect(7);
    bob(&home, &["cancel", "r1", "-r", "not today"]).expect(0);
    let ended = bob(&home, &["resume", "r1"]);
    assert!(![0, 7].contains(&ended.code) && ended.err.contains("not today"), "{ended:?}");
    assert!(bob(&home, &["inbox"]).expect(0).err.contains("nothing waits for `bob`"));
    let card = newest(&home, None, "approval");
    home.almoner(&["approve", &card]).expect(0);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "written\n");
    bob(&home, &["cancel", "r99"]).expect(4);
}

#[test]
fn acting_as_an_agent_requires_a_path_not_a_mail_address() {
    let home = with_bob();
    bob(&home, &["mkhost", "carl"]).expect(0);
    let check = |agent: &str, code: i32| {
        let said = as_agent(&home, agent, &["list"]);
        assert_eq!(said.code, code, "{agent}: {said:?}");
    };
    for mine in [
        "bob",
        FAE,
        "bob/profile-for-fae",
        "bob/carl",
        "profile-for-bob",
        "profile-for-bob/fae",
        "profile-for-bob/profile-for-fae",
    ] {
        check(mine, 0);
    }
    let carls = as_agent(&home, "bob/carl", &["run", "hello.worker", "-m", "scripted:hello.json"]);
    assert_eq!(carls.expect(0).out, "hello\n");
    assert!(runs(bob(&home, &["runs", "--json"])).is_empty());
    for nobody in ["eve", "bob/eve", "bob/fae/eve"] {
        check(nobody, 4);
    }
    // An agent that came by mail, or that leads back to the agent's maker, is an address and nothing more.
    bob(&home, &["send", "@host", "Write to @fae, or be @profile-for-fae:power"]).expect(0);
    let number = newest(&home, None, "package");
    home.almoner(&["adopt", &number, "fae", "friend"]).expect(0);
    home.almoner(&["send", "friend", "hello"]).expect(0);
    for address in ["friend", &format!("@mail/{number}/@from"), "bob/@host", "friend/@self"] {
        check(address, 5);
    }
    // Power that was given is power for as long as it is given.
    home.almoner(&["adopt", &number, "power"]).expect(0);
    check("power", 0);
    let grants = bob(&home, &["grants"]).expect(0).out;
    let grant = grants.lines().find(|line| line.contains("powers of a guest")).unwrap();
    bob(&home, &["revoke", grant.split_whitespace().next().unwrap()]).expect(0);
    check("power", 5);
}

/// Lets bob endow fae's proposal with a daemon that dies after `nth` commits, and checks that the run goes on.
/// Returns whether the daemon died.
fn disturbed(nth: u64) -> bool {
    let home = with_bob();
    as_agent(&home, FAE, &["define", "note.worker", "--result", "note"]).expect(0);
    let number = newest(&home, Some("bob"), "definition");
    home.almoner(&["stop"]).expect(0);
    let endow = [&["--as", "bob", "endow", &number, "--detach"], &ALLOWED[..]].concat();
    let mut daemon = Doomed::start(&home, AFTER, nth);
    // The one that is to die is the one that is talked to, if it lives so long.
    let socket = home.root().join("run/control.sock");
    while !daemon.has_died() && UnixStream::connect(&socket).is_err() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut client = home.command(&endow).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let acknowledged = client.wait().unwrap().success();
    // The next command starts the daemon if it has died. No command tells it to resume the run.
    let state = || {
        let mut said = bob(&home, &["runs", "--json"]);
        if said.code == 3 {
            // The daemon has died while it was asked: the next to come starts another.
            said = bob(&home, &["runs", "--json"]);
        }
        said.expect(0).json()[0]["state"].clone()
    };
    if state().is_null() {
        assert!(!acknowledged, "an acknowledged run is lost after commit {nth}");
        home.almoner(&endow).expect(0);
    }
    let begun = Instant::now();
    while state()["state"] != "finished" {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not go on after commit {nth}: {}",
            state()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(home.read("notes/a.md"), "kept\n");
    assert_eq!(as_agent(&home, FAE, &["show", "note"]).expect(0).out, "\"written\"\n");
    let steps = bob(&home, &["trace", "r1", "--json"]).expect(0).json()["steps"].clone();
    for once in ["effect_started", "completed", "finished"] {
        let times = steps.as_array().unwrap().iter().filter(|step| step["entry"]["entry"] == once).count();
        assert_eq!(times, 1, "{once} after commit {nth}: {steps:#}");
    }
    assert_eq!(runs(bob(&home, &["runs", "--all", "--json"])).len(), 1);
    assert!(runs(home.almoner(&["runs", "--all", "--json"])).is_empty());
    daemon.end()
}

#[test]
fn run_of_a_created_host_resumes_after_every_kill() {
    until_it_survives(AFTER, 8, disturbed);
}
