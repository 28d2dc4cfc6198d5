//! Tests of the inbox: threads, filters, counts, and its use by the keyboard.

use serde_json::json;

use super::pages::looked_at_with;
use super::visitor::{Visitor, between};
use super::{Browser, let_in};
use crate::kill_sweep::is_full;
use crate::test_home::TestHome;
use crate::wire::Control;

/// Sends a message of a guest, in answer to `reply_to` if it is given.
#[track_caller]
fn sends(home: &TestHome, text: &str, reply_to: Option<u64>) {
    let send = json!({ "request": "act", "agent": "agent-fae", "act": { "do": "mail", "act": {
        "mail": "send", "to": ["@host"], "strings": [text], "names": [], "paths": [], "reply_to": reply_to,
    } } });
    let said = Control::open(home).ask(&send);
    assert_eq!(said["response"], "reply", "{said}");
}

/// Returns the numbers of the host's messages that say this, newest first.
fn numbered(home: &TestHome, text: &str) -> Vec<u64> {
    let letters = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let all = letters.as_array().unwrap().iter().filter(|one| one["message"].to_string().contains(text));
    let mut numbers: Vec<u64> = all.map(|one| one["number"].as_u64().unwrap()).collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers
}

/// Returns the numbers of the messages in the order of the page, and whether each is folded.
fn rows(browser: &Browser) -> serde_json::Value {
    browser.run(
        "return [...document.querySelectorAll('#rest a.row')].map(one => [Number(one.getAttribute('href').slice(3)), !!one.closest('details')])",
    )
}

/// Returns a home with a thread of three messages, an older message and one of two lines.
fn threaded() -> (TestHome, Vec<u64>) {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    sends(&home, "the first", None);
    sends(&home, "by itself", None);
    let own = home.almoner(&["--as", "agent-fae", "inbox", "--all", "--json"]).expect(0).json();
    let of = |text: &str| {
        let all = own.as_array().unwrap();
        all.iter().find(|one| one["message"].to_string().contains(text)).unwrap()["number"].as_u64().unwrap()
    };
    sends(&home, "two\nlines", Some(of("the first")));
    sends(&home, "the last", Some(of("the first")));
    let numbers = ["the first", "by itself", "two", "the last"].map(|text| numbered(&home, text)[0]);
    (home, numbers.into())
}

fn threads(scripts: bool) {
    let (home, numbers) = threaded();
    let (first, alone, two, last) = (numbers[0], numbers[1], numbers[2], numbers[3]);
    let (browser, door) = let_in(&home, scripts, "/");
    // The newest message decides the place of a thread, and the user's own commands come below.
    browser.says("2 messages below");
    let begins = |expected: serde_json::Value| {
        let (shown, expected) = (rows(&browser), expected.as_array().unwrap().clone());
        assert_eq!(shown.as_array().unwrap()[..expected.len()], expected[..], "{shown}");
    };
    // Folded messages are not even loaded before the user unfolds them.
    begins(json!([[first, false], [alone, false]]));
    browser.press("button", "2 messages below");
    if scripts {
        browser.says("the last");
        begins(json!([[first, false], [two, true], [last, true], [alone, false]]));
    } else {
        browser.press("link", "Show them");
        browser.says("the last");
        begins(json!([[first, false], [two, false], [last, false]]));
    }
    // Where a line ended stands a mark; the card shows the lines.
    browser.says("two ⏎ lines");
    looked_at_with(&browser, if scripts { "threads" } else { "threads-without-scripts" }, scripts);
    browser.go(&door.page(&format!("/m/{two}")));
    browser.says("two\nlines");
    browser.clean(&[]);
}

#[test]
fn threads_fold_under_their_first_message_with_scripts() {
    threads(true);
}

#[test]
fn threads_fold_under_their_first_message_without_scripts() {
    threads(false);
}

