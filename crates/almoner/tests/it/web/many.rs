//! Tests of many messages: the requests of each sender stay in sight, all of them can be reached, and a page stays
//! small.

use std::collections::BTreeSet;

use serde_json::json;

use super::http::ask;
use super::visitor::{Visitor, between};
use crate::test_home::TestHome;
use crate::wire::Control;

/// Returns a home with these guests.
#[track_caller]
fn with_guests(names: &[&str]) -> TestHome {
    let home = TestHome::new();
    for name in names {
        home.almoner(&["mkguest", name, &format!("agent-{name}")]).expect(0);
    }
    home
}

/// Sends these requests of guests, over one connection.
#[track_caller]
fn asks<'a>(home: &TestHome, all: impl IntoIterator<Item = (&'a str, String)>) {
    let mut client = Control::open(home);
    for (guest, words) in all {
        let act = json!({ "mail": "request", "to": ["@host"], "description": words, "result_name": null });
        let agent = format!("agent-{guest}");
        let said =
            client.ask(&json!({ "request": "act", "agent": agent, "act": { "do": "mail", "act": act } }));
        assert_eq!(said["response"], "reply", "{said}");
    }
}

/// Sends these messages of guests, over one connection.
#[track_caller]
fn tells<'a>(home: &TestHome, all: impl IntoIterator<Item = (&'a str, String)>) {
    let mut client = Control::open(home);
    for (guest, words) in all {
        let act = json!({ "mail": "send", "to": ["@host"], "strings": [words], "names": [], "paths": [], "reply_to": null });
        let agent = format!("agent-{guest}");
        let said =
            client.ask(&json!({ "request": "act", "agent": agent, "act": { "do": "mail", "act": act } }));
        assert_eq!(said["response"], "reply", "{said}");
    }
}

/// Returns the messages to which rows of a page lead.
fn rows(page: &str) -> Vec<u64> {
    page.split("href=\"/m/").skip(1).map(|rest| between(rest, "", "\"").parse().unwrap()).collect()
}

/// Returns the messages of this page and of those that follow.
#[track_caller]
fn all_from(visitor: &Visitor, mut path: String, next: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for _ in 0..50 {
        let page = visitor.get(&path, &[]).body;
        found.extend(rows(&page));
        let Some((before, _)) = page.split_once(next) else { return found };
        let (_, to) = before.rsplit_once("href=\"").unwrap();
        path = to.split('"').next().unwrap().replace("&amp;", "&");
    }
    panic!("no end of {path}");
}

#[test]
fn busy_sender_is_folded_and_all_its_requests_are_reachable() {
    let home = with_guests(&["bob", "fae"]);
    asks(&home, [("bob", "the only one".to_owned())]);
    asks(&home, (0..120).map(|at| ("fae", format!("number {at} of many"))));
    let visitor = Visitor::new(&home);
    for path in ["/", "/?state=open", "/?kind=request", "/?kind=request&state=open"] {
        let page = visitor.get(path, &[]).body;
        assert!(page.contains("the only one"), "{path}: {page}");
        assert!(page.contains("116 more of <bdi dir=\"ltr\">fae</bdi>"), "{path}: {page}");
        assert_eq!(between(&page, "class=\"count\">", "<"), "121", "{path}");
        assert!(
            page.contains("number 119 of many") && !page.contains("number 115 of many"),
            "{path}: {page}"
        );
    }
    // The folded rows lie behind a link, on pages of their own.
    let page = visitor.get("/", &[]).body;
    let folded = between(&page, "data-load=\"/?of=", "\"").replace("&amp;", "&");
    let folded = all_from(&visitor, format!("/?of={folded}"), ">Older messages</a>");
    assert_eq!(folded.len(), 116);
    let (all, shown): (BTreeSet<u64>, BTreeSet<u64>) = (
        folded.iter().copied().collect(),
        rows(between(&page, "id=\"needs\"", "</section>")).into_iter().collect(),
    );
    assert_eq!((all.len(), all.intersection(&shown).count(), shown.len()), (116, 0, 5));
}

