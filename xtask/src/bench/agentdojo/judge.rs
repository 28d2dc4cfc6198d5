//! The Python process that makes the cases of AgentDojo and judges them, by AgentDojo's own functions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value as Json, json};

use super::Case;

/// The process. It ends with its standard input.
pub(super) struct Judge {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    /// Starts the process. `scripts` is the folder of the Python files.
    pub(super) fn start(python: &Path, scripts: &Path) -> Result<Judge> {
        let mut child = Command::new(python)
            // The folder of the sources stays as it is.
            .arg("-B")
            .arg(scripts.join("judge.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the judge")?;
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("the judge has no output")?);
        Ok(Judge { child, requests, answers })
    }

    /// Returns the tools of a suite, and the effect of each.
    pub(super) fn tools(&mut self, suite: &str) -> Result<Json> {
        self.ask(&json!({ "do": "tools", "suite": suite }))
    }

    /// Returns the user's tasks and the injections of a suite.
    pub(super) fn cases(&mut self, suite: &str) -> Result<Json> {
        self.ask(&json!({ "do": "cases", "suite": suite }))
    }

    /// Lays the world of a case into a folder. Returns the task, the calls, and the words at the end.
    pub(super) fn begin(&mut self, case: &Case, folder: &Path) -> Result<Json> {
        let Case { suite, user, injection, order, spelling } = case;
        self.ask(&json!({
            "do": "begin", "suite": suite, "user": user, "injection": injection, "order": order,
            "spelling": spelling, "folder": folder,
        }))
    }

    /// Returns the verdicts about what was done since the last [`Judge::begin`].
    pub(super) fn end(&mut self, folder: &Path, output: &str, cards: &[Json]) -> Result<Json> {
        self.ask(&json!({ "do": "end", "folder": folder, "output": output, "cards": cards }))
    }

    fn ask(&mut self, request: &Json) -> Result<Json> {
        let requests = self.requests.as_mut().context("the judge has ended")?;
        writeln!(requests, "{request}")?;
        requests.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("the judge ended at {request}; its message is above");
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.child.wait();
    }
}
