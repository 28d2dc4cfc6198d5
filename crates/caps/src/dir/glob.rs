//! `glob`: the paths that match a pattern, the newest first.

use std::ops::ControlFlow;

use cap_std::fs::Dir;
use globset::{ErrorKind, GlobBuilder, GlobSet, GlobSetBuilder};
use kernel::Pattern;
use kernel::proposal::{Finding, Value};
use passable::{Quoting, quoting, visible_line};

use super::cursor::{self, Cursor};
use super::interface::{record, value};
use super::tree::Extent;
use super::{Limits, look_alike, tree};
use crate::text;
use crate::walk::{self, Kind};

/// The maximum length of a pattern, in UTF-16 units.
pub(super) const MAX_LEN: u64 = 512;

/// The maximum number of paths in one answer.
pub(super) const MAX_ITEMS: usize = 1000;

/// The maximum number of similar paths that an answer without a match names.
const MAX_SIMILAR: usize = 5;

/// The characters that a pattern gives a meaning, and `\` takes it from them.
const SPECIAL: [char; 6] = ['*', '?', '[', ']', '{', '}'];

/// A pattern for paths from the root of the directory.
#[derive(Debug)]
pub(super) struct Glob {
    set: GlobSet,
    /// The pattern as it is matched.
    whole: String,
    /// The directory that contains everything that can match; `.` for the root.
    start: String,
}

impl Glob {
    /// Parses a pattern. With `anywhere`, a pattern without `/` matches names in any directory.
    ///
    /// Brackets and braces also stand for themselves, because there are names such as `[id]`: `app/[id]/*` matches in
    /// the directory `app/[id]` as well as in `app/i` and `app/d`.
    pub(super) fn read(pattern: &str, at: &str, anywhere: bool) -> Result<Glob, Box<Finding>> {
        let refused = |rule: &str, what: Quoting, allowed: &'static str| {
            let shown: String = pattern.chars().take(200).collect();
            Box::new(Finding::new(rule, what).at(at).counter_example(visible_line(&shown)).allowed(allowed))
        };
        let wrong = |rule: &str, what: &'static str, allowed| refused(rule, what.into(), allowed);
        const PLAIN: &str = "a pattern of paths in the directory, such as `**/*.md`";
        let plain = pattern.strip_prefix("./").unwrap_or(pattern);
        if plain.is_empty() || plain.len() as u64 > MAX_LEN * 3 || plain.contains(char::is_control) {
            return Err(wrong(
                "glob/pattern",
                "the pattern is empty, too long or holds a control character",
                PLAIN,
            ));
        }
        if plain.starts_with('/') || plain.starts_with('~') {
            return Err(wrong("path/absolute", "the pattern leads out of the directory", PLAIN));
        }
        if plain.split(['/', '{', ',', '}']).any(|name| name.replace('\\', "") == "..") {
            return Err(wrong("path/parent", "the pattern holds `..`, and there is no way out", PLAIN));
        }
        if is_separated_by_backslashes(plain) {
            return Err(wrong(
                "path/absolute",
                "the pattern holds a backslash, which separates nothing here",
                "directories separated by `/`; `\\` only before a sign such as `[` that stands for itself",
            ));
        }
        let whole = match anywhere && !plain.contains('/') {
            true => format!("**/{plain}"),
            false => plain.trim_end_matches('/').to_owned(),
        };
        let set = compile(&[Some(&whole), literal(&whole).as_deref()]).or_else(|error| {
            match (error.kind(), literal(&whole)) {
                // `[user-id]` is no range of characters, so it can only be a name.
                (ErrorKind::InvalidRange(..), Some(literal)) => compile(&[Some(&literal)]),
                _ => Err(error),
            }
        });
        let set = set.map_err(|error| {
            let what = quoting!("the pattern cannot be read: {}", error.kind());
            let allowed = "`*`, `?`, `**`, `{a,b}` and `[a-z]`, each closed again; `\\[` for the sign itself";
            refused("glob/pattern", what, allowed)
        })?;
        let fixed = whole.rsplit_once('/').map_or("", |(before, _)| before);
        let names = fixed.split('/').map_while(fixed_name);
        let start = names.filter(|name| !matches!(name.as_str(), "" | ".")).collect::<Vec<_>>().join("/");
        Ok(Glob { set, whole, start: if start.is_empty() { ".".to_owned() } else { start } })
    }

    /// Returns whether a path matches the pattern.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }

    /// Returns the directory that contains everything that can match.
    pub(super) fn start(&self) -> &str {
        &self.start
    }

    /// Returns the pattern for paths that look like a match.
    fn relaxed(&self) -> Option<GlobSet> {
        let relaxed = look_alike::skeleton(&self.whole);
        compile(&[Some(&relaxed), literal(&relaxed).as_deref()]).ok()
    }
}

