//! How browsers are let in: the key that lies in a tab, a second tab, a second code, and the bare address.

use std::net::TcpListener;

use serde_json::json;

use super::browser::Browser;
use super::http::ask;
use super::visitor::{Visitor, between};
use super::{Door, enter, let_in};
use crate::home::Home;

const KEYLESS: &str = "This tab may read and change nothing";

/// A request of a guest's waits.
fn asked(home: &Home) {
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to eat"]);
}

/// The names of what this tab keeps.
fn kept(browser: &Browser, of: &str) -> String {
    let names = browser.run(&format!("return Object.keys({of}).sort().map(k => k.split(' ')[0]).join(' ')"));
    names.as_str().unwrap_or("").to_owned()
}

#[test]
fn the_key_lies_in_a_tab_and_another_tab_asks_for_it() {
    let home = Home::new();
    asked(&home);
    let (browser, door) = let_in(&home, true, "/");
    assert_eq!(kept(&browser, "localStorage"), "");
    assert_eq!(kept(&browser, "sessionStorage"), "key");
    let first = browser.new_tab();
    browser.go(&door.page("/m/1"));
    browser.says("something to eat");
    let has = browser.wait(|| (kept(&browser, "sessionStorage") == "key").then_some(()));
    assert!(has.is_some());
    browser.write("textbox", "Reason", "no food here");
    browser.press("button", "Refuse");
    browser.says("no food here");
    // Without any tab that has it, what is there can be read, and nothing that was typed is lost.
    asked_again(&home);
    browser.tab(&first);
    browser.close_tab();
    browser.tab(&browser.tabs()[0]);
    browser.run("sessionStorage.clear(); return true;");
    browser.go(&door.page("/m/3"));
    browser.says("something to drink");
    browser.says(KEYLESS);
    browser.write("textbox", "Reason", "no drinks either");
    browser.press("button", "Refuse");
    browser.says(KEYLESS);
    assert_eq!(browser.value(&browser.find("textbox", "Reason")), "no drinks either");
    // Whoever sends it all the same is refused.
    let token = browser.run("return document.body.dataset.token");
    let cookie =
        browser.cookies().into_iter().find(|(name, _)| name == "__Host-almoner").expect("a cookie").1;
    let origin = door.page("");
    let cookie = format!("__Host-almoner={cookie}");
    let headers = [("Host", door.host.as_str()), ("Origin", &origin), ("Cookie", &cookie)];
    let body = format!("_token={}&do=refuse&reason=x", token.as_str().unwrap());
    assert_eq!(ask(door.port, "POST", "/m/3", &headers, &body).status, 403);
    // Another code gives this tab a key, and what was typed is there still.
    enter(&browser, &home, true, "/m/3");
    browser.press("button", "Refuse");
    browser.says("✗ refused");
    browser.clean(&[]);
}

fn asked_again(home: &Home) {
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to drink"]);
}

#[test]
fn a_browser_that_is_let_in_again_has_one_session_and_its_other_tabs_go_on() {
    let home = Home::new();
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
    // A wrong code takes nobody's key away.
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
    // Whoever has left, or was not let in, writes the next address into the same tab.
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
fn a_script_that_sends_says_so_in_a_header() {
    let home = Home::new();
    asked(&home);
    let visitor = Visitor::new(&home);
    let origin = visitor.door.page("");
    let own = [("Host", visitor.door.host.as_str()), ("Origin", origin.as_str())];
    let script = [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Site", "same-origin")];
    let body = format!("_token={}", visitor.token);
    // What is signed is let through, and told that this message is no form.
    for (more, status) in
        [(vec![], 403), (vec![("X-Almoner", "0")], 403), (vec![("X-Almoner", visitor.token.as_str())], 409)]
    {
        let headers = [&own[..], &script, &more].concat();
        assert_eq!(visitor.post("/m/1/check", &headers, &body).status, status, "{more:?}");
    }
}

#[test]
fn under_the_bare_address_only_whoever_wants_it_is_let_in_and_doctor_warns() {
    let home = Home::new();
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
    // The cookie of one is none under the other, and a code of one lets nobody in under the other.
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
    // A code that nobody used keeps it open for its minute; nothing else does.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["sessions"]).expect(0);
    assert_eq!(visitor.get("/", &[]).status, 200);
    assert_eq!(there(""), 421);
}

#[test]
fn nobody_else_stands_at_the_port_in_the_other_address_of_this_machine() {
    let home = Home::new();
    let door = Door::of(&home, "/");
    if TcpListener::bind("[::1]:0").is_err() {
        // A machine without the newer protocol has no other address.
        return;
    }
    assert!(TcpListener::bind(format!("[::1]:{}", door.port)).is_err());
    // Whoever took it while no daemon ran is given way to: the pages go to another port.
    home.almoner(&["stop"]).expect(0);
    let taken = TcpListener::bind(format!("[::1]:{}", door.port)).unwrap();
    let other = Door::of(&home, "/");
    assert_ne!(other.port, door.port);
    // Nobody stands there beside a port of the settings either: the pages are served in both addresses or not at all.
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
