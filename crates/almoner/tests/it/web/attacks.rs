//! Tests of the limits for other pages, other programs and other people's texts in their use of the pages.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::http::{Answer, ask};
use super::visitor::{Visitor, between, log_in};
use super::writes;
use crate::test_home::TestHome;

/// The headers of every answer, regardless of the client and the address.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types almoner",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
];

#[track_caller]
fn has_its_headers(what: &str, answer: &Answer) {
    for (name, value) in HEADERS {
        assert_eq!(answer.header(name), Some(*value), "{what}");
    }
    assert!(
        !answer.headers.iter().any(|(name, _)| name.starts_with("access-control-")),
        "{what}: {answer:?}"
    );
}

#[test]
fn request_from_outside_our_pages_is_refused() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    let door = &visitor.door;
    let (own, origin) = (door.host.as_str(), door.page(""));
    let token = format!("_token={}", visitor.token);
    let get = |path: &str, headers: &[(&str, &str)]| ask(door.port, "GET", path, headers, "");
    let cases: &[(&str, Answer, u16)] = &[
        ("nobody", get("/", &[("Host", own)]), 401),
        ("nobody at the events", get("/events", &[("Host", own)]), 401),
        ("another cookie", get("/", &[("Host", own), ("Cookie", "__Host-almoner=00")]), 401),
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
            "what says twice where it comes from",
            visitor.get("/", &[("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")]),
            403,
        ),
        // All of these have our token: it is the origin that is missing.
        (
            "a form elsewhere",
            visitor.post("/logout", &[("Host", own), ("Origin", "http://evil.example")], &token),
            403,
        ),
        (
            "a form with a hidden origin",
            visitor.post("/logout", &[("Host", own), ("Origin", "null")], &token),
            403,
        ),
        ("a form without an origin", visitor.post("/logout", &[("Host", own)], &token), 403),
        (
            "a form with two origins",
            visitor.post(
                "/logout",
                &[("Host", own), ("Origin", &origin), ("Origin", "http://evil.example")],
                &token,
            ),
            403,
        ),
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
        (
            "their question beforehand",
            ask(door.port, "OPTIONS", "/logout", &[("Host", own), ("Origin", "http://evil.example")], ""),
            405,
        ),
        ("what is only read", visitor.send("/runs", ""), 405),
        ("a used code", log_in(door, &door.code), 401),
        ("a wrong code", log_in(door, "00"), 401),
        ("an empty code", log_in(door, ""), 401),
        ("a form that is too large", visitor.send("/logout", &"x=".repeat(3 << 20)), 413),
        ("a code that is too large", log_in(door, &"0".repeat(20 << 10)), 413),
        ("what there is not", visitor.get("/nothing", &[]), 404),
    ];
    for (what, answer, status) in cases {
        assert_eq!(answer.status, *status, "{what}: {}", answer.body);
        has_its_headers(what, answer);
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
        assert_eq!(answer.header("allow").is_some(), *status == 405, "{what}");
    }
    assert_eq!(
        visitor.get("/", &[("Sec-Fetch-Site", "same-origin")]).status,
        200,
        "it was let in all the time"
    );
    assert_eq!(visitor.send("/logout", "").status, 303);
    assert_eq!(visitor.get("/", &[]).status, 401, "a session that was ended is over");
}

