//! `almoner status` counts code, both running and asleep.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::sends::wait_for_mail;
use crate::test_home::TestHome;

/// How long anything may take before the test gives up.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until the counts are these.
#[track_caller]
fn counts(home: &TestHome, expected: &Json) {
    let begun = Instant::now();
    loop {
        let code = home.almoner(&["status", "--json"]).expect(0).json()["code"].take();
        if code == *expected {
            return;
        }
        assert!(begun.elapsed() < TIMEOUT, "{code}, and not {expected}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn status_counts_running_and_sleeping_code() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["store", "answer:=1"]).expect(0);
    let none = json!({ "running": 0, "asleep": 0, "waiting": 0 });
    counts(&home, &none);
    assert!(!home.almoner(&["status"]).expect(0).out.contains("code "));
    // It waits for a person, and soon holds no memory.
    home.almoner(&["eval", "E(me).request('@host', 'go on')", "me=agent-fae", "--name", "a", "--detach"])
        .expect(0);
    let number = wait_for_mail(&home, "request").to_string();
    counts(&home, &json!({ "running": 0, "asleep": 1, "waiting": 0 }));
    // It is at work, as far as anybody knows.
    home.almoner(&["--as", "agent-fae", "eval", "for (let i = 0; i < 3e9; i += 1); 1", "--detach"]).expect(0);
    counts(&home, &json!({ "running": 1, "asleep": 1, "waiting": 0 }));
    let said = home.almoner(&["status"]).expect(0).out;
    assert!(said.contains("1 running, 1 asleep, 0 not begun"), "{said}");
    home.almoner(&["resolve", &number, "answer"]).expect(0);
    assert_eq!(home.almoner(&["show", "a", "--wait"]).expect(0).out.trim(), "1");
    counts(&home, &none);
}
