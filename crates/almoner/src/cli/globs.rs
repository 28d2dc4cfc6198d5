//! The expansion of path patterns that the shell did not expand, like `'in/*.pdf'`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use passable::visible_line;

use super::input::InputMode;
use config::machine::absolute;
use control::exit::{Exit, Failure};
use control::protocol::Document;

/// The maximum number of files that a pattern may match.
const MAX_FILES: usize = 100_000;

/// The maximum number of directory levels that `**` descends.
const MAX_DEPTH: usize = 64;

/// Returns whether a text contains characters of a pattern. The caller has already checked that the text is not an
/// existing path.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Returns the files that a pattern matches, sorted by name. Hidden files match only if the pattern has a leading
/// dot.
///
/// # Errors
/// When the pattern cannot be read, matches no file, or matches too many files.
pub(super) fn files(pattern: &str, mode: InputMode) -> Result<Vec<Document>, Failure> {
    let shown = visible_line(pattern);
    let start = if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
    let parts = pattern.split('/').filter(|part| !part.is_empty() && *part != ".");
    let mut parts: Vec<PatternPart> =
        parts.map(PatternPart::read).collect::<Result<_, _>>().map_err(|what| {
            Failure::new(Exit::Usage, format!("{shown}: the pattern cannot be read: {what}"))
                .help("`*`, `?`, `**`, `{a,b}` and `[a-z]`, each closed again; or name a directory")
        })?;
    // Several `**` in a row mean the same as one. One at the end stands for every file below.
    parts.dedup_by(|a, b| matches!((a, b), (PatternPart::Deep, PatternPart::Deep)));
    if matches!(parts.last(), Some(PatternPart::Deep)) {
        parts.push(PatternPart::AnyName);
    }
    let mut found = Vec::new();
    walk(&start, &parts, 0, mode, &mut found);
    if found.len() > MAX_FILES {
        return Err(Failure::new(Exit::Usage, format!("{shown} stands for more than {MAX_FILES} files"))
            .help("name a part of them"));
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Err(Failure::new(Exit::NotFound, format!("no file is called {shown}"))
            .help("an input is a path, a pattern of paths, `k=v`, `k:=json`, `k=@file`, or `-`"));
    }
    let root = root_of(&start, &parts);
    found.into_iter().map(|path| document_at(&path, &root, mode)).collect()
}

/// Returns the directory that a pattern names itself: all before its first part with a wildcard.
fn root_of(start: &Path, parts: &[PatternPart]) -> PathBuf {
    let names = parts.iter().map_while(|part| match part {
        PatternPart::Name(name) => Some(name),
        _ => None,
    });
    let root = names.fold(start.to_owned(), |root, name| root.join(name));
    if root.as_os_str().is_empty() { PathBuf::from(".") } else { root }
}

/// Returns the document at a path that was found below the directory `within`. A name that is not text makes an item
/// that fails.
///
/// # Errors
/// When the name is not text, and the document is no item of a batch.
pub(super) fn document_at(path: &Path, within: &Path, mode: InputMode) -> Result<Document, Failure> {
    let within = within.to_str().map(absolute).transpose()?;
    match (path.to_str(), mode) {
        (Some(path), _) => Ok(Document::File { path: absolute(path)?, within }),
        (None, InputMode::Items) => Ok(Document::Unnameable {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            why: "the name is not UTF-8 text".to_owned(),
        }),
        (None, InputMode::Documents) => {
            Err(Failure::new(Exit::Invalid, format!("the name {path:?} is not UTF-8 text")))
        }
    }
}

/// One part of a pattern, between two slashes.
enum PatternPart {
    Name(String),
    Any {
        set: GlobSet,
        hidden: bool,
    },
    /// Any name that is not hidden.
    AnyName,
    /// `**`: any number of directories.
    Deep,
}

