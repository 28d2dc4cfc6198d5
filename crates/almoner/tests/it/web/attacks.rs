//! What other pages, other programs and other people's words must not be able to do with the pages.

use super::http::{Answer, ask};
use super::visitor::{Visitor, between, log_in};
use super::writes;
use crate::home::Home;

#[test]
fn only_our_own_pages_in_a_browser_that_was_let_in_reach_anything() {
    let home = Home::new();
    let visitor = Visitor::new(&home);
    let door = &visitor.door;
    let (own, origin) = (door.host.as_str(), door.page(""));
    let elsewhere = format!("127.0.0.1:{}", door.port);
    let cases: &[(&str, Answer, u16)] = &[
        (
            "a rebound name",
            ask(door.port, "GET", "/", &[("Host", "evil.example"), ("Cookie", &visitor.cookie)], ""),
            421,
        ),
        (
            "the bare address",
            ask(door.port, "GET", "/", &[("Host", &elsewhere), ("Cookie", &visitor.cookie)], ""),
            421,
        ),
        (
            "a rebound name at the events",
            ask(door.port, "GET", "/events", &[("Host", "evil.example")], ""),
            421,
        ),
        ("nobody", ask(door.port, "GET", "/", &[("Host", own)], ""), 401),
        ("nobody at the events", ask(door.port, "GET", "/events", &[("Host", own)], ""), 401),
        (
            "another cookie",
            ask(door.port, "GET", "/", &[("Host", own), ("Cookie", "__Host-almoner=00")], ""),
            401,
        ),
        (
            "another site's picture",
            visitor.get("/m/0", &[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "image")]),
            403,
        ),
        (
            "a sibling port's fetch",
            visitor.get("/", &[("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "cors")]),
            403,
        ),
        ("a sibling port's stream", visitor.get("/events", &[("Sec-Fetch-Site", "same-site")]), 403),
        (
            "a form elsewhere",
            visitor.post("/logout", &[("Host", own), ("Origin", "http://evil.example")], ""),
            403,
        ),
        (
            "a form with a hidden origin",
            visitor.post("/logout", &[("Host", own), ("Origin", "null")], ""),
            403,
        ),
        ("a form without an origin", visitor.post("/logout", &[("Host", own)], ""), 403),
        (
            "a form without our token",
            visitor.post("/logout", &[("Host", own), ("Origin", &origin)], "_token=0"),
            403,
        ),
        ("a change by reading", visitor.get("/logout", &[]), 303),
        (
            "a method of others",
            ask(door.port, "DELETE", "/", &[("Host", own), ("Cookie", &visitor.cookie)], ""),
            405,
        ),
        ("a used code", log_in(door, &door.code), 401),
        ("a wrong code", log_in(door, "00"), 401),
        ("an empty code", log_in(door, ""), 401),
        ("a form that is too large", visitor.send("/logout", &"x=".repeat(3 << 20)), 413),
        ("what there is not", visitor.get("/nothing", &[]), 404),
    ];
    for (what, answer, status) in cases {
        assert_eq!(answer.status, *status, "{what}: {}", answer.body);
        let policy = answer.header("content-security-policy").unwrap_or_else(|| panic!("{what}: no policy"));
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{what}: {policy}");
        }
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{what}");
        assert!(answer.header("access-control-allow-origin").is_none(), "{what}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
    }
    assert_eq!(
        visitor.get("/", &[("Sec-Fetch-Site", "same-origin")]).status,
        200,
        "it was let in all the time"
    );
    assert_eq!(visitor.send("/logout", "").status, 303);
    assert_eq!(visitor.get("/", &[]).status, 401, "a session that was ended is over");
}

#[test]
fn what_is_kept_of_sessions_opens_nothing_and_outlives_the_daemon() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let visitor = Visitor::new(&home);
    let file = home.root().join("state/web.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let handle = visitor.cookie.split_once('=').unwrap().1;
    assert!(!kept.contains(handle) && !kept.contains(&visitor.door.code), "{kept}");
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["status"]).expect(0);
    assert_eq!(visitor.get("/", &[]).status, 200, "the same port, the same session");
    let other = Visitor::new(&home);
    assert_eq!((other.door.port, &other.door.host), (visitor.door.port, &visitor.door.host));
    assert_eq!(other.send("/sessions", "session=1").status, 303);
    assert_eq!(visitor.get("/", &[]).status, 401, "it was revoked from elsewhere");
}

/// A home in which one mail waits for an answer, whose words are these.
fn asked(words: &str) -> Home {
    writes(&[("a@b.example", words)])
}

#[test]
fn what_was_not_seen_is_not_approved() {
    let home = asked("s");
    let visitor = Visitor::new(&home);
    let card = visitor.get("/m/1", &[]);
    let seen = between(&card.body, "name=\"_seen\" value=\"", "\"").to_owned();
    let sent = || std::fs::read_dir(home.path("outbox")).unwrap().count();
    for body in ["do=approve".to_owned(), "do=approve&_seen=00".to_owned()] {
        let answer = visitor.send("/m/1/answer", &body);
        assert_eq!(answer.status, 409, "{body}: {}", answer.body);
        assert!(answer.body.contains("has changed since you saw it"), "{}", answer.body);
    }
    assert_eq!(visitor.send("/m/1/answer", &format!("_seen={seen}")).status, 400, "no answer is not yes");
    assert_eq!(
        visitor.send("/m/1/answer", &format!("_seen={seen}&do=look")).status,
        303,
        "Enter looks again"
    );
    assert_eq!(visitor.send("/m/1/answer", &format!("_seen={seen}&do=approve&entry=7")).status, 404);
    assert_eq!(sent(), 0);
    assert_eq!(visitor.send("/m/1/answer", &format!("_seen={seen}&do=approve")).status, 303);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(sent(), 1);
    let again = visitor.send("/m/1/answer", &format!("_seen={seen}&do=approve"));
    assert_eq!(again.status, 409, "what was answered is another card: {}", again.body);
    assert_eq!(sent(), 1);
}

#[test]
fn nothing_that_a_model_writes_is_markup_or_hides() {
    let hostile =
        "</bdi><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[2K\r\u{202e}evil\u{200b}\u{e0041}";
    let home = asked(hostile);
    let visitor = Visitor::new(&home);
    for path in ["/", "/m/1"] {
        let page = visitor.get(path, &[]).body;
        for raw in ["<script>alert", "<img src=x", "\u{1b}", "\r", "\u{202e}", "\u{200b}", "\u{e0041}"] {
            assert!(!page.contains(raw), "{path}: {raw:?} in {page}");
        }
    }
    let card = visitor.get("/m/1", &[]).body;
    for shown in ["&lt;/bdi&gt;&lt;script&gt;", r"\u{1B}[2K", r"\u{202E}evil\u{200B}", r"\u{E0041}"] {
        assert!(card.contains(shown), "{shown} in {card}");
    }
}

#[test]
fn nobody_says_yes_before_he_can_have_read_it() {
    let home = asked(&"A long text, in which anything may stand. ".repeat(100));
    let (browser, _) = super::let_in(&home, true, "/m/1");
    browser.says("wants to do this");
    let yes = |wanted: &str| {
        let button = browser.find("button", "Approve");
        browser
            .wait(|| (browser.attribute(&button, "aria-disabled").as_deref() == Some(wanted)).then_some(()))
    };
    assert!(yes("true").is_some());
    // It is not the time that is missing: what is folded was not read.
    browser.says("Unfold everything above first");
    assert!(!browser.text().contains("in which anything may stand"));
    browser.press("button", "argument body");
    browser.press("button", "Approve");
    browser.says("✓ approved");
    browser.clean(&[]);
}

#[test]
fn what_has_just_come_is_not_pressed_and_enter_says_nothing() {
    let home = asked("b");
    let (browser, door) = super::let_in(&home, true, "/m/1");
    browser.says("wants to do this");
    // As fast as a script can: long before anybody has read it.
    let pressed = browser.run(
        "const yes = [...document.querySelectorAll('button.yes')][0];
         document.querySelector('form.card').dataset.seen = '';
         return [yes.getAttribute('aria-disabled'), getComputedStyle(yes).animationName];",
    );
    assert_eq!(pressed[1], "settle", "{pressed}");
    // Enter in a box that was marked, as somebody types who believes to be elsewhere.
    browser.run("document.querySelector('form.card textarea').focus()");
    browser.keys("yes\u{E007}");
    browser.run("const box = document.createElement('input'); document.querySelector('form.card').append(box); box.focus()");
    browser.keys("\u{E007}");
    browser.wait(|| (browser.at() == door.page("/m/1")).then_some(()));
    browser.says("wants to do this");
    assert_eq!(std::fs::read_dir(home.path("outbox")).unwrap().count(), 0);
    let open = home.almoner(&["inbox", "--json"]).expect(0).json();
    assert_eq!(open.as_array().map(Vec::len), Some(1), "it still waits: {open}");
}

#[test]
fn a_stolen_cookie_alone_changes_nothing() {
    let home = asked("b");
    let (browser, door) = super::let_in(&home, true, "/m/1");
    browser.says("wants to do this");
    // Another program on this machine that has got hold of the cookie, and of the page with its token.
    let cookies = browser.cookies();
    let (_, handle) = cookies.iter().find(|(name, _)| name == "__Host-almoner").expect("a cookie").clone();
    let thief = Visitor { cookie: format!("__Host-almoner={handle}"), token: String::new(), door };
    let card = thief.get("/m/1", &[]).body;
    let token = between(&card, "name=\"_token\" value=\"", "\"").to_owned();
    let seen = between(&card, "name=\"_seen\" value=\"", "\"").to_owned();
    let thief = Visitor { token, ..thief };
    let answer = thief.send("/m/1/answer", &format!("_seen={seen}&do=approve"));
    assert_eq!(answer.status, 403, "{}", answer.body);
    browser.press("button", "Approve");
    browser.says("✓ approved");
}
