//! `grep`: returns the lines that a regular expression matches, the newest files first. For every expression, the time is
//! proportional to the number of searched bytes.

use std::io::{ErrorKind, Read as _};
use std::ops::ControlFlow;

use cap_std::fs::Dir;
use kernel::Pattern;
use kernel::id::BlobHash;
use kernel::proposal::{Finding, Value};
use passable::visible_line;
use regex::{Regex, RegexBuilder};

use super::cursor::{self, Cursor};
use super::glob::Glob;
use super::interface::{record, value};
use super::omissions::{Omissions, Reason};
use super::tree::Extent;
use super::{Limits, tree};
use crate::walk::{self, Kind};
use crate::{failure, text};

/// The maximum length of a regular expression, in UTF-16 units.
pub(super) const MAX_LEN: u64 = 1024;

/// The maximum number of files that one call searches.
const MAX_FILES: usize = 20_000;

/// The maximum number of bytes that are searched.
const MAX_BYTES: u64 = 64 << 20;

/// The maximum size of a searched file, in bytes. Larger files are skipped, unless the call names them.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The maximum number of matches in one answer. `DEFAULT_MATCHES` holds if the call names no number.
const MAX_MATCHES: u64 = 500;
const DEFAULT_MATCHES: u64 = 100;

/// The size that a match has in an answer beside its path and line, in bytes.
const MATCH_BYTES: usize = 40;

/// The maximum number of characters of a line that are shown.
const MAX_SHOWN_CHARS: usize = 300;

/// The maximum size of a compiled expression, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// The arguments of a search, as the call gives them.
pub(super) struct SearchArguments<'a> {
    /// The regular expression.
    pub(super) pattern: &'a str,
    /// The path at which the search starts.
    pub(super) start: Option<&'a str>,
    /// The pattern of the paths that are searched.
    pub(super) glob: Option<&'a str>,
    /// The maximum number of matches.
    pub(super) most: Option<u64>,
    /// The place behind which the search begins.
    pub(super) after: Option<Cursor>,
    /// Whether entries that [`super::ignore_rules`] leave out are searched.
    pub(super) ignored: bool,
}

/// The parsed arguments of a search.
#[derive(Debug)]
pub(super) struct Search {
    regex: Regex,
    /// The path at which the search starts: a file, or a directory (`.` for the root).
    start: String,
    glob: Option<Glob>,
    most: usize,
    after: Option<Cursor>,
    ignored: bool,
}

/// A file to search, with the time of its last change.
pub(super) struct Candidate {
    /// The path.
    pub(super) path: String,
    modified: i64,
}

/// The files that one call searches.
#[derive(Default)]
pub(super) struct Selection {
    /// The files, the newest first.
    pub(super) files: Vec<Candidate>,
    /// The number of all files that the search has to look at, with those of other parts.
    total: usize,
    /// Whether more files stand behind these.
    is_full: bool,
    /// Whether a person has seen where the search begins, or sees it now.
    is_approved: bool,
    report: tree::WalkReport,
}

/// The result of a search.
#[derive(Default)]
pub(super) struct SearchResult {
    matches: Vec<Value>,
    /// The files with matches, and the digests of their contents.
    pub(super) sources: Vec<(String, BlobHash)>,
    searched: usize,
    total: usize,
    omitted: Omissions,
    is_walk_cut: bool,
    next: Option<Cursor>,
    /// The size of the matches in bytes.
    bytes: usize,
    /// The place of the last match.
    last: Option<Cursor>,
}

/// Returns the pattern of a search result.
pub(super) fn pattern() -> Pattern {
    let one = record([("path", text(1024)), ("line", Pattern::number()), ("text", text(400))]);
    record([
        ("answer", Pattern::string()),
        ("matches", Pattern::array_of(one)),
        ("files", Pattern::number()),
        ("skipped", Pattern::number()),
        ("truncated", Pattern::bool()),
        ("next", Pattern::or([Pattern::null(), text(cursor::MAX_LEN)])),
    ])
}

