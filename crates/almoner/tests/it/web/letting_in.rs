//! How browsers are let in: the key that lies in a tab, a second tab, a second code, and the bare address.

use std::net::TcpListener;

use serde_json::json;

use super::browser::Browser;
use super::http::ask;
use super::visitor::{Visitor, between};
use super::{Door, enter, let_in};
use crate::test_home::TestHome;

const KEYLESS: &str = "This tab may read and change nothing";

/// Sends a request of a guest, which then waits.
fn asked(home: &TestHome) {
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to eat"]);
}

/// Returns the names of the entries in a storage of this tab.
fn kept(browser: &Browser, of: &str) -> String {
    let names = browser.run(&format!("return Object.keys({of}).sort().map(k => k.split(' ')[0]).join(' ')"));
    names.as_str().unwrap_or("").to_owned()
}

#[test]
fn session_key_stays_in_tabs_and_is_shared_between_them() {
    let home = TestHome::new();
    asked(&home);
    let (browser, door) = let_in(&home, true, "/");
    assert_eq!(kept(&browser, "localStorage"), "");
    assert_eq!(kept(&browser, "sessionStorage"), "key");
    let first = browser.new_tab();
    // The link of a notification leads to the page.
    browser.go(&door.page("/login#/m/1"));
    browser.says("something to eat");
    let has = browser.wait(|| (kept(&browser, "sessionStorage") == "key").then_some(()));
    assert!(has.is_some());
    browser.write("textbox", "Reason", "no food here");
    browser.press("button", "Refuse");
    browser.says("no food here");
    // Without a tab that has the key, the pages can be read, and no typed text is lost.
    asked_again(&home);
    browser.tab(&first);
    browser.close_tab();
    browser.tab(&browser.tabs()[0]);
    browser.run("sessionStorage.clear(); return true;");
    browser.go(&door.page("/m/2"));
    browser.says("something to drink");
    browser.says(KEYLESS);
    browser.write("textbox", "Reason", "no drinks either");
    browser.press("button", "Refuse");
    browser.says(KEYLESS);
    assert_eq!(browser.value(&browser.find("textbox", "Reason")), "no drinks either");
    // A request without the key is refused.
    let token = browser.run("return document.body.dataset.token");
    let cookie =
        browser.cookies().into_iter().find(|(name, _)| name == "__Host-almoner").expect("a cookie").1;
    let origin = door.page("");
    let cookie = format!("__Host-almoner={cookie}");
    let headers = [("Host", door.host.as_str()), ("Origin", &origin), ("Cookie", &cookie)];
    let body = format!("_token={}&do=refuse&reason=x", token.as_str().unwrap());
    assert_eq!(ask(door.port, "POST", "/m/2", &headers, &body).status, 403);
    // Another code gives this tab a key, and the typed text is still there.
    enter(&browser, &home, true, "/m/2");
    browser.press("button", "Refuse");
    browser.says("✗ refused");
    browser.clean(&[]);
}

fn asked_again(home: &TestHome) {
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to drink"]);
}

#[test]
fn second_login_keeps_one_session_and_other_tabs_work() {
    let home = TestHome::new();
    asked(&home);
    let (browser, _) = let_in(&home, true, "/m/1");
    browser.write("textbox", "Reason", "half a word");
    let first = browser.new_tab();
    enter(&browser, &home, true, "/");
    let listed = home.almoner(&["sessions", "--json"]).expect(0).json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    browser.tab(&first);
    let token = || {
        browser.run("return Object.keys(sessionStorage).includes('key ' + document.body.dataset.token) && Object.keys(sessionStorage).filter(k => k.startsWith('key')).length")
    };
    assert!(browser.wait(|| (token() == json!(2)).then_some(())).is_some(), "{}", token());
    browser.press("button", "Refuse");
    browser.says("half a word");
    browser.says("✗ refused");
    // A wrong code takes no key away.
    browser.go(&format!(
        "{}/login#{}/",
        browser.run("return location.origin").as_str().unwrap(),
        "0".repeat(64)
    ));
    browser.says("This code lets nobody in");
    assert_eq!(browser.all("heading", "Log in to Almoner").len(), 1);
    let field = browser.find("textbox", "Code");
    assert_eq!(browser.attribute(&field, "aria-invalid").as_deref(), Some("true"));
    assert!(browser.focused().starts_with("Code"), "{}", browser.focused());
    browser.axe("a wrong code");
    browser.go(&format!("{}/", browser.run("return location.origin").as_str().unwrap()));
    browser.says("Inbox");
    assert_eq!(token(), json!(2));
    // A user who ended the session, or was not let in, enters the next address in the same tab.
    browser.press("button", "End this session");
    browser.says("Log in to Almoner");
    for to in ["/", "/runs"] {
        let door = Door::of(&home, to);
        browser.go(&door.url.replace(&door.code, &"0".repeat(64)));
        browser.says("This code lets nobody in");
        browser.go(&door.url);
        let arrived = browser.wait(|| (browser.at() == door.page(to)).then_some(()));
        assert!(arrived.is_some(), "at {}: {}", browser.at(), browser.text());
        browser.press("button", "End this session");
        browser.says("Log in to Almoner");
    }
    browser.clean(&["401"]);
}

