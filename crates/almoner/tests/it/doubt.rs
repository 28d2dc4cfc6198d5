//! Calls that a crash cut off and whose outcome cannot be looked up. A person says whether they happened, and only
//! that person's word repeats them.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::test_home::TestHome;

/// Writes a line, and then takes its time, but only the first time.
const SLOW: &str = "echo line >> log; [ $(wc -l < log) -gt 1 ] || sleep 120";

/// Of several models each request and each reply is recorded by itself, as with any that is paid for.
const TWO: &str = "scripted:calls.json,scripted:calls.json";

/// Returns a home in which the daemon was killed while a program that somebody had approved was at work.
pub(crate) fn cut_off() -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots:\n  tools: program\n---\nUse the tools.\n");
    let call = json!({ "name": "tools_run", "arguments": { "argv": ["sh", "-c", SLOW] } });
    home.write("calls.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    std::fs::create_dir_all(home.path("in")).unwrap();
    let endow = "tools=program:sh?dir=in:rw&exec=yes";
    home.almoner(&["run", "w.worker", "-e", endow, "-m", TWO]).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    let begun = Instant::now();
    while !home.path("in/log").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the program never began: {}", home.trace("r1"));
        std::thread::sleep(Duration::from_millis(10));
    }
    let daemon = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(daemon.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    home
}

fn lines(home: &TestHome) -> usize {
    home.read("in/log").lines().count()
}

#[test]
fn first_inbox_after_a_crash_has_the_doubtful_call() {
    let home = cut_off();
    let letters = home.almoner(&["inbox", "--json"]).expect(0).json();
    let numbers: Vec<&serde_json::Value> =
        letters.as_array().unwrap().iter().map(|letter| &letter["number"]).collect();
    assert_eq!(numbers, [2], "{letters}");
}

#[test]
fn interrupted_call_is_repeated_only_on_the_users_word() {
    let home = cut_off();
    let said = home.almoner(&["resume"]).expect(7);
    assert!(
        said.err.contains("message 2")
            && said.err.contains("`almoner outcome 2 yes` or `almoner outcome 2 no` says"),
        "{said:?}"
    );
    let card = home.almoner(&["inbox", "2"]).expect(0);
    assert!(card.out.contains("Did this happen?") && card.out.contains("sleep 120"), "{card:?}");
    let entry = &home.almoner(&["inbox", "2", "--json"]).expect(0).json()["entries"][0];
    let steps = home.trace("r1")["steps"].clone();
    let at = |kind: &str| {
        let mut all = steps.as_array().unwrap().iter().filter(|step| step["entry"]["entry"] == kind);
        all.next().unwrap_or_else(|| panic!("no {kind} in {steps}"))["at_ms"].clone()
    };
    let cut_off = serde_json::json!({ "began_ms": at("effect_started"), "found_ms": at("outcome_unknown") });
    assert_eq!(entry["cut_off"], cut_off, "{entry}");
    let whole = card.out.replace("\n    ", " ");
    assert!(whole.contains("It began ") && whole.contains("and was cut off after that"), "{card:?}");
    assert_eq!(lines(&home), 1);
    // Neither a yes, a no nor another crash is an answer to that.
    for wrong in [&["approve", "2"][..], &["deny", "2", "-r", "no"], &["dismiss", "2"]] {
        let said = home.almoner(wrong);
        assert!(said.code != 0, "{wrong:?}: {said:?}");
    }
    let refused = home.almoner(&["approve", "2"]).err;
    assert!(refused.contains("it is a question whether something happened"), "{refused}");
    assert!(refused.contains("almoner outcome 2 yes"), "{refused}");
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["resume", "--on-ask", "deny"]).expect(7);
    assert_eq!(lines(&home), 1);
    home.almoner(&["outcome", "2", "no"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(lines(&home), 2, "once more, and no oftener");
    let again = home.almoner(&["outcome", "2", "no"]).expect(0).out;
    assert!(again.contains("was answered with `no`") && again.contains("nothing changed"), "{again}");
    home.almoner(&["outcome", "2", "yes"]).expect(8);
    assert_eq!(lines(&home), 2);
}

#[test]
fn confirmed_call_is_not_repeated() {
    let home = cut_off();
    home.almoner(&["resume"]).expect(7);
    home.almoner(&["outcome", "1", "yes"]).expect(8);
    home.almoner(&["outcome", "2", "yes"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(lines(&home), 1);
    home.almoner(&["audit", "verify"]).expect(0);
}