impl Search {
    /// Parses the arguments of a search.
    pub(super) fn read(given: SearchArguments<'_>) -> Result<Search, Box<Finding>> {
        let SearchArguments { pattern, start, glob, most, after, ignored } = given;
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
            after,
            ignored,
        })
    }

    /// Returns the files to search. The grant must cover each file, and its name must not say that it holds keys. A
    /// single file that the call names is always searched, because the gates judge its name before.
    pub(super) fn files(&self, root: &Dir, names: &[String], limits: &Limits) -> Result<Selection, Finding> {
        let failed =
            |error: &std::io::Error| failure::finding(error, &format!("search `{}`", self.start), "path");
        if self.start != "." {
            let found = limits.look(root, &self.start, &format!("search `{}`", self.start))?;
            if found.kind == Kind::File {
                self.check_size(found.bytes, limits)?;
                let modified = root.symlink_metadata(&found.resolved).map_or(0, |meta| tree::modified(&meta));
                let file = Candidate { path: self.start.clone(), modified };
                return Ok(Selection {
                    files: vec![file],
                    total: 1,
                    is_approved: true,
                    ..Selection::default()
                });
            }
        }
        let (mut files, mut omitted) = (Vec::new(), Omissions::default());
        let extent = if self.ignored { Extent::All } else { Extent::Tracked };
        let place = tree::WalkStart::look(root, &self.start);
        let is_approved = place.is_of_keys(names);
        let is_closed = |path: &str| !is_approved && place.is_closed(names, path);
        let walked = tree::walk(root, &self.start, extent, limits, &is_closed, &mut |entry| {
            let is_meant = self.glob.as_ref().is_none_or(|glob| glob.matches(&entry.path));
            // A link is skipped, because its target is found under the target's own name.
            if entry.kind != Kind::File || !is_meant || !limits.cover(&entry.path, entry.bytes) {
                return ControlFlow::Continue(());
            }
            if place.holds_keys(names, &entry.path) {
                omitted.note(Reason::Keys, &entry.path);
            } else if entry.bytes > MAX_FILE_BYTES {
                omitted.note(Reason::Large, &entry.path);
            } else {
                files.push(Candidate { path: entry.path.clone(), modified: entry.modified });
            }
            ControlFlow::Continue(())
        });
        let mut report = walked.map_err(|error| failed(&error))?;
        report.omitted.add(omitted);
        files.sort_by(|one, other| Cursor::order((one.modified, &one.path), (other.modified, &other.path)));
        let total = files.len();
        if let Some(after) = &self.after {
            files.retain(|file| {
                after.is_before(file.modified, &file.path) || after.is_within(file.modified, &file.path)
            });
        }
        let is_full = files.len() > MAX_FILES;
        files.truncate(MAX_FILES);
        Ok(Selection { files, total, is_full, is_approved, report })
    }

    /// Checks the size of a single file that the call names.
    fn check_size(&self, bytes: u64, limits: &Limits) -> Result<(), Finding> {
        let most = limits.bytes_or(MAX_BYTES).min(MAX_BYTES);
        if bytes <= most {
            return Ok(());
        }
        let what =
            format!("`{}` has {bytes} bytes, and a search reads at most {most}", visible_line(&self.start));
        Err(Finding::new("dir/size", what)
            .at("path")
            .counter_example(format!("{bytes} bytes"))
            .allowed("`read` with `offset` and `bytes`, part by part"))
    }

    /// Runs the search.
    pub(super) fn run(&self, root: &Dir, names: &[String], limits: &Limits) -> Result<SearchResult, Finding> {
        let Selection { files, total, is_full, is_approved, report } = self.files(root, names, limits)?;
        let mut found = SearchResult {
            total,
            omitted: report.omitted,
            is_walk_cut: report.is_cut,
            ..SearchResult::default()
        };
        let mut bytes = 0;
        let mut place: Option<Cursor> = None;
        let mut is_stopped = is_full;
        for file in files {
            if bytes > MAX_BYTES {
                is_stopped = true;
                break;
            }
            let text = held(root, &file.path, file.path == self.start, limits);
            place = Some(Cursor { modified: file.modified, line: 0, path: file.path.clone() });
            match text {
                Held::Text(text) => {
                    bytes += text.len() as u64;
                    // A file with a key gets the same answer whether or not a line matches. Otherwise the answers to
                    // some searches together would spell the key.
                    if !is_approved && policy::secrets::key_in(text.as_bytes()).is_some() {
                        found.omitted.note(Reason::KeysInside, &file.path);
                        continue;
                    }
                    found.searched += 1;
                    if self.lines(&file, &text, &mut found) {
                        // A further match would not fit, so the next part begins behind the last one.
                        found.next = found.last.clone();
                        return Ok(found);
                    }
                }
                Held::Not(reason) => found.omitted.note(reason, &file.path),
                Held::Gone => {}
            }
        }
        // If the last match stands before files without a match, the next part need not search these again.
        found.next = place.filter(|_| is_stopped);
        Ok(found)
    }

    /// Adds the matching lines of a file. Returns whether there is one more than fits.
    fn lines(&self, file: &Candidate, text: &str, found: &mut SearchResult) -> bool {
        let before = found.matches.len();
        let shown = self.after.as_ref().filter(|after| after.is_within(file.modified, &file.path));
        let shown = shown.map_or(0, |after| after.line);
        let numbered = (1u64..).zip(text.lines()).filter(|(number, _)| *number > shown);
        let mut is_more = false;
        for (number, line) in numbered.filter(|(_, line)| self.regex.is_match(line)) {
            let mut shown: String = line.chars().take(MAX_SHOWN_CHARS).collect();
            if shown.len() < line.len() {
                shown.push('…');
            }
            let bytes = shown.len() + file.path.len() + MATCH_BYTES;
            let is_long = found.bytes + bytes > cursor::MAX_ANSWER_BYTES && !found.matches.is_empty();
            if found.matches.len() >= self.most || is_long {
                is_more = true;
                break;
            }
            found.bytes += bytes;
            found.matches.push(value([
                ("path", Value::from(file.path.as_str())),
                ("line", Value::number(number as f64)),
                ("text", Value::from(shown)),
            ]));
            found.last = Some(Cursor { modified: file.modified, line: number, path: file.path.clone() });
        }
        if found.matches.len() > before {
            found.sources.push((file.path.clone(), BlobHash::of(text.as_bytes())));
        }
        is_more
    }
}