/// Compiles patterns into one. A `GlobSet` returns an error if it is too large, where a single matcher would panic.
fn compile(patterns: &[Option<&str>]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns.iter().flatten() {
        set.add(GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build()?);
    }
    set.build()
}

/// Returns the pattern in which brackets and braces stand for themselves, or `None` if there are none.
fn literal(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let (mut chars, mut is_other) = (pattern.chars(), false);
    while let Some(char) = chars.next() {
        match char {
            '\\' => out.extend([char].into_iter().chain(chars.next())),
            '[' | ']' | '{' | '}' => {
                out.extend(['\\', char]);
                is_other = true;
            }
            char => out.push(char),
        }
    }
    is_other.then_some(out)
}

/// Returns the name that a part of a pattern stands for, or `None` if it can stand for several.
fn fixed_name(part: &str) -> Option<String> {
    let mut out = String::with_capacity(part.len());
    let mut chars = part.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => out.extend(chars.next()),
            '*' | '?' | '[' | '{' => return None,
            char => out.push(char),
        }
    }
    Some(out)
}

/// Returns whether a backslash stands before a character that has no meaning of its own, as in a path of Windows.
fn is_separated_by_backslashes(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        let is_escape = |next: char| {
            SPECIAL.contains(&next) || (next.is_ascii_punctuation() && next != '/') || next == ' '
        };
        if char == '\\' && !chars.next().is_some_and(is_escape) {
            return true;
        }
    }
    false
}

/// A search for paths.
#[derive(Debug)]
pub(super) struct PathSearch {
    /// The pattern.
    pub(super) glob: Glob,
    /// Whether entries that [`super::ignore_rules`] leave out are included.
    pub(super) ignored: bool,
    /// The place behind which the answer begins.
    pub(super) after: Option<Cursor>,
}

/// The paths that match a pattern.
#[derive(Default)]
pub(super) struct FoundPaths {
    /// The paths of this part. They look as in `list`: files that `read` would accept, and directories with a final `/`.
    pub(super) paths: Vec<String>,
    /// The directories whose names were read, each with the path to which its links lead, if that is another one.
    pub(super) seen: Vec<(String, Option<String>)>,
    /// The number of all matching paths.
    total: usize,
    next: Option<Cursor>,
    similar: Vec<String>,
    report: tree::WalkReport,
}

/// Returns the pattern of the answer.
pub(super) fn pattern() -> Pattern {
    let paths = || Pattern::array_of(text(1024));
    let next = Pattern::or([Pattern::null(), text(cursor::MAX_LEN)]);
    Pattern::or([paths(), record([("answer", Pattern::string()), ("paths", paths()), ("next", next)])])
}