#[test]
fn senders_beyond_the_first_page_are_listed_on_the_next() {
    let names: Vec<String> = (0..23).map(|at| format!("g{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let home = with_guests(&names);
    asks(&home, names.iter().map(|name| (*name, format!("wish of {name}"))));
    let visitor = Visitor::new(&home);
    let page = visitor.get("/", &[]).body;
    assert_eq!(rows(between(&page, "id=\"needs\"", "</section>")).len(), 10, "{page}");
    assert!(page.contains("<a href=\"/?state=open\">13 more</a>"), "{page}");
    let all = all_from(&visitor, "/?state=open".to_owned(), ">Older messages</a>");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 23, "{all:?}");
}

/// Returns the size in bytes of the page and of the assets that it loads, as a browser requests them.
#[track_caller]
fn first_load(visitor: &Visitor, path: &str) -> usize {
    let page = visitor.get(path, &[]).body;
    let assets: BTreeSet<&str> =
        page.split("=\"/assets/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(assets.len() >= 3, "{assets:?}");
    let of = |name: &str| {
        let headers = [("Host", visitor.door.host.as_str()), ("Accept-Encoding", "gzip")];
        let answer = ask(visitor.door.port, "GET", &format!("/assets/{name}"), &headers, "");
        answer.header("content-length").unwrap().parse::<usize>().unwrap()
    };
    page.len() + assets.into_iter().map(of).sum::<usize>()
}

#[test]
fn first_load_is_small_in_every_script() {
    let guests = ["a", "b", "c", "d", "e", "f"];
    let alphabets = [
        "an ordinary sentence of words ",
        "обычное предложение ",
        "一句很普通的话",
        "🤲🏽 ",
        "<&\"",
        "\u{202e}\n",
    ];
    let home = with_guests(&guests);
    let long = |at: usize| alphabets[at % 6].repeat(100);
    let all = || (0..48).map(|at| (guests[at / 8], long(at)));
    asks(&home, all());
    tells(&home, all());
    let visitor = Visitor::new(&home);
    for path in ["/", "/?kind=request", "/?state=open", "/?kind=package"] {
        let bytes = first_load(&visitor, path);
        assert!(bytes < 50_000, "{path} takes {bytes} bytes");
    }
}

/// Checks the first load of an ordinary inbox: a run asks, and a few messages are there.
#[test]
fn first_load_is_below_thirty_kilobytes() {
    let home = TestHome::with_inbox();
    home.almoner(&crate::test_home::TRIAGE).expect(7);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    tells(&home, (0..30).map(|at| ("fae", format!("an ordinary message with the number {at}"))));
    asks(&home, (0..30).map(|at| ("fae", format!("an ordinary request with the number {at}"))));
    let visitor = Visitor::new(&home);
    for path in ["/", "/runs", "/doctor"] {
        let bytes = first_load(&visitor, path);
        assert!(bytes < 30_000, "{path} takes {bytes} bytes");
    }
}

/// Returns a home with a batch of twelve runs that each ask for a write.
fn batch() -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    let of = |at: usize| {
        let arguments = json!({ "path": format!("{at}.md"), "content": format!("text {at}") });
        json!({ "contains": format!("document {at}."), "turns": [{ "calls": [{ "name": "out_write", "arguments": arguments }] }, { "text": "done" }] })
    };
    home.write("script.json", json!((0..12).map(of).collect::<Vec<_>>()).to_string());
    for at in 0..12 {
        home.write(&format!("in/{at}.txt"), format!("document {at}."));
    }
    home.write("out/kept.md", "kept");
    let run = ["run", "w.worker", "in", "--each", "-j12", "-e", "out=out:rw", "-m", "scripted:script.json"];
    home.almoner(&run).expect(7);
    home
}

#[test]
fn approvals_of_a_batch_fold_into_one_row_naming_each_call() {
    let home = batch();
    let visitor = Visitor::new(&home);
    let page = visitor.get("/", &[]).body;
    let needs = between(&page, "id=\"needs\"", "</section>");
    assert!(rows(needs).is_empty() && needs.contains("href=\"/batch/r1\""), "{needs}");
    assert!(super::cards::text(needs).contains("w wants to write 12 files"), "{needs}");
    let folded = between(needs, "data-load=\"/?of=", "\"").replace("&amp;", "&");
    let folded = visitor.get(&format!("/?of={folded}"), &[]).body;
    let rows = format!("{needs}{folded}");
    for at in 0..12 {
        let call = format!(" <bdi class=\"foreign\" dir=\"ltr\">{at}.md, text {at}</bdi>");
        assert_eq!(rows.matches(&call).count(), 1, "{at}: {rows}");
    }
    // The run waits where its children do, in the list as well as on its page.
    let run = visitor.get("/r/r1", &[]).body;
    let head = between(&run, "id=\"head\"", "</section>");
    assert!(head.contains("Waits for <span class=\"count\">12</span>"), "{head}");
    assert_eq!(head.matches("asks you in <a href=\"/m/").count(), 12, "{head}");
    assert!(run.contains("waits for you: message"), "{run}");
    let listed = visitor.get("/runs", &[]).body;
    assert!(listed.contains(" waits for you: message ") && listed.contains(", and 11 more"), "{listed}");
}

#[test]
fn batch_with_a_stalled_child_says_so_and_resumes_on_its_page() {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    home.write("out/kept.md", "kept");
    for name in ["a", "b"] {
        home.write(&format!("in/{name}.txt"), format!("this is {name}"));
    }
    let script = |b: serde_json::Value| {
        home.write(
            "script.json",
            json!([
                { "contains": "this is a", "turns": [{ "text": "A" }] },
                { "contains": "this is b", "turns": [b] },
            ])
            .to_string(),
        );
    };
    script(json!({ "error": "bad_request" }));
    let run = ["run", "w.worker", "in", "--each", "-j2", "-e", "out=out:rw", "-m", "scripted:script.json"];
    home.almoner(&run);
    let visitor = Visitor::new(&home);
    let stalled = visitor.get("/runs?state=stalled", &[]).body;
    let list = between(&stalled, "id=\"list\"", "</section>");
    assert!(list.contains("href=\"/r/r1\"") && list.contains("r3</strong> is stalled"), "{list}");
    assert!(!list.contains("href=\"/r/r3\""), "it is told of at the run that began it: {list}");
    assert!(visitor.get("/", &[]).body.contains("r3</strong> is stalled"));
    let page = visitor.get("/r/r1", &[]).body;
    assert!(between(&page, "id=\"head\"", "</section>").contains("/r/r3\">r3</a> is stalled: "), "{page}");
    let item = between(&page, "id=\"item-r1-1\"", "</tr>");
    assert!(item.contains("stalled: ") && !item.contains("at work"), "{item}");
    // A model that is asked and does not answer is not said to be at it.
    let child = visitor.get("/r/r3", &[]).body;
    assert!(child.contains("has not answered: the run is stalled") && !child.contains("is asked"), "{child}");
    assert!(page.contains("Resume the run that is stalled"), "{page}");
    script(json!({ "text": "B" }));
    assert_eq!(visitor.send("/r/r1/resume", "").status, 303);
    home.almoner(&["resume"]).expect(0);
    let page = visitor.get("/r/r1", &[]).body;
    assert!(between(&page, "id=\"item-r1-1\"", "</tr>").contains(">done<"), "{page}");
    assert!(!page.contains("Resume"), "{page}");
}
