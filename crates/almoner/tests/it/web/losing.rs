//! Tests that an error loses no typed text and no choice, and that no name is taken away in passing.

use serde_json::json;

use super::visitor::{Visitor, between};
use super::{Door, let_in};
use crate::test_home::TestHome;

/// Returns a guest's form, and its number.
fn asked(home: &TestHome, fields: &[&str]) -> u64 {
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let form = [&["--as", "agent-fae", "form", "@host", "Say"][..], fields, &["--result", "answer"]].concat();
    home.almoner(&form).expect(0);
    crate::sends::wait_for_mail(home, "form")
}

#[test]
fn unsent_form_is_restored_after_a_failed_send() {
    let home = TestHome::new();
    let number = asked(&home, &["title:string=What it is called", "words:M.arrayOf(M.string())=Words"]);
    let (browser, door) = let_in(&home, true, &format!("/m/{number}"));
    let fill = || {
        browser.write("textbox", "What it is called", "a title");
        browser.press("button", "Add a row to Words");
        browser.write("textbox", "1", "one");
    };
    let there = |after: &str| {
        let there = browser.wait(|| {
            let title = browser.all("textbox", "What it is called").first().map(|one| browser.value(one));
            let row = browser.all("textbox", "1").first().map(|one| browser.value(one));
            (title.as_deref() == Some("a title") && row.as_deref() == Some("one")).then_some(())
        });
        assert!(there.is_some(), "after {after}: {}", browser.text());
    };
    browser.says("What it is called");
    fill();
    // The session has ended meanwhile, and the page says so. A user who sends the form all the same finds the text
    // again.
    home.almoner(&["sessions", "--all"]).expect(0);
    browser.says("your session is over");
    browser.press("button", "Send the answer");
    browser.says("This browser's session is over");
    browser.says("What you typed is kept in this tab");
    browser.axe("a session that is over");
    // It is let in there, with the address as it is printed, and is back where it was.
    browser.write("textbox", "Code", &Door::of(&home, "/").url);
    browser.press("button", "Log in");
    there("a session that had ended");
    assert_eq!(browser.at(), door.page(&format!("/m/{number}")));
    // The daemon is gone when it is sent.
    home.almoner(&["stop"]).expect(0);
    browser.says("offline: what you see may be old");
    browser.press("button", "Send the answer");
    browser.says("Nothing was sent: the daemon does not answer");
    home.almoner(&["inbox"]).expect(0);
    browser.go(&door.page(&format!("/m/{number}")));
    there("a daemon that had gone");
    browser.press("button", "Send the answer");
    browser.says("✓ answered");
    assert_eq!(browser.at(), door.page(&format!("/m/{number}?answered=yes")));
    // An accepted answer is no draft any more.
    assert_eq!(
        browser.run(
            "return Object.keys(sessionStorage).filter(k => k.includes('draft') || k.startsWith('form'))"
        ),
        json!([])
    );
    let got = home.almoner(&["--as", "agent-fae", "show", "answer", "--json"]).expect(0).json();
    assert_eq!(got["promise"]["value"], json!({ "title": "a title", "words": ["one"] }));
}

/// Checks that without scripts the browser itself keeps the typed text, and goes back to it.
#[test]
fn unsent_form_is_restored_without_scripts() {
    let home = TestHome::new();
    let number = asked(&home, &["title:string=What it is called"]);
    let (browser, _) = let_in(&home, false, &format!("/m/{number}"));
    browser.write("textbox", "What it is called", "a title");
    home.almoner(&["sessions", "--all"]).expect(0);
    browser.press("button", "Send the answer");
    browser.says("This browser's session is over");
    assert!(!browser.text().contains("is kept in this tab"), "{}", browser.text());
    browser.write("textbox", "Code", &Door::of(&home, "/").url);
    browser.press("button", "Log in");
    browser.says("What it is called");
    browser.clean(&["401"]);
}

#[test]
fn second_answer_to_a_form_is_refused_with_its_text_kept() {
    let home = TestHome::new();
    let number = asked(&home, &["title:string=What it is called", "key:secret?=A key"]);
    let visitor = Visitor::new(&home);
    let path = format!("/m/{number}");
    assert_eq!(visitor.send(&path, "f0=first&do=submit").status, 303);
    let second = visitor.send(&path, "f0=second&f1=hunter2&f1:given=yes&do=submit");
    assert_eq!((second.status, second.body.contains("answered before")), (409, true), "{}", second.body);
    // The late answer does not count, and its text is there to be copied.
    for (says, is) in [("What you had typed", true), (">second<", true), ("hunter2", false)] {
        assert_eq!(second.body.contains(says), is, "{says}: {}", second.body);
    }
    let got = home.almoner(&["--as", "agent-fae", "show", "answer", "--json"]).expect(0).json();
    assert_eq!(got["promise"]["value"]["title"], "first");
}

