//! The daemon ends in an orderly way: its store is closed, nothing is left half, and connected clients are told.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::test_home::{Said, TestHome};
use crate::wire;

fn home() -> TestHome {
    let home = TestHome::new();
    home.write("hello.worker", "Say hello.\n");
    home.write("hello.json", r#"[{"turns": [{"text": "hello"}]}]"#);
    home
}

const HELLO: [&str; 4] = ["run", "hello.worker", "-m", "scripted:hello.json"];

/// Returns a run that asks a model which never answers.
fn never_answered(home: &TestHome) -> (std::net::TcpListener, Child) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let model = format!("compat:http://{}/v1#m", listener.local_addr().unwrap());
    let mut client = home.command(&["run", "hello.worker", "-m", &model]).spawn().unwrap();
    let mut seen = String::new();
    let err = client.stderr.as_mut().unwrap();
    while !seen.contains(" asks compat:") {
        let mut byte = [0];
        assert_eq!(err.read(&mut byte).unwrap(), 1, "{seen}");
        seen.push(char::from(byte[0]));
    }
    (listener, client)
}

/// Returns a connection that has greeted, and then says nothing more.
fn silent(home: &TestHome) -> UnixStream {
    let mut stream = UnixStream::connect(home.root().join("run/control.sock")).unwrap();
    let hello = wire::hello().to_string();
    stream
        .write_all(&[&u32::try_from(hello.len()).unwrap().to_le_bytes()[..], hello.as_bytes()].concat())
        .unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut body).unwrap();
    assert!(String::from_utf8_lossy(&body).contains("welcome"));
    stream
}

/// Returns a daemon that listens.
fn daemon(home: &TestHome, args: &[&str]) -> Child {
    let daemon = home.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while UnixStream::connect(home.root().join("run/control.sock")).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the daemon does not come up");
        std::thread::sleep(Duration::from_millis(5));
    }
    daemon
}

fn ended(mut daemon: Child) -> i32 {
    let begun = Instant::now();
    loop {
        if let Some(status) = daemon.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the daemon does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that no process owns the store, and that it was closed, with no log left beside it.
#[track_caller]
fn is_closed(home: &TestHome, how: &str) {
    let store = home.root().join("state/store");
    let mut names: Vec<String> =
        std::fs::read_dir(&store).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["almoner.sqlite", "blobs", "lock", "tmp"], "{how}");
    let lock = std::fs::File::open(store.join("lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap_or_else(|e| panic!("{how}: {e}"));
    assert!(!home.root().join("run/control.sock").exists(), "{how}");
}

#[test]
fn daemon_closes_its_store_and_notifies_clients_on_exit() {
    let ways: [(&str, Option<Signal>); 4] = [
        ("stop", None),
        ("SIGTERM", Some(Signal::TERM)),
        ("SIGINT", Some(Signal::INT)),
        ("SIGHUP", Some(Signal::HUP)),
    ];
    for (how, signal) in ways {
        let home = home();
        let daemon = daemon(&home, &["daemon"]);
        let pid = Pid::from_child(&daemon);
        home.almoner(&HELLO).expect(0);
        let (_model, follower) = never_answered(&home);
        let mut silent = silent(&home);
        match signal {
            Some(signal) => kill_process(pid, signal).unwrap(),
            None => {
                home.almoner(&["stop"]).expect(0);
            }
        }
        assert_eq!(ended(daemon), 0, "{how}");
        // The follower is told, and does not start it again.
        let said = Said::of(follower.wait_with_output().unwrap()).expect(3);
        assert!(said.err.contains("the daemon was stopped; the run goes on"), "{how}: {}", said.err);
        assert!(said.err.contains("help: `almoner resume`"), "{how}: {}", said.err);
        assert_eq!(silent.read(&mut [0]).unwrap(), 0, "{how}: the connection has ended");
        is_closed(&home, how);
        // The next start is clean: nothing is lost, nothing is stalled.
        let runs = home.almoner(&["runs"]).expect(0).out;
        assert!(runs.contains("at work") && runs.contains("done"), "{how}: {runs}");
        home.almoner(&["stop"]).expect(0);
        is_closed(&home, how);
    }
}

#[test]
fn idle_daemon_closes_its_store() {
    let home = home();
    let daemon = daemon(&home, &["daemon", "--idle", "1"]);
    home.almoner(&HELLO).expect(0);
    assert_eq!(ended(daemon), 0);
    is_closed(&home, "idle");
}

#[test]
fn repeated_terminations_always_close_the_store() {
    let home = home();
    // Any thread may be the last to release the store, as the order in which threads end varies.
    for round in 0..25 {
        let daemon = daemon(&home, &["daemon"]);
        let pid = Pid::from_child(&daemon);
        home.almoner(&HELLO).expect(0);
        kill_process(pid, Signal::TERM).unwrap();
        assert_eq!(ended(daemon), 0);
        is_closed(&home, &format!("round {round}"));
    }
}
