//! Tests of files that come with messages in a conversation.

use serde_json::json;

use super::http::{Answer, ask};
use super::pages::looked_at_with;
use super::visitor::{Visitor, between};
use super::{Browser, let_in};
use crate::test_home::TestHome;

/// Returns a home whose model shows by its answer which text it received.
fn home() -> TestHome {
    let home = TestHome::new();
    let script = json!([
        { "contains": "the word is blue", "turns": [
            { "text": "I have read blue." }, { "text": "I read blue." }, { "text": "Still blue." },
        ] },
        { "turns": [{ "text": "Good day." }, { "text": "I read nothing." }] },
    ]);
    home.write("talk.json", script.to_string());
    home.write("note.txt", "the word is blue\n");
    home.write("bad.png", "plain words");
    home
}

fn model(home: &TestHome) -> String {
    format!("scripted:{}", home.path("talk.json").display())
}

/// Waits until the conversation says this, as somebody does who has no scripts.
#[track_caller]
fn hears(browser: &Browser, scripts: bool, words: &str) {
    if !scripts {
        browser.wait(|| {
            browser.reload();
            browser.text().contains(words).then_some(())
        });
    }
    browser.says(words);
}

fn talked(scripts: bool) {
    let home = home();
    let (browser, _) = let_in(&home, scripts, "/chat");
    browser.write("textbox", "Model", &model(&home));
    browser.write("textbox", "What you say", "Hello");
    browser.press("button", "Begin");
    hears(&browser, scripts, "Good day.");
    // The typed text stays while the files are uploaded.
    browser.write("textbox", "What you say", "Read this");
    browser.press("button", "Attach documents");
    browser.hand_over("Files from here", &[home.path("note.txt")]);
    if !scripts {
        browser.press("button", "Only bring the files");
    }
    browser.find("checkbox", "note.txt");
    assert_eq!(browser.value(&browser.find("textbox", "What you say")), "Read this");
    // An upload that the page lists outlives a restart of the daemon and a garbage collection.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["gc"]).expect(0);
    looked_at_with(&browser, if scripts { "chat-files" } else { "chat-files-without-scripts" }, scripts);
    browser.press("button", "Say it");
    hears(&browser, scripts, "I read blue.");
    browser.says("note.txt 17 bytes");
    // A file whose content contradicts its name is refused at the list of files, and everything else stays.
    browser.write("textbox", "What you say", "And this");
    browser.press("button", "Attach documents");
    browser.hand_over("Files from here", &[home.path("bad.png")]);
    if !scripts {
        browser.press("button", "Say it");
    }
    browser.says("its name says image/png, but its content is no picture");
    assert_eq!(browser.value(&browser.find("textbox", "What you say")), "And this");
    browser.press("checkbox", "bad.png");
    browser.press("button", "Say it");
    hears(&browser, scripts, "Still blue.");
    browser.clean(&["422", "ERR_"]);
}

#[test]
fn files_are_uploaded_with_scripts() {
    talked(true);
}

#[test]
fn files_are_uploaded_without_scripts() {
    talked(false);
}

#[test]
fn dropped_files_are_uploaded_and_survive_a_reload() {
    let home = home();
    let (browser, _) = let_in(&home, true, "/chat");
    browser.write("textbox", "Model", &model(&home));
    browser.write("textbox", "What you say", "Read this");
    // Several, one soon after another: none of them is lost.
    browser.run(
        "for (const name of ['a <b>note\u{202e}.txt', 'b.txt', 'c.txt']) {
           const files = new DataTransfer();
           files.items.add(new File(['the word is blue\\n' + name], name, { type: 'text/plain' }));
           document.querySelector('h1').dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }));
         }",
    );
    browser.find("checkbox", "c.txt");
    browser.find("checkbox", "b.txt");
    let name = r"a <b>note\u{202E}.txt";
    browser.find("checkbox", name);
    browser.reload();
    browser.find("checkbox", name);
    assert_eq!(browser.value(&browser.find("textbox", "What you say")), "Read this");
    browser.press("button", "Begin");
    browser.says("I have read blue.");
    browser.says(name);
    browser.clean(&[]);
}