impl PatternPart {
    fn read(text: &str) -> Result<PatternPart, String> {
        if text == "**" {
            return Ok(PatternPart::Deep);
        }
        if !is_pattern(text) {
            return Ok(PatternPart::Name(text.to_owned()));
        }
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        // A `GlobSet` returns an error if the pattern is too large. A single matcher would panic.
        let set = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build());
        let set = set.map_err(|error| error.kind().to_string())?;
        Ok(PatternPart::Any { set, hidden: text.starts_with('.') })
    }
}

fn walk(at: &Path, parts: &[PatternPart], depth: usize, mode: InputMode, found: &mut Vec<PathBuf>) {
    if found.len() > MAX_FILES || depth > MAX_DEPTH {
        return;
    }
    match parts {
        [] => {
            if mode.takes(at) {
                found.push(at.to_owned());
            }
        }
        [PatternPart::Name(name), rest @ ..] => walk(&at.join(name), rest, depth, mode, found),
        [PatternPart::Any { set, hidden }, rest @ ..] => {
            for name in names(at, mode, found) {
                if (*hidden || !is_hidden(&name)) && set.is_match(&name) {
                    walk(&at.join(name), rest, depth, mode, found);
                }
            }
        }
        [PatternPart::AnyName, rest @ ..] => {
            for name in names(at, mode, found).into_iter().filter(|name| !is_hidden(name)) {
                walk(&at.join(name), rest, depth, mode, found);
            }
        }
        [PatternPart::Deep, rest @ ..] => {
            walk(at, rest, depth, mode, found);
            for name in names(at, mode, found).into_iter().filter(|name| !is_hidden(name)) {
                let below = at.join(name);
                // Links are not followed, because a link may lead back to a directory above it.
                if std::fs::symlink_metadata(&below).is_ok_and(|meta| meta.is_dir()) {
                    walk(&below, parts, depth + 1, mode, found);
                }
            }
        }
    }
}

pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns the names of the entries of a directory. A directory that cannot be read has no names. In a batch it is an
/// item that fails, so that its files are not left out without a word.
fn names(dir: &Path, mode: InputMode, found: &mut Vec<PathBuf>) -> Vec<OsString> {
    let listed = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    match std::fs::read_dir(listed) {
        Ok(entries) => entries.flatten().map(|entry| entry.file_name()).collect(),
        Err(error) => {
            if mode == InputMode::Items && error.kind() == std::io::ErrorKind::PermissionDenied {
                found.push(dir.to_owned());
            }
            vec![]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_expands_to_matching_files() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for name in ["in/b.pdf", "in/a.pdf", "in/c.txt", "in/.h.pdf", "in/deep/x/d.pdf", "in/dir.pdf/e.txt"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        let check = |pattern: &str, expected: &[&str]| {
            let found = files(&format!("{}/{pattern}", root.display()), InputMode::Documents);
            let found: Vec<String> = found
                .into_iter()
                .flatten()
                .map(|document| match document {
                    Document::File { path, .. } => {
                        path.strip_prefix(root.to_str().unwrap()).unwrap().trim_start_matches('/').to_owned()
                    }
                    Document::Text { .. }
                    | Document::Content { .. }
                    | Document::Uploaded { .. }
                    | Document::Unnameable { .. } => {
                        unreachable!("a pattern stands for files")
                    }
                })
                .collect();
            assert_eq!(found, expected, "{pattern}");
        };
        check("in/*", &["in/a.pdf", "in/b.pdf", "in/c.txt"]);
        check("in/*.pdf", &["in/a.pdf", "in/b.pdf"]);
        check("./in/[a-b].{pdf,txt}", &["in/a.pdf", "in/b.pdf"]);
        check("in/.*", &["in/.h.pdf"]);
        check("in/**/*.pdf", &["in/a.pdf", "in/b.pdf", "in/deep/x/d.pdf"]);
        check("in/**", &["in/a.pdf", "in/b.pdf", "in/c.txt", "in/deep/x/d.pdf", "in/dir.pdf/e.txt"]);
        check("in/**/**/d.pdf", &["in/deep/x/d.pdf"]);
        check("*/c.txt", &["in/c.txt"]);
        check("in/*.doc", &[]);
        check("in/[", &[]);
    }
}
