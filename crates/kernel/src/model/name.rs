//! Names: the labels that agents give to formulas.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// The maximum length of a name, in UTF-16 code units, as in Endo.
pub const MAX_LEN: usize = 255;

/// The maximum number of names in a path.
pub const MAX_DEPTH: usize = 64;

/// A name that breaks a rule. The texts are Endo's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A text that is no name at all.
    #[error("Invalid name {0}")]
    Name(String),
    /// A name that an agent may not choose.
    #[error("Invalid pet name {0}")]
    PetName(String),
    /// A path without names, or with too many.
    #[error("Invalid name path")]
    Path,
}

/// Returns whether a text is a name that an agent may choose. Such a name has 1 to 255 UTF-16 code units without `/`,
/// `@` or NUL, and is neither `.` nor `..`.
pub fn is_pet_name(text: &str) -> bool {
    !text.is_empty()
        && text != "."
        && text != ".."
        && !text.contains(['/', '@', '\0'])
        && text.encode_utf16().count() <= MAX_LEN
}

/// Returns whether a text has the form of a special name: `@` and a lower-case word.
pub fn is_special_name(text: &str) -> bool {
    let Some(word) = text.strip_prefix('@') else { return false };
    word.len() <= 128
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Returns the special name for which an upper-case alias stands. Endo's older clients write `SELF` for `@self`.
pub fn alias(text: &str) -> Option<String> {
    const KNOWN: [&str; 10] =
        ["AGENT", "SELF", "HOST", "ENDO", "MAIN", "NETS", "PINS", "INFO", "NONE", "MAIL"];
    KNOWN.contains(&text).then(|| format!("@{}", text.to_ascii_lowercase()))
}

fn quoted(text: &str) -> String {
    format!("{:?}", text)
}

/// One or more names, each looked up in the target of the one before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct NamePath(Vec<String>);

impl NamePath {
    /// Returns a path of these names. Upper-case aliases become the special names for which they stand.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Result<NamePath, NameError> {
        let mut checked = Vec::new();
        for name in names {
            let name: String = name.into();
            let name = alias(&name).unwrap_or(name);
            if !is_pet_name(&name) && !is_special_name(&name) {
                return Err(NameError::Name(quoted(&name)));
            }
            checked.push(name);
        }
        if checked.is_empty() || checked.len() > MAX_DEPTH {
            return Err(NameError::Path);
        }
        Ok(NamePath(checked))
    }

    /// Returns the path that a person writes with `/` between the names.
    pub fn parse(text: &str) -> Result<NamePath, NameError> {
        NamePath::new(text.split('/'))
    }

    /// Returns the names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the last name, and the names that lead to the directory of the last name.
    pub fn split(&self) -> (&[String], &str) {
        match self.0.split_last() {
            Some((last, before)) => (before, last),
            None => (&[], ""),
        }
    }

    /// Returns the last name and the names before it, for a name that is to be written. The last name must be one
    /// that an agent may choose.
    pub fn split_pet(&self) -> Result<(&[String], &str), NameError> {
        let (before, last) = self.split();
        if is_pet_name(last) { Ok((before, last)) } else { Err(NameError::PetName(quoted(last))) }
    }
}

impl fmt::Display for NamePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

impl<'de> Deserialize<'de> for NamePath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<NamePath, D::Error> {
        NamePath::new(Vec::<String>::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_check_accepts_valid_and_refuses_invalid_names() {
        let good = ["a", "A b.c", "ünï", "...", "x\u{202e}", "@self", "@a-1", "SELF", "1"];
        let bad = ["", ".", "..", "a/b", "a@b", "@", "@Self", "@-a", "a\0b"];
        for name in good {
            assert!(NamePath::new([name]).is_ok(), "{name:?}");
        }
        for name in bad {
            assert!(NamePath::new([name]).is_err(), "{name:?}");
        }
        assert!(is_pet_name(&"x".repeat(255)) && !is_pet_name(&"x".repeat(256)));
        assert!(!is_pet_name(&"\u{1f600}".repeat(128)), "code units count, not characters");
        assert!(NamePath::new(Vec::<String>::new()).is_err());
        assert!(NamePath::new(vec!["a"; MAX_DEPTH + 1]).is_err());
    }

    #[test]
    fn upper_case_aliases_stand_for_special_names() {
        let path = NamePath::parse("MAIL/3/@from").unwrap();
        assert_eq!(path.to_string(), "@mail/3/@from");
        assert_eq!(path.split_pet(), Err(NameError::PetName("\"@from\"".to_owned())));
        assert_eq!(NamePath::parse("NOBODY").unwrap().to_string(), "NOBODY");
    }
}
