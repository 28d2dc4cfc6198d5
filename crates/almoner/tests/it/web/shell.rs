//! Tests of the frame that all pages share: the count, the look, the search, the kinds of text, the notifications.

use serde_json::json;

use super::let_in;
use super::visitor::{Visitor, between};
use crate::test_home::{TRIAGE, TestHome};

/// Returns a home in which a run waits for an answer.
fn waiting() -> TestHome {
    let home = TestHome::with_inbox();
    home.almoner(&TRIAGE).expect(7);
    home
}

#[test]
fn every_page_counts_the_waiting_messages() {
    let home = waiting();
    let visitor = Visitor::new(&home);
    for path in ["/", "/runs", "/doctor", "/why", "/nowhere"] {
        let page = visitor.get(path, &[]).body;
        assert!(between(&page, "<title>", "</title>").starts_with("(1) "), "{path}: {page}");
        assert_eq!(between(&page, "<span class=\"badge\">", "</span>"), "1", "{path}");
    }
    home.almoner(&["deny", "1", "-r", "no"]).expect(0);
    let page = visitor.get("/runs", &[]).body;
    assert!(page.contains("<title>Runs") && !page.contains("class=\"badge\""), "{page}");
    assert_eq!(visitor.get("/waiting", &[]).body, "<span id=\"waiting\" data-live data-count=\"0\"></span>");
}

/// Checks that our own words never look like those of somebody else.
#[test]
fn doctor_audit_and_error_pages_have_no_foreign_type() {
    let home = waiting();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "send", "@host", "a word of theirs"]).expect(0);
    let visitor = Visitor::new(&home);
    let parts = ["place", "settings", "daemon", "disk", "model", "network", "policy", "managed", "web"];
    let mut paths: Vec<String> = parts.iter().map(|part| format!("/doctor/{part}")).collect();
    let others =
        ["/doctor", "/audit", "/audit/verified", "/nowhere", "/r/r99", "/r/x", "/m/99", "/grants/g99"];
    paths.extend(others.map(str::to_owned));
    paths.extend(["/names/nothing", "/r/r1/step/999", "/doctor/x", "/thing?id=x"].map(str::to_owned));
    for path in paths {
        let page = visitor.get(&path, &[]).body;
        assert!(!page.contains("foreign"), "{path}: {page}");
    }
    // The mark is there where somebody else speaks.
    let page = visitor.get("/?kind=package", &[]).body;
    assert!(page.contains("<bdi class=\"foreign\" dir=\"ltr\">a word of theirs"), "{page}");
}

