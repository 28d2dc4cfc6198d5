//! The places in a settings file that its own agent fills in, such as `${HOME}` and `${workspaceFolder}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use passable::shell_word;

/// The values for the places in one settings file.
pub struct Placeholders<'a> {
    /// The folder that the settings are for.
    pub folder: PathBuf,
    /// The user's own home.
    pub home: Option<PathBuf>,
    /// The values that the user has typed, by name.
    pub given: &'a BTreeMap<String, String>,
    /// The variables of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// The names of the folder that the settings are for.
const FOLDERS: [&str; 6] =
    ["workspaceFolder", "workspaceRoot", "workspacefolder", "CLAUDE_PROJECT_DIR", "workspacePath", "cwd"];
const HOMES: [&str; 3] = ["HOME", "userHome", "USERPROFILE"];
/// The names of the sign between the parts of a path.
const SEPARATORS: [&str; 2] = ["pathSeparator", "/"];

/// A place for which there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingValue {
    /// The name of the place.
    pub name: String,
}

impl MissingValue {
    /// Returns the reason with the line to type.
    pub fn reason(&self, file: &str) -> String {
        format!(
            "`{}` has no value here: `almoner mcp import {file} --set {}`",
            self.name,
            assignment(&self.name)
        )
    }
}

/// Returns the word that gives a place its value, with the quotes that a shell needs. The author of the file has
/// chosen the name.
pub fn assignment(name: &str) -> String {
    shell_word(&format!("{name}=VALUE"))
}

/// A text whose places are filled.
pub struct FilledText {
    /// The text.
    pub text: String,
    /// The names of the places that this machine filled: from the environment, the home or the folder.
    pub own: Vec<String>,
}

/// A part of a text.
#[derive(Debug, PartialEq)]
enum Part<'t> {
    Text(&'t str),
    /// A place: its name, and the value that it has otherwise.
    Place(&'t str, Option<&'t str>),
}

impl Placeholders<'_> {
    /// Returns the text with all its places filled.
    ///
    /// # Errors
    /// The first place for which there is no value.
    pub fn fill(&self, text: &str) -> Result<FilledText, MissingValue> {
        let mut filled = FilledText { text: String::new(), own: vec![] };
        for part in parts(text) {
            match part {
                Part::Text(text) => filled.text.push_str(text),
                Part::Place(name, otherwise) => match self.value(name).or(otherwise.map(str::to_owned)) {
                    Some(value) => {
                        filled.text.push_str(&value);
                        if self.is_own(name) {
                            filled.own.push(name.to_owned());
                        }
                    }
                    None => return Err(MissingValue { name: name.to_owned() }),
                },
            }
        }
        if let (Some(rest), Some(home)) = (filled.text.strip_prefix("~/"), &self.home) {
            filled.text = home.join(rest).to_string_lossy().into_owned();
        }
        Ok(filled)
    }

    /// Returns whether this machine fills a place, and not the user or the file.
    fn is_own(&self, name: &str) -> bool {
        !self.given.contains_key(name) && !SEPARATORS.contains(&name) && self.value(name).is_some()
    }

    /// Returns the value of a place, unless only the file has one.
    pub fn value(&self, name: &str) -> Option<String> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        if let Some(given) = self.given.get(name) {
            return Some(given.clone());
        }
        if HOMES.contains(&name)
            && let Some(home) = &self.home
        {
            return Some(shown(home));
        }
        if FOLDERS.contains(&name) {
            return Some(shown(&self.folder));
        }
        match name {
            "workspaceFolderBasename" => {
                Some(self.folder.file_name().map(|name| shown(Path::new(name))).unwrap_or_default())
            }
            name if SEPARATORS.contains(&name) => Some("/".to_owned()),
            _ => (self.variable)(name).filter(|value| !value.is_empty()),
        }
    }
}

/// Returns the names of the places in a text.
pub fn names(text: &str) -> Vec<&str> {
    let named = |part| match part {
        Part::Place(name, _) => Some(name),
        Part::Text(_) => None,
    };
    parts(text).into_iter().filter_map(named).collect()
}

