//! `grep`: returns the lines that a regular expression matches. For every expression, the time is proportional to the
//! number of searched bytes.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::ControlFlow;

use cap_std::fs::Dir;
use kernel::Pattern;
use kernel::id::BlobHash;
use kernel::proposal::{Finding, Value};
use passable::visible_line;
use policy::protected::{ProtectionReason, protected};
use regex::{Regex, RegexBuilder};

use super::glob::Glob;
use super::interface::record;
use super::{Limits, tree};
use crate::text;
use crate::walk::{self, Kind};

/// The maximum length of a regular expression, in UTF-16 units.
pub(super) const MAX_LEN: u64 = 1024;

/// The maximum number of files that are searched.
const MAX_FILES: usize = 1000;

/// The maximum number of bytes that are searched.
const MAX_BYTES: u64 = 64 << 20;

/// The maximum size of a searched file, in bytes. Larger files are skipped.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The maximum number of matches in one answer. `DEFAULT_MATCHES` holds if the call names no number.
const MAX_MATCHES: u64 = 500;
const DEFAULT_MATCHES: u64 = 100;

/// The maximum number of characters of a line that are shown.
const MAX_SHOWN_CHARS: usize = 300;

/// The maximum size of a compiled expression, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// The parsed arguments of a search.
#[derive(Debug)]
pub(super) struct Search {
    regex: Regex,
    /// The path at which the search starts: a file, or a directory (`.` for the root).
    start: String,
    glob: Option<Glob>,
    most: usize,
}

/// The result of a search.
#[derive(Default)]
pub(super) struct SearchResult {
    matches: Vec<Value>,
    /// The files with matches, and the digests of their contents.
    pub(super) sources: Vec<(String, BlobHash)>,
    searched: usize,
    skipped: usize,
    truncated: bool,
}

/// Returns the pattern of a search result.
pub(super) fn pattern() -> Pattern {
    let one = record([("path", text(1024)), ("line", Pattern::number()), ("text", text(400))]);
    record([
        ("matches", Pattern::array_of(one)),
        ("files", Pattern::number()),
        ("skipped", Pattern::number()),
        ("truncated", Pattern::bool()),
    ])
}

