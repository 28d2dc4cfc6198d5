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
    // What it works with is shown before anything begins.
    browser.press("button", "Show what it works with");
    browser.write("textbox", "Slot out", "other:rw");
    browser.press("button", "Begin");
    browser.says("does not begin at the root");
    if scripts {
        // One hears first what is wrong, and comes from there to the field.
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

/// A worker is chosen by the path of its file, is given its inputs and all its slots at once, and finds what it includes;
/// who cannot be talked with is not offered.
#[test]
fn a_worker_is_given_its_inputs_and_finds_what_lies_beside_it() {
    let home = Home::new();
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
        assert!(begun.elapsed() < PATIENCE, "{}", home.almoner(&["trace", "r2"]).out);
        std::thread::sleep(Duration::from_millis(25));
    }
    // It is offered from then on, and the list says what was said.
    let page = visitor.get("/chat", &[]).body;
    assert!(page.contains("bard, as in r2, with a, b, me") && page.contains(">Hello<"), "{page}");
    // What cannot be read, or is not there, is told where it was chosen.
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

/// What is written meanwhile stands there once, in every tab, whatever was missed or comes again; and one is where it goes on.
#[test]
fn what_is_written_is_read_at_its_end_in_every_tab() {
    let home = Home::new();
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
    // Another one ends the conversation while one writes: it is not lost, and what was half written is gone.
    browser.write("textbox", "What you say", "One more thing");
    home.almoner(&["cancel", "r1"]).expect(0);
    browser.says("This has changed while you were here");
    writes("");
    browser.press("button", "Say it");
    browser.says("This was not said: the conversation was over.");
    browser.says("One more thing");
    browser.clean(&["422"]);
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