#[test]
fn keyboard_moves_through_threads_and_dismisses() {
    let (home, numbers) = threaded();
    let (browser, door) = let_in(&home, true, "/");
    browser.says("2 messages below");
    let on = |words: &str| {
        let there = browser.wait(|| browser.focused().contains(words).then_some(()));
        assert!(there.is_some(), "{words}: {}", browser.focused());
    };
    browser.keys("j");
    on("the first");
    browser.keys("j");
    on("2 messages below");
    // Enter unfolds. Before that, the keys pass by the folded messages.
    browser.keys("\u{E007}");
    browser.says("the last");
    browser.keys("j");
    on("two ⏎ lines");
    browser.keys("j");
    on("the last");
    browser.keys("e");
    on("by itself");
    let gone = browser.wait(|| (!browser.text().contains("the last")).then_some(()));
    assert!(gone.is_some(), "{}", browser.text());
    browser.says("1 message below");
    browser.keys("k");
    on("two ⏎ lines");
    browser.keys("?");
    browser.says("Dismiss the message of the row");
    browser.keys("\u{E00C}");
    browser.keys("\u{E007}");
    let opened = browser.wait(|| (browser.at() == door.page(&format!("/m/{}", numbers[2]))).then_some(()));
    assert!(opened.is_some(), "{}", browser.at());
    // A letter is none of a button's.
    browser.run("document.querySelector('header button').focus()");
    browser.keys("g");
    assert_eq!(browser.at(), door.page(&format!("/m/{}", numbers[2])));
    browser.run("document.activeElement.blur()");
    browser.keys("g");
    browser.says("Needs you");
    browser.clean(&[]);
}

/// Checks that new messages above the focused row leave the row in its place on the screen.
#[test]
fn new_messages_do_not_move_the_focused_row() {
    let (home, _) = threaded();
    let (browser, _) = let_in(&home, true, "/");
    browser.says("2 messages below");
    browser.keys("jj");
    let at = || {
        browser.run("const at = document.activeElement; return [at.textContent.trim(), Math.round(at.getBoundingClientRect().top)]")
    };
    let before = at();
    for (n, above) in [("a", "For information"), ("b", "Needs you")] {
        for i in 0..4 {
            let words = format!("more of {n}{i}");
            if n == "a" {
                sends(&home, &words, None);
            } else {
                home.almoner(&["--as", "agent-fae", "request", "@host", &words]);
            }
        }
        browser.says(&format!("more of {n}3"));
        browser.says(above);
        assert_eq!(at(), before, "after {n}");
    }
    // A message that goes away does not move the row either.
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let is_it = |one: &&serde_json::Value| one.to_string().contains("more of a1");
    let gone = all.as_array().unwrap().iter().find(is_it).unwrap()["number"].to_string();
    home.almoner(&["dismiss", &gone]).expect(0);
    let gone = browser.wait(|| (!browser.text().contains("more of a1")).then_some(()));
    assert!(gone.is_some(), "{}", browser.text());
    assert_eq!(at(), before, "after something went");
    browser.keys("e");
    browser.clean(&[]);
}

/// Checks that many requests of one guest do not push away the requests of others.
#[test]
fn requests_of_one_sender_fold_after_a_few() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkguest", "bob", "agent-bob"]).expect(0);
    home.almoner(&["--as", "agent-bob", "request", "@host", "the only one"]).expect(0);
    for i in 0..9 {
        home.almoner(&["--as", "agent-fae", "request", "@host", &format!("number {i} of many")]).expect(0);
    }
    home.write("code.js", "count");
    home.almoner(&["--as", "agent-bob", "define", "code.js", "--slot", "count:any"]).expect(0);
    let (browser, _) = let_in(&home, true, "/");
    browser.says("5 more of fae");
    browser.says("the only one");
    browser.says("number 8 of many");
    // Proposals are told apart by their text.
    browser.says("code over count: count");
    assert!(!browser.text().contains("number 2 of many"), "{}", browser.text());
    browser.press("button", "5 more of fae");
    browser.says("number 2 of many");
    // It stays unfolded when more comes.
    home.almoner(&["--as", "agent-fae", "request", "@host", "one more"]).expect(0);
    browser.says("one more");
    browser.says("6 more of fae");
    browser.says("number 2 of many");
    looked_at_with(&browser, "many-asks", true);
    browser.clean(&[]);
}

#[test]
fn message_awaiting_an_answer_cannot_be_dismissed_by_key() {
    let home = TestHome::with_inbox();
    home.almoner(&crate::test_home::TRIAGE).expect(7);
    let (browser, _) = let_in(&home, true, "/");
    browser.says("Needs you 1");
    browser.keys("je");
    browser.says("Only what is there to know is dismissed");
    browser.says("Needs you 1");
    browser.clean(&[]);
}

