//! Cases of workers, tried again.

use serde_json::{Value as Json, json};

use crate::test_home::TestHome;

/// Returns a home with a worker that reads one directory, writes in another, and was let write one file of two; and
/// its case.
fn saved() -> TestHome {
    let home = TestHome::new();
    home.write("docs/a.txt", "blue\n");
    home.write("out/log.txt", "first\n");
    home.write(
        "w.worker",
        "---\nslots: { docs: dir, out: dir rw, post: outbox }\n---\nWrite down what you read.\n",
    );
    let call = |name: &str, arguments: Json| json!({ "calls": [{ "name": name, "arguments": arguments }] });
    let turns = json!([
        call("docs_read", json!({ "path": "a.txt" })),
        call("out_append", json!({ "path": "log.txt", "content": "blue\n" })),
        call("out_write", json!({ "path": "new.txt", "content": "blue\n" })),
        call("out_write", json!({ "path": "not.txt", "content": "red\n" })),
        call("post_send", json!({ "to": "a@b.example", "subject": "s", "body": "blue" })),
        { "text": "blue" },
    ]);
    home.write("script.json", json!([{ "worker": "w", "turns": turns }]).to_string());
    let run = ["run", "w.worker", "-edocs=docs", "-eout=out:rw", "-e", "post=post", "-mscripted:script.json"];
    home.almoner(&run).expect(7);
    // Yes, yes, no, yes.
    for verb in ["approve", "approve", "deny", "approve"] {
        let letters = home.almoner(&["inbox", "--json"]).expect(0).json();
        let number = letters[0]["number"].to_string();
        home.almoner(&[verb, &number]).expect(0);
        home.almoner(&["resume", "r1"]);
    }
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "blue\n");
    assert_eq!(home.read("out/log.txt"), "first\nblue\n");
    home.almoner(&["save", "last", "as", "again"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    home
}

fn tree(home: &TestHome, dir: &str) -> Vec<String> {
    let mut all: Vec<String> = std::fs::read_dir(home.path(dir))
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    all.sort();
    all
}

#[test]
fn case_replays_over_copies_without_touching_user_files() {
    let home = saved();
    let before = (tree(&home, "out"), tree(&home, "post"), home.read("out/log.txt"));
    assert_eq!(home.almoner(&["test"]).expect(0).out, "same       again.case\n");
    assert_eq!(home.almoner(&["test", "again.worker"]).expect(0).out, "same       again.case\n");
    assert_eq!((tree(&home, "out"), tree(&home, "post"), home.read("out/log.txt")), before);
    // No daemon of the user's was started, and none of theirs is left.
    assert!(!home.root().join("run/control.sock").exists());
    let kept: Json = serde_json::from_str(&home.read("again.case/case.json")).unwrap();
    assert_eq!(kept["made"], json!(["out/new.txt"]));
    assert_eq!(kept["calls"].as_array().unwrap().len(), 5);
    assert_eq!(home.read("again.case/slots/out/log.txt"), "first\n");
}

#[test]
fn differing_case_is_shown_and_can_be_accepted() {
    let home = saved();
    // The answer differs now, and the worker uses `other.txt` instead of `new.txt`.
    let replies = home.read("again.case/replies.json").replace("\"text\": \"blue\"", "\"text\": \"green\"");
    home.write("again.case/replies.json", replies.replace("new.txt", "other.txt"));
    let said = home.almoner(&["test", "again.case"]).expect(1).out;
    for part in ["differs    again.case", "- \"blue\"", "+ \"green\"", "new.txt", "+ out.write[\"other.txt\""]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
    // A call that was not let happen in the recording is refused now as well.
    assert!(said.contains("→ refused"), "{said}");
    assert_eq!(home.almoner(&["test", "--accept"]).expect(0).out, "accepted   again.case\n");
    assert_eq!(home.almoner(&["test"]).expect(0).out, "same       again.case\n");
    assert_eq!(home.read("again.case/result.json"), "\"green\"\n");
}

#[test]
fn case_that_cannot_be_tried_fails_with_the_reason() {
    let home = saved();
    home.almoner(&["test", "none"]).expect(4);
    home.almoner(&["test", "docs"]).expect(4);
    let case = home.read("again.case/case.json");
    for (was, is, said) in [
        ("docs=./docs", "docs=https://a.example", "a case sends nothing"),
        ("again.worker", "gone.worker", "gone.worker"),
        ("\"again.worker\",", "\"again.worker\", \"-m\",", "no part of a case's command"),
        ("\"command\"", "\"comand\"", "unknown field"),
    ] {
        assert!(case.contains(was), "{was} in {case}");
        home.write("again.case/case.json", case.replace(was, is));
        let told = home.almoner(&["test", "again.case"]).expect(1).out;
        assert!(told.starts_with("not tried  again.case: ") && told.contains(said), "{told}");
    }
}