/// Splits a text at its places: `${NAME}`, `${NAME:-OTHERWISE}`, `${env:NAME}`, `${input:NAME}`, `{env:NAME}`,
/// `{{NAME}}`, `${{ secrets.NAME }}`, and `$NAME` at the beginning.
fn parts(text: &str) -> Vec<Part<'_>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(rest) = text.strip_prefix('$')
        && rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
    {
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let mut all = vec![Part::Place(&rest[..end], None)];
        all.extend(parts(&rest[end..]));
        return all;
    }
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        let begin = [("${{", "}}"), ("${", "}"), ("{{", "}}"), ("{env:", "}")]
            .into_iter()
            .filter_map(|(open, close)| Some((rest.find(open)?, open, close)))
            .min_by_key(|(at, ..)| *at);
        let found = begin.and_then(|(at, open, close)| {
            let inner = &rest[at + open.len()..];
            Some((at, &inner[..inner.find(close)?], open.len() + inner.find(close)? + close.len()))
        });
        let Some((at, inner, length)) = found else {
            if !rest.is_empty() {
                all.push(Part::Text(rest));
            }
            return all;
        };
        if at > 0 {
            all.push(Part::Text(&rest[..at]));
        }
        let inner = inner.trim();
        let inner = ["env:", "input:", "secrets.", "ENV:"]
            .iter()
            .find_map(|kind| inner.strip_prefix(kind))
            .unwrap_or(inner);
        let (name, otherwise) = match inner.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inner, None),
        };
        all.push(Part::Place(name, otherwise));
        rest = &rest[at + length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other programs pass the places on as they are (kirodotdev/Kiro#6635, langchain-ai/langchain-mcp-adapters#437).
    #[test]
    fn places_are_filled_as_their_agents_fill_them() {
        let given = BTreeMap::from([("token-id".to_owned(), "typed".to_owned())]);
        let variable = |name: &str| (name == "REGION").then(|| "eu".to_owned());
        let places = Placeholders {
            folder: PathBuf::from("/p/site"),
            home: Some(PathBuf::from("/home/me")),
            given: &given,
            variable: &variable,
        };
        for (text, filled) in [
            ("plain $5 {x} }", Ok("plain $5 {x} }")),
            ("${HOME}/a", Ok("/home/me/a")),
            ("$HOME/a", Ok("/home/me/a")),
            ("~/a", Ok("/home/me/a")),
            ("${userHome}${pathSeparator}a", Ok("/home/me/a")),
            ("${workspaceFolder}/x ${workspaceFolderBasename}", Ok("/p/site/x site")),
            ("${CLAUDE_PROJECT_DIR}", Ok("/p/site")),
            ("${REGION}-${env:REGION}-{env:REGION}", Ok("eu-eu-eu")),
            ("${OTHER:-there}/${OTHER:-}", Ok("there/")),
            ("${REGION:-there}", Ok("eu")),
            ("Bearer ${input:token-id}", Ok("Bearer typed")),
            ("{{REGION}} ${{ secrets.REGION }}", Ok("eu eu")),
            ("${input:other}", Err("other")),
            ("a${OTHER}", Err("OTHER")),
            ("$OTHER", Err("OTHER")),
            ("${", Ok("${")),
            ("${a", Ok("${a")),
            ("", Ok("")),
        ] {
            let expected = filled.map(str::to_owned).map_err(|name| MissingValue { name: name.to_owned() });
            assert_eq!(places.fill(text).map(|filled| filled.text), expected, "{text}");
        }
        for (text, own) in [
            (
                "${REGION}-${HOME}-${workspaceFolderBasename}",
                vec!["REGION", "HOME", "workspaceFolderBasename"],
            ),
            ("${REGION:-there}", vec!["REGION"]),
            ("${OTHER:-there}${token-id}${pathSeparator} plain", vec![]),
        ] {
            assert_eq!(places.fill(text).map(|filled| filled.own).unwrap_or_default(), own, "{text}");
        }
        assert_eq!(names("Bearer ${input:a} {env:B} $C"), ["a", "B"]);
    }
}
