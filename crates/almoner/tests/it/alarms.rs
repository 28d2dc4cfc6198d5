//! Runs that wait for a time.

use serde_json::{Value as Json, json};

use crate::kill_sweep::goes_on;
use crate::test_home::TestHome;

/// Returns a home with a worker that waits so long.
fn home(how_long: &str) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { clock: timer }\n---\nWait.\n");
    let call = json!({ "name": "clock_wait", "arguments": { "how_long": how_long } });
    home.write("script.json", json!([{ "turns": [{ "calls": [call] }, { "text": "woken" }] }]).to_string());
    home
}

const RUN: [&str; 3] = ["run", "w.worker", "-mscripted:script.json"];

fn steps(home: &TestHome) -> Vec<Json> {
    home.trace("r1")["steps"].as_array().unwrap().clone()
}

/// Returns when a step of this kind was recorded.
fn at(steps: &[Json], entry: &str) -> i64 {
    steps.iter().find(|step| step["entry"]["entry"] == entry).unwrap()["at_ms"].as_i64().unwrap()
}

#[test]
fn sleeping_run_holds_no_thread_and_wakes_on_time() {
    let home = home("2s");
    let run = home.almoner(&[&RUN[..], &["--detach"]].concat()).expect(0);
    assert_eq!(run.out, "r1\n");
    while !home.almoner(&["runs"]).expect(0).out.contains("waits until") {
        assert!(!home.almoner(&["runs"]).expect(0).out.contains("done"), "it did not wait");
    }
    assert!(home.almoner(&["status", "--json"]).expect(0).json()["at_work"].as_array().unwrap().is_empty());
    // A daemon that comes up later wakes it as well.
    home.almoner(&["stop"]).expect(0);
    assert_eq!(goes_on(&home, "r1").expect(0).out, "woken\n");
    let steps = steps(&home);
    let slept = steps.iter().find(|step| step["entry"]["entry"] == "slept").unwrap();
    let until = slept["entry"]["until_ms"].as_i64().unwrap();
    assert!(until >= at(&steps, "effect_started") + 2000 && at(&steps, "completed") >= until, "{steps:?}");
}

#[test]
fn invalid_wait_is_refused_and_cancelled_run_stays_asleep() {
    for wrong in ["soon", "-1s", "900d", ""] {
        let home = home(wrong);
        home.almoner(&RUN).expect(0);
        assert!(home.trace("r1").to_string().contains("no time that can be waited"), "{wrong}");
    }
    let home = home("1h");
    home.almoner(&[&RUN[..], &["--detach"]].concat()).expect(0);
    while !home.almoner(&["runs"]).expect(0).out.contains("waits until") {}
    home.almoner(&["cancel", "r1"]).expect(0);
    assert!(home.almoner(&["runs"]).expect(0).out.contains("cancelled"));
}