#[test]
fn chosen_look_is_kept_by_the_browser() {
    let home = TestHome::new();
    let mut visitor = Visitor::new(&home);
    assert!(visitor.get("/runs", &[]).body.contains("<html lang=\"en\"><head>"));
    let chosen = visitor.send("/look", "look=dark&to=/runs");
    assert_eq!((chosen.status, chosen.header("location")), (303, Some("/runs")));
    let cookie = chosen.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-almoner-look=dark; Secure; HttpOnly; SameSite=Strict"), "{cookie}");
    visitor.cookie += "; __Host-almoner-look=dark";
    let page = visitor.get("/runs", &[]).body;
    for part in [
        "<html lang=\"en\" data-theme=\"dark\">",
        "name=\"color-scheme\" content=\"dark\"",
        "value=\"dark\" aria-pressed=\"true\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let elsewhere = visitor.send("/look", "look=light&to=//evil.example");
    assert_eq!(elsewhere.header("location"), Some("/"));
    assert_eq!(visitor.send("/look", "look=pink").status, 404);
}

#[test]
fn search_finds_pages_runs_names_and_messages() {
    let home = waiting();
    home.almoner(&["store", "triage-notes=1", "key=2"]).expect(0);
    let visitor = Visitor::new(&home);
    let found = |words: &str| {
        let page = visitor.get(&format!("/search?q={words}"), &[]).body;
        let results = between(&page, "<div id=\"results\">", "</main>").to_owned();
        let links = results.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        links.map(str::to_owned).collect::<Vec<_>>()
    };
    let all = found("triage");
    for link in ["/r/r1", "/names/triage-notes", "/m/1"] {
        assert!(all.iter().any(|one| one == link), "{link}: {all:?}");
    }
    assert_eq!(found("permissions"), ["/grants"]);
    assert_eq!(found("R1").first().map(String::as_str), Some("/r/r1"));
    assert!(found("zzz").is_empty());
    let parts = found("");
    assert!(
        ["/runs", "/grants", "/doctor"].iter().all(|part| parts.iter().any(|one| one == part)),
        "{parts:?}"
    );
}

/// Checks the parts of the frame that need scripts: one browser does all of it.
#[test]
fn shell_works_on_every_page_with_scripts() {
    let home = waiting();
    let (browser, door) = let_in(&home, true, "/models");
    browser.says("Models");
    let title = || browser.run("return document.title");
    assert_eq!(title(), "(1) Models · Almoner");
    // The look changes without a reload.
    browser.run("window.stays = true; return true");
    browser.press("button", "Dark");
    let dark = || {
        browser.run("return document.documentElement.dataset.theme === 'dark' && getComputedStyle(document.body).color !== 'rgb(22, 25, 29)' && window.stays === true")
    };
    assert!(browser.wait(|| (dark() == true).then_some(())).is_some());
    // A message that comes is counted, and its announcement leads to it.
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to eat"]);
    assert!(browser.wait(|| (title() == "(2) Models · Almoner").then_some(())).is_some(), "{}", title());
    browser.press("link", "You are asked for something");
    browser.says("something to eat");
    assert_eq!(browser.run("return document.documentElement.dataset.theme"), "dark");
    // The search opens over the page, and the keyboard leads to a result.
    browser.chord('\u{E009}', 'k');
    browser.keys("gran");
    browser.says("Pages");
    let is_found = || browser.run("return !!document.querySelector('#palette-found a[href=\"/grants\"]')");
    assert!(browser.wait(|| (is_found() == true).then_some(())).is_some());
    browser.axe("the search over a page");
    browser.keys("\u{E007}");
    let arrived = browser.wait(|| (browser.at() == door.page("/grants")).then_some(()));
    assert!(arrived.is_some(), "{}", browser.at());
    // On a small screen, the table of grants shows whether each is in force, and the parts open from a bar.
    browser.look(768, false);
    let seen = "const mark = document.querySelector('#list td[data-label=State]').getBoundingClientRect();
        return mark.width > 0 && mark.right <= innerWidth";
    assert_eq!(browser.run(seen), true);
    browser.press("button", "More");
    browser.press("link", "Doctor");
    browser.says("Daemon and store");
    browser.clean(&[]);
}

/// Checks that the browser is asked for notifications once, after the first answer, and that they quote nobody.
#[test]
fn notification_counts_messages_without_quotes() {
    let home = waiting();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let (browser, door) = let_in(&home, true, "/runs");
    // A notification of the system cannot be seen from here, so the page keeps what it would show.
    let watch = "window.shown = []; window.Notification = class {
        static permission = 'default';
        static async requestPermission() { return Notification.permission = 'granted'; }
        constructor(title, more) { window.shown.push(title + ': ' + more.body); window.last = this; }
        close() {} }; document.hasFocus = () => false;";
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": watch }));
    browser.go(&door.page("/m/1"));
    let offered = || browser.run("return !document.getElementById('offer').hidden");
    assert_eq!(offered(), false);
    // An answered form leads here.
    browser.go(&door.page("/runs"));
    browser.go(&door.page("/m/1#done"));
    assert!(browser.wait(|| (offered() == true).then_some(())).is_some(), "{}", browser.text());
    browser.press("button", "Show notifications");
    assert!(browser.wait(|| (offered() == false).then_some(())).is_some());
    home.almoner(&["--as", "agent-fae", "request", "@host", "some foreign words"]);
    let shown = || browser.run("return window.shown.join()");
    assert!(browser.wait(|| shown().as_str().is_some_and(|all| !all.is_empty()).then_some(())).is_some());
    let words = shown();
    assert!(
        words.as_str().unwrap().starts_with("Almoner: ") && words.as_str().unwrap().contains("need"),
        "{words}"
    );
    assert!(!words.as_str().unwrap().contains("foreign"), "{words}");
    browser.run("window.last.onclick(); return true");
    browser.says("some foreign words");
    browser.clean(&[]);
}