/// Checks that a browser shows a refusal as a page, and that a user without a session can log in there.
#[test]
fn refusal_is_shown_as_a_page_in_a_browser() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    let own = visitor.door.host.as_str();
    let origin = visitor.door.page("");
    let ours = [("Host", own), ("Origin", origin.as_str())];
    let looks =
        [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Site", "same-origin"), ("Accept", "text/html,*/*")];
    let post = |headers: &[(&str, &str)], body: &str| {
        ask(visitor.door.port, "POST", "/m/1/answer", &[headers, &looks].concat(), body)
    };
    let session = [&ours[..], &[("Cookie", visitor.cookie.as_str())]].concat();
    let cases = [
        ("no session", post(&ours, "_token=0"), 401, "session is over"),
        ("no token", post(&session, ""), 403, "belongs to another session"),
        (
            "another page",
            post(&[("Host", own), ("Origin", "http://evil.example")], ""),
            403,
            "by another page",
        ),
        ("too large", post(&session, &"x=".repeat(3 << 20)), 413, "at most 4 MiB"),
        ("another name", post(&[("Host", "evil.example")], ""), 421, "<code>almoner open</code>"),
        ("another method", ask(visitor.door.port, "PUT", "/", &[&ours[..], &looks].concat(), ""), 405, "GET"),
    ];
    for (what, answer, status, says) in cases {
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some("text/html; charset=utf-8")),
            "{what}"
        );
        for part in ["<html lang=\"en\">", "<title>", "<main id=\"main\">", "<h1>", "role=\"alert\"", says] {
            assert!(answer.body.contains(part), "{what}: {part} is not in {}", answer.body);
        }
        // Only where one logs in there is a script.
        assert_eq!(answer.body.contains("<script"), status == 401, "{what}: {}", answer.body);
        has_its_headers(what, &answer);
    }
    // Where it was sent from is where one goes on.
    let over = post(&ours, "").body;
    assert!(over.contains("name=\"to\" value=\"/m/1/answer\""), "{over}");
    // A form that ends before it should is not taken for one that is too large.
    let mut stream = TcpStream::connect(("127.0.0.1", visitor.door.port)).unwrap();
    let head = format!(
        "POST /login HTTP/1.1\r\nHost: {own}\r\nOrigin: {origin}\r\nTransfer-Encoding: chunked\r\n\r\nno chunk"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    assert!(said.starts_with("HTTP/1.1 400") && said.contains("did not come whole"), "{said}");
}

/// Checks that a rebound name of this machine reaches nothing that is served, not even an address that needs no
/// session.
#[test]
fn dns_rebinding_is_refused_on_every_path() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    let (own, port) = (visitor.door.host.clone(), visitor.door.port);
    let page = visitor.get("/", &[]).body;
    let script = between(&page, "<script defer src=\"", "\"").to_owned();
    let paths =
        ["/", "/m/1", "/events", "/login", "/names", script.as_str(), "/favicon.ico", "/logout", "/nothing"];
    let others = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        format!("{own}."),
        own.split(':').next().unwrap().to_owned(),
    ];
    let mut tried = 0;
    for path in paths {
        for method in ["GET", "POST", "HEAD", "OPTIONS"] {
            let refused = |what: &str, target: &str, headers: &[(&str, &str)]| {
                let session = [
                    ("Cookie", visitor.cookie.as_str()),
                    ("Content-Type", "application/x-www-form-urlencoded"),
                ];
                let body = format!("_token={}", visitor.token);
                let body = if method == "POST" { body.as_str() } else { "" };
                let answer = ask(port, method, target, &[headers, &session].concat(), body);
                assert_eq!(answer.status, 421, "{method} {path} {what}: {}", answer.body);
                has_its_headers(what, &answer);
                assert!(answer.header("set-cookie").is_none() && !answer.body.contains("_token"), "{what}");
            };
            // The page that has the name now is its own origin.
            for host in &others {
                let origin = format!("http://{host}");
                refused(
                    host,
                    path,
                    &[("Host", host), ("Origin", &origin), ("Sec-Fetch-Site", "same-origin")],
                );
                tried += 1;
            }
            // A request that names two hosts is for neither of them.
            refused("two", path, &[("Host", &own), ("Host", "evil.example")]);
            refused("ours twice", path, &[("Host", &own), ("Host", &own)]);
            refused("another in front", &format!("http://evil.example:{port}{path}"), &[("Host", &own)]);
        }
    }
    assert_eq!(tried, paths.len() * 4 * others.len());
    assert_eq!(visitor.get("/", &[]).status, 200, "the session is there still");
}

/// Checks that a client with many open and silent connections keeps neither the pages nor the commands from work.
#[test]
fn connection_flood_blocks_neither_pages_nor_commands() {
    let home = TestHome::new();
    let mut daemon = std::process::Command::new("sh");
    let env = home.command(&[]);
    daemon.envs(env.get_envs().filter_map(|(name, value)| Some((name, value?))));
    daemon.args(["-c", "ulimit -Sn 128; exec \"$0\" daemon --idle 120", env!("CARGO_BIN_EXE_almoner")]);
    let mut daemon =
        daemon.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !home.root().join("run/control.sock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let status = home.almoner(&["status", "--json"]).expect(0).json();
    assert_eq!(status["pid"], daemon.id());
    let visitor = Visitor::new(&home);
    let half = || {
        let mut stream = TcpStream::connect(("127.0.0.1", visitor.door.port)).unwrap();
        stream.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n", visitor.door.host).as_bytes()).unwrap();
        stream
    };
    let mut all: Vec<TcpStream> = (0..300).map(|_| half()).collect();
    home.almoner(&["status"]).expect(0);
    assert_eq!(visitor.get("/", &[]).status, 200);
    // The first of them have gone to make room, long before their time was over.
    all[0].set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    let gone = all[0].read(&mut [0; 64]);
    assert!(
        matches!(gone, Ok(0))
            || gone.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset),
        "{gone:?}"
    );
    drop(all);
    home.almoner(&["stop"]).expect(0);
    daemon.wait().unwrap();
}

#[test]
fn session_file_reveals_no_credential_and_outlives_the_daemon() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = TestHome::new();
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

/// Returns a home in which one mail waits for an answer, whose words are these.
fn asked(words: &str) -> TestHome {
    writes(&[("a@b.example", words)])
}

#[test]
fn approval_of_an_unseen_card_is_refused() {
    let home = asked("s");
    let visitor = Visitor::new(&home);
    let card = visitor.get("/m/1", &[]);
    let seen = between(&card.body, "name=\"_seen\" value=\"", "\"").to_owned();
    let sent = || std::fs::read_dir(home.path("outbox")).unwrap().count();
    for body in ["do=approve".to_owned(), "do=approve&_seen=00".to_owned()] {
        let answer = visitor.send("/m/1/answer", &body);
        assert_eq!(answer.status, 409, "{body}: {}", answer.body);
        assert!(answer.body.contains("this is not what it was when you saw it"), "{}", answer.body);
    }
    assert_eq!(visitor.send("/m/1/answer", &format!("_seen={seen}")).status, 400, "no answer is not yes");
    assert_eq!(
        visitor.send("/m/1/answer", &format!("_seen={seen}&do=look")).status,
        303,
        "Enter looks again"
    );
    assert_eq!(visitor.send("/m/1/answer", &format!("_seen={seen}&do=approve&entry=7")).status, 404);
    // A call that sends is ticked by the user alone.
    assert!(!card.body.contains(" checked"), "{}", card.body);
    assert_eq!(visitor.send("/m/1/answer", &format!("_seen={seen}&do=approve")).status, 422, "no tick");
    assert_eq!(sent(), 0);
    assert_eq!(visitor.send("/m/1/answer", &format!("_seen={seen}&do=approve&entry=0")).status, 303);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(sent(), 1);
    let again = visitor.send("/m/1/answer", &format!("_seen={seen}&do=approve&entry=0"));
    assert_eq!(again.status, 409, "what was answered is another card: {}", again.body);
    assert_eq!(sent(), 1);
}

#[test]
fn approve_button_waits_until_the_card_is_unfolded() {
    let home = asked(&"A long text, in which anything may stand. ".repeat(100));
    let (browser, _) = super::let_in(&home, true, "/m/1");
    browser.says("wants to send a mail");
    let yes = |wanted: &str| {
        let button = browser.find("button", "Approve");
        browser
            .wait(|| (browser.attribute(&button, "aria-disabled").as_deref() == Some(wanted)).then_some(()))
    };
    assert!(yes("true").is_some());
    // The button does not wait for time: the user has not read the folded part.
    browser.says("Unfold everything above first");
    assert!(!browser.text().contains("in which anything may stand"));
    browser.press("button", "argument body");
    // Nor does it work before the end of the call was in view, and the call is ticked.
    browser.run("scrollTo(0, 0)");
    browser.press("checkbox", "Send a mail");
    assert!(yes("true").is_some());
    browser.run("scrollTo(0, document.body.scrollHeight)");
    browser.press("button", "Approve");
    browser.says("✓ Approved");
    browser.clean(&[]);
}

#[test]
fn new_card_cannot_be_approved_at_once_or_by_enter() {
    let home = asked("b");
    let (browser, door) = super::let_in(&home, true, "/m/1");
    browser.says("wants to send a mail");
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
    browser.says("wants to send a mail");
    assert_eq!(std::fs::read_dir(home.path("outbox")).unwrap().count(), 0);
    let open = home.almoner(&["inbox", "--json"]).expect(0).json();
    assert_eq!(open.as_array().map(Vec::len), Some(1), "it still waits: {open}");
}

#[test]
fn stolen_cookie_alone_cannot_approve() {
    let home = asked("b");
    let (browser, door) = super::let_in(&home, true, "/m/1");
    browser.says("wants to send a mail");
    // Another program on this machine that has got hold of the cookie, and of the page with its token.
    let cookies = browser.cookies();
    let (_, handle) = cookies.iter().find(|(name, _)| name == "__Host-almoner").expect("a cookie").clone();
    let thief = Visitor { cookie: format!("__Host-almoner={handle}"), token: String::new(), door };
    let card = thief.get("/m/1", &[]).body;
    let token = between(&card, "name=\"_token\" value=\"", "\"").to_owned();
    let seen = between(&card, "name=\"_seen\" value=\"", "\"").to_owned();
    let thief = Visitor { token, ..thief };
    let answer = thief.send("/m/1/answer", &format!("_seen={seen}&do=approve&entry=0"));
    assert_eq!(answer.status, 403, "{}", answer.body);
    browser.press("checkbox", "Send a mail");
    browser.press("button", "Approve");
    browser.says("✓ Approved");
}
