//! Sessions of the pages, seen and ended from a terminal.

use serde_json::Value;

use super::visitor::Visitor;
use crate::home::Home;

fn numbers(home: &Home) -> Vec<u64> {
    let listed = home.almoner(&["sessions", "--json"]).expect(0).json();
    let all: Vec<Value> = listed["sessions"].as_array().expect("sessions").clone();
    all.iter().map(|one| one["number"].as_u64().unwrap()).collect()
}

#[test]
fn sessions_are_listed_and_ended_from_a_terminal_with_and_without_a_daemon_that_serves_them() {
    let home = Home::new();
    assert_eq!(numbers(&home), Vec::<u64>::new());
    let (first, second, third) = (Visitor::new(&home), Visitor::new(&home), Visitor::new(&home));
    assert_eq!(numbers(&home), [3, 2, 1]);
    assert!(home.almoner(&["sessions"]).expect(0).out.starts_with("3 "));
    home.almoner(&["sessions", "--revoke", "2"]).expect(0);
    home.almoner(&["sessions", "--revoke", "2"]).expect(4);
    let open = |visitor: &Visitor| visitor.get("/", &[]).status;
    assert_eq!([open(&first), open(&second), open(&third)], [200, 401, 200]);
    // Also those that were kept while no daemon ran.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["sessions", "--revoke", "1"]).expect(0);
    assert_eq!([open(&first), open(&third)], [401, 200]);
    home.almoner(&["sessions", "--all"]).expect(0);
    assert_eq!(numbers(&home), Vec::<u64>::new());
    assert_eq!(open(&third), 401);
    // They are those of the whole store, and of its own host alone.
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "sessions"]).expect(2);
    let asked =
        serde_json::json!({ "request": "sessions", "agent": "agent-fae", "act": { "do": "revoke_all" } });
    let said = crate::wire::Control::open(&home).ask(&asked);
    assert_eq!(said["response"], "failed", "{said}");
    home.almoner(&["sessions", "--all", "--revoke", "1"]).expect(2);
}
