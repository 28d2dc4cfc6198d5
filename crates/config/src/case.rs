//! A case: a recorded run as a test, with its inputs, the model's replies, the calls and the result.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use kernel::proposal::{Effect, Proposal};
use kernel::run::{Completion, Entry};
use kernel::{BlobHash, RunNumber};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::place::Place;
use crate::trust;
use control::ask::Ask;
use control::exit::{Exit, Failure};
use control::show::journal::child;

/// The suffix of the name of a case's directory.
pub const SUFFIX: &str = ".case";
/// The file with the command and the calls of the run.
pub const FILE: &str = "case.json";
/// The file with the model's replies.
pub const REPLIES: &str = "replies.json";
/// The file with the result.
pub const RESULT: &str = "result.json";
/// The directory with the files as they were before the run changed them, by slot.
pub const SLOTS: &str = "slots";
/// The directory with the documents of the run.
pub const DOCUMENTS: &str = "documents";
/// The maximum size of a file of a case, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A case that was read from its directory.
#[derive(Debug)]
pub struct Case {
    /// The directory of the case.
    pub root: PathBuf,
    /// The open directory of the case. All files of the case are read through it, so no link in the case leads out.
    pub dir: Dir,
    /// The real path of the directory that contains the case.
    pub base: PathBuf,
    /// The path of the worker file, as in the recorded command.
    pub worker: PathBuf,
    /// The record of the run.
    pub recorded: Recorded,
    /// The result of the run.
    pub result: Json,
    /// The hash of [`FILE`], or of no bytes if the case has no such file.
    pub digest: BlobHash,
}

/// The record of a run, without its replies and its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The arguments of `almoner run`: the worker, its inputs, and its endowments.
    pub command: Vec<String>,
    /// The calls with their outcomes. If they are missing, a test of the case does not compare calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<Made>>,
    /// The files that the run created, as `SLOT/PATH`. They do not exist when the run is repeated.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub made: BTreeSet<String>,
}

/// A call and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// The name of the worker that made the call, or `None` if the worker of the run itself made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The slot and the method.
    pub call: String,
    /// The arguments.
    pub arguments: Json,
    /// The outcome: `done`, `refused`, `failed`, or `open` for a call without an outcome.
    pub came_to: String,
}

impl Made {
    /// Returns the record of a proposed call, with its outcome.
    pub fn of(by: Option<&str>, proposal: &Proposal, completion: Option<&Completion>) -> Made {
        let came_to = match completion {
            Some(Completion::Done { .. }) => "done",
            Some(Completion::Refused(_)) => "refused",
            Some(Completion::Failed(_)) => "failed",
            None => "open",
        };
        Made {
            by: by.map(str::to_owned),
            call: format!("{}.{}", proposal.slot, proposal.method),
            arguments: Json::Array(proposal.args.iter().map(kernel::Value::to_json).collect()),
            came_to: came_to.to_owned(),
        }
    }

    /// Returns whether two records are of the same call. Outcomes are not compared.
    pub fn is(&self, other: &Made) -> bool {
        (&self.by, &self.call, &self.arguments) == (&other.by, &other.call, &other.arguments)
    }

    /// Returns whether the call was performed, or was at least tried.
    pub fn was_let(&self) -> bool {
        self.came_to == "done" || self.came_to == "failed"
    }

    /// Returns the call in one line.
    pub fn line(&self) -> String {
        let by = self.by.as_ref().map(|by| format!("{by}: ")).unwrap_or_default();
        format!("{by}{}{} → {}", self.call, self.arguments, self.came_to)
    }
}

/// Returns all calls of a run and of the runs below it, in the order in which they were proposed.
///
/// # Errors
/// When the journals cannot be read.
pub fn made(daemon: &dyn Ask, run: RunNumber) -> Result<Vec<Made>, Failure> {
    let mut all = Vec::new();
    gather(daemon, run, None, &mut all)?;
    Ok(all)
}

