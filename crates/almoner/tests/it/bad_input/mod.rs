//! Bad input: a clear error, a way out, the right exit code, and nothing lost.
//!
//! Every test drives the real binary as a new user would. A [`RunFixture`] has one run that is over and one that waits for
//! an answer; after all that went wrong, both must be as they were, and the waiting one must still come to its end.

mod answers;
mod arguments;
mod documents;
mod effects;
mod families;
mod keys;
mod models;
mod namespace;
mod place;
mod provider;
pub(crate) mod server;
mod store;
mod terminal;
mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::test_home::{Said, TestHome};

/// A worker that needs nothing.
const HELLO: &str = "---\ndescription: Greets.\n---\nSay hello.\n";
/// Says hello and ends.
const SAYS_HELLO: &str = r#"[{"turns": [{"text": "hello"}]}]"#;
/// A worker that keeps notes in a directory.
const KEEPER: &str = "---\ndescription: Keeps notes.\nslots: { out: dir rw }\n---\nWrite the notes.\n";
/// Wants to write two notes, and ends after that.
const WRITES_TWO: &str = r#"[{"turns": [
    {"calls": [{"name": "out_write", "arguments": {"path": "a.md", "content": "first\n"}},
               {"name": "out_write", "arguments": {"path": "b.md", "content": "second\n"}}]},
    {"text": "written"}]}]"#;
/// How [`HELLO`] is run.
const RUN_HELLO: [&str; 4] = ["run", "hello.worker", "-m", "scripted:hello.json"];
/// How [`KEEPER`] is run: it waits for the answer to a card with two entries.
const RUN_KEEPER: [&str; 6] = ["run", "keeper.worker", "-e", "out=kept:rw", "-m", "scripted:keeper.json"];

/// A home in which `r1` is over and `r2` waits for an answer.
struct RunFixture {
    home: TestHome,
    /// The number of the card of `r2`.
    card: String,
    /// Both runs, as `runs --json` had them.
    runs: Vec<Value>,
}

impl RunFixture {
    fn new() -> RunFixture {
        RunFixture::in_home(TestHome::new())
    }

    fn in_home(home: TestHome) -> RunFixture {
        home.write("hello.worker", HELLO);
        home.write("hello.json", SAYS_HELLO);
        home.write("keeper.worker", KEEPER);
        home.write("keeper.json", WRITES_TWO);
        home.almoner(&RUN_HELLO).expect(0);
        let waiting = home.almoner(&[&RUN_KEEPER[..], &["--json"]].concat()).expect(7).json();
        let card = waiting["pending"][0].to_string();
        let runs = runs(&home);
        assert_eq!(runs.len(), 2);
        RunFixture { home, card, runs }
    }

    /// Runs a command that must be refused: with this exit code, saying all of this, offering this way out, leaving
    /// every file of the working directory as it was.
    #[track_caller]
    fn refused(&self, args: &[&str], code: i32, says: &[&str], help: &str) -> Said {
        let before = files(&self.home.work());
        let said = self.home.almoner(args);
        check(&said, args, code, says, help);
        assert_eq!(files(&self.home.work()), before, "{args:?} changed a file");
        said
    }

    /// Checks that the runs of the beginning are as they were, and that the waiting run can be answered and ends.
    #[track_caller]
    fn nothing_lost(&self) {
        let now = runs(&self.home);
        assert!(now.ends_with(&self.runs), "was {:#?}\nis {now:#?}", self.runs);
        self.home.almoner(&["approve", &self.card]).expect(0);
        assert_eq!(self.home.almoner(&["resume", "r2"]).expect(0).out, "written\n");
        assert_eq!(
            (self.home.read("kept/a.md"), self.home.read("kept/b.md")),
            ("first\n".into(), "second\n".into())
        );
        assert_healthy(&self.home);
    }

    /// Checks the same, and that there are no other runs: a refused command has left no trace.
    #[track_caller]
    fn nothing_happened(&self) {
        assert_eq!(runs(&self.home), self.runs);
        self.nothing_lost();
    }
}

/// Checks that a refusal is complete: the exit code, the reason, and a help line with the way out.
#[track_caller]
fn check(said: &Said, args: &[&str], code: i32, says: &[&str], help: &str) {
    let Said { code: got, out, err } = said;
    assert_eq!(*got, code, "{args:?}\nstdout:\n{out}\nstderr:\n{err}");
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    assert!(!err.contains('\u{1b}'), "colours without a terminal: {args:?}: {err:?}");
    // Long lines of a report with pictures are wrapped.
    let flat = err.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
    for part in says {
        assert!(flat.contains(part), "{args:?} does not say `{part}`:\n{err}");
    }
    let ways: Vec<&str> = flat.split("help: ").skip(1).collect();
    // A report that shows the very place needs no more where there is nothing to advise.
    let shown = help.is_empty() && flat.contains("╭─[");
    assert!(shown || ways.iter().any(|way| way.contains(help)), "{args:?} offers no `{help}`:\n{err}");
}

/// Returns all runs, newest first.
#[track_caller]
fn runs(home: &TestHome) -> Vec<Value> {
    let runs = home.almoner(&["runs", "-n", "1000", "--json"]).expect(0).json();
    runs.as_array().unwrap().clone()
}

/// Checks that the daemon finds its store sound.
#[track_caller]
fn assert_healthy(home: &TestHome) {
    let report = home.almoner(&["doctor", "daemon", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    for id in ["daemon", "store", "audit chain"] {
        let found: Vec<_> = checks.iter().filter(|check| check["id"] == id).collect();
        assert!(!found.is_empty() && found.iter().all(|check| check["ok"] == true), "{id}: {report:#}");
    }
}

/// Returns every file below a directory: its length and, if it is not huge, its bytes.
pub(crate) fn files(dir: &Path) -> BTreeMap<PathBuf, (u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            if meta.is_dir() {
                dirs.push(path);
            } else if meta.is_file() {
                let bytes = if meta.len() < 1 << 20 { std::fs::read(&path).unwrap() } else { vec![] };
                found.insert(path, (meta.len(), bytes));
            }
        }
    }
    found
}

/// Asks until something is so; a minute is more than any machine needs.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !so() {
        assert!(begun.elapsed().as_secs() < 60, "never: {what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
