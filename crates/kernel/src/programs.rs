//! Programs of this machine, as a person hands them over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::BlobHash;

/// Programs that may be run, and what they reach when they do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// The programs. No two have the same name.
    pub programs: Vec<EndowedProgram>,
    /// The directories that they reach; the first is where they begin.
    #[serde(default)]
    pub directories: Vec<ProgramDirectory>,
    /// What they find in their environment beside the usual.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, Setting>,
    /// Whether they may open connections over the network.
    #[serde(default)]
    pub network: bool,
    /// Whether each may start other programs of this machine.
    #[serde(default)]
    pub starts_others: bool,
    /// How long one call may take, in milliseconds.
    pub wall_ms: u64,
    /// How much memory all processes of a call may use together, in bytes.
    pub memory: u64,
}

/// One program, as it was when it was handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndowedProgram {
    /// The name by which it is called: the first word of a call.
    pub name: String,
    /// Where it lies, all links followed.
    pub path: String,
    /// The digest of its file. Another one is another program.
    pub digest: BlobHash,
    /// If it is a script: what reads it, in the order in which the one leads to the next. Other ones make another
    /// program of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interpreters: Vec<Interpreter>,
}

/// What reads a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interpreter {
    /// Where it lies, all links followed.
    pub path: String,
    /// The digest of its file.
    pub digest: BlobHash,
}

/// A directory that programs reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramDirectory {
    /// Its absolute path.
    pub path: String,
    /// Whether they may change what is in it.
    pub write: bool,
}

/// What a variable of the environment is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// These words.
    Text(String),
    /// The secret of this name, put in when the program starts.
    Secret(String),
}

impl Setting {
    /// The name of the secret, if it is one.
    pub fn secret(&self) -> Option<&str> {
        match self {
            Setting::Secret(name) => Some(name),
            Setting::Text(_) => None,
        }
    }
}

/// Variables that say how a program is confined, or what else is loaded into it: nobody sets these by name.
const KEPT: [&str; 7] = ["PATH", "HOME", "TMPDIR", "LANG", "TERM", "IFS", "BASH_ENV"];
/// The same by how they begin.
const KEPT_BEGINNINGS: [&str; 2] = ["LD_", "GIT_CONFIG"];

/// Why a variable of a program's environment cannot be set by this name, if it cannot.
pub fn variable_problem(name: &str) -> Option<&'static str> {
    let is_begun = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name.len() <= 64;
    if !is_begun || !is_plain {
        return Some("a variable has a name of letters, digits and `_`, at most 64");
    }
    let is_kept = KEPT.contains(&name) || KEPT_BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    is_kept.then_some("this variable says how the program is confined, and what is loaded into it")
}

impl Programs {
    /// The secrets that each call gets, by name.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.environment.values().filter_map(Setting::secret)
    }

    /// What it is in a few words that a person reads: "programs rg, git in /work (rw), with network".
    pub fn words(&self) -> String {
        let names: Vec<&str> = self.programs.iter().map(|program| program.name.as_str()).collect();
        let noun = if names.len() == 1 { "program" } else { "programs" };
        let mut words = format!("{noun} {}", names.join(", "));
        let manner = |write| if write { " (rw)" } else { "" };
        for (at, directory) in self.directories.iter().enumerate() {
            let joint = if at == 0 { " in" } else { "," };
            words += &format!("{joint} {}{}", directory.path, manner(directory.write));
        }
        if self.network {
            words += ", with network";
        }
        if self.starts_others {
            words += ", starting others";
        }
        for (variable, setting) in &self.environment {
            words += &match setting {
                Setting::Text(text) => format!(", with {variable}={text}"),
                Setting::Secret(name) => format!(", with {variable} from the secret {name}"),
            };
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_handed_over_is_said_in_a_few_words() {
        let program = |name: &str| EndowedProgram {
            name: name.into(),
            path: format!("/usr/bin/{name}"),
            digest: BlobHash([1; 32]),
            interpreters: vec![],
        };
        let directory = |path: &str, write| ProgramDirectory { path: path.into(), write };
        let mut programs = Programs {
            programs: vec![program("rg")],
            directories: vec![],
            environment: BTreeMap::new(),
            network: false,
            starts_others: false,
            wall_ms: 1,
            memory: 1,
        };
        assert_eq!(programs.words(), "program rg");
        programs.programs.push(program("git"));
        programs.directories = vec![directory("/w", true), directory("/r", false)];
        programs.network = true;
        programs.starts_others = true;
        assert_eq!(programs.words(), "programs rg, git in /w (rw), /r, with network, starting others");
        programs.environment = BTreeMap::from([
            ("HOST".to_owned(), Setting::Text("a.example".to_owned())),
            ("TOKEN".to_owned(), Setting::Secret("github".to_owned())),
        ]);
        assert!(programs.words().ends_with(", with HOST=a.example, with TOKEN from the secret github"));
        assert_eq!(programs.secrets().collect::<Vec<_>>(), ["github"]);
    }

    #[test]
    fn what_confines_a_program_is_not_set_by_name() {
        for (name, good) in [
            ("GITHUB_TOKEN", true),
            ("_x1", true),
            ("PATH", false),
            ("LD_PRELOAD", false),
            ("GIT_CONFIG_KEY_9", false),
            ("1X", false),
            ("", false),
            ("A B", false),
            ("A=B", false),
        ] {
            assert_eq!(variable_problem(name).is_none(), good, "{name}");
        }
        assert!(variable_problem(&"X".repeat(65)).is_some());
    }
}
