//! A daemon of one build ends at its next step when a client of another build comes, and nothing is lost.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::test_home::{Said, TestHome};
use crate::wire::Control;

/// Returns a command of a client, and of the daemon that it starts, of a build.
fn of_build(home: &TestHome, build: &str, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.env("ALMONER_BUILD", build);
    command
}

fn almoner(home: &TestHome, build: &str, args: &[&str]) -> Said {
    Said::of(of_build(home, build, args).output().unwrap())
}

/// Returns the build and the process of the daemon, as a client of a build sees them.
fn daemon(home: &TestHome, build: &str) -> (String, u64) {
    let status = almoner(home, build, &["status", "--json"]).expect(0).json();
    (status["build"].as_str().unwrap().to_owned(), status["pid"].as_u64().unwrap())
}

/// Returns a home whose worker writes in many steps, and asks at the end.
fn home() -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { out: dir rw, last: dir rw }\nlimits: { turns: 80 }\n---\nWrite.\n");
    let write = |slot: &str, n: usize| {
        format!(
            r#"{{"calls": [{{"name": "{slot}_write", "arguments": {{"path": "{n}.txt", "content": "{n}"}}}}]}}"#
        )
    };
    let mut turns: Vec<String> = (0..40).map(|n| write("out", n)).collect();
    turns.push(write("last", 40));
    turns.push(r#"{"text": "done"}"#.to_owned());
    home.write("w.json", format!(r#"[{{"turns": [{}]}}]"#, turns.join(",")));
    for dir in ["out", "last"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    home
}

const RUN: [&str; 12] = [
    "run",
    "w.worker",
    "-m",
    "scripted:w.json",
    "-e",
    "out=out:rw",
    "-e",
    "last=last:rw",
    "--allow",
    "out.write",
    "--detach",
    "--json",
];

/// Waits until the first run waits for a person, asking as clients of these builds in turn. Returns the builds of the
/// daemons that were seen.
fn until_it_asks(home: &TestHome, builds: &[&str]) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for round in 0..600 {
        let build = builds[round % builds.len()];
        let (daemon, _) = daemon(home, build);
        if seen.last() != Some(&daemon) {
            seen.push(daemon);
        }
        let runs = almoner(home, build, &["runs", "--json"]).expect(0).json();
        if runs[0]["state"]["state"] == "waiting" {
            return seen;
        }
        assert_ne!(runs[0]["state"]["state"], "finished", "{runs}");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the run does not come to its question");
}

fn check_result(home: &TestHome, build: &str) {
    for n in 0..40 {
        assert_eq!(home.read(&format!("out/{n}.txt")), n.to_string());
    }
    almoner(home, build, &["approve", "1"]).expect(0);
    almoner(home, build, &["resume", "--on-ask", "wait"]).expect(0);
    assert_eq!(home.read("last/40.txt"), "40");
    let trace = almoner(home, build, &["trace", "r1", "--json"]).expect(0).json();
    let begun = |entry: &&Json| entry["entry"]["entry"] == "effect_started";
    assert_eq!(trace["steps"].as_array().unwrap().iter().filter(begun).count(), 41, "each call is made once");
}

#[test]
fn daemon_of_another_build_is_replaced_while_a_run_works() {
    for (first, second) in [("0.1.0", "0.2.0"), ("0.2.0", "0.1.0"), ("0.1.0+a", "0.1.0+b")] {
        let home = home();
        almoner(&home, first, &RUN).expect(0);
        let (before, pid) = daemon(&home, first);
        assert_eq!(before, first);
        let (after, other) = daemon(&home, second);
        assert_eq!(after, second, "{first}: a client's daemon is of its own build");
        assert_ne!(pid, other);
        assert_eq!(until_it_asks(&home, &[second]), [second]);
        check_result(&home, second);
        let log = std::fs::read_to_string(home.root().join("state/daemon.log")).unwrap();
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[test]
fn clients_of_two_builds_do_not_replace_daemons_forever() {
    for (first, builds, expected) in [
        // The newest stays.
        ("0.1.0", ["0.2.0", "0.1.0"], vec!["0.2.0"]),
        ("0.2.0", ["0.1.0", "0.2.0"], vec!["0.1.0", "0.2.0"]),
        // Without an order, the build that came last stays.
        ("0.1.0+a", ["0.1.0+b", "0.1.0+a"], vec!["0.1.0+b"]),
    ] {
        let home = home();
        almoner(&home, first, &RUN).expect(0);
        assert_eq!(until_it_asks(&home, &builds), expected, "{first}");
        // Both clients work with the daemon that stays.
        let last = expected.last().unwrap();
        for build in builds {
            assert_eq!(daemon(&home, build).0, **last);
        }
        check_result(&home, builds[0]);
    }
}

/// A handover counts for ten minutes. A person who goes back to an older build then gets its daemon.
#[test]
fn handover_is_forgotten_after_a_while() {
    let home = TestHome::new();
    for build in ["0.1.0", "0.2.0"] {
        assert_eq!(daemon(&home, build).0, build);
    }
    assert_eq!(daemon(&home, "0.1.0").0, "0.2.0");
    let later =
        of_build(&home, "0.1.0", &["status", "--json"]).env("ALMONER_AHEAD_MS", "660000").output().unwrap();
    assert_eq!(Said::of(later).expect(0).json()["build"], "0.1.0");
}

/// Two commands of another build come at once. Both reach one daemon, and it is theirs.
#[test]
fn clients_that_come_at_once_share_one_replacement() {
    let home = TestHome::new();
    assert_eq!(daemon(&home, "0.1.0").0, "0.1.0");
    let start = || {
        let mut client = of_build(&home, "0.2.0", &["status", "--json"]);
        client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let clients: Vec<_> = (0..4).map(|_| start()).collect();
    let ended: Vec<Said> =
        clients.into_iter().map(|client| Said::of(client.wait_with_output().unwrap())).collect();
    let (build, process) = daemon(&home, "0.2.0");
    assert_eq!(build, "0.2.0");
    for said in ended {
        let status = said.expect(0).json();
        assert_eq!((&status["build"], &status["pid"]), (&json!("0.2.0"), &json!(process)), "{status}");
    }
}

/// A daemon that another command stops between the greeting and the first request loses no command.
#[test]
fn daemon_that_ends_after_its_greeting_is_replaced() {
    let home = TestHome::new();
    let socket = home.root().join("run/control.sock");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let welcome = json!({"response": "welcome", "body": {"build": "0.1.0", "waiting": 0, "files": ""}});
    let ending = std::thread::spawn(move || {
        // The first greeting shows the other build, the second one comes in the client's turn.
        for is_last in [false, true] {
            let mut control = Control::from(listener.accept().unwrap().0);
            control.hear().unwrap();
            if is_last {
                std::fs::remove_file(&socket).unwrap();
            }
            control.send(welcome.to_string().as_bytes()).unwrap();
        }
    });
    assert_eq!(daemon(&home, "0.2.0").0, "0.2.0");
    ending.join().unwrap();
}

/// A daemon that holds the store and refuses each version of the protocol but its own, which is a later one.
const LATER_DAEMON: &str = r#"
import fcntl, json, os, signal, socket, struct, sys
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.truncate(0)
lock.write(str(os.getpid()))
lock.flush()
def end(signal, frame):
    os.unlink(sys.argv[2])
    print("ended by signal", signal, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
listener.listen()
print("listening", flush=True)
problem = {"problem": "version", "version": 17, "served": [99]}
refusal = {"exit": "conflict", "message": "the daemon speaks version 99", "help": "", "silent": False, "problem": problem}
while True:
    client, _ = listener.accept()
    client.recv(65536)
    answer = json.dumps({"response": "failed", "body": refusal}).encode()
    client.sendall(struct.pack("<I", len(answer)) + answer)
    client.close()
"#;

#[test]
fn daemon_of_incompatible_protocol_is_ended_by_a_signal() {
    let home = TestHome::new();
    daemon(&home, "0.1.0");
    home.almoner(&["stop"]).expect(0);
    let (lock, socket) = (home.root().join("state/store/lock"), home.root().join("run/control.sock"));
    let mut later = Command::new("python3")
        .args(["-c", LATER_DAEMON])
        .args([&lock, &socket])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("cannot run python3: {e}: `apt-get install python3` installs it"));
    let mut lines = BufReader::new(later.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "listening");
    let (build, pid) = daemon(&home, "0.2.0");
    assert_eq!(build, "0.2.0");
    assert_ne!(pid, u64::from(later.id()));
    assert_eq!(lines.next().unwrap().unwrap(), "ended by signal 15");
    assert!(later.wait().unwrap().success());
}

/// A store that a later build has migrated would be left without any daemon.
#[test]
fn build_that_cannot_open_the_store_replaces_nothing() {
    let home = TestHome::new();
    let (_, pid) = daemon(&home, "0.2.0");
    let db = home.root().join("state/store/almoner.sqlite");
    // A reader of the head sees a later version, as an earlier build would.
    let conn = rusqlite::Connection::open(&db).unwrap();
    conn.pragma_update(None, "user_version", 1000).unwrap();
    conn.close().unwrap();
    assert_eq!(daemon(&home, "0.1.0"), ("0.2.0".to_owned(), pid));
}