fn gather(daemon: &dyn Ask, run: RunNumber, by: Option<&str>, all: &mut Vec<Made>) -> Result<(), Failure> {
    let steps = daemon.journal(run)?;
    let replaced = |number: u64| {
        steps
            .iter()
            .any(|step| matches!(&step.entry, Entry::Proposed { replaces: Some(old), .. } if *old == number))
    };
    for step in &steps {
        if let Entry::Proposed { proposal, .. } = &step.entry {
            if replaced(step.number) {
                continue;
            }
            let of_it = steps.iter().find_map(|later| match &later.entry {
                Entry::Completed { proposal, completion } if *proposal == step.number => Some(completion),
                _ => None,
            });
            all.push(Made::of(by, proposal, of_it));
        }
        if let Some(below) = child(&step.entry) {
            let name = daemon.run(below)?.name;
            gather(daemon, below, Some(&name), all)?;
        }
    }
    Ok(())
}

/// The state of files before a run changed them.
#[derive(Debug, Default)]
pub struct Before {
    /// The files that did not exist, as `SLOT/PATH`.
    pub made: BTreeSet<String>,
    /// The files that existed, as `SLOT/PATH`, with the hashes of their content.
    pub held: Vec<(String, kernel::BlobHash)>,
}

/// Returns the earlier state of the files that a run itself changed, without the changes of the runs below it.
///
/// # Errors
/// When the journal of the run cannot be read.
pub fn before(daemon: &dyn Ask, run: RunNumber) -> Result<Before, Failure> {
    let steps = daemon.journal(run)?;
    let done: BTreeSet<u64> = steps
        .iter()
        .filter_map(|step| match &step.entry {
            Entry::Completed { proposal, completion: Completion::Done { .. } } => Some(*proposal),
            _ => None,
        })
        .collect();
    let (mut seen, mut found) = (BTreeSet::new(), Before::default());
    for step in steps.iter().filter(|step| done.contains(&step.number)) {
        let Entry::Proposed { proposal, .. } = &step.entry else { continue };
        if proposal.effect == Effect::Observe {
            continue;
        }
        for pin in proposal.pins.iter().filter(|pin| pin.kind == "file" && is_within(&pin.name)) {
            let name = format!("{}/{}", proposal.slot, pin.name);
            if seen.insert(name.clone()) {
                match pin.digest {
                    None => drop(found.made.insert(name)),
                    Some(digest) => found.held.push((name, digest)),
                }
            }
        }
    }
    Ok(found)
}

/// Returns whether the user has trusted this exact case. A trusted case may name any path and run programs.
///
/// # Errors
/// When the list of trusted files cannot be read.
pub fn is_trusted(own: &Place, case: &Case) -> Result<bool, Failure> {
    trust::is_trusted(own, &case.known_as(), case.digest)
}

/// Records that the user trusts this exact case.
///
/// # Errors
/// When the list of trusted files cannot be written.
pub fn keep(own: &Place, case: &Case) -> Result<(), Failure> {
    trust::keep(own, &case.known_as(), case.digest)
}