/// The reasons for which files count as skipped.
const SKIPPED: [Reason; 5] =
    [Reason::Keys, Reason::KeysInside, Reason::Large, Reason::Binary, Reason::Unreadable];

impl SearchResult {
    /// Returns the search result as a value.
    pub(super) fn value(self) -> Value {
        let count = |number: usize, one: &str, more: &str| {
            if number == 1 { format!("1 {one}") } else { format!("{number} {more}") }
        };
        let lines = count(self.matches.len(), "matching line", "matching lines");
        let files = count(self.searched, "file", "files");
        let mut notes = self.omitted.sentences();
        if self.is_walk_cut {
            let cut = format!("only the first {} entries of the directory were looked at", tree::MAX_ENTRIES);
            notes.insert(0, format!("{cut}: name a subdirectory as `path`"));
        }
        let first = match &self.next {
            Some(_) => format!(
                "partial: {lines}, newest files first; {files} of {} searched. For more, call again with `after` set to \
                 `next`",
                self.total
            ),
            None if self.is_walk_cut => format!("partial: {lines} in {files}"),
            None => format!("complete: {lines}; {files} searched"),
        };
        notes.insert(0, first);
        value([
            ("answer", Value::from(notes.join(". "))),
            ("matches", Value::array(self.matches)),
            ("files", Value::number(self.searched as f64)),
            ("skipped", Value::number(self.omitted.count(&SKIPPED) as f64)),
            ("truncated", Value::Bool(self.next.is_some() || self.is_walk_cut)),
            ("next", self.next.map_or(Value::Null, |next| Value::from(next.text()))),
        ])
    }
}

/// The content of a file to search.
enum Held {
    /// The file is text.
    Text(String),
    /// The file is skipped.
    Not(Reason),
    /// The file has vanished or become something else, so it does not exist for the search.
    Gone,
}

fn held(root: &Dir, path: &str, is_named: bool, limits: &Limits) -> Held {
    let most = limits.bytes_or(MAX_BYTES).min(MAX_BYTES);
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Held::Gone,
        _ => Held::Not(Reason::Unreadable),
    };
    let found = match walk::look(root, path) {
        Ok(found) => found,
        Err(error) => return failed(error),
    };
    // The file may have become a link to something else since the walk found it.
    let is_it = is_named || found.resolved == path;
    if found.kind != Kind::File || !is_it || !limits.fit_name(&found.resolved) {
        return Held::Gone;
    }
    let mut bytes = Vec::new();
    let read =
        walk::open(root, &found).and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes));
    if let Err(error) = read {
        return failed(error);
    }
    if bytes.len() as u64 > most {
        return Held::Not(Reason::Large);
    }
    if bytes.contains(&0) {
        return Held::Not(Reason::Binary);
    }
    String::from_utf8(bytes).map_or(Held::Not(Reason::Binary), Held::Text)
}
