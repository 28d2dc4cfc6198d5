//! The kind for git repositories of this machine, as a person hands them over.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::directory::{split_access_suffix, typed_path};
use super::{Kind, Limit, ResourceSpec, Row, TextStart};
use crate::{Attenuation, SpecError, Surroundings, quote};

const PREFIX: &str = "git:";
const GRAMMAR: &str =
    "git:PATH, SLOT=git:PATH:rw, or SLOT=git:PATH:rw?author=NAME <ADDRESS>&methods=status,commit";
const KEYS: &[&str] = &["author=", "methods=", "private"];

/// The row of `git` in the table.
pub(crate) static GIT: Row = Row {
    kind: Kind::Git { write: false },
    label: "git",
    noun: "a repository",
    verb: "read",
    type_name: "repository",
    start: TextStart::Prefix(PREFIX),
    example: "git:PATH",
    grammar: GRAMMAR,
    keys: KEYS,
    limits: &[Limit::Private],
    methods: &["status", "log", "diff", "show", "blame", "branches"],
    discloses: true,
    sends: false,
    needs_confirmation: false,
    permission_phrase: "",
    by_name: true,
    parse,
};

/// The row of `git rw` in the table.
pub(crate) static GIT_RW: Row = Row {
    kind: Kind::Git { write: true },
    label: "git rw",
    noun: "a repository that may be changed",
    verb: "change",
    type_name: "repository",
    start: TextStart::Prefix(PREFIX),
    example: "git:PATH:rw",
    grammar: GRAMMAR,
    keys: KEYS,
    limits: &[Limit::Private],
    methods: &[
        "status", "log", "diff", "show", "blame", "branches", "add", "unstage", "commit", "branch", "switch",
    ],
    discloses: true,
    sends: false,
    needs_confirmation: false,
    permission_phrase: "",
    by_name: true,
    parse,
};

/// A repository of this machine, with the limits of its grant, as the user typed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GitSpec {
    /// The absolute path of the working tree.
    pub path: String,
    /// Whether the repository may be changed.
    pub write: bool,
    /// The author of commits.
    pub author: Option<Author>,
    /// The allowed methods. An empty list allows all methods of the slot.
    pub methods: Vec<String>,
    /// Whether only models that may read private data may read the contents.
    #[serde(default)]
    pub private: bool,
}

impl GitSpec {
    pub(super) fn from_grant(
        repository: &Repository,
        kind: Kind,
        taken: &Attenuation,
        methods: &BTreeSet<String>,
    ) -> GitSpec {
        let is_all = kind.methods().iter().all(|method| methods.contains(*method));
        GitSpec {
            path: repository.path.clone(),
            write: kind == Kind::Git { write: true },
            author: repository.author.clone(),
            methods: if is_all { vec![] } else { methods.iter().cloned().collect() },
            private: taken.private,
        }
    }

    pub(super) fn summary(&self) -> String {
        let GitSpec { path, write, author, .. } = self;
        Repository { path: path.clone(), write: *write, author: author.clone() }.summary()
    }

    pub(super) fn typed(&self) -> String {
        let mut query: Vec<String> = Vec::new();
        let author = self.author.as_ref().map(ToString::to_string);
        query.extend(author.map(|author| format!("author={}", quote::part(&author, &['&']))));
        if !self.methods.is_empty() {
            query.push(format!("methods={}", quote::typed_list(&self.methods)));
        }
        query.extend(self.private.then(|| "private".to_owned()));
        let manner = if self.write { ":rw" } else { "" };
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        format!("{PREFIX}{}{manner}{query}", typed_path(&self.path, &['?']))
    }
}

/// Reads the text after `git:`.
fn parse(text: &str, around: &dyn Surroundings) -> Result<ResourceSpec, SpecError> {
    let wrong = |what: &str| GIT.syntax_error(what);
    let (path, query) = quote::split_once(text, '?').unwrap_or((text, ""));
    let (path, manner) = split_access_suffix(path, &[":rw", ":ro"])
        .ok_or_else(|| wrong("behind a path only `:rw` or `?` can follow"))?;
    if path.is_empty() {
        return Err(wrong("there is no path"));
    }
    let mut spec = GitSpec { path: around.absolute(&path)?, write: manner == ":rw", ..GitSpec::default() };
    for (key, value) in quote::query(query) {
        match (key, value) {
            ("author", Some(author)) => {
                let author = Author::parse(&quote::plain(author));
                spec.author =
                    Some(author.ok_or_else(|| wrong("an author is written like `Ada <ada@example.org>`"))?);
            }
            ("methods", Some(methods)) => spec.methods.extend(quote::list(methods)),
            ("private", None) => spec.private = true,
            _ => return Err(GIT.unknown_key()),
        }
    }
    Ok(ResourceSpec::Git(spec))
}

/// A git repository that may be read, and perhaps changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repository {
    /// The absolute path of the working tree, with all links followed.
    pub path: String,
    /// Whether the repository may be changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub write: bool,
    /// The author of commits. Without one, commits carry the name of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
}

/// The author of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Author {
    /// The name of the author.
    pub name: String,
    /// The mail address of the author.
    pub email: String,
}

impl Author {
    /// Returns the author for a text like `NAME <ADDRESS>`, or `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Author> {
        if text.contains(char::is_control) {
            return None;
        }
        let (name, rest) = text.split_once('<')?;
        let (name, email) = (name.trim(), rest.strip_suffix('>')?.trim());
        let is_plain = |text: &str| !text.is_empty() && !text.contains(['<', '>']) && text.len() <= 200;
        (is_plain(name) && is_plain(email)).then(|| Author { name: name.to_owned(), email: email.to_owned() })
    }
}

impl std::fmt::Display for Author {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

impl Repository {
    /// Describes the repository in a few words for a user.
    pub fn summary(&self) -> String {
        let mut words = format!("repository {}", self.path);
        if self.write {
            words += " (rw)";
        }
        if let Some(author) = &self.author {
            words += &format!(", as {author}");
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::Author;

    #[test]
    fn author_needs_a_name_and_an_address() {
        let author = Author::parse("Ada L <ada@example.org>").unwrap();
        assert_eq!(author.to_string(), "Ada L <ada@example.org>");
        for bad in ["Ada", "<a@b>", "Ada <>", "Ada <a", "A <b> <c>", "A\n <b>"] {
            assert_eq!(Author::parse(bad), None, "{bad}");
        }
    }
}
