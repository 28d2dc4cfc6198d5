//! A repository to try things with.
#![cfg(test)]

use std::path::PathBuf;
use std::process::Command;

use git::{Answer, Author, Call, Order, Refusal, StatePin};
use serde_json::Value as Json;

/// A repository, and a place beside it.
pub(crate) struct TestRepository {
    dir: tempfile::TempDir,
}

impl TestRepository {
    /// Returns one with nothing in it.
    pub(crate) fn empty() -> TestRepository {
        let yard = TestRepository { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(yard.path("home")).unwrap();
        std::fs::create_dir_all(yard.root()).unwrap();
        yard.git(&["init", "-q", "-b", "main"]);
        yard
    }

    /// Returns one with two commits: `a.txt`, and `src/b.rs` that is changed in the second.
    pub(crate) fn new() -> TestRepository {
        let yard = TestRepository::empty();
        yard.write("a.txt", "one\ntwo\n");
        yard.write("src/b.rs", "fn b() {}\n");
        yard.git(&["add", "."]);
        yard.git(&["commit", "-qm", "First\n\nWith a body."]);
        yard.write("src/b.rs", "fn b() {}\nfn c() {}\n");
        yard.git(&["commit", "-qam", "Second"]);
        yard
    }

    /// Returns a path beside the repository.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(name)).ok()
    }

    /// Returns the output of git itself.
    #[track_caller]
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let output = Command::new("git")
            .args(words)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .env("GIT_COMMITTER_NAME", "Ada")
            .env("GIT_COMMITTER_EMAIL", "ada@example.org")
            .output()
            .expect("these tests need git: `apt-get install git`");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "git {words:?}: {out}{err}");
        out.trim_end().to_owned()
    }

    pub(crate) fn ask(&self, call: Call) -> Result<Answer, Refusal> {
        // The tests write this word for a key.
        let search = |text: &[u8]| text.windows(4).any(|part| part == b"KEY-").then_some("a key");
        git::answer(&Order { root: self.root(), call }, &search)
    }

    /// Returns the value of a call, as the JSON for a model.
    #[track_caller]
    pub(crate) fn value(&self, call: Call) -> Json {
        self.ask(call).unwrap().value
    }

    /// Returns the rule by which a call is refused.
    #[track_caller]
    pub(crate) fn refused(&self, call: Call) -> String {
        self.ask(call).unwrap_err().rule
    }

    /// Makes a change in the usual way: a preview first, then the change with the pins of the preview.
    #[track_caller]
    pub(crate) fn change(&self, call: impl Fn(Option<Vec<StatePin>>) -> Call) -> Answer {
        let looked = self.ask(call(None)).unwrap();
        self.ask(call(Some(looked.pins))).unwrap()
    }
}

pub(crate) fn add(paths: &[&str]) -> impl Fn(Option<Vec<StatePin>>) -> Call {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    move |pinned| Call::Add { paths: paths.clone(), pinned }
}

pub(crate) fn unstage(paths: &[&str]) -> impl Fn(Option<Vec<StatePin>>) -> Call {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    move |pinned| Call::Unstage { paths: paths.clone(), pinned }
}

pub(crate) const TRAILER: &str = "Almoner-Call: r1#7 0123";

pub(crate) fn commit(message: &str) -> impl Fn(Option<Vec<StatePin>>) -> Call {
    let message = message.to_owned();
    move |pinned| Call::Commit {
        message: message.clone(),
        author: Author { name: "Almoner run r1".to_owned(), email: "almoner@localhost".to_owned() },
        trailer: TRAILER.to_owned(),
        pinned,
    }
}

pub(crate) fn switch(name: &str) -> impl Fn(Option<Vec<StatePin>>) -> Call {
    let name = name.to_owned();
    move |pinned| Call::Switch { name: name.clone(), pinned }
}

pub(crate) fn branch(name: &str) -> impl Fn(Option<Vec<StatePin>>) -> Call {
    let name = name.to_owned();
    move |pinned| Call::Branch { name: name.clone(), at: None, pinned }
}
