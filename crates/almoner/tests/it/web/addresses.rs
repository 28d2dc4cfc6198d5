//! Tests of addresses: those that `almoner open` opens, those of missing objects, and those that are no page.

use std::collections::BTreeSet;

use super::visitor::{Visitor, between};
use super::{Door, let_in};
use crate::test_home::TestHome;

#[test]
fn open_refuses_an_unknown_target_before_the_browser() {
    let home = TestHome::new();
    for (what, code, says) in [
        ("99999", 4, "99999"),
        ("r77", 4, "r77"),
        ("//elsewhere.example/", 2, "no message, run or path"),
        ("/\\elsewhere.example/", 2, "no message, run or path"),
        ("elsewhere.example", 2, "no message, run or path"),
    ] {
        let said = home.almoner(&["open", what, "--print"]).expect(code);
        assert!(said.err.contains(says) && said.out.is_empty(), "{what}: {said:?}");
    }
}

/// Checks that every page for a missing object says so.
#[test]
fn unknown_page_says_not_found() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    let unknown = format!("/thing?id={}", "0".repeat(64));
    for path in
        ["/m/9", "/r/r9", "/r/r9/diff", "/r/r9/undo", "/r/r9/step/1", "/chat/r9", "/grants/g9", "/names/none"]
            .into_iter()
            .chain(["/nowhere", "/names/%ff", "/m/1/no/such/part"])
            .chain([unknown.as_str(), "/m/x", "/r/x", "/grants/x", "/why?thing=r9", "/graph?focus=none"])
    {
        let answer = visitor.get(path, &[]);
        assert!([404, 422].contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
        assert!(answer.body.contains("role=\"alert\""), "{path}: {}", answer.body);
    }
}

/// Checks that the title of each page tells its tab from many others.
#[test]
fn every_page_has_its_own_title() {
    let home = TestHome::new();
    home.write("greeter.worker", "---\nslots: { place: dir }\n---\nGreet.\n");
    home.write("done.json", r#"[{"turns": [{"text": "done"}]}]"#);
    home.write("in/a.md", "a");
    home.almoner(&["run", "greeter.worker", "-e", "place=in", "-m", "scripted:done.json"]).expect(0);
    home.piped(&["chat", "-m", "scripted:done.json"], b"hello\n").expect(0);
    let visitor = Visitor::new(&home);
    let mut all = BTreeSet::new();
    for (path, title) in [
        ("/", "Inbox"),
        ("/m/0.1", "You typed “almoner chat -m scripted:done.json”"),
        ("/runs", "Runs"),
        ("/runs?state=stalled", "Runs: stalled"),
        ("/r/r1", "r1 greeter"),
        ("/r/r1?view=timeline", "r1 greeter: timeline"),
        ("/r/r1/step/1", "r1#1 prompted"),
        ("/grants", "Grants"),
        ("/grants/g1", "Grant g1: place"),
        ("/names", "Names"),
        ("/names/@mail", "Names: @mail"),
        ("/graph", "What leads to what"),
        ("/graph?focus=@mail", "What @mail leads to"),
        ("/why", "Why"),
        ("/why?thing=r1", "Why r1"),
        ("/workers", "Workers"),
        ("/models", "Models"),
        ("/policy", "Policy"),
        ("/audit", "Audit"),
        ("/doctor", "Doctor"),
        ("/settings", "Settings"),
        ("/runs/new", "Run a worker"),
        ("/sessions", "Sessions"),
        ("/chat", "Chat"),
        ("/chat/r2", "Chat r2 chat"),
        ("/nowhere", "There is no such page"),
        ("/r/r99", "There is no such page"),
    ] {
        let page = visitor.get(path, &[]).body;
        assert_eq!(between(&page, "<title>", " · Almoner</title>"), title, "{path}");
        assert!(all.insert(title) || path == "/r/r99", "{path}");
    }
}

/// Checks that a reload of a form's address leads to the form's page and does nothing.
#[test]
fn form_address_redirects_to_its_page() {
    let home = TestHome::with_inbox();
    home.almoner(&crate::test_home::TRIAGE).expect(7);
    let visitor = Visitor::new(&home);
    for (path, to) in [
        ("/m/1/answer", "/m/1"),
        ("/m/1/dismiss", "/m/1"),
        ("/r/r1/cancel", "/r/r1"),
        ("/r/r1/resume", "/r/r1"),
        ("/chat/r1/end", "/chat/r1"),
        ("/logout", "/"),
    ] {
        let answer = visitor.get(path, &[]);
        assert_eq!((answer.status, answer.header("location")), (303, Some(to)), "{path}");
    }
    assert!(visitor.get("/", &[]).body.contains("Needs you <span class=\"count\">1<"));
    let (browser, door) = let_in(&home, true, "/m/1");
    browser.write("textbox", "Reason for denying", "no");
    home.almoner(&["approve", "1"]).expect(0);
    browser.says("This has changed while you were here");
    browser.press("button", "Deny");
    browser.says("Nothing was answered");
    assert_eq!(browser.at(), door.page("/m/1/answer"));
    // As somebody who writes the address again.
    browser.go(&door.page("/m/1/answer"));
    browser.says("✓ approved");
    assert_eq!(browser.at(), door.page("/m/1"));
    browser.clean(&["409"]);
}

#[test]
fn web_settings_take_effect_at_the_next_open() {
    let home = TestHome::new();
    let before = Door::of(&home, "/");
    let free = crate::ports::free_port();
    let config = home.root().join("config/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, format!("[web]\nport = {free}\n")).unwrap();
    let after = Door::of(&home, "/");
    assert_eq!((after.port, after.port == before.port), (free, false));
    assert!(std::net::TcpStream::connect(("127.0.0.1", before.port)).is_err(), "the old port is closed");
    std::fs::write(&config, "[web]\nbind = \"0.0.0.0:80\"\n").unwrap();
    let refused = home.almoner(&["open", "--print"]);
    assert!(refused.code != 0 && refused.err.contains("tls_terminated_by_proxy"), "{refused:?}");
    std::fs::remove_file(&config).unwrap();
    Door::of(&home, "/");
}
