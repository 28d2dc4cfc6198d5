//! `almoner eval`: code over data runs in a process of its own, and the harm that it does to itself reaches no other
//! code.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::test_home::TestHome;

/// Returns the processes for guest code that the daemon has started.
fn vat_hosts(home: &TestHome) -> Vec<i32> {
    let daemon = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    vat_hosts_of(daemon.try_into().unwrap())
}

/// Returns the processes for guest code that this daemon has started.
pub(crate) fn vat_hosts_of(daemon: i32) -> Vec<i32> {
    let daemon = daemon.to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let read = |file: &str| std::fs::read_to_string(entry.path().join(file)).unwrap_or_default();
        let is_child = read("stat")
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.split_whitespace().nth(1) == Some(daemon.as_str()));
        if is_child && read("cmdline").contains("vat-host") {
            found.push(pid);
        }
    }
    found
}

/// Kills a process, if it is still there.
pub(crate) fn kill(pid: i32) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

#[test]
fn code_returns_a_result_or_an_error() {
    let home = TestHome::new();
    home.almoner(&["store", "n:=41", "words=hello"]).expect(0);
    home.almoner(&["mkguest", "fae"]).expect(0);
    home.write("code.js", "const twice = x => x * 2;\ntwice(n);\n");
    home.write("bad.js", "const a = 1;\n\nnull.x;\n");
    let check = |args: &[&str], code: i32, expected: &str| {
        let said = home.almoner(&[&["eval"], args].concat()).expect(code);
        assert!(said.out.contains(expected) || said.err.contains(expected), "{args:?}: {said:?}");
    };
    check(&["1 + 1"], 0, "2");
    check(&["n + 1", "n"], 0, "42");
    check(&["w.toUpperCase()", "w=words"], 0, "HELLO");
    check(&["@code.js", "n"], 0, "82");
    check(&["Promise.resolve([n, undefined, -0])", "n", "--json"], 0, "41");
    check(&["n + 2", "n", "--name", "more"], 0, "43");
    check(&["more * 2", "more"], 0, "86");
    check(&["throw Error('no way')"], 1, "no way");
    check(&["@bad.js"], 1, "eval.js:3");
    check(&["1 +"], 1, "SyntaxError");
    check(&["Date.now()"], 1, "Date is not defined");
    check(&["[typeof process, typeof require, typeof fetch].join()"], 0, "undefined,undefined,undefined");
    check(&["new Promise(() => {})"], 1, "never comes");
    check(&["Far('x', {})"], 0, "remotable");
    check(&["x", "x=fae"], 0, "remotable");
    check(&["() => 1"], 1, "cannot be passed");
    check(&["x", "x=nobody"], 4, "Unknown pet name");
    check(&["@no-such-file.js"], 4, "no-such-file.js");
    check(&["why not"], 1, "SyntaxError");
    // Names that the code could not use.
    check(&["1", "a b=n"], 1, "a b");
    check(&["1", "let=n"], 1, "let");
    check(&["throw Error('\\u001b[2J')"], 1, "\\u{1B}[2J");
    check(&["1 + 1"], 0, "2");
}

#[test]
fn code_over_its_limits_is_ended_and_later_code_runs() {
    let home = TestHome::new();
    // The code, and the message about it. The last one is ended with its process, from outside.
    for (source, says) in [
        ("while (true) {}", "more steps|longer than it may"),
        ("const a = []; for (;;) a.push(new Array(100000).fill(1))", "more memory|longer than it may"),
        ("const f = () => f(); f()", "nested too deep|longer than it may"),
        ("const p = () => Promise.resolve().then(p); p()", "than it may|more steps"),
        ("/(a+)+$/.test('a'.repeat(40) + 'b')", "longer than it may"),
        ("Array.prototype.reverse.call({ length: 2 ** 53 - 1 })", "too long in one piece"),
    ] {
        let said = home.almoner(&["eval", source]).expect(1);
        // On a busy machine its time is over before its steps are.
        let is_ended = says.split('|').any(|says| said.err.contains(says));
        assert!(is_ended, "{source}: {said:?}");
        assert_eq!(home.almoner(&["eval", "6 * 7"]).expect(0).out.trim(), "42", "after {source}");
    }
}

