//! Recorded answers: one line of JSON per answer, found by the hash of the request.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::provider::{Progress, Provider};
use crate::reply::Reply;
use crate::request::Request;

/// One line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedReply {
    /// The [`Request::hash`] of the request.
    pub request_hash: String,
    /// The model's answer.
    pub reply: Reply,
}

/// A model that gives recorded answers and never any other.
#[derive(Debug, Clone)]
pub struct Replay {
    path: PathBuf,
    replies: HashMap<String, Reply>,
}

impl Replay {
    /// Reads a recording. When a request was recorded twice, the first answer counts, because the run went on with
    /// that one.
    ///
    /// # Errors
    ///
    /// [`ModelError::File`] when the file cannot be read, [`ModelError::Script`] when a line is no recorded answer.
    /// An incomplete last line, left by a crash, is ignored.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let mut reader = BufReader::new(File::open(path).map_err(|e| file_error(path, &e))?);
        let mut replies = HashMap::new();
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            if reader.read_line(&mut line).map_err(|e| file_error(path, &e))? == 0 {
                break;
            }
            match serde_json::from_str::<RecordedReply>(&line) {
                Ok(recorded) => {
                    replies.entry(recorded.request_hash).or_insert(recorded.reply);
                }
                Err(_) if line.trim().is_empty() || !line.ends_with('\n') => {}
                Err(e) => return Err(ModelError::Script(format!("{}:{number}: {e}", path.display()))),
            }
        }
        Ok(Self { path: path.to_owned(), replies })
    }
}

impl Provider for Replay {
    fn name(&self) -> String {
        format!("replay:{}", self.path.display())
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        let hash = request.hash();
        let reply = self.replies.get(&hash).ok_or_else(|| {
            ModelError::Script(format!(
                "{}: no recorded answer for turn {} of worker `{}` (request {})",
                self.path.display(),
                request.turn() + 1,
                request.worker,
                &hash[..12]
            ))
        })?;
        if !reply.text.is_empty() {
            progress(Progress::Text(reply.text.clone()));
        }
        Ok(reply.clone())
    }
}

/// A model that passes requests on to another model, and records every answer in a file that [`Replay`] reads.
#[derive(Debug)]
pub struct Recorder<P> {
    inner: P,
    path: PathBuf,
    file: Mutex<File>,
}

impl<P: Provider> Recorder<P> {
    /// Returns a recorder that appends to the file `path`.
    ///
    /// # Errors
    ///
    /// [`ModelError::File`] when the file cannot be opened for appending.
    pub fn new(inner: P, path: &Path) -> Result<Self, ModelError> {
        let file =
            OpenOptions::new().create(true).append(true).open(path).map_err(|e| file_error(path, &e))?;
        Ok(Self { inner, path: path.to_owned(), file: Mutex::new(file) })
    }
}

impl<P: Provider> Provider for Recorder<P> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        let reply = self.inner.complete(request, progress)?;
        let recorded = RecordedReply { request_hash: request.hash(), reply };
        let mut line = serde_json::to_string(&recorded)
            .map_err(|e| ModelError::File { path: self.path.clone(), reason: e.to_string() })?;
        line.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|e| file_error(&self.path, &e))?;
        Ok(recorded.reply)
    }
}

fn file_error(path: &Path, error: &std::io::Error) -> ModelError {
    ModelError::File { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Message;
    use crate::scripted::ScriptedModel;

    #[test]
    fn recording_answers_only_recorded_requests() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.ndjson");
        let script = r#"[{"contains":"a","turns":[{"text":"A"}]},{"turns":[{"json":{"x":1}}]}]"#;
        let ask = |text: &str| Request { messages: vec![Message::user(text)], ..Request::default() };
        let recorder = Recorder::new(ScriptedModel::parse(Path::new("s"), script).unwrap(), &path).unwrap();
        let replies = ["a", "b"].map(|t| recorder.complete(&ask(t), &mut |_| {}).unwrap());

        // A crash in the middle of a line loses that line only.
        let half = format!("{}{{\"request_ha", std::fs::read_to_string(&path).unwrap());
        std::fs::write(&path, half).unwrap();
        let replay = Replay::open(&path).unwrap();
        for (text, reply) in ["a", "b"].iter().zip(&replies) {
            assert_eq!(replay.complete(&ask(text), &mut |_| {}).as_ref(), Ok(reply));
        }
        let missing = replay.complete(&ask("c"), &mut |_| {}).unwrap_err();
        assert!(missing.to_string().contains("no recorded answer for turn 1"), "{missing}");

        std::fs::write(&path, "{}\n").unwrap();
        assert!(Replay::open(&path).unwrap_err().to_string().contains("run.ndjson:1:"));
    }
}
