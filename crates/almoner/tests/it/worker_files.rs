//! Worker files: begun, taken over from others, and described to editors.

use crate::test_home::TestHome;

#[test]
fn new_worker_file_runs_unchanged() {
    let home = TestHome::new();
    home.almoner(&["new", "hello"]).expect(0);
    home.almoner(&["check", "hello.worker"]).expect(0);
    home.write("script.json", r#"[{ "turns": [{ "text": "Hello." }] }]"#);
    let said = home.almoner(&["run", "hello.worker", "-m", "scripted:script.json"]).expect(0);
    assert_eq!(said.out.trim(), "Hello.");
    // An existing file is not touched, and a name that no worker can have creates no file.
    home.write("hello.worker", "Mine.\n");
    home.almoner(&["new", "hello"]).expect(8);
    assert_eq!(home.read("hello.worker"), "Mine.\n");
    home.almoner(&["new", "no such name"]).expect(2);
    assert!(!home.path("no such name.worker").exists());
}

#[test]
fn minimal_worker_file_runs() {
    let home = TestHome::new();
    home.write("w.worker", "---\ndescription: Greets.\n---\nSay hello.\n");
    home.write("script.json", r#"[{ "turns": [{ "text": "Hello." }] }]"#);
    assert_eq!(
        home.almoner(&["run", "w.worker", "-m", "scripted:script.json"]).expect(0).out.trim(),
        "Hello."
    );
}

#[test]
fn foreign_agent_file_is_imported_and_losses_are_listed() {
    let home = TestHome::new();
    let agent = "---\nname: reviewer\ndescription: Reviews: code\ntools: Read, Bash\nmodel: opus\n---\nReview {{ it }}.\n";
    home.write("agents/reviewer.md", agent);
    let said = home.almoner(&["import", "agents/reviewer.md"]).expect(0);
    assert!(said.err.contains("there is no shell") && said.err.contains("`model: opus`"), "{said:?}");
    let made = home.read("reviewer.worker");
    assert!(made.contains("  files: dir\n  shell: program\n"), "{made}");
    home.almoner(&["check", "reviewer.worker"]).expect(0);
    // Nothing that is there is written over.
    home.almoner(&["import", "agents/reviewer.md"]).expect(8);
    assert_eq!(home.almoner(&["import", "agents/reviewer.md", "-o", "-"]).expect(0).out, made);
    home.write("bad.md", "---\na: b\n---\n");
    home.almoner(&["import", "bad.md"]).expect(6);
    home.almoner(&["import", "nowhere.md"]).expect(4);
}

#[test]
fn worker_schema_describes_the_front_matter() {
    let schema = TestHome::new().almoner(&["schema", "worker"]).expect(0).json();
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["properties"]["slots"].is_object());
}
