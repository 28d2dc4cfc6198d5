//! A home of its own for each test, with a daemon that ends when the test does.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// The repository's example folder.
pub(crate) const INBOX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/inbox");

/// The example folder through the scripted model, one child after the other: one run, one card, six files.
pub(crate) const TRIAGE: [&str; 11] = [
    "run",
    "triage.worker",
    "mail",
    "--each",
    "-j1",
    "-e",
    "out=./out:rw",
    "-e",
    "outbox=./outbox",
    "-m",
    "scripted:script.json",
];

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Said {
    /// Its exit code; 128 + n if signal n ended it.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Said {
        use std::os::unix::process::ExitStatusExt as _;
        let status = output.status;
        Said {
            code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Checks the exit code and returns the result.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Said {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Parses standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e} in {:?}\n{}", self.out, self.err))
    }
}

/// Runs the clerk of the example folder with a scripted model.
pub(crate) const CLERK: [&str; 10] = [
    "run",
    "clerk.worker",
    "-e",
    "mail=mail",
    "-e",
    "out=out:rw",
    "-e",
    "outbox=outbox",
    "-m",
    "scripted:script.json",
];

/// A home with a working directory beside it.
pub(crate) struct TestHome {
    dir: TempDir,
    /// How far the clock of its daemon is ahead, in milliseconds.
    ahead: AtomicI64,
}

impl TestHome {
    pub(crate) fn new() -> TestHome {
        let home = TestHome { dir: tempfile::tempdir().unwrap(), ahead: AtomicI64::new(0) };
        std::fs::create_dir(home.work()).unwrap();
        home
    }

    /// Returns a home whose working directory is a copy of the example folder.
    pub(crate) fn with_inbox() -> TestHome {
        let home = TestHome::new();
        copy(Path::new(INBOX), &home.work());
        home
    }

    /// Returns the same with a script for [`CLERK`]: its model takes these turns and ends.
    pub(crate) fn with_clerk(turns: &str) -> TestHome {
        let home = TestHome::with_inbox();
        home.write("script.json", format!(r#"[{{"turns": [{turns}, {{"text": "done"}}]}}]"#));
        std::fs::create_dir_all(home.path("out")).unwrap();
        home
    }

    /// Moves the clock forward by this time and restarts the daemon.
    #[track_caller]
    pub(crate) fn later(&self, time: Duration) {
        self.almoner(&["stop"]).expect(0);
        self.ahead.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
        self.almoner(&["status"]).expect(0);
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    #[track_caller]
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes the settings, which a daemon reads when it starts.
    pub(crate) fn write_config(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.almoner(&["stop"]);
        let dir = self.root().join("config");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::write(dir.join("config.toml"), text).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Returns a command with this home, in the working directory, without a terminal and without any key.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_almoner"));
        command
            .args(args)
            .current_dir(self.work())
            .env("ALMONER_HOME", self.root())
            .env("OLLAMA_HOST", "127.0.0.1:9")
            .env("ALMONER_AHEAD_MS", self.ahead.load(Ordering::Relaxed).to_string())
            // The tests do not touch the keyring of the user who runs them.
            .env("ALMONER_KEYRING", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for key in [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GEMINI_BASE_URL",
            "ALMONER_MODEL",
            "ALMONER_HUB",
            "FAILPOINTS",
        ] {
            command.env_remove(key);
        }
        command
    }

    pub(crate) fn almoner(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    /// Runs a command with this standard input.
    pub(crate) fn piped(&self, args: &[&str], input: &[u8]) -> Said {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A command that does not read its input may end first.
        let _ = child.stdin.take().unwrap().write_all(input);
        Said::of(child.wait_with_output().unwrap())
    }

    /// Starts a daemon that dies at a fail point.
    pub(crate) fn doomed_daemon(&self, failpoints: &str) -> Child {
        self.command(&["daemon", "--idle", "120"])
            .env("FAILPOINTS", failpoints)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Returns the trace of a run as JSON.
    pub(crate) fn trace(&self, run: &str) -> Value {
        self.almoner(&["trace", run, "--json"]).expect(0).json()
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        let _ = self.command(&["stop"]).output();
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
