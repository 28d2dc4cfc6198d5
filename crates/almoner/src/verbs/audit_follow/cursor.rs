//! The cursor: the last event that a receiver has taken, in a file of the home.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use kernel::BlobHash;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::cli::audit::MAX_CURSOR_NAME_LEN;
use config::place::{self, Place};
use config::whole_file;
use control::audit_report::Anchor;
use control::exit::{Exit, Failure};

/// The version of the form of a cursor.
pub(super) const VERSION: u32 = 1;

/// The cursor before the first event.
pub(super) const BEGINNING: Anchor = Anchor { seq: 0, hash: BlobHash([0; 32]) };

/// The last event that a receiver has taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// The version of this form.
    pub(super) version: u32,
    /// The receiver.
    pub(super) target: String,
    /// The agent whose events the receiver gets. `None` means the store's own host.
    pub(super) agent: Option<String>,
    /// The last event, with its hash. The hash tells this log from another.
    pub(super) log: Anchor,
}

/// The file of a cursor, locked for this process.
#[derive(Debug)]
pub(super) struct CursorFile {
    name: String,
    path: PathBuf,
    _lock: File,
}

/// Returns the name of the cursor of a receiver for which the user has named none.
pub(super) fn usual_name(target: &str, agent: Option<&str>) -> String {
    let text = agent.map_or_else(|| target.to_owned(), |agent| format!("{agent}-{target}"));
    let mut name = String::new();
    for c in text.chars() {
        match c.is_ascii_alphanumeric() {
            true => name.push(c.to_ascii_lowercase()),
            false if name.is_empty() || name.ends_with('-') => {}
            false => name.push('-'),
        }
    }
    name.truncate(MAX_CURSOR_NAME_LEN);
    name.trim_end_matches('-').to_owned()
}

impl CursorFile {
    /// Opens the file of a cursor, whether it exists or not.
    ///
    /// # Errors
    /// When another command uses the cursor, or the home takes no file.
    pub(super) fn open(place: &Place, name: &str) -> Result<CursorFile, Failure> {
        let folder = place.state.join("cursors");
        place::private_dir(&folder)?;
        let path = folder.join(format!("{name}.json"));
        let fail = |error: io::Error| failure(&path, error);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join(format!("{name}.lock")))
            .map_err(fail)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let message = format!("cannot use the cursor `{name}`: another command uses it");
                return Err(Failure::new(Exit::Conflict, message).help("`--cursor NAME` chooses another one"));
            }
            Err(error) => return Err(fail(error.into())),
        }
        Ok(CursorFile { name: name.to_owned(), path, _lock: lock })
    }

    /// Returns the cursor, if the receiver has taken an event before.
    ///
    /// # Errors
    /// When the file cannot be read, or the cursor belongs to another receiver.
    pub(super) fn load(&self, target: &str, agent: Option<&str>) -> Result<Option<Cursor>, Failure> {
        let mut text = String::new();
        match File::open(&self.path) {
            Ok(mut file) => file.read_to_string(&mut text).map_err(|error| failure(&self.path, error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failure(&self.path, error)),
        };
        let help = "`--cursor NAME` chooses another one, and `--from start` begins anew";
        let cursor: Cursor = serde_json::from_str(&text).map_err(|error| {
            let message = format!("cannot read the cursor `{}`: {error}", self.name);
            Failure::new(Exit::Failure, message).help(help)
        })?;
        if cursor.version != VERSION || cursor.target != target || cursor.agent.as_deref() != agent {
            let whose = cursor.agent.map(|agent| format!(" and the agent `{agent}`")).unwrap_or_default();
            let message =
                format!("cannot use the cursor `{}`: it belongs to {}{whose}", self.name, cursor.target);
            return Err(Failure::new(Exit::Conflict, message).help(help));
        }
        Ok(Some(cursor))
    }

    /// Writes the cursor to the disk.
    ///
    /// # Errors
    /// When the disk is full or fails. Then the earlier cursor stays, and events are sent again.
    pub(super) fn store(&mut self, cursor: &Cursor) -> Result<(), Failure> {
        let json = serde_json::to_vec(cursor).map_err(|error| failure(&self.path, error.into()))?;
        whole_file::replace(&self.path, &json).map_err(|error| failure(&self.path, error))
    }
}

fn failure(path: &std::path::Path, error: io::Error) -> Failure {
    let message = format!("cannot keep the cursor in {}: {error}", path.display());
    let failure = Failure::from_error(Exit::Failure, error).saying(message);
    failure.help("events that were not recorded as taken are sent again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::audit::parse_cursor_name;

    #[test]
    fn usual_name_of_a_cursor_is_a_name() {
        for (target, agent, expected) in [
            ("jsonl", None, "jsonl"),
            ("jsonl", Some("bob/fae"), "bob-fae-jsonl"),
            ("https://Collector.example:4318/otlp", None, "https-collector-example-4318-otlp"),
        ] {
            let name = usual_name(target, agent);
            assert_eq!(name, expected);
            assert_eq!(parse_cursor_name(&name), Ok(name));
        }
    }

    #[test]
    fn cursor_is_kept_and_has_one_user() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::under(dir.path());
        std::fs::create_dir_all(&place.state).unwrap();
        let mut file = CursorFile::open(&place, "a").unwrap();
        assert_eq!(file.load("jsonl", None).unwrap(), None);
        assert_eq!(CursorFile::open(&place, "a").unwrap_err().exit, Exit::Conflict);
        CursorFile::open(&place, "b").unwrap();
        let log = Anchor { seq: 7, hash: BlobHash::of(b"7") };
        let cursor = Cursor { version: VERSION, target: "jsonl".to_owned(), agent: None, log };
        file.store(&cursor).unwrap();
        drop(file);
        let file = CursorFile::open(&place, "a").unwrap();
        assert_eq!(file.load("jsonl", None).unwrap(), Some(cursor));
        assert_eq!(file.load("http://h", None).unwrap_err().exit, Exit::Conflict);
        assert_eq!(file.load("jsonl", Some("bob")).unwrap_err().exit, Exit::Conflict);
    }
}