#[test]
fn answered_message_folds_under_its_command() {
    let home = TestHome::with_inbox();
    home.almoner(&crate::test_home::TRIAGE).expect(7);
    let (browser, door) = let_in(&home, true, "/");
    browser.says("Needs you 1");
    let needs = browser.run("return document.querySelectorAll('#needs a.row').length");
    assert_eq!(needs, json!(1));
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    browser.go(&door.page("/"));
    browser.says("almoner run triage.worker");
    browser.says("Needs you 0");
    // The approval, and that it was given, are folded under the command that led to it.
    browser.press("button", "2 messages below");
    let folded = || browser.run("return document.querySelector('#m-0 details #m-1 .state')?.textContent");
    assert!(browser.wait(|| (folded() == json!("approved")).then_some(())).is_some(), "{}", folded());
    browser.clean(&[]);
}

#[test]
fn inbox_filters_counts_and_pages_work_at_scale() {
    let many = if is_full() { 10_000 } else { 800 };
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    // The messages to find are older than all others.
    for wish in 0..3 {
        home.almoner(&["--as", "agent-fae", "request", "@host", &format!("wish {wish}")]);
    }
    super::fill(&home, many);
    let visitor = Visitor::new(&home);
    let links = |body: &str| -> Vec<u64> {
        body.split(" href=\"/m/").skip(1).map(|rest| between(rest, "", "\"").parse().unwrap()).collect()
    };
    let page = visitor.get("/?kind=request", &[]).body;
    assert_eq!(between(&page, "class=\"count\">", "<"), "3");
    assert_eq!(links(&page).len(), 3, "{page}");
    // Every message is on exactly one page.
    let (mut path, mut seen) = ("/?kind=package".to_owned(), Vec::new());
    loop {
        let page = visitor.get(&path, &[]).body;
        let rest = between(&page, "id=\"rest\"", "</section>").to_owned();
        let links = links(&rest);
        assert!(links.len() <= 50, "{}", links.len());
        seen.extend(links);
        let Some((_, next)) = rest.split_once("<a href=\"/?below=") else { break };
        path = format!("/?below={}", next.split('"').next().unwrap().replace("&amp;", "&"));
    }
    let once: std::collections::BTreeSet<u64> = seen.iter().copied().collect();
    assert_eq!((seen.len(), once.len()), (many, many));
    assert!(seen.windows(2).all(|two| two[0] > two[1]), "newest first");
    // None of these was answered or dismissed; to know that, not one of them is read for each page.
    home.almoner(&["reject", &links(&page)[0].to_string(), "-r", "no"]).expect(0);
    let answered = visitor.get("/?state=answered", &[]).body;
    assert_eq!(links(between(&answered, "id=\"rest\"", "</section>")), [links(&page)[0]]);
    let dismissed = visitor.get("/?state=dismissed", &[]).body;
    assert_eq!(links(between(&dismissed, "id=\"rest\"", "</section>")), [0; 0]);
}

