//! Tests that the content of a document decides its type, regardless of its name.

use serde_json::{Value as Json, json};

use crate::test_home::TestHome;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nxxxx";

#[test]
fn documents_are_accepted_by_media_type() {
    let home = TestHome::new();
    home.write("script.json", r#"[{ "turns": [{ "text": "ok" }] }]"#);
    home.write("a.json", "{}");
    home.write("a.md", "# a");
    home.write("plain", "a");
    home.write("b.unknown", "a");
    home.write("p.png", PNG);
    for (types, fits, not) in [
        ("text/*", &["a.md", "plain", "b.unknown"][..], &["a.json"][..]),
        ("application/json", &["a.json"], &["a.md", "plain"]),
        ("text/markdown, application/json", &["a.json", "a.md"], &["plain"]),
        ("application/pdf, image/*", &[], &["a.json", "a.md", "plain", "p.png"]),
    ] {
        home.write("w.worker", format!("---\nattachments: {{ types: [{types}] }}\n---\nRead it.\n"));
        for name in fits {
            home.almoner(&["run", "w.worker", name, "-m", "scripted:script.json"]).expect(0);
        }
        for name in not {
            for each in [&[][..], &["--each"]] {
                let args = [&["run", "w.worker", name, "-m", "scripted:script.json"][..], each].concat();
                let said = home.almoner(&args);
                assert_ne!(said.code, 0, "{types} {name} {said:?}");
                // A picture is refused earlier: this model takes none.
                let why = format!("and `w` takes none\n help: it takes: {types}");
                assert!(*name == "p.png" || said.err.contains(&why), "{types} {name} {said:?}");
            }
        }
    }
    // The content of a document that comes through a pipe is checked as well.
    let said = home.piped(&["run", "w.worker", "-", "-m", "scripted:script.json"], b"words");
    assert!(said.code == 6 && said.err.contains("this is text/plain"), "{said:?}");
}

#[test]
fn attachment_type_must_be_allowed_by_caller_and_callee() {
    for (own, callee, said) in [
        ("", "", ""),
        ("types: [text/plain]", "types: [text/*]", ""),
        ("types: [application/pdf]", "", "this worker does not hand on text/plain here: `a.txt`"),
        ("", "types: [application/pdf, image/*]", "`a.txt` is text/plain, which it does not take"),
    ] {
        let home = TestHome::new();
        home.write("a.txt", "words");
        home.write(
            "outer.worker",
            format!("---\nslots: {{ judge: {{ is: worker, attachments: {{ {own} }} }} }}\n---\nAsk.\n"),
        );
        home.write("judge.worker", format!("---\nattachments: {{ {callee} }}\n---\nJudge.\n"));
        let call = json!({ "calls": [{ "name": "judge", "arguments": { "attachments": ["a.txt"] } }] });
        let judged = json!([{ "text": "judged" }]);
        let script: Json =
            json!([{ "worker": "judge", "turns": judged }, { "turns": [call, { "text": "done" }] }]);
        home.write("script.json", script.to_string());
        home.almoner(&["run", "outer.worker", "a.txt", "-m", "scripted:script.json"]).expect(0);
        let trace = home.trace("r1").to_string();
        match said {
            "" => assert!(trace.contains("judged\"") && !trace.contains("call/attachments"), "{trace}"),
            said => assert!(trace.contains("call/attachments") && trace.contains(said), "{said}: {trace}"),
        }
    }
}
