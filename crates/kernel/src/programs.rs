//! Programs of this machine, as a person hands them over.

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

impl Programs {
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
    }
}