#[test]
fn scripted_request_needs_the_token_header() {
    let home = TestHome::new();
    asked(&home);
    let visitor = Visitor::new(&home);
    let origin = visitor.door.page("");
    let own = [("Host", visitor.door.host.as_str()), ("Origin", origin.as_str())];
    let script = [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Site", "same-origin")];
    let body = format!("_token={}", visitor.token);
    // A signed request passes, and its answer says that this message is no form.
    for (more, status) in
        [(vec![], 403), (vec![("X-Almoner", "0")], 403), (vec![("X-Almoner", visitor.token.as_str())], 409)]
    {
        let headers = [&own[..], &script, &more].concat();
        assert_eq!(visitor.post("/m/1/check", &headers, &body).status, status, "{more:?}");
    }
}

#[test]
fn loopback_address_needs_its_own_login_and_doctor_warns() {
    let home = TestHome::new();
    asked(&home);
    assert!(home.almoner(&["doctor", "web"]).expect(0).out.contains("never opened"));
    let visitor = Visitor::new(&home);
    let host = format!("127.0.0.1:{}", visitor.door.port);
    let there =
        |cookie: &str| ask(visitor.door.port, "GET", "/", &[("Host", &host), ("Cookie", cookie)], "").status;
    assert_eq!(there(&visitor.cookie), 421);
    assert!(home.almoner(&["doctor", "web"]).expect(0).out.contains("a name of their own"));
    let said = home.almoner(&["open", "/m/1", "--print", "--loopback"]).expect(0);
    assert!(said.err.contains("another port"), "{}", said.err);
    let url = said.out.trim().to_owned();
    assert!(url.starts_with(&format!("http://{host}/login#")), "{url}");
    // The cookie of one address is invalid at the other, and a code of one opens no session at the other.
    assert_eq!(there(&visitor.cookie), 401);
    let code = between(&url, "#", "/");
    assert_eq!(super::visitor::log_in(&visitor.door, code).status, 401);
    let own = format!("http://{host}");
    let knock =
        |body: &str| ask(visitor.door.port, "POST", "/login", &[("Host", &host), ("Origin", &own)], body);
    let without = knock(&format!("code={code}"));
    assert_eq!((without.status, without.body.contains("need JavaScript")), (401, true));
    let browser = Browser::new(true);
    browser.go(&url);
    browser.says("something to eat");
    assert!(browser.at().starts_with(&own));
    browser.write("textbox", "Reason", "no food here");
    browser.press("button", "Refuse");
    browser.says("no food here");
    browser.go(&format!("{own}/sessions"));
    browser.says("under the bare address");
    let warned = home.almoner(&["doctor", "web"]).expect(1).out;
    assert!(warned.contains("another port") && warned.contains("--revoke 2"), "{warned}");
    assert!(home.almoner(&["sessions"]).expect(0).out.contains("under the bare address"));
    home.almoner(&["sessions", "--revoke", "2"]).expect(0);
    home.almoner(&["doctor", "web"]).expect(0);
    // Only an unused code keeps the bare address open, for its minute.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["sessions"]).expect(0);
    assert_eq!(visitor.get("/", &[]).status, 200);
    assert_eq!(there(""), 421);
}

#[test]
fn pages_claim_their_port_on_both_loopback_addresses() {
    let home = TestHome::new();
    let door = Door::of(&home, "/");
    if TcpListener::bind("[::1]:0").is_err() {
        // A machine without the newer protocol has no other address.
        return;
    }
    assert!(TcpListener::bind(format!("[::1]:{}", door.port)).is_err());
    // If another process took the port while no daemon ran, the pages go to another port.
    home.almoner(&["stop"]).expect(0);
    let taken = TcpListener::bind(format!("[::1]:{}", door.port)).unwrap();
    let other = Door::of(&home, "/");
    assert_ne!(other.port, door.port);
    // The daemon does not share a port of the settings either: it serves the pages at both addresses or not at all.
    for port in [format!("port = {}", door.port), format!("bind = \"127.0.0.1:{}\"", door.port)] {
        home.write_config(&format!("[web]\n{port}\n"));
        let refused = home.almoner(&["open", "--print"]).expect(1);
        assert!(
            refused.err.contains(&format!("[::1]:{}", door.port)) && refused.out.is_empty(),
            "{refused:?}"
        );
    }
    drop(taken);
    assert_eq!(Door::of(&home, "/").port, door.port);
    assert!(TcpListener::bind(format!("[::1]:{}", door.port)).is_err());
}
