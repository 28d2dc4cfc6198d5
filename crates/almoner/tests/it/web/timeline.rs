//! Tests of a run's timeline: the time of its steps, as bars.

use std::time::Duration;

use super::visitor::{Visitor, between};
use crate::test_home::{TRIAGE, TestHome};

#[test]
fn timeline_counts_an_open_wait_once_and_draws_each_item() {
    let home = TestHome::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    home.later(Duration::from_secs(9 * 60));
    // One card asks about six calls of the batch.
    let page = Visitor::new(&home).get("/r/r1?view=timeline", &[]).body;
    let waited = between(&page, "waiting for you <strong>", "<");
    assert_eq!(waited, "9 min", "{page}");
    let journal = between(&page, "<section id=\"view\"", "</section>");
    for run in 2..=11 {
        assert!(journal.contains(&format!("href=\"/r/r{run}/step/")), "r{run}: {journal}");
    }
    // Each row names the user, the slot, the verdict with its rule, the dependencies, and the cost.
    let tree = Visitor::new(&home).get("/r/r1", &[]).body;
    for page in [&page, &tree] {
        let rows = page.matches("for you, through <bdi dir=\"ltr\">out</bdi>: <a href").count();
        assert!(rows >= 6, "{rows}: {page}");
        for says in [
            "depends on ",
            "the gates ask: <a href=\"/m/1\"",
            "effects/modify",
            " tokens in, ",
            "grant <a href=\"/grants/g",
        ] {
            assert!(page.contains(says), "{says}: {page}");
        }
    }
    // The terminal says the same.
    let shown = home.almoner(&["trace", "r1", "--timeline"]).expect(0).out;
    let waited = between(&shown, "waiting for you ", " s (drawn short)").parse::<f64>().unwrap();
    assert!((539.0..700.0).contains(&waited), "{shown}");
    // An answered question waits no longer.
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    home.later(Duration::from_secs(60 * 60));
    let page = Visitor::new(&home).get("/r/r1?view=timeline", &[]).body;
    assert_eq!(between(&page, "waiting for you <strong>", "<"), "9 min", "{page}");
}
