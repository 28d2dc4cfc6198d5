//! Sessions of the pages, seen and ended from a terminal.

use std::net::TcpListener;

use serde_json::Value;

use super::http::ask;
use super::visitor::Visitor;
use crate::test_home::TestHome;

fn numbers(home: &TestHome) -> Vec<u64> {
    let listed = home.almoner(&["sessions", "--json"]).expect(0).json();
    let all: Vec<Value> = listed["sessions"].as_array().expect("sessions").clone();
    all.iter().map(|one| one["number"].as_u64().unwrap()).collect()
}

#[test]
fn sessions_are_listed_and_revoked_with_or_without_a_daemon() {
    let home = TestHome::new();
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

#[test]
fn used_session_gets_a_new_cookie_and_one_press_ends_all() {
    let home = TestHome::new();
    let mut visitor = Visitor::new(&home);
    home.almoner(&["stop"]).expect(0);
    let file = home.root().join("state/web.json");
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let session = &mut kept["sessions"]["open"][0];
    // The session was let in long ago, and is about to end.
    let ends = session["ends_ms"].as_i64().unwrap() - 29 * 24 * 60 * 60 * 1000;
    (session["ends_ms"], session["renewed_ms"]) = (ends.into(), 0.into());
    std::fs::write(&file, kept.to_string()).unwrap();
    home.almoner(&["status"]).expect(0);
    let answer = visitor.get("/", &[]);
    let cookie = answer.header("set-cookie").expect("a new cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("Max-Age=2592000"), "{cookie}");
    let listed = home.almoner(&["sessions", "--json"]).expect(0).json();
    let until = kernel::time::iso(ends);
    assert!(listed["sessions"][0]["ends"].as_str().unwrap() > until.as_str(), "{listed}");
    // Requests that are under way still have the earlier cookie.
    assert_eq!(visitor.get("/", &[]).status, 200);
    visitor.cookie = cookie.split(';').next().unwrap().to_owned();
    assert_eq!(visitor.get("/", &[]).status, 200);
    let other = Visitor::new(&home);
    assert!(other.get("/sessions", &[]).body.contains("End all 2 sessions"));
    assert_eq!(visitor.send("/sessions", "session=all").status, 303);
    assert_eq!([visitor.get("/", &[]).status, other.get("/", &[]).status], [401, 401]);
    assert_eq!(numbers(&home), Vec::<u64>::new());
}

/// Checks that a process that has taken the port of the pages has taken nothing else. It has received the browsers'
/// cookies and knows the pages' host name.
#[test]
fn process_on_the_old_port_gains_no_session() {
    let home = TestHome::new();
    let before = Visitor::new(&home);
    home.almoner(&["stop"]).expect(0);
    let taken = TcpListener::bind(("127.0.0.1", before.door.port)).unwrap();
    assert_eq!(numbers(&home), Vec::<u64>::new());
    let after = Visitor::new(&home);
    assert_eq!(numbers(&home), [2]);
    assert!(
        after.door.port != before.door.port
            && after.door.host.split(':').next() != before.door.host.split(':').next()
    );
    let get = |host: &str| {
        let headers = [("Host", host), ("Cookie", before.cookie.as_str())];
        ask(after.door.port, "GET", "/", &headers, "").status
    };
    let name = before.door.host.split(':').next().unwrap();
    assert_eq!([get(&format!("{name}:{}", after.door.port)), get(&after.door.host)], [421, 401]);
    // The same of a port that the settings name, also after it was given back.
    home.write_config(&format!("[web]\nport = {}\n", after.door.port));
    assert_eq!(Visitor::new(&home).door.host, after.door.host);
    home.almoner(&["stop"]).expect(0);
    drop(taken);
    let taken = TcpListener::bind(("127.0.0.1", after.door.port)).unwrap();
    home.almoner(&["open", "--print"]).expect(1);
    drop(taken);
    let last = Visitor::new(&home);
    assert_ne!(last.door.host, after.door.host);
    assert_eq!(last.door.port, after.door.port);
    assert_eq!(numbers(&home), [4]);
}
