//! Conversations with workers that work with something: what they are handed, what they ask in between, and the rules
//! that came with them.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::let_in;
use super::visitor::{Visitor, between};
use crate::home::Home;
use crate::sends::PATIENCE;

const WORKER: &str = "---\nslots: { out: dir rw }\n---\nTalk, and write down what is worth it.\n";

/// A home in which such a worker has run once, with a policy beside it that forbids to append.
fn home() -> Home {
    let home = Home::new();
    let call = |method: &str, path: &str| json!({ "calls": [{ "name": method, "arguments": { "path": path, "content": "words\n" } }] });
    let turns =
        [call("out_write", "kept.md"), call("out_append", "more.md"), json!({ "text": "Both are tried." })];
    let script = json!([{ "turns": turns }]);
    home.write("talk.json", script.to_string());
    home.write("once.json", r#"[{"turns": [{"text": "done"}]}]"#);
    home.write("scribe.worker", WORKER);
    let policy = "@id(\"nothing-more\")\nforbid(principal, action == Action::\"dir.append\", resource);\n";
    home.write("policy.cedar", policy);
    std::fs::create_dir(home.path("out")).unwrap();
    std::fs::create_dir(home.path("other")).unwrap();
    home.almoner(&["run", "scribe.worker", "-e", "out=out:rw", "-m", "scripted:once.json"]).expect(0);
    home
}

/// What it asks stands as a card in the conversation, and its project's policies hold there too.
fn talks_with_a_worker(scripts: bool) {
    let home = home();
    let (browser, _) = let_in(&home, scripts, "/chat");
    browser.choose("With whom", "scribe, as in r1, with out");
    let model = format!("scripted:{}", home.path("talk.json").display());
    browser.write("textbox", "Model", &model);
    browser.write("textbox", "What you say", "Write it down");
    browser.press("button", "Begin");
    browser.says("`out`");
    browser.press("button", "What you hand it");
    browser.write("textbox", "What fills its slots", "out=other:rw");
    browser.press("button", "Begin");
    browser.says("does not begin at the root");
    let fill = format!("out={}:rw", home.path("other").display());
    let box_ = browser.find("textbox", "What fills its slots");
    browser.write_into(&box_, &format!("{}{fill}", "\u{E003}".repeat(20)));
    browser.press("button", "Begin");
    let asks = browser.wait(|| {
        // Loaded again before it has arrived, it would be the page with the form.
        if !scripts && browser.at().contains("/chat/r") {
            browser.reload();
        }
        browser.text().contains("kept.md").then_some(())
    });
    assert!(asks.is_some(), "{}", browser.text());
    browser.press("button", "Approve");
    // Whoever has answered is in the conversation again.
    let back = browser.wait(|| browser.at().ends_with("/chat/r2").then_some(()));
    assert!(back.is_some(), "{}", browser.at());
    let tried = browser.wait(|| {
        let trace = home.almoner(&["trace", "r2"]).out;
        trace.contains("nothing-more").then_some(())
    });
    assert!(tried.is_some(), "{}", home.almoner(&["trace", "r2"]).out);
    assert_eq!(home.read("other/kept.md"), "words\n");
    assert!(!home.path("other/more.md").exists(), "its project forbids that");
    browser.clean(&["422"]);
}

#[test]
fn a_worker_is_handed_what_it_works_with_with_scripts() {
    talks_with_a_worker(true);
}

#[test]
fn a_worker_is_handed_what_it_works_with_without_scripts() {
    talks_with_a_worker(false);
}

/// A worker that has never run is met by its file, which outlives what is wrong with the rest of the form.
fn talks_with_a_file(scripts: bool) {
    let home = Home::new();
    home.write("talk.json", r#"[{"turns": [{"text": "At your service."}]}]"#);
    home.write("butler.worker", "---\ndescription: Serves.\n---\nServe.\n");
    let (browser, _) = let_in(&home, scripts, "/chat");
    browser.hand_over("Or a worker file of yours", &[home.path("butler.worker")]);
    browser.write("textbox", "What you say", "Hello");
    browser.write("textbox", "Model", "scripted:nowhere.json");
    browser.press("button", "Begin");
    browser.says("butler.worker");
    let model = format!("{}scripted:{}", "\u{E003}".repeat(21), home.path("talk.json").display());
    browser.write("textbox", "Model", &model);
    browser.press("button", "Begin");
    let answered = browser.wait(|| {
        if !scripts && browser.at().contains("/chat/r") {
            browser.reload();
        }
        browser.text().contains("At your service").then_some(())
    });
    assert!(answered.is_some(), "{}", browser.text());
    assert!(home.almoner(&["runs"]).expect(0).out.contains("butler"));
    browser.clean(&["422"]);
}

#[test]
fn a_worker_is_met_by_its_file_with_scripts() {
    talks_with_a_file(true);
}

#[test]
fn a_worker_is_met_by_its_file_without_scripts() {
    talks_with_a_file(false);
}

/// Nothing is handed on from the run in which the worker was met, and nothing is begun that lacks something.
#[test]
fn nothing_is_handed_over_that_was_not_written() {
    let home = home();
    let visitor = Visitor::new(&home);
    let model = format!("scripted:{}", home.path("talk.json").display());
    for (fills, says) in [
        ("", "out"),
        ("nonsense", "nonsense"),
        ("out=other:rw", "does not begin at the root"),
        ("elsewhere=/tmp:rw", "elsewhere"),
    ] {
        let body = format!("worker=r1&model={model}&said=Hello&fills={fills}");
        let answer = visitor.send("/chat", &body);
        assert_eq!(answer.status, 422, "{fills}: {}", answer.body);
        assert!(answer.body.contains(says) && answer.body.contains("Hello"), "{fills}: {}", answer.body);
    }
    let runs = home.almoner(&["runs", "--json"]).expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
}

/// Whatever a model asks in a conversation stands there, one after the other, and who has answered is there again.
#[test]
fn whatever_is_asked_in_a_conversation_is_answered_there() {
    let home = Home::new();
    let call = |name: &str, arguments: Json| json!({ "name": name, "arguments": arguments });
    let turns = json!([
        { "calls": [
            call("who_ask", json!({ "question": "Which colour?" })),
            call("post_request", json!({ "description": "The papers", "name": "papers" })),
        ] },
        { "calls": [call("post_define", json!({ "source": "1 + 1", "description": "Adds up" }))] },
        { "text": "That was all." },
    ]);
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    home.write("asker.worker", "---\nslots: { who: ask, post: mail }\n---\nAsk.\n");
    home.piped(&["chat", "asker.worker", "-m", "scripted:script.json"], b"hello\n").expect(7);
    let visitor = Visitor::new(&home);
    for (asks, kind, body) in [
        ("Which colour?", "form", "do=submit&f0=blue"),
        ("The papers", "request", "do=reject&reason=none"),
        ("Adds up", "endow", "do=reject&reason=no"),
    ] {
        let begun = Instant::now();
        let page = loop {
            let page = visitor.get("/chat/r1", &[]);
            assert_eq!(page.status, 200, "{}", page.body);
            if page.body.contains("What is asked") && page.body.contains("_back") && page.body.contains(asks)
            {
                break page.body;
            }
            assert!(begun.elapsed() < PATIENCE, "{asks}: {}", page.body);
            std::thread::sleep(Duration::from_millis(25));
        };
        // Whatever else is asked has a line, and no place of the same name.
        assert_eq!(page.matches("id=\"fill\"").count(), 1, "{asks}: {page}");
        let message = between(&page, "href=\"/m/", "\"").to_owned();
        assert!(page.contains(&format!("data-draft=\"{kind} {message}\"")), "{asks}: {page}");
        let sent = visitor.send(&format!("/m/{message}"), &format!("{body}&_back=/chat/r1"));
        assert_eq!((sent.status, sent.header("location")), (303, Some("/chat/r1")), "{asks}: {}", sent.body);
    }
}
