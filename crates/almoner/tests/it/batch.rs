//! Runs over many documents: path patterns, and retries of failed documents.

use serde_json::{Value, json};

use crate::test_home::TestHome;

/// A worker that sorts one document, writes a line for each, and one list of all.
const WORKER: &str = "---\noutput: { kind: string }\nslots: { out: dir rw }\nwrite:\n\
    \x20 - { each: out, path: \"{{ item.stem }}.txt\", content: \"{{ output.kind }}\" }\n\
    \x20 - { once: out, path: all.csv, content: \"{% for row in items %}{{ row.item.name }}={% if row.error %}!{% else %}{{ row.output.kind }}{% endif %};{% endfor %}\" }\n\
    ---\nWhat is it?\n";

fn script(entries: &[(&str, Option<&str>)]) -> String {
    let all: Vec<Value> = entries
        .iter()
        .map(|(name, kind)| match kind {
            Some(kind) => json!({ "contains": name, "turns": [{ "text": json!({ "kind": kind }).to_string() }] }),
            None => json!({ "contains": name, "turns": (0..5).map(|_| json!({ "text": "nonsense" })).collect::<Vec<_>>() }),
        })
        .collect();
    json!(all).to_string()
}

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let common = ["--each", "-j2", "-e", "out=./out:rw", "--allow", "out.write", "-m", "scripted:s.json"];
    [&["run", "w.worker"], more, &common].concat()
}

#[test]
fn retry_repeats_only_the_failed_items() {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    for name in ["a", "b", "c"] {
        home.write(&format!("in/{name}.md"), format!("this is {name}"));
    }
    home.write("in/.hidden.md", "this is hidden");
    home.write("s.json", script(&[("this is a", Some("A")), ("this is b", None), ("this is c", Some("C"))]));
    let first = home.almoner(&run(&["in/*.md"])).expect(0);
    assert!(first.err.contains("3 items: 2 done, 1 failed\n  b.md: "), "{first:?}");
    assert_eq!((home.read("out/a.txt"), home.read("out/c.txt")), ("A".to_owned(), "C".to_owned()));
    assert_eq!(home.read("out/all.csv"), "a.md=A;b.md=!;c.md=C;");
    // The retry works on the recorded documents, even if the files are gone, and leaves finished ones alone.
    std::fs::remove_dir_all(home.path("in")).unwrap();
    home.write("out/a.txt", "mine");
    std::fs::remove_file(home.path("out/all.csv")).unwrap();
    home.write("s.json", script(&[("this is b", Some("B"))]));
    let again = home.almoner(&[&run(&["--retry-failed"])[..], &["--json"]].concat()).expect(0);
    assert!(again.err.contains("3 items: 2 done before, in r1; 1 done now, 0 failed\n"), "{again:?}");
    assert_eq!(again.json()["batch"], json!({ "items": 3, "done": 1, "earlier": 2, "of": 1, "failed": [] }));
    assert_eq!((home.read("out/a.txt"), home.read("out/b.txt")), ("mine".to_owned(), "B".to_owned()));
    assert_eq!(home.read("out/all.csv"), "a.md=A;b.md=B;c.md=C;");
    let number = again.json()["run"].as_str().unwrap().to_owned();
    let children = home.trace(&number)["steps"].to_string().matches("\"spawned\"").count();
    assert_eq!(children, 1);
    assert!(home.almoner(&["inbox", "--all"]).expect(0).out.contains("(what failed in r1)"));
    // Nothing is left to do.
    let none = home.almoner(&run(&["--retry-failed"])).expect(4);
    assert!(none.err.contains(&format!("nothing failed in {number}")), "{none:?}");
    // The first run can be named. A run of another kind, or a missing one, cannot.
    home.almoner(&run(&["--retry-failed=r1", "--dry-run"])).expect(0);
    home.almoner(&run(&["--retry-failed=r2"])).expect(2);
    home.almoner(&run(&["--retry-failed=r99"])).expect(4);
}

#[test]
fn retried_items_can_fail_again() {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    for name in ["a", "b"] {
        home.write(&format!("in/{name}.md"), format!("this is {name}"));
    }
    home.write("s.json", script(&[("this is a", None), ("this is b", None)]));
    home.almoner(&run(&["--retry-failed"])).expect(4);
    let first = home.almoner(&run(&["in"]));
    assert!(first.code != 0 && first.err.contains("2 items: 0 done, 2 failed"), "{first:?}");
    home.write("s.json", script(&[("this is a", Some("A")), ("this is b", None)]));
    let second = home.almoner(&run(&["in", "--retry-failed"])).expect(0);
    assert!(second.err.contains("documents and inputs of r1 are used"), "{second:?}");
    assert!(second.err.contains("2 items: 0 done before, in r1; 1 done now, 1 failed"), "{second:?}");
    home.write("s.json", script(&[("this is b", None)]));
    let third = home.almoner(&run(&["--retry-failed"]));
    assert!(third.code != 0 && third.err.contains("1 done before"), "{third:?}");
    assert!(!home.path("out/b.txt").exists());
}

#[test]
fn batch_over_an_empty_pattern_is_refused() {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    home.write("s.json", "[]");
    let said = home.almoner(&run(&["in/*.md"])).expect(4);
    assert!(said.err.contains("no file is called in/*.md"), "{said:?}");
}
