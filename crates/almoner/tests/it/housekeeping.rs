//! Tests of exporting and forgetting runs, and of the space that this frees.

use std::path::PathBuf;

use serde_json::Value;

use crate::kill_sweep::Doomed;
use crate::terminal::Terminal;
use crate::test_home::TestHome;

const RUN: [&str; 8] = ["run", "w.worker", "in", "--each", "-j1", "-e", "out=./out:rw", "--allow=out.write"];

/// Returns a home with one batch run over two documents. The run has called no tool and has written two files.
fn lived_in() -> TestHome {
    let home = TestHome::new();
    home.write(
        "w.worker",
        "---\nslots: { out: dir rw }\nwrite:\n  - { each: out, path: \"{{ item.stem }}.txt\", content: \"{{ output }}\" }\n---\n{% include \"how.md\" %}\n",
    );
    home.write("how.md", "Say what it is.\n");
    home.write("in/a.md", "the first document, which nobody else has");
    home.write("in/b.md", "the second document, which somebody else has too");
    home.write("s.json", r#"[{ "turns": [{ "text": "it is one" }] }]"#);
    home.almoner(&[&RUN[..], &["-m", "scripted:s.json"]].concat()).expect(0);
    home
}

fn files(home: &TestHome) -> Vec<Vec<u8>> {
    fn walk(dir: PathBuf, found: &mut Vec<Vec<u8>>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                walk(entry.path(), found);
            } else {
                found.push(std::fs::read(entry.path()).unwrap());
            }
        }
    }
    let mut found = Vec::new();
    // Small ones are rows, which may stand in the log as well.
    walk(home.root().join("state/store"), &mut found);
    found
}

/// Returns whether these words stand anywhere in the store or beside it.
fn is_kept(home: &TestHome, words: &str) -> bool {
    files(home).iter().any(|bytes| bytes.windows(words.len()).any(|window| window == words.as_bytes()))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn forgotten_run_is_deleted_and_shared_data_stays() {
    let home = lived_in();
    home.write("more/b.md", "the second document, which somebody else has too");
    let more = ["run", "w.worker", "more", "--each", "-e", "out=./more-out:rw", "--allow=out.write"];
    home.almoner(&[&more[..], &["-m", "scripted:s.json"]].concat()).expect(0);
    let before = home.almoner(&["trace", "r1", "--json"]).expect(0).json();
    // No user is here to confirm it, and a child of a run is forgotten only with the whole run.
    home.almoner(&["forget", "r1"]).expect(7);
    assert!(home.almoner(&["forget", "r2", "--yes"]).expect(2).err.contains("`almoner forget r1`"));
    home.almoner(&["forget", "r99", "--yes"]).expect(4);
    home.almoner(&["forget", "nonsense", "--yes"]).expect(2);
    assert!(is_kept(&home, "the first document"));
    // A daemon spares the blobs that it stored recently, since a row may be about to name them. The next daemon can
    // free them.
    home.almoner(&["stop"]).expect(0);
    let said = home.almoner(&["forget", "r1", "--yes", "--json"]).expect(0).json();
    assert_eq!(said["forgotten"].to_string(), "[3,2,1]");
    assert!(said["freed"]["blobs"].as_u64().unwrap() >= 4, "{said}");
    assert!(!is_kept(&home, "the first document"), "it is still there");
    assert!(is_kept(&home, "the second document") && is_kept(&home, "Say what it is."));
    // The journal keeps all its steps and gains one. The trace shows the new step, and the audit log verifies.
    let after = home.almoner(&["trace", "r1", "--json"]).expect(0).json();
    let steps = |trace: &Value| trace["steps"].as_array().unwrap().clone();
    let count = steps(&before).len();
    assert_eq!(steps(&after)[..count], steps(&before)[..]);
    assert!(home.almoner(&["trace", "r1"]).expect(0).out.contains("forgotten  you had forgotten"));
    home.almoner(&["audit", "verify"]).expect(0);
    home.almoner(&["doctor", "daemon", "--json"]);
    // A second `forget` changes nothing. Commands that need the forgotten data say that it was forgotten.
    home.almoner(&["forget", "r1", "--yes"]).expect(0);
    let again =
        ["run", "w.worker", "--each", "--retry-failed=r1", "-e", "out=./out:rw", "-m", "scripted:s.json"];
    assert!(home.almoner(&again).expect(4).err.contains("was forgotten"));
    let undone = home.almoner(&["undo", "r1"]);
    assert!([0, 8].contains(&undone.code), "{undone:?}");
    let exported = lines(&home.almoner(&["export", "r1"]).expect(0).out);
    assert!(exported.iter().any(|line| line["gone"] == true && line["as"][0] == "document a.md"));
    // The other run lacks nothing.
    let other = lines(&home.almoner(&["export", "r4"]).expect(0).out);
    assert!(other.iter().all(|line| line["gone"].is_null()), "{other:?}");
}

#[test]
fn named_data_survives_forgetting_its_run() {
    let home = lived_in();
    home.write("a.txt", "the first document, which nobody else has");
    home.almoner(&["store", "kept=@a.txt"]);
    let named = home.almoner(&["cat", "kept"]).code == 0;
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["forget", "r1", "--yes"]).expect(0);
    assert_eq!(is_kept(&home, "the first document"), named);
}

