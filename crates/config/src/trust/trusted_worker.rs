//! A worker of a project as it was when the user trusted the project's file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use control::show::difference;
use kernel::BlobHash;
use passable::visible_line;
use serde::{Deserialize, Serialize};
use worker::definition::Bundle;

use crate::settings::project::{self, ProjectEndowments};

/// A worker file with the files that it includes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct WorkerTexts {
    /// The hash of the definition.
    digest: String,
    /// The text of the worker file.
    source: String,
    /// The texts of the included files, by name.
    includes: BTreeMap<String, String>,
}

/// A worker with all workers that fill its slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedWorker {
    /// The workers, by their files. A file in the project is named relative to it.
    files: BTreeMap<String, WorkerTexts>,
}

impl TrustedWorker {
    /// Returns the present state of a worker of the project in `base`.
    pub fn now(base: &Path, name: &str, handed: &ProjectEndowments) -> TrustedWorker {
        let bundles = handed.bundles(&project::worker_file(base, name));
        let files = bundles.into_iter().map(|(file, bundle)| {
            let file = file.strip_prefix(base).unwrap_or(&file).to_string_lossy().into_owned();
            let digest = bundle.digest().to_string();
            let Bundle { source, includes, .. } = bundle;
            (file, WorkerTexts { digest, source, includes })
        });
        TrustedWorker { files: files.collect() }
    }

    /// Returns whether one of the workers has this digest.
    pub fn has(&self, digest: BlobHash) -> bool {
        let digest = digest.to_string();
        self.files.values().any(|texts| texts.digest == digest)
    }

    /// Returns the files and the digests of their definitions.
    pub fn digests(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(file, texts)| (file.as_str(), texts.digest.as_str()))
    }

    /// Returns one line for each worker: its file, the short digest of its definition, and the files that it includes.
    /// The lines are not escaped for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let line = |(file, texts): (&String, &WorkerTexts)| {
            let names: Vec<&str> = texts.includes.keys().map(String::as_str).collect();
            let with = if names.is_empty() { String::new() } else { format!(", with {}", names.join(", ")) };
            let short: String = texts.digest.chars().take(8).collect();
            format!("prompt: {file} ({short}){with}")
        };
        self.files.iter().map(line).collect()
    }

    /// Returns the differences from an earlier state, ready for a terminal. Each begins on a line of its own.
    pub fn difference(&self, earlier: &TrustedWorker) -> String {
        let (was, is) = (earlier.texts(), self.texts());
        let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        let mut text = String::new();
        for name in names {
            let (before, after) = (was.get(name).copied(), is.get(name).copied());
            let lines = difference::lines(before.unwrap_or_default(), after.unwrap_or_default());
            if before == after {
                continue;
            }
            let how = match (before, after) {
                (None, _) => " (new)",
                (_, None) => " (gone)",
                _ => "",
            };
            text += &format!("\n  {}{how}", visible_line(name));
            for line in lines.lines() {
                text += &format!("\n    {}", visible_line(line));
            }
        }
        text
    }

    /// Returns all texts by the names of their files. An included file is named after the file that includes it.
    fn texts(&self) -> BTreeMap<String, &str> {
        let mut all = BTreeMap::new();
        for (file, texts) in &self.files {
            all.insert(file.clone(), texts.source.as_str());
            for (name, text) in &texts.includes {
                all.insert(format!("{name}, which {file} includes"), text.as_str());
            }
        }
        all
    }
}