#[test]
fn stuck_code_does_not_block_code_of_others() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let stuck = "Array.prototype.reverse.call({ length: 2 ** 53 - 1 })";
    home.almoner(&["--as", "agent-fae", "eval", stuck, "--name", "stuck", "--detach"]).expect(0);
    assert_eq!(home.almoner(&["eval", "6 * 7"]).expect(0).out.trim(), "42");
    let open = home.almoner(&["--as", "agent-fae", "show", "stuck"]);
    assert!(open.err.contains("still open"), "it was not stuck meanwhile: {open:?}");
    let ended = home.almoner(&["--as", "agent-fae", "show", "stuck", "--wait"]);
    assert!(ended.code != 0 && format!("{ended:?}").contains("too long in one piece"), "{ended:?}");
}

#[test]
fn interrupted_code_reruns_and_recorded_results_stay() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.almoner(&["mount", "out", "dir"]).expect(0);
    // Computed again, it would leave another line.
    let first = "E(d).append('log', 'line\\n').then(() => 1)";
    assert_eq!(home.almoner(&["eval", first, "d=dir", "--name", "first"]).expect(0).out.trim(), "1");
    // Longer than it takes to kill it, and far less than code may take on a machine that does much else.
    let long = "let n = 0; for (let i = 0; i < 1e7; i += 1) n += i % 7; n";
    home.almoner(&["eval", long, "--name", "long", "--detach"]).expect(0);
    std::thread::sleep(Duration::from_millis(300));
    let daemon = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    kill(daemon.try_into().unwrap());
    assert_eq!(home.almoner(&["show", "long", "--wait"]).expect(0).out.trim(), "29999994");
    assert_eq!(home.almoner(&["show", "first", "--wait"]).expect(0).out.trim(), "1");
    // The processes are killed, also those that wait for work: the code gets others.
    home.almoner(&["eval", long, "--name", "cut", "--detach"]).expect(0);
    let begun = Instant::now();
    while vat_hosts(&home).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no process for guest code");
        std::thread::sleep(Duration::from_millis(5));
    }
    vat_hosts(&home).into_iter().for_each(kill);
    assert_eq!(home.almoner(&["show", "cut", "--wait"]).expect(0).out.trim(), "29999994");
    vat_hosts(&home).into_iter().for_each(kill);
    assert_eq!(home.almoner(&["eval", "6 * 7"]).expect(0).out.trim(), "42");
    assert_eq!(home.almoner(&["show", "first"]).expect(0).out.trim(), "1");
    assert_eq!(home.read("out/log"), "line\n", "a recorded result was computed again");
}

#[test]
fn vat_process_is_sandboxed_and_ends_with_the_daemon() {
    let home = TestHome::new();
    home.almoner(&["eval", "1"]).expect(0);
    let all = vat_hosts(&home);
    assert!(!all.is_empty());
    let begun = Instant::now();
    for pid in &all {
        // One that has just been started shuts itself in before it reads anything.
        loop {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            if ["NoNewPrivs:\t1", "Seccomp:\t2"].iter().all(|expected| status.contains(expected)) {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "it is not shut in:\n{status}");
            std::thread::sleep(Duration::from_millis(5));
        }
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert_eq!(environment, b"", "an empty environment");
    }
    home.almoner(&["stop"]).expect(0);
    let begun = Instant::now();
    while all.iter().any(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("vat-host"))
    }) {
        assert!(begun.elapsed() < Duration::from_secs(30), "it outlives the daemon");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn stuck_vat_process_ends_with_a_killed_daemon() {
    let home = TestHome::new();
    let stuck = "Array.prototype.reverse.call({ length: 2 ** 53 - 1 })";
    home.almoner(&["eval", stuck, "--detach"]).expect(0);
    let begun = Instant::now();
    let is_busy = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('R'))
    };
    while !vat_hosts(&home).iter().any(is_busy) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not at work");
        std::thread::sleep(Duration::from_millis(5));
    }
    let all = vat_hosts(&home);
    let daemon = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    kill(daemon.try_into().unwrap());
    let begun = Instant::now();
    while all.iter().any(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("vat-host"))
    }) {
        assert!(begun.elapsed() < Duration::from_secs(4), "it goes on without its daemon");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn daemon_stops_at_once_despite_queued_code() {
    let home = TestHome::new();
    let long = "let n = 0; for (let i = 0; i < 1e6; i += 1) n += i % 7; n";
    for at in 0..30 {
        home.almoner(&["eval", long, "--name", &format!("n{at}"), "--detach"]).expect(0);
    }
    home.almoner(&["stop"]).expect(0);
    // The remaining code runs when the daemon is there again.
    assert_eq!(home.almoner(&["show", "n29", "--wait"]).expect(0).out.trim(), "2999997");
}