#[test]
fn active_or_staged_run_cannot_be_forgotten() {
    let home = lived_in();
    let call = r#"{"name": "out_write", "arguments": {"path": "c.md", "content": "text"}}"#;
    home.write("calls.json", format!(r#"[{{"turns": [{{"calls": [{call}]}}, {{"text": "done"}}]}}]"#));
    home.write("clerk.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    let clerk = |out: &'static str| ["run", "clerk.worker", "-e", out, "-m", "scripted:calls.json"];
    home.almoner(&clerk("out=./out:rw")).expect(7);
    assert!(home.almoner(&["forget", "r4", "--yes"]).expect(8).err.contains("is not over"));
    home.almoner(&clerk("out=./out:stage")).expect(0);
    assert!(home.almoner(&["forget", "r5", "--yes"]).expect(8).err.contains("`almoner discard r5` first"));
    home.almoner(&["discard", "r5"]).expect(0);
    home.almoner(&["forget", "r5", "--yes"]).expect(0);
}

#[test]
fn terminal_asks_before_forgetting() {
    let home = lived_in();
    for (answer, code) in [("\n", 5), ("y\n", 0)] {
        let mut terminal = Terminal::open(&home, &["forget", "r1"]);
        terminal.shows("forget it? [y/N]", 1);
        terminal.press(answer);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, code, "{screen}");
        assert!(screen.contains("its 2 documents"), "{screen}");
    }
}

/// Checks that a `forget` that is killed at a commit, or at a file of the sweep, completes when it is repeated.
/// Nothing else is lost.
#[test]
fn interrupted_forget_completes_on_retry() {
    let template = lived_in();
    template.almoner(&["stop"]).expect(0);
    let mut died = 0;
    for (point, counts) in [
        ("store.before_commit", 1..=5),
        ("store.after_commit", 1..=5),
        ("sweep.before_remove", 1..=2),
        ("sweep.after_remove", 1..=2),
    ] {
        for nth in counts {
            let home = TestHome::new();
            for (from, to) in [(template.work(), home.work()), (template.root(), home.root())] {
                std::fs::create_dir_all(&to).unwrap();
                crate::test_home::copy(&from, &to);
            }
            let mut daemon = Doomed::start(&home, point, nth);
            let first = home.almoner(&["forget", "r1", "--yes"]);
            died += u64::from(daemon.has_died());
            home.almoner(&["stop"]);
            drop(daemon);
            home.almoner(&["forget", "r1", "--yes"]).expect(0);
            home.almoner(&["audit", "verify"]).expect(0);
            assert!(!is_kept(&home, "the first document"), "{point} {nth}: {first:?}");
            assert!(is_kept(&home, "Say what it is."), "{point} {nth}");
            home.almoner(&["trace", "r1", "--tree"]).expect(0);
        }
    }
    assert!(died >= 8, "only {died} daemons died");
}

#[test]
fn export_contains_the_whole_run_and_no_secret() {
    let home = lived_in();
    let said = home.almoner(&["export", "r1", "-o", "r1.jsonl"]).expect(0);
    home.almoner(&["export", "last", "-o", "last.jsonl"]).expect(0);
    assert_eq!(home.read("last.jsonl"), home.read("r1.jsonl"));
    assert!(said.err.contains("r1.jsonl has 3 runs"), "{said:?}");
    let all = lines(&home.read("r1.jsonl"));
    assert_eq!((all[0]["kind"].as_str(), all[0]["version"].as_u64()), (Some("export"), Some(1)));
    for (what, text) in [
        ("document a.md", "the first document"),
        ("definition w", "write:"),
        ("include how.md", "Say what it is."),
        ("reply", "it is one"),
        ("request", "almoner request"),
        ("part of a request", "the first document"),
    ] {
        let found = all.iter().any(|line| {
            let named = line["as"].as_array().is_some_and(|uses| uses.iter().any(|one| one == what));
            named && line["text"].as_str().is_some_and(|body| body.contains(text))
        });
        assert!(found, "{what}: {text}");
    }
    let journal = home.almoner(&["trace", "r1", "--json"]).expect(0).json();
    let steps = all.iter().filter(|line| line["kind"] == "step" && line["run"] == "r1").count();
    assert_eq!(steps, journal["steps"].as_array().unwrap().len());
    // The export overwrites no file, and no other user may read its file.
    home.almoner(&["export", "r1", "-o", "r1.jsonl"]).expect(8);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(home.path("r1.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    // An export contains no secret of the vault, in no document, request or journal. This holds for a secret that was
    // stored after the run, too.
    home.piped(&["secret", "set", "WORDS"], b"the first document").expect(0);
    let without = home.almoner(&["export", "r1"]).expect(0).out;
    assert!(!without.contains("the first document") && without.contains("\"redacted\":true"), "{without}");
    assert!(without.contains("the second document"), "{without}");
    home.almoner(&["secret", "remove", "WORDS"]).expect(0);
    // The same again is the same, on standard output too; and without documents there are none.
    assert_eq!(home.almoner(&["export", "r1"]).expect(0).out, home.read("r1.jsonl"));
    let bare = home.almoner(&["export", "r1", "--no-documents"]).expect(0).out;
    assert!(!bare.contains("the first document") && bare.contains("it is one"), "{bare}");
}