/// Returns whether a relative path stays within the directory in which it begins.
pub fn is_within(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Returns a value as indented JSON, the form of a case's files.
///
/// # Errors
/// When the value cannot be written as JSON.
pub fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|e| Failure::from_error(Exit::Failure, e))
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// When a part of the case is missing or invalid.
    pub fn load(root: &Path) -> Result<Case, Failure> {
        let Some(file_name) = root.file_name() else { return Err(broken(root, "it is no case")) };
        let above = root.parent().filter(|dir| !dir.as_os_str().is_empty());
        // Removes a slash or a dot at the end of the path, with which the check below would follow a link.
        let root = above.map_or_else(|| PathBuf::from(file_name), |dir| dir.join(file_name));
        if root.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
            return Err(broken(&root, "it is a link, and a case is a directory"));
        }
        let opened = Dir::open_ambient_dir(&root, ambient_authority());
        let dir = opened.map_err(|e| broken(&root, &e.to_string()))?;
        let base = std::fs::canonicalize(above.unwrap_or(Path::new(".")));
        let base = base.map_err(|e| broken(&root, &e.to_string()))?;
        let name = file_name.to_str().unwrap_or_default();
        let name = name.strip_suffix(SUFFIX).unwrap_or(name);
        let at = |name: &str| root.join(name);
        let result = json(&at(RESULT), &bytes(&dir, &root, RESULT)?)?;
        let (recorded, digest) = match dir.symlink_metadata(FILE) {
            Ok(_) => {
                let bytes = bytes(&dir, &root, FILE)?;
                let recorded = serde_json::from_value(json(&at(FILE), &bytes)?);
                (recorded.map_err(|e| broken(&at(FILE), &e.to_string()))?, BlobHash::of(&bytes))
            }
            // The case was made by hand, or before commands were recorded. It uses all documents, and the run has no
            // endowments.
            Err(_) => (Recorded { command: bare(&dir, name), ..Recorded::default() }, BlobHash::of(&[])),
        };
        let Some(worker) = recorded.command.first().map(PathBuf::from) else {
            return Err(broken(&at(FILE), "`command` begins with the worker"));
        };
        Ok(Case { root, dir, base, worker, recorded, result, digest })
    }

    /// Returns the path under which the list of trusted files records the case.
    pub fn known_as(&self) -> PathBuf {
        self.base.join(self.root.file_name().unwrap_or_default()).join(FILE)
    }

    /// Returns the model's replies as a script.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn replies(&self) -> Result<Vec<u8>, Failure> {
        bytes(&self.dir, &self.root, REPLIES)
    }

    /// Replaces the recorded result and calls of the case.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn accept(&self, result: &Json, calls: Vec<Made>) -> Result<(), Failure> {
        let recorded = Recorded { calls: Some(calls), ..self.recorded.clone() };
        for (file, text) in [(FILE, pretty(&recorded)?), (RESULT, pretty(result)?)] {
            let new = format!("{file}.new");
            // Removes any file with this name, so that a new file is created.
            let _ = self.dir.remove_file(&new);
            let mut options = OpenOptions::new();
            let opened = self.dir.open_with(&new, options.write(true).create_new(true));
            let written = opened.and_then(|mut out| std::io::Write::write_all(&mut out, text.as_bytes()));
            written.and_then(|()| self.dir.rename(&new, &self.dir, file)).map_err(|e| {
                Failure::of_file("write", &self.root.join(file).to_string_lossy(), e)
                    .help("check the directory and its permissions")
            })?;
        }
        Ok(())
    }
}

/// Returns the command of a case that has no recorded command.
fn bare(dir: &Dir, name: &str) -> Vec<String> {
    let mut command = vec![format!("{name}.worker")];
    let files = dir.read_dir(DOCUMENTS).into_iter().flatten().flatten();
    let mut documents: Vec<String> = files
        .filter_map(|file| Some(format!("{name}{}/{DOCUMENTS}/{}", SUFFIX, file.file_name().to_str()?)))
        .collect();
    documents.sort();
    command.extend(documents);
    command
}

/// Returns the content of a file of a case. Refuses anything but a regular file, without blocking, and reads no more
/// than the limit.
fn bytes(dir: &Dir, root: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    let fail = |what: &dyn std::fmt::Display| broken(&root.join(name), &what.to_string());
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = dir.open_with(name, &options).map_err(|e| fail(&e))?;
    if !file.metadata().map_err(|e| fail(&e))?.is_file() {
        return Err(fail(&"it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| fail(&e))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(&"it is too large"));
    }
    Ok(bytes)
}

fn json(path: &Path, bytes: &[u8]) -> Result<Json, Failure> {
    serde_json::from_slice(bytes).map_err(|e| broken(path, &e.to_string()))
}

/// Returns a path in one line, without characters that control a terminal.
fn shown(path: &Path) -> String {
    passable::visible_line(&path.display().to_string()).into_owned()
}

fn broken(path: &Path, what: &str) -> Failure {
    Failure::new(Exit::Invalid, format!("cannot use the case {}: {what}", shown(path)))
        .help("`almoner save last as NAME` makes a case of a run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_path_must_stay_inside_the_case() {
        for (path, fits) in
            [("a", true), ("a/b.md", true), ("", false), ("../a", false), ("/a", false), ("a/../../b", false)]
        {
            assert_eq!(is_within(path), fits, "{path}");
        }
    }

    #[test]
    fn call_is_rendered_in_one_line() {
        let made = Made {
            by: Some("judge".to_owned()),
            call: "docs.read".to_owned(),
            arguments: serde_json::json!(["a.txt"]),
            came_to: "refused".to_owned(),
        };
        assert_eq!(made.line(), r#"judge: docs.read["a.txt"] → refused"#);
        assert!(made.is(&Made { came_to: "done".to_owned(), ..made.clone() }) && !made.was_let());
    }
}
