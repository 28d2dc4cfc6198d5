//! The kind for secrets of the vault. A person hands a secret over by its name, never by its value.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::programs::variable_problem;
use super::{Kind, ResourceSpec, Row, TextStart};
use crate::{SpecError, Surroundings, quote};

/// The prefix of a typed secret.
pub const PREFIX: &str = "secret:";

/// The maximum length of a secret's name, in bytes.
const MAX_NAME: usize = 64;

/// The rule for names of secrets, in words.
const NAME: &str = "letters, digits, `_`, `-` and `.`, beginning with a letter, at most 64";
/// The advice on a text that cannot be the name of a secret.
pub(crate) const NAME_HELP: &str = "choose a name like GITHUB_TOKEN";

/// The row of `secret` in the table.
pub(crate) static ROW: Row = Row {
    kind: Kind::Secret,
    label: "secret",
    noun: "a secret",
    verb: "pass on",
    type_name: "handed-secret",
    start: TextStart::Prefix(PREFIX),
    example: "secret:NAME",
    grammar: "secret:NAME, or SLOT=secret:NAME?env=VARIABLE&for=PROGRAM, with a name of `almoner secret list`",
    keys: &["env=", "for="],
    limits: &[],
    methods: &["describe"],
    discloses: true,
    sends: false,
    needs_confirmation: true,
    permission_phrase: "",
    by_name: false,
    parse,
};

/// Returns whether a text can be the name of a secret.
pub fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

/// Checks that a text can be the name of a secret. The error does not repeat a long text, because it could be a
/// secret's value.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let shown = if name.len() <= 20 { name } else { "what was given" };
    is_name(name).then_some(()).ok_or_else(|| format!("`{shown}` is no name for a secret: {NAME}"))
}

fn parse(text: &str, _: &dyn Surroundings) -> Result<ResourceSpec, SpecError> {
    let (name, query) = text.split_once('?').unwrap_or((text, ""));
    check_name(name).map_err(|what| ROW.syntax_error(what))?;
    let mut secret = SecretHandle { name: name.to_owned(), ..SecretHandle::default() };
    for (key, value) in quote::query(query) {
        let value = value.ok_or_else(|| ROW.syntax_error(format!("`{key}` has no `=`")))?;
        let names = quote::list(value);
        if names.is_empty() {
            return Err(ROW.syntax_error(format!("`{key}=` names none")));
        }
        match key {
            "env" => {
                for name in names {
                    if let Some(what) = variable_problem(&name) {
                        return Err(ROW.syntax_error(format!("`{name}`: {what}")));
                    }
                    secret.variables.insert(name);
                }
            }
            "for" => secret.programs.extend(names),
            _ => return Err(ROW.unknown_key()),
        }
    }
    Ok(ResourceSpec::Secret(secret))
}

/// A secret that a worker can pass on without ever seeing its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretHandle {
    /// The name of the secret in the vault.
    pub name: String,
    /// The environment variables of a program that may be set to the secret. An empty set allows any.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub variables: BTreeSet<String>,
    /// The programs that may get the secret, by their names in calls. An empty set allows any program that is handed
    /// over with the secret.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub programs: BTreeSet<String>,
}

impl SecretHandle {
    pub(super) fn typed(&self) -> String {
        let mut query: Vec<String> = Vec::new();
        for (key, names) in [("env", &self.variables), ("for", &self.programs)] {
            query.extend((!names.is_empty()).then(|| format!("{key}={}", quote::typed_list(names))));
        }
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        format!("{PREFIX}{}{query}", self.name)
    }

    /// Describes the secret in a few words, such as "the secret github, as GITHUB_TOKEN, for gh".
    pub fn summary(&self) -> String {
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

    /// Returns the reason why a program may not get the secret in a variable, or `None` if it may.
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
    fn secret_is_refused_outside_its_variables_and_programs() {
        let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>();
        let handed = |variables: &[&str], programs: &[&str]| SecretHandle {
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
            assert_eq!(secret.summary(), words);
            assert_eq!(secret.refusal("gh", "T").as_deref(), refusal, "{words}");
        }
    }
}
