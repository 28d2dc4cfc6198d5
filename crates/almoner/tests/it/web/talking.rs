//! Tests of conversations with workers that have slots: their grants, their questions in between, and the policies of
//! their project.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::let_in;
use super::visitor::{Visitor, between};
use crate::sends::TIMEOUT;
use crate::test_home::TestHome;

const WORKER: &str = "---\nslots: { out: dir rw }\n---\nTalk, and write down what is worth it.\n";

/// Returns a home in which such a worker has run once, with a policy beside it that forbids to append.
fn home() -> TestHome {
    let home = TestHome::new();
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

/// Talks with a worker whose question stands as a card in the conversation. Its project's policies hold there too.
fn talks_with_a_worker(scripts: bool) {
    let home = home();
    let (browser, _) = let_in(&home, scripts, "/chat");
    browser.choose("With whom", "scribe, as in r1, with out");
    let model = format!("scripted:{}", home.path("talk.json").display());
    browser.write("textbox", "Model", &model);
    browser.write("textbox", "What you say", "Write it down");
    // The page shows the worker's slots before anything begins.
    browser.press("button", "Show what it works with");
    browser.write("textbox", "Slot out", "other:rw");
    browser.press("button", "Begin");
    browser.says("does not begin at the root");
    if scripts {
        // The error has the focus first, and leads to the field.
        assert_eq!(browser.run("return document.activeElement.id"), "wrong");
    }
    browser.press("link", "Slot out");
    let fill = format!("{}:rw", home.path("other").display());
    let box_ = browser.find("textbox", "Slot out");
    // From its end.
    browser.write_into(&box_, &format!("\u{E010}{}{fill}", "\u{E003}".repeat(20)));
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
    // After the answer, the browser is in the conversation again.
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
fn worker_chat_starts_with_its_endowments_with_scripts() {
    talks_with_a_worker(true);
}

#[test]
fn worker_chat_starts_with_its_endowments_without_scripts() {
    talks_with_a_worker(false);
}

/// Talks with a worker that has never run, by its file. The file outlives errors in the rest of the form.
fn talks_with_a_file(scripts: bool) {
    let home = TestHome::new();
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
fn chat_starts_from_a_worker_file_with_scripts() {
    talks_with_a_file(true);
}

#[test]
fn chat_starts_from_a_worker_file_without_scripts() {
    talks_with_a_file(false);
}

/// Checks that the worker's earlier run hands on no grant, and that no conversation begins without a necessary grant.
#[test]
fn chat_grants_only_the_endowments_entered_in_the_form() {
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

/// Checks that a worker is chosen by the path of its file. It receives its inputs and all its slots at once, and
/// finds its included files. A worker without conversation is not offered.
#[test]
fn chat_worker_gets_its_inputs_and_included_files() {
    let home = TestHome::new();
    home.write("talk.json", r#"[{"turns": [{"text": "At your service."}]}]"#);
    home.write("tone.md", "Answer in rhymes.\n");
    let slots = "slots: { a: dir, b: { is: dir rw, label: Where it writes }, me: ask }\n";
    let input = "input: { who: string, times: \"1..3\" }\n";
    home.write(
        "bard.worker",
        format!("---\n{slots}{input}---\nSing for {{{{ input.who }}}}. {{% include \"tone.md\" %}}\n"),
    );
    home.write("sorter.worker", "---\noutput: { class: string }\n---\nSort.\n");
    home.write("sorted.json", r#"[{"turns": [{"text": "{\"class\": \"x\"}"}]}]"#);
    home.almoner(&["run", "sorter.worker", "-m", "scripted:sorted.json"]).expect(0);
    let visitor = Visitor::new(&home);
    let page = visitor.get("/chat", &[]).body;
    assert!(!page.contains("sorter"), "{page}");
    let chosen = format!("worker-path={}", home.path("bard.worker").display());
    let shown = visitor.send("/chat", &format!("{chosen}&do=look"));
    assert_eq!(shown.status, 200, "{}", shown.body);
    for field in
        ["name=\"slot-a\"", "name=\"slot-b\"", "name=\"i/who\"", "name=\"i/times\"", "Where it writes"]
    {
        assert!(shown.body.contains(field), "{field}: {}", shown.body);
    }
    assert!(!shown.body.contains("name=\"slot-me\""), "{}", shown.body);
    let model = format!("model=scripted:{}&said=Hello", home.path("talk.json").display());
    // All that is missing is told at once.
    let missing = visitor.send("/chat", &format!("{chosen}&{model}&i/who=Anna&i/times=7"));
    assert_eq!(missing.status, 422, "{}", missing.body);
    for id in ["slot-a-error", "slot-b-error"] {
        let told = between(&missing.body, &format!("id=\"{id}\""), "</p>");
        assert!(told.contains("is not filled"), "{id}: {told}");
    }
    assert!(
        missing.body.contains("value=\"Anna\"") && missing.body.contains("do not begin")
            || missing.body.contains("of its inputs does not fit"),
        "{}",
        missing.body
    );
    let at = home.path("").display().to_string();
    let all = format!("{chosen}&{model}&i/who=Anna&i/times=3&slot-a={at}&slot-b={at}out:rw");
    let begun = visitor.send("/chat", &all);
    assert_eq!((begun.status, begun.header("location")), (303, Some("/chat/r2")), "{}", begun.body);
    home.almoner(&["resume", "r2"]);
    let begun = Instant::now();
    while !visitor.get("/chat/r2", &[]).body.contains("At your service") {
        assert!(begun.elapsed() < TIMEOUT, "{}", home.almoner(&["trace", "r2"]).out);
        std::thread::sleep(Duration::from_millis(25));
    }
    // The page offers the worker from then on, and the list shows the user's message.
    let page = visitor.get("/chat", &[]).body;
    assert!(page.contains("bard, as in r2, with a, b, me") && page.contains(">Hello<"), "{page}");
    // An unreadable or missing worker is told of at its field.
    for (with, says) in [
        ("worker-path=bard.worker".to_owned(), "does not begin at the root"),
        (format!("worker-path={at}nobody.worker"), "nobody.worker"),
        (format!("worker-path={at}sorter.worker"), "works towards a result"),
        ("worker=r99".to_owned(), "there is no run r99"),
        ("worker=name:nobody".to_owned(), "nobody"),
    ] {
        let refused = visitor.send("/chat", &format!("{with}&{model}"));
        let told = between(&refused.body, "id=\"worker-error\"", "</p>");
        assert!(refused.status == 422 && told.contains(says), "{with}: {}", refused.body);
    }
}

/// Checks that streamed text stands once in every tab, in spite of missed or repeated events, and that a tab follows
/// its end.
#[test]
fn streamed_reply_appears_once_in_every_tab() {
    let home = TestHome::new();
    let long = "A line of it.\n".repeat(300);
    home.write("talk.json", json!([{ "turns": [{ "text": long }, { "text": "Short." }] }]).to_string());
    home.piped(&["chat", "-m", "scripted:talk.json"], b"hello\n").expect(0);
    let (browser, door) = let_in(&home, true, "/chat/r1");
    let at_end = || {
        browser.run("return document.getElementById('end').getBoundingClientRect().top <= innerHeight + 1")
            == true
    };
    assert!(browser.wait(|| at_end().then_some(())).is_some(), "it opens at its end");
    assert!(!browser.text().contains("4200 bytes"), "what was said is not folded");
    let hears = |run: &str, prompted: u64, from: usize, text: &str| {
        let data =
            json!({ "run": run, "prompted": prompted, "from": from, "to": from + text.len(), "text": text });
        browser
            .run(&format!("new BroadcastChannel('almoner').postMessage({{ kind: 'text', data: {data} }})"));
    };
    let writes = |expected: &str| {
        let text = || browser.run("return document.getElementById('writes-r1').textContent");
        assert!(
            browser.wait(|| (text() == expected).then_some(())).is_some(),
            "{} is not {expected}",
            text()
        );
    };
    hears("r1", 9, 0, "Half an ans");
    hears("r1", 9, 11, "wer");
    writes("Half an answer");
    // It comes again from the start.
    hears("r1", 9, 0, "Half an");
    writes("Half an");
    hears("r1", 9, 7, &"\nand more".repeat(60));
    assert!(browser.wait(|| at_end().then_some(())).is_some(), "it is followed");
    // Another tab has all of it, though it came before.
    let first = browser.new_tab();
    browser.go(&door.page("/chat/r1"));
    writes(&format!("Half an{}", "\nand more".repeat(60)));
    browser.close_tab();
    browser.tab(&first);
    // The conversation ends from elsewhere while the user types: the typed text is not lost, and the half-written
    // answer is gone.
    browser.write("textbox", "What you say", "One more thing");
    home.almoner(&["cancel", "r1"]).expect(0);
    browser.says("This has changed while you were here");
    writes("");
    browser.press("button", "Say it");
    browser.says("This was not said: the conversation was over.");
    browser.says("One more thing");
    browser.clean(&["422"]);
}

/// Checks that each question of a model stands in the conversation, one after the other, and that an answer leads
/// back there.
#[test]
fn every_request_in_a_conversation_is_answered_there() {
    let home = TestHome::new();
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
            assert!(begun.elapsed() < TIMEOUT, "{asks}: {}", page.body);
            std::thread::sleep(Duration::from_millis(25));
        };
        // Every other question has a line, and no form of the same name.
        assert_eq!(page.matches("id=\"fill\"").count(), 1, "{asks}: {page}");
        let message = between(&page, "href=\"/m/", "\"").to_owned();
        assert!(page.contains(&format!("data-draft=\"{kind} {message}\"")), "{asks}: {page}");
        let sent = visitor.send(&format!("/m/{message}"), &format!("{body}&_back=/chat/r1"));
        assert_eq!((sent.status, sent.header("location")), (303, Some("/chat/r1")), "{asks}: {}", sent.body);
    }
}
