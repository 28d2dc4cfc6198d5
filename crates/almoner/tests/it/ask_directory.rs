//! `almoner ask QUESTION DIRECTORY`: the model sees the directory with everything below it.

use serde_json::json;

use crate::test_home::TestHome;

#[test]
fn question_about_a_directory_reaches_all_below_it() {
    let home = TestHome::new();
    home.write("My Papers/a.txt", "the first paper\n");
    home.write("My Papers/2026/deep/b.txt", "the deep paper\n");
    home.write("My Papers/.env", "KEY=hunter2\n");
    home.write("My Papers/image.bin", b"\0\x01\xff");
    let call = |name: &str, arguments: serde_json::Value| json!({ "name": name, "arguments": arguments });
    let script = json!([{ "worker": "ask", "contains": "the deep paper", "turns": [
        { "calls": [
            call("my_papers_glob", json!({ "pattern": "**/*.txt" })),
            call("my_papers_grep", json!({ "pattern": "deep" })),
            call("my_papers_read", json!({ "path": "2026/deep/b.txt" })),
        ] },
        { "text": "found" },
    ] }]);
    home.write("script.json", script.to_string());
    let ask = ["ask", "What is deep?", "My Papers", "-m", "scripted:script.json"];
    assert_eq!(home.almoner(&ask).expect(0).out, "found\n");
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("2026/deep/b.txt") && !trace.contains("hunter2"), "{trace}");
    // A file with keys is asked about, as elsewhere.
    let script = json!([{ "turns": [
        { "calls": [call("my_papers_read", json!({ "path": ".env" }))] },
        { "text": "no" },
    ] }]);
    home.write("script.json", script.to_string());
    home.almoner(&ask).expect(7);
    assert!(home.trace("r2").to_string().contains("paths/keys"));
}

#[test]
fn large_directory_becomes_a_slot_alone() {
    let home = TestHome::new();
    for at in 0..30 {
        home.write(&format!("notes/{at}.txt"), format!("note {at}\n"));
    }
    home.write("letter.txt", "a letter\n");
    let script = json!([{ "contains": "a letter", "turns": [
        { "calls": [{ "name": "notes_read", "arguments": { "path": "7.txt" } }] },
        { "text": "seven" },
    ] }]);
    home.write("script.json", script.to_string());
    let ask = ["ask", "Which?", "letter.txt", "./notes/", "-m", "scripted:script.json"];
    assert_eq!(home.almoner(&ask).expect(0).out, "seven\n");
    std::fs::create_dir(home.path("empty")).unwrap();
    home.almoner(&["ask", "Which?", "empty", "-m", "scripted:script.json"]).expect(4);
}