/// Sends a form with files, as a browser does, and returns the answer.
fn sent(visitor: &Visitor, path: &str, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Answer {
    let mut body = format!("--B\r\nContent-Disposition: form-data; name=\"_token\"\r\n\r\n{}", visitor.token);
    for (name, text) in fields {
        body += &format!("\r\n--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}");
    }
    for (name, bytes) in files {
        let text = String::from_utf8_lossy(bytes);
        body += &format!(
            "\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}"
        );
    }
    body += "\r\n--B--\r\n";
    let origin = visitor.door.page("");
    let headers = [
        ("Host", visitor.door.host.as_str()),
        ("Origin", origin.as_str()),
        ("Cookie", visitor.cookie.as_str()),
        ("Content-Type", "multipart/form-data; boundary=B"),
    ];
    ask(visitor.door.port, "POST", path, &headers, &body)
}

#[test]
fn invalid_chat_start_is_refused_beside_its_field() {
    let home = home();
    let visitor = Visitor::new(&home);
    let model = model(&home);
    let many: Vec<String> = (0..17).map(|n| format!("n{n}.txt")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b"x"[..])).collect();
    let local = [("model", "local"), ("said", "x")];
    let good = [("model", model.as_str()), ("said", "x")];
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a [u8])], &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        (&[("model", "nope"), ("said", "x")], &[], "model-error", "or a name of yours"),
        (
            &[("model", "scripted:talk.json"), ("said", "x")],
            &[],
            "model-error",
            "write the whole path, beginning with /",
        ),
        (
            &[("model", "replay:x.json"), ("said", "x")],
            &[],
            "model-error",
            "write the whole path, beginning with /",
        ),
        (&[("model", "scripted:/nowhere/x.json"), ("said", "x")], &[], "model-error", "check the path"),
        (&local, &[], "model-error", "almoner models pull"),
        (&[("model", model.as_str()), ("said", " ")], &[], "said-error", "nothing was said"),
        (
            &[("model", model.as_str()), ("said", "x"), ("documents", "note.txt")],
            &[],
            "attached-error",
            "write the whole path, beginning with /",
        ),
        (
            &[("model", model.as_str()), ("said", "x"), ("documents", "/nowhere/at/all")],
            &[],
            "attached-error",
            "check the path",
        ),
        (&good, &[("a.txt", b"x"), ("a.txt", b"y")], "attached-error", "two documents are called a.txt"),
        (&good, &[("a.png", b"x")], "attached-error", "its content is no picture"),
        (&good, &many, "attached-error", "takes at most 16 documents, not 17"),
    ];
    for (fields, files, place, says) in cases {
        let answer = sent(&visitor, "/chat", fields, files);
        assert_eq!(answer.status, 422, "{fields:?}: {}", answer.body);
        let told = between(&answer.body, &format!("id=\"{place}\""), "</p>").to_owned();
        assert!(told.contains(says), "{fields:?} at {place}: {told}");
        // Nothing that was typed or brought is lost.
        for (name, _) in *files {
            assert!(answer.body.contains(&format!(" {name}\" checked")), "{name}: {}", answer.body);
        }
        for (_, text) in fields.iter().filter(|(_, text)| !text.trim().is_empty()) {
            assert!(answer.body.contains(text), "{text} in {}", answer.body);
        }
    }
    assert_eq!(home.almoner(&["runs", "--json"]).expect(0).json(), json!([]), "nothing has begun");
    // A form's own token is asked for here as everywhere.
    let stranger = Visitor { token: "0".to_owned(), ..visitor };
    assert_eq!(sent(&stranger, "/chat", &good, &[]).status, 403);
}

/// Checks that the hash of a stored blob does not stand for an uploaded file.
#[test]
fn stored_blob_cannot_be_claimed_by_its_hash() {
    let home = home();
    home.write("w.worker", "---\nattachments: { max: 2, bytes: 1MiB }\n---\nTalk.\n");
    home.almoner(&["run", "w.worker", "note.txt", "-m", "scripted:talk.json"]).expect(0);
    let hash = blake3::hash(b"the word is blue\n").to_hex();
    let visitor = Visitor::new(&home);
    let body = format!("model={}&said=Hello&kept={hash} 17 note.txt", model(&home));
    let answer = visitor.send("/chat", &body);
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert!(answer.body.contains("nobody has brought this file"), "{}", answer.body);
}

#[test]
fn worker_attachment_rules_cover_later_uploads_in_total() {
    let home = home();
    home.write(
        "w.worker",
        "---\nattachments: { max: 2, bytes: 20, suffixes: [.txt], types: [text/plain] }\n---\nTalk.\n",
    );
    home.almoner(&["run", "w.worker", "-m", "scripted:talk.json"]).expect(0);
    let visitor = Visitor::new(&home);
    let begin = [("worker", "r1"), ("model", &model(&home)), ("said", "Hello")];
    let begun = sent(&visitor, "/chat", &begin, &[("a.txt", b"twelve bytes")]);
    assert_eq!(begun.status, 303, "{}", begun.body);
    let path = begun.header("location").expect("a conversation").to_owned();
    for (files, says) in [
        (&[("b.md", &b"x"[..])][..], "takes no such files"),
        (&[("b.txt", &b"nine more"[..])], "have 21 bytes together, and 20 bytes are allowed"),
        (&[("b.txt", &b"x"[..]), ("c.txt", b"y")], "takes at most 2 documents, not 3"),
        (&[("a.txt", &b"x"[..])], "two documents are called a.txt"),
        (&[("b.txt", &[0_u8, 1, 2][..])], "b.txt"),
    ] {
        for action in ["attach", ""] {
            let answer = sent(&visitor, &path, &[("said", "And this"), ("do", action)], files);
            assert_eq!(answer.status, 422, "{files:?}: {}", answer.body);
            let told = between(&answer.body, "id=\"attached-error\"", "</p>").to_owned();
            assert!(told.contains(says), "{told}");
            assert!(answer.body.contains("And this"), "{}", answer.body);
        }
    }
    let fits = sent(&visitor, &path, &[("said", "And this")], &[("b.txt", b"8 bytes.")]);
    assert_eq!(fits.status, 303, "{}", fits.body);
    let steps = home.almoner(&["trace", path.trim_start_matches("/chat/"), "--json"]).expect(0).out;
    assert!(steps.contains("b.txt"), "{steps}");
    assert!(
        !steps.contains("c.txt") && !steps.contains("b.md"),
        "nothing that was refused was said: {steps}"
    );
}
