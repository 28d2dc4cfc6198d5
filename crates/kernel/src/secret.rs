//! Secrets of the vault as a person hands them over: by name, never by value.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A secret that somebody may hand on without ever seeing it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedSecret {
    /// Its name in the vault.
    pub name: String,
    /// The only variables of a program's environment that may be set to it; empty: any.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub variables: BTreeSet<String>,
    /// The only programs that may get it, by the names by which they are called; empty: any that are handed over with it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub programs: BTreeSet<String>,
}

impl HandedSecret {
    /// What it is in a few words that a person reads: "the secret github, as GITHUB_TOKEN, for gh".
    pub fn words(&self) -> String {
        let all =
            |these: &BTreeSet<String>| these.iter().map(String::as_str).collect::<Vec<_>>().join(" or ");
        let mut words = format!("the secret {}", self.name);
        if !self.variables.is_empty() {
            words += &format!(", as {}", all(&self.variables));
        }
        if !self.programs.is_empty() {
            words += &format!(", for {}", all(&self.programs));
        }
        words
    }

    /// Why this program does not get it as this variable, if it does not.
    pub fn refusal(&self, program: &str, variable: &str) -> Option<String> {
        let misses = |these: &BTreeSet<String>, this: &str| !these.is_empty() && !these.contains(this);
        let all = |these: &BTreeSet<String>| these.iter().cloned().collect::<Vec<_>>().join(", ");
        if misses(&self.programs, program) {
            return Some(format!("for no program but {}", all(&self.programs)));
        }
        misses(&self.variables, variable).then(|| format!("for no variable but {}", all(&self.variables)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_where_its_owner_said_and_anywhere_if_nothing_was_said() {
        let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>();
        let handed = |variables: &[&str], programs: &[&str]| HandedSecret {
            name: "github".into(),
            variables: set(variables),
            programs: set(programs),
        };
        for (secret, words, refusal) in [
            (handed(&[], &[]), "the secret github", None),
            (handed(&["T"], &["gh"]), "the secret github, as T, for gh", None),
            (handed(&["U"], &[]), "the secret github, as U", Some("for no variable but U")),
            (
                handed(&["T"], &["git", "hub"]),
                "the secret github, as T, for git or hub",
                Some("for no program but git, hub"),
            ),
        ] {
            assert_eq!(secret.words(), words);
            assert_eq!(secret.refusal("gh", "T").as_deref(), refusal, "{words}");
        }
    }
}