/// Checks that the page of a form that was answered twice shows both answers, and no secret.
#[test]
fn repeatable_form_shows_every_answer() {
    let home = TestHome::new();
    let number = asked(&home, &["often:M.nat()=How often", "key:secret?=A key", "--repeatable"]);
    let visitor = Visitor::new(&home);
    let path = format!("/m/{number}");
    let page = || visitor.get(&path, &[]).body;
    assert_eq!(visitor.send(&path, "f0=3&do=submit").status, 303);
    let one = page();
    assert!(one.contains("What you answered</h2>") && one.contains("left out"), "{one}");
    assert_eq!(visitor.send(&path, "f0=41&f1=hunter2&f1:given=yes&do=submit").status, 303);
    let both = page();
    let answered = between(&both, "What you answered, 2 times", "</section>");
    for (says, is) in [(">3<", true), ("left out", true), (">41<", true), ("sealed", true), ("qclass", false)]
    {
        assert_eq!(answered.contains(says), is, "{says}: {answered}");
    }
    assert!(!both.contains("hunter2"), "{both}");
}

/// Checks that a preview says that a secret must be typed again. A script, which keeps the secret, requests no more
/// than a field.
#[test]
fn preview_says_secrets_must_be_typed_again() {
    let home = TestHome::new();
    let number =
        asked(&home, &["words:M.arrayOf(M.string())=Words", "key:secret?=A key", "other:string=Another"]);
    let visitor = Visitor::new(&home);
    let path = format!("/m/{number}");
    for (sent, says) in [("", false), ("&f1=hunter2&f1:given=yes", true)] {
        let looked = visitor.send(&path, &format!("f2=x&do=look{sent}"));
        let (fits, again) =
            ("Everything fits. Nothing was sent yet.", "What is secret is not kept: type it again");
        assert_eq!((looked.status, looked.body.contains(fits)), (200, true), "{}", looked.body);
        assert_eq!(looked.body.contains(&format!("{fits} {again}")), says, "{}", looked.body);
        assert!(!looked.body.contains("hunter2"), "{}", looked.body);
    }
    // A refusal because of another field says so as well.
    let refused = visitor.send(&path, "f1=hunter2&f1:given=yes&do=submit");
    assert_eq!((refused.status, refused.body.contains("type it again")), (422, true), "{}", refused.body);
    assert!(!refused.body.contains("hunter2"), "{}", refused.body);
    let more = "f0/0=a&f0/0:given=yes&f2=x&_row=more f0";
    for (piece, is_page) in [("", true), ("&_piece=yes", false)] {
        let drawn = visitor.send(&path, &format!("{more}{piece}")).body;
        let has = |part: &str| drawn.contains(part);
        assert!(has("id=\"f0-0-item\"") && has("id=\"f0-1-item\""), "{drawn}");
        assert_eq!((has("<html"), has("name=\"f2\"")), (is_page, is_page), "{drawn}");
    }
}

#[test]
fn missing_required_field_is_refused() {
    let home = TestHome::new();
    let number =
        asked(&home, &["sure:M.opt(M.boolean())=Whether", "many:M.opt(M.arrayOf(M.string()))=Words"]);
    let visitor = Visitor::new(&home);
    let path = format!("/m/{number}");
    let missing = visitor.send(&path, "f0:given=yes&f1:given=no&do=submit");
    assert_eq!((missing.status, missing.body.contains("fill this in")), (422, true), "{}", missing.body);
    // A list without rows is one.
    assert_eq!(visitor.send(&path, "f0:given=no&f1:given=yes&do=submit").status, 303);
    let got = home.almoner(&["--as", "agent-fae", "show", "answer", "--json"]).expect(0).json();
    assert_eq!(got["promise"]["value"]["many"], json!([]));
}

#[test]
fn existing_name_is_not_replaced_without_confirmation() {
    let home = TestHome::new();
    home.almoner(&["store", "ledger=precious"]);
    let visitor = Visitor::new(&home);
    let kept = || home.almoner(&["show", "ledger"]).expect(0).out;
    let before = kept();
    for body in ["do=store&path=&name=ledger&value=oops&as=text", "do=mkdir&path=&name=ledger"] {
        let refused = visitor.send("/names", body);
        assert_eq!(
            (refused.status, refused.body.contains("is a name already")),
            (409, true),
            "{}",
            refused.body
        );
        assert_eq!(kept(), before);
    }
    assert_eq!(visitor.send("/names", "do=store&path=&name=other&value=x&as=text").status, 303);
    for verb in ["copy", "move"] {
        assert_eq!(visitor.send("/names", &format!("do={verb}&path=other&to=ledger")).status, 409);
        assert_eq!(kept(), before);
    }
    assert_eq!(visitor.send("/names", "do=store&path=&name=ledger&value=oops&as=text&force=yes").status, 303);
    assert_ne!(kept(), before);
}

#[test]
fn expired_name_can_be_removed() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("notes")).unwrap();
    home.almoner(&["mount", home.path("notes").to_str().unwrap(), "notes"]).expect(0);
    home.almoner(&["narrow", "notes", "brief", "--lasts", "1h"]).expect(0);
    home.later(std::time::Duration::from_secs(7200));
    let visitor = Visitor::new(&home);
    let page = visitor.get("/names/brief", &[]);
    assert_eq!((page.status, page.body.contains("can be used no more")), (200, true), "{}", page.body);
    assert_eq!(visitor.send("/names", "do=remove&path=brief").status, 303);
    assert_eq!(visitor.get("/names/brief", &[]).status, 404);
}

#[test]
fn overlong_first_message_starts_no_conversation() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    let said = "w".repeat(300_000);
    let refused = visitor.send("/chat", &format!("said={said}&model=local"));
    assert_eq!((refused.status, refused.body.contains("300000 bytes are said at once")), (422, true));
    assert!(!home.almoner(&["runs"]).expect(0).out.contains("r1"));
}