#[test]
fn inbox_filters_by_state_and_mentions_other_waiting_messages() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    for wish in ["wish a", "wish b", "wish c"] {
        home.almoner(&["--as", "agent-fae", "request", "@host", wish]);
    }
    sends(&home, "to be dismissed", None);
    sends(&home, "to be kept", None);
    let [a, b, c, gone, kept] =
        ["wish a", "wish b", "wish c", "to be dismissed", "to be kept"].map(|text| numbered(&home, text)[0]);
    let visitor = Visitor::new(&home);
    let page = |path: &str| visitor.get(path, &[]).body;
    let lists = |body: &str, number: u64| body.contains(&format!(" href=\"/m/{number}\""));
    // A filter does not hide that other messages need the user.
    let commands = page("/?kind=command");
    assert!(!commands.contains("Nothing waits for you"), "{commands}");
    assert!(
        commands.contains("None of this kind needs you; <a href=\"/?state=open\">3 others do</a>."),
        "{commands}"
    );
    home.almoner(&["reject", &a.to_string(), "-r", "no"]).expect(0);
    home.almoner(&["dismiss", &gone.to_string()]).expect(0);
    let open = page("/?state=open");
    assert!(lists(&open, b) && lists(&open, c) && !lists(&open, a) && !lists(&open, kept), "{open}");
    assert!(open.contains(">open (2)</a>"), "{open}");
    let answered = page("/?state=answered");
    let rest = between(&answered, "id=\"rest\"", "</section>");
    assert!(lists(rest, a) && !lists(rest, b) && !lists(rest, kept), "{answered}");
    assert!(answered.contains("<a href=\"/?state=open\">Look at what needs you</a>"), "{answered}");
    let dismissed = page("/?state=dismissed");
    let rest = between(&dismissed, "id=\"rest\"", "</section>");
    assert!(lists(rest, gone) && !lists(rest, a) && !lists(rest, kept), "{dismissed}");
    assert!(!rest.contains("to be dismissed"), "only its envelope is left: {rest}");
    // Kind and state go together.
    let both = page("/?kind=request&state=dismissed");
    assert!(!lists(between(&both, "id=\"rest\"", "</section>"), gone), "{both}");
    assert!(both.contains("href=\"/?kind=package&amp;state=dismissed\""), "{both}");
    let (browser, _) = let_in(&home, true, "/?state=dismissed");
    browser.says("Dismissed");
    looked_at_with(&browser, "inbox-dismissed", true);
    browser.clean(&[]);
}

#[test]
fn long_message_is_cut_in_its_row_and_folded_on_its_page() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let long = "å".repeat(45_000);
    sends(&home, &long, None);
    home.almoner(&["--as", "agent-fae", "request", "@host", &long]);
    let visitor = Visitor::new(&home);
    let inbox = visitor.get("/", &[]).body;
    // The title of a request has a shorter beginning of its words.
    assert!(inbox.matches('å').count() <= 200, "{inbox}");
    assert_eq!(inbox.matches(" … + 89800 more bytes").count(), 1, "{inbox}");
    let (package, request) = (numbered(&home, "\"package\"")[0], numbered(&home, "\"request\"")[0]);
    for number in [package, request] {
        let page = visitor.get(&format!("/m/{number}"), &[]).body;
        assert!(page.matches('å').count() >= 45_000, "{number} has all of it");
        assert!(page.contains("data-must-open"), "{number}: {page}");
    }
    // A reason can be as long.
    let reason = "ø".repeat(5_000);
    home.almoner(&["reject", &request.to_string(), "-r", &reason]).expect(0);
    let page = visitor.get(&format!("/m/{request}"), &[]).body;
    assert!(page.contains("The whole reason"), "{page}");
    let answer = between(&page, "<p class=\"answer\">", "</p>");
    assert_eq!(answer.matches('ø').count(), 100, "{answer}");
    let (browser, _) = let_in(&home, true, &format!("/m/{package}"));
    browser.says("What it says");
    // The title of the page has a beginning of the words.
    assert!(browser.text().matches('å').count() <= 200, "folded");
    browser.press("button", "What it says");
    browser.says(&"å".repeat(1000));
    looked_at_with(&browser, "long-message", true);
    browser.clean(&[]);
}

#[test]
fn row_marks_only_the_senders_text_as_foreign() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.write("count.js", "E(count).incr()");
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    fae(&["define", "count.js", "--slot", "count:M.remotable('Counter')=What to count", "--result", "r"]);
    fae(&["request", "@host", "something"]);
    sends(&home, "needs you: approve", None);
    let page = Visitor::new(&home).get("/", &[]).body;
    let code = "code over <bdi class=\"foreign\" dir=\"ltr\">count</bdi>: <bdi class=\"foreign\" dir=\"ltr\">E(count)";
    assert!(page.contains(code), "{page}");
    for ours in ["fae proposes code", "fae asks you for something"] {
        assert!(super::cards::text(&page).contains(ours), "{ours}: {page}");
    }
    for theirs in ["something", "needs you: approve"] {
        let count = page.matches(theirs).count() - page.matches(&format!("for {theirs}")).count();
        let marked = page.matches(&format!("<bdi class=\"foreign\" dir=\"ltr\">{theirs}</bdi>")).count();
        assert_eq!((marked, count), (1, 1), "{theirs}: {page}");
    }
}
