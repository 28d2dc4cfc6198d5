//! A case: what a run was given, what its model answered, what it called, and what came of it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use kernel::RunNumber;
use kernel::proposal::{Effect, Proposal};
use kernel::run::{Completion, Entry};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::commands::acting::Acting;
use crate::commands::{look, output};
use control::exit::{Exit, Failure};
use control::show::journal::child;

/// The file that says how the run was begun, and what it called.
pub const FILE: &str = "case.json";
/// The file with what the model answered.
pub const REPLIES: &str = "replies.json";
/// The file with what came of it.
pub const RESULT: &str = "result.json";
/// The directory with what files were before the run changed them, by slot.
pub const SLOTS: &str = "slots";
/// The directory with the documents of the run.
pub const DOCUMENTS: &str = "documents";
/// No file of a case is read beyond so many bytes.
const MOST: u64 = 64 << 20;

/// A case, read.
#[derive(Debug)]
pub struct Case {
    /// Its directory.
    pub root: PathBuf,
    /// The worker's file.
    pub worker: PathBuf,
    /// What is written down of the run.
    pub recorded: Recorded,
    /// What came of it.
    pub result: Json,
}

/// What is written down of a run beside its replies and its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// What stands behind `almoner run`: the worker, its inputs, and what was handed over.
    pub command: Vec<String>,
    /// What it called, with what became of it; without it, calls are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<Made>>,
    /// Files that the run made: in front the slot, then the path. They are not there when it is tried again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub made: BTreeSet<String>,
}

/// A call, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// The worker that called, if another one had called that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The slot and the method.
    pub call: String,
    /// The arguments.
    pub arguments: Json,
    /// `done`, `refused` or `failed`.
    pub came_to: String,
}

impl Made {
    /// A call as it was proposed, with what became of it.
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

    /// Whether it is the same call, whatever became of it.
    pub fn is(&self, other: &Made) -> bool {
        (&self.by, &self.call, &self.arguments) == (&other.by, &other.call, &other.arguments)
    }

    /// Whether it happened, or was at least tried.
    pub fn was_let(&self) -> bool {
        self.came_to == "done" || self.came_to == "failed"
    }

    /// In one line.
    pub fn line(&self) -> String {
        let by = self.by.as_ref().map(|by| format!("{by}: ")).unwrap_or_default();
        format!("{by}{}{} → {}", self.call, self.arguments, self.came_to)
    }
}

/// All that a run and those below it have called, in the order in which the callers did.
///
/// # Errors
/// When the journals cannot be had.
pub fn made(acting: &Acting<'_>, run: RunNumber) -> Result<Vec<Made>, Failure> {
    let mut all = Vec::new();
    gather(acting, run, None, &mut all)?;
    Ok(all)
}

fn gather(acting: &Acting<'_>, run: RunNumber, by: Option<&str>, all: &mut Vec<Made>) -> Result<(), Failure> {
    let steps = look::journal(acting, run)?;
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
            let name = look::run(acting, below)?.name;
            gather(acting, below, Some(&name), all)?;
        }
    }
    Ok(())
}

/// What directories held before a run changed them.
#[derive(Debug, Default)]
pub struct Before {
    /// What was not there, as `SLOT/PATH`.
    pub made: BTreeSet<String>,
    /// What was there, as `SLOT/PATH`, and what it held.
    pub held: Vec<(String, kernel::BlobHash)>,
}

/// What directories held before a run itself changed them.
///
/// # Errors
/// When its journal cannot be had.
pub fn before(acting: &Acting<'_>, run: RunNumber) -> Result<Before, Failure> {
    let steps = look::journal(acting, run)?;
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

/// Whether a path stays below where it begins.
pub fn is_within(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// JSON as it lies in a file.
///
/// # Errors
/// When it cannot be written.
pub fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|e| Failure::new(Exit::Failure, e.to_string()))
}

impl Case {
    /// Reads one.
    ///
    /// # Errors
    /// When a part of it is missing or not what it should be.
    pub fn load(root: &Path) -> Result<Case, Failure> {
        let name = root.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_suffix(super::SUFFIX).unwrap_or(name);
        let result = json(&root.join(RESULT))?;
        let file = root.join(FILE);
        let recorded = match file.symlink_metadata() {
            Ok(_) => serde_json::from_value(json(&file)?).map_err(|e| broken(&file, &e.to_string()))?,
            // Made by hand, or before commands were kept: all documents, and nothing handed over.
            Err(_) => Recorded { command: bare(root, name), ..Recorded::default() },
        };
        let Some(worker) = recorded.command.first() else {
            return Err(broken(&file, "`command` begins with the worker"));
        };
        let worker = base(root).join(worker);
        Ok(Case { root: root.to_owned(), worker, recorded, result })
    }

    /// The directory from which its command was given.
    pub fn base(&self) -> PathBuf {
        base(&self.root)
    }

    /// From now on, this is what it comes to.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn accept(&self, result: &Json, calls: Vec<Made>) -> Result<(), Failure> {
        let recorded = Recorded { calls: Some(calls), ..self.recorded.clone() };
        for (file, text) in [(FILE, pretty(&recorded)?), (RESULT, pretty(result)?)] {
            let path = self.root.join(file);
            std::fs::write(&path, text).map_err(|e| {
                Failure::new(Exit::Failure, format!("{}: {e}", output::path(&path)))
                    .help("check the directory and its permissions")
            })?;
        }
        Ok(())
    }
}

/// The directory in which a case lies.
fn base(root: &Path) -> PathBuf {
    root.parent().map(Path::to_owned).unwrap_or_default()
}

/// The command of a case that has none written down.
fn bare(root: &Path, name: &str) -> Vec<String> {
    let mut command = vec![format!("{name}.worker")];
    let files = std::fs::read_dir(root.join(DOCUMENTS)).into_iter().flatten().flatten();
    let mut documents: Vec<String> = files
        .filter_map(|file| {
            Some(format!("{name}{}/{DOCUMENTS}/{}", super::SUFFIX, file.file_name().to_str()?))
        })
        .collect();
    documents.sort();
    command.extend(documents);
    command
}

fn json(path: &Path) -> Result<Json, Failure> {
    let size = std::fs::metadata(path).map(|meta| meta.len());
    let text = match size {
        Ok(size) if size > MOST => return Err(broken(path, "it is too large")),
        Ok(_) => std::fs::read_to_string(path),
        Err(e) => Err(e),
    };
    let text = text.map_err(|e| broken(path, &e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| broken(path, &e.to_string()))
}

fn broken(path: &Path, what: &str) -> Failure {
    Failure::new(Exit::Invalid, format!("{}: {what}", output::path(path)))
        .help("`almoner save last as NAME` makes a case of a run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_below_is_a_path_of_a_case() {
        for (path, fits) in
            [("a", true), ("a/b.md", true), ("", false), ("../a", false), ("/a", false), ("a/../../b", false)]
        {
            assert_eq!(is_within(path), fits, "{path}");
        }
    }

    #[test]
    fn a_call_in_one_line() {
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
