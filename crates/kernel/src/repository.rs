//! Repositories of this machine, as a person hands them over.

use serde::{Deserialize, Serialize};

/// A repository of git that may be looked at, and perhaps be committed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The absolute path of its working tree, all links followed.
    pub path: String,
    /// Whether it may be changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub write: bool,
    /// In whose name is committed; without one, in that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
}

/// A name that stands in commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

impl Author {
    /// Reads `NAME <ADDRESS>`.
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
    /// What it is in a few words that a person reads.
    pub fn words(&self) -> String {
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
    fn an_author_is_a_name_and_an_address() {
        let author = Author::parse("Ada L <ada@example.org>").unwrap();
        assert_eq!(author.to_string(), "Ada L <ada@example.org>");
        for bad in ["Ada", "<a@b>", "Ada <>", "Ada <a", "A <b> <c>", "A\n <b>"] {
            assert_eq!(Author::parse(bad), None, "{bad}");
        }
    }
}