impl PathSearch {
    /// Finds the paths.
    pub(super) fn run(&self, root: &Dir, names: &[String], limits: &Limits) -> Result<FoundPaths, Finding> {
        let start = self.glob.start();
        let place = tree::WalkStart::look(root, start);
        let first = if start == "." { "" } else { start };
        let mut found =
            FoundPaths { seen: vec![(first.to_owned(), place.leads_to(start))], ..FoundPaths::default() };
        let mut all: Vec<(i64, String)> = Vec::new();
        let extent = if self.ignored { Extent::All } else { Extent::Tracked };
        let is_closed = |path: &str| place.is_closed(names, path);
        let walked = tree::walk(root, start, extent, limits, &is_closed, &mut |entry| {
            if entry.kind == Kind::Directory && !is_closed(&entry.path) {
                found.seen.push((entry.path.clone(), place.leads_to(&entry.path)));
            }
            if self.glob.matches(&entry.path) {
                all.extend(shown(root, entry, limits).map(|path| (entry.modified, path)));
            }
            ControlFlow::Continue(())
        });
        match walked.map_err(|error| tree::known(root, start, error, limits)) {
            // The start directory does not exist, so no path can match.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                found.similar = similar_start(root, names, start, limits);
                return Ok(found);
            }
            Err(error) => return Err(crate::failure::finding(&error, "look for paths", "pattern")),
            Ok(report) => found.report = report,
        }
        if all.is_empty() {
            found.similar = self.similar(root, names, extent, limits);
        }
        all.sort_by(|one, other| Cursor::order((one.0, &one.1), (other.0, &other.1)));
        found.total = all.len();
        let is_behind = |(modified, path): &(i64, String)| {
            self.after.as_ref().is_none_or(|after| after.is_before(*modified, path))
        };
        let mut rest = all.into_iter().filter(is_behind).peekable();
        let part = cursor::fitting(&mut rest, MAX_ITEMS, |(_, path)| path);
        if rest.peek().is_some() {
            let last = part.last().cloned();
            found.next = last.map(|(modified, path)| Cursor { modified, line: 0, path });
        }
        found.paths = part.into_iter().map(|(_, path)| path).collect();
        Ok(found)
    }

    /// Returns some paths that look like a match, and are none.
    fn similar(&self, root: &Dir, names: &[String], extent: Extent, limits: &Limits) -> Vec<String> {
        let Some(relaxed) = self.glob.relaxed() else { return Vec::new() };
        let mut similar = Vec::new();
        // The names were read before, so a failure only means that there is nothing to suggest.
        let place = tree::WalkStart::look(root, self.glob.start());
        let is_closed = |path: &str| place.is_closed(names, path);
        let _ = tree::walk(root, self.glob.start(), extent, limits, &is_closed, &mut |entry| {
            let is_hidden = is_closed(&entry.path) || place.holds_keys(names, &entry.path);
            if relaxed.is_match(look_alike::skeleton(&entry.path)) && !is_hidden {
                similar.extend(shown(root, entry, limits));
            }
            if similar.len() >= MAX_SIMILAR { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        similar
    }
}

/// Returns the directories that look like the start of a pattern.
fn similar_start(root: &Dir, names: &[String], start: &str, limits: &Limits) -> Vec<String> {
    let found = look_alike::suggestions(root, names, start, limits).into_iter();
    found.map(|one| format!("{}/", one.path)).collect()
}

impl FoundPaths {
    /// Returns the paths as a value: a list if it has all of them, and otherwise a record that begins with the reason.
    pub(super) fn value(self) -> Value {
        let FoundPaths { paths, total, next, similar, report, .. } = self;
        let mut notes = report.omitted.sentences();
        if report.is_cut {
            let cut = format!("only the first {} entries of the directory were looked at", tree::MAX_ENTRIES);
            notes.insert(0, format!("{cut}: begin the pattern with a subdirectory"));
        }
        if !similar.is_empty() {
            let quoted: Vec<String> =
                similar.iter().map(|path| format!("`{}`", visible_line(path))).collect();
            notes.insert(
                0,
                format!("these differ only in case, spaces or Unicode form: {}", quoted.join(", ")),
            );
        }
        let shown = paths.len();
        let paths = Value::array(paths.into_iter().map(Value::from));
        if notes.is_empty() && next.is_none() && shown == total {
            return paths;
        }
        let count = if total == 1 { "1 path matches".to_owned() } else { format!("{total} paths match") };
        let first = match &next {
            Some(_) => format!(
                "partial: {shown} of the {count}, newest first. For more, call again with `after` set to `next`"
            ),
            None if report.is_cut => format!("partial: {count}"),
            None if shown < total => format!("the last part: {shown} of the {count}"),
            None => format!("complete: {count}"),
        };
        notes.insert(0, first);
        value([
            ("answer", Value::from(notes.join(". "))),
            ("paths", paths),
            ("next", next.map_or(Value::Null, |next| Value::from(next.text()))),
        ])
    }
}

/// Returns the path of an entry as it is shown, if the grant covers it.
fn shown(root: &Dir, entry: &tree::Entry, limits: &Limits) -> Option<String> {
    let covered = |resolved: &str, bytes| {
        (limits.cover(&entry.path, bytes) && limits.fit_name(resolved)).then(|| entry.path.clone())
    };
    match entry.kind {
        Kind::File => covered(&entry.path, entry.bytes),
        Kind::Directory => Some(format!("{}/", entry.path)),
        Kind::Link => {
            // A link that leads out of the directory does not exist for the holder.
            let found = walk::look(root, &entry.path).ok()?;
            match found.kind {
                Kind::File => covered(&found.resolved, found.bytes),
                Kind::Directory => Some(format!("{}/", entry.path)),
                _ => None,
            }
        }
        Kind::Other => None,
    }
}