impl Search {
    /// Parses the arguments of a search.
    pub(super) fn read(
        pattern: &str,
        start: Option<&str>,
        glob: Option<&str>,
        most: Option<u64>,
    ) -> Result<Search, Box<Finding>> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES)
            .nest_limit(50)
            .build();
        let regex = regex.map_err(|error| {
            // The last line of the error names the mistake. The lines before only mark its place.
            let why = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            let shown: String = pattern.chars().take(200).collect();
            let what = format!("the regular expression cannot be read: {}", visible_line(&why));
            Box::new(
                Finding::new("grep/pattern", what)
                    .at("pattern")
                    .counter_example(visible_line(&shown))
                    .allowed("Rust's syntax: no look-around, no back-references; `\\Q…\\E` is written with `\\` before each sign"),
            )
        })?;
        Ok(Search {
            regex,
            start: start.unwrap_or(".").to_owned(),
            glob: glob.map(|glob| Glob::read(glob, "glob", true)).transpose()?,
            most: usize::try_from(most.unwrap_or(DEFAULT_MATCHES).min(MAX_MATCHES)).unwrap_or(usize::MAX),
        })
    }

    /// Returns the files to search, the number of files left out, and whether there are too many files. The grant
    /// must cover each file, and its name must not say that it holds keys. A single file that the call names is
    /// always searched, because the gates judge its name before.
    pub(super) fn files(
        &self,
        root: &Dir,
        names: &[String],
        limits: &Limits,
    ) -> Result<(Vec<String>, usize, bool), Finding> {
        let failed = |error: &std::io::Error| {
            tree::finding(error, &format!("search `{}`", self.start), "path", "a subdirectory as `path`")
        };
        if self.start != "." {
            let found = walk::look(root, &self.start).map_err(|error| failed(&error))?;
            if found.kind == Kind::File {
                limits.check_name(&self.start)?;
                limits.check_name(&found.resolved)?;
                limits.check_bytes(&self.start, found.bytes)?;
                return Ok((vec![self.start.clone()], 0, false));
            }
        }
        let (mut files, mut skipped, mut is_full) = (Vec::new(), 0, false);
        let keys = |path: &str| {
            let is_key = |path: &str| protected(path) == Some(ProtectionReason::Keys);
            is_key(path) || names.iter().any(|root| is_key(&format!("{root}/{path}")))
        };
        let walked = tree::walk(root, &self.start, &mut |entry| {
            let is_meant = self.glob.as_ref().is_none_or(|glob| glob.matches(&entry.path));
            // A link is skipped, because its target is found under the target's own name.
            if entry.kind != Kind::File || !is_meant || !limits.cover(&entry.path, entry.bytes) {
                return ControlFlow::Continue(());
            }
            if entry.bytes > MAX_FILE_BYTES || keys(&entry.path) {
                skipped += 1;
                return ControlFlow::Continue(());
            }
            is_full = files.len() == MAX_FILES;
            if is_full {
                return ControlFlow::Break(());
            }
            files.push(entry.path.clone());
            ControlFlow::Continue(())
        });
        walked.map_err(|error| failed(&error))?;
        Ok((files, skipped, is_full))
    }

    /// Runs the search.
    pub(super) fn run(&self, root: &Dir, names: &[String], limits: &Limits) -> Result<SearchResult, Finding> {
        let (files, skipped, is_cut) = self.files(root, names, limits)?;
        let mut found = SearchResult { skipped, truncated: is_cut, ..SearchResult::default() };
        let mut bytes = 0;
        for path in files {
            if bytes > MAX_BYTES || found.matches.len() >= self.most {
                found.truncated = true;
                break;
            }
            let Some(text) = held(root, &path, path == self.start, limits) else {
                found.skipped += 1;
                continue;
            };
            bytes += text.len() as u64;
            found.searched += 1;
            self.lines(&path, &text, &mut found);
        }
        Ok(found)
    }

    fn lines(&self, path: &str, text: &str, found: &mut SearchResult) {
        let before = found.matches.len();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| self.regex.is_match(line)) {
            if found.matches.len() == self.most {
                found.truncated = true;
                break;
            }
            let mut shown: String = line.chars().take(MAX_SHOWN_CHARS).collect();
            if shown.len() < line.len() {
                shown.push('…');
            }
            let fields = [
                ("path", Value::from(path)),
                ("line", Value::number((number + 1) as f64)),
                ("text", Value::from(shown)),
            ];
            let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
            found.matches.push(Value::record_from_map(fields.collect::<BTreeMap<_, _>>()));
        }
        if found.matches.len() > before {
            found.sources.push((path.to_owned(), BlobHash::of(text.as_bytes())));
        }
    }
}

impl SearchResult {
    /// Returns the search result as a value.
    pub(super) fn value(self) -> Value {
        let fields = [
            ("matches", Value::array(self.matches)),
            ("files", Value::number(self.searched as f64)),
            ("skipped", Value::number(self.skipped as f64)),
            ("truncated", Value::Bool(self.truncated)),
        ];
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::record_from_map(fields.collect::<BTreeMap<_, _>>())
    }
}

/// Returns the text of a file, or `None` if the file is no text, or cannot be read.
fn held(root: &Dir, path: &str, is_named: bool, limits: &Limits) -> Option<String> {
    let most = limits.bytes();
    let found = walk::look(root, path).ok()?;
    // The file may have become a link to something else since the walk found it.
    let is_it = is_named || found.resolved == path;
    if found.kind != Kind::File || !is_it || !limits.fit_name(&found.resolved) {
        return None;
    }
    let mut bytes = Vec::new();
    walk::open(root, &found).ok()?.take(most.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > most || bytes.contains(&0) {
        return None;
    }
    String::from_utf8(bytes).ok()
}
