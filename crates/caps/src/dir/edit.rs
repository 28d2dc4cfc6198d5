//! `edit`: replaces one text in a file by another, exactly.
//!
//! The approval covers exactly the old bytes and exactly the new bytes: both digests are pinned. So after a crash,
//! the file itself tells whether the edit was made.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd as _;

use cap_std::fs::Dir;
use kernel::id::BlobHash;
use kernel::proposal::Finding;
use passable::visible_line;

use super::append::held;
use super::line_ends::{self, BYTE_ORDER_MARK};
use super::write::{WriteOutcome, WriteTarget, look};
use super::{Limits, near_match, tree};
use crate::atomic_write::{self, AtomicWrite, AtomicWriteError};
use crate::failure;
use crate::path::Plain;
use crate::walk;

/// The maximum number of lines that a finding names.
const MAX_NAMED_LINES: usize = 10;

/// The arguments of an edit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit<'a> {
    /// The text to replace.
    pub(super) old: &'a str,
    /// The text that replaces it.
    pub(super) new: &'a str,
    /// Whether to replace the text wherever it stands. Otherwise it must stand only once.
    pub(super) all: bool,
}

/// The result of an edit of a file.
pub(super) struct EditPreview {
    /// The whole file afterwards.
    pub(super) whole: Vec<u8>,
    /// The number of bytes that the file has now.
    pub(super) before: u64,
    /// The digest of its present content.
    pub(super) digest: BlobHash,
    /// The number of places at which the text is replaced.
    pub(super) places: usize,
}

impl Edit<'_> {
    /// Checks that the texts can describe an edit, whatever stands in the file.
    pub(super) fn check(&self) -> Result<(), Finding> {
        let finding = |rule: &str, what: &str, at: &str| Finding::new(rule, what.to_owned()).at(at);
        if self.old.is_empty() {
            return Err(finding("edit/empty", "there is no text to look for", "old")
                .counter_example("an empty text")
                .allowed("the text that is to be replaced; `append` adds at the end, `write` replaces the whole file"));
        }
        if self.old == self.new {
            return Err(finding("edit/same", "both texts are the same: nothing would change", "new")
                .counter_example(short(self.new))
                .allowed("another text than `old`"));
        }
        Ok(())
    }

    /// Returns the text after the edit, and the number of replaced places. A finding shows lines of the file only with
    /// `shows_lines`.
    fn apply(&self, path: &str, text: &str, shows_lines: bool) -> Result<(String, usize), Finding> {
        let shown = visible_line(path);
        let finding = |rule: &str, what: String, at: &str| Finding::new(rule, what).at(at);
        self.check()?;
        let (places, new) = self.places(text);
        if places.is_empty() {
            let why = if shows_lines { format!(": {}", self.nearness(text)) } else { String::new() };
            let what = format!("the text does not stand in `{shown}`{why}");
            return Err(finding("edit/not-found", what, "old")
                .counter_example(short(self.old))
                .allowed("a text exactly as `read` shows it, with its spaces and line breaks"));
        }
        if places.len() > 1 && !self.all {
            let line = |place: &Range<usize>| text[..place.start].matches('\n').count() + 1;
            let lines: Vec<String> =
                places.iter().take(MAX_NAMED_LINES).map(|place| line(place).to_string()).collect();
            let more = if places.len() > MAX_NAMED_LINES { ", …" } else { "" };
            let what = match shows_lines {
                true => format!(
                    "the text stands in `{shown}` {} times: lines {}{more}",
                    places.len(),
                    lines.join(", ")
                ),
                false => format!("the text stands in `{shown}` more than once"),
            };
            return Err(finding("edit/ambiguous", what, "old")
                .counter_example(short(self.old))
                .allowed("a longer text that stands there once, or `all: true` to replace it everywhere"));
        }
        let mut whole = String::with_capacity(text.len() + new.len());
        let mut done = 0;
        for place in &places {
            whole.push_str(&text[done..place.start]);
            whole.push_str(&new);
            done = place.end;
        }
        whole.push_str(&text[done..]);
        if whole == text {
            return Err(finding(
                "edit/same",
                "nothing would change: the new text stands there already".to_owned(),
                "new",
            )
            .counter_example(short(self.new))
            .allowed("another text than `old`; the ends of lines are those of the file"));
        }
        Ok((whole, places.len()))
    }

    /// Returns the place at which the old text almost stands, in words.
    fn nearness(&self, text: &str) -> String {
        match near_match::find(text, self.old) {
            Some(near) => format!(
                "it stands there but for {}: line {} is {}",
                near.difference,
                near.line,
                visible_line(&near.there)
            ),
            None => match nearest(text, self.old) {
                near if near.is_empty() => "nothing like it stands there".to_owned(),
                near => format!("like it are {}", near.join("; ")),
            },
        }
    }

    /// Returns the places at which the old text stands, and the new text with the line ends of the file. If the text
    /// does not stand there exactly, CRLF and LF count as the same.
    fn places(&self, text: &str) -> (Vec<Range<usize>>, Cow<'_, str>) {
        let exact = |old: &str| -> Vec<Range<usize>> {
            text.match_indices(old).map(|(at, found)| at..at + found.len()).collect()
        };
        let places = exact(self.old);
        if !places.is_empty() {
            let is_meant = self.old.contains('\r');
            let new = if is_meant { self.new.into() } else { line_ends::fitted(text.as_bytes(), self.new) };
            return (places, new);
        }
        // Some editors hide a mark at the beginning of a file, and some readers pass it on.
        let (mut old, mut new) = (self.old, self.new);
        if let Some(rest) = old.strip_prefix(BYTE_ORDER_MARK) {
            (old, new) = (rest, new.strip_prefix(BYTE_ORDER_MARK).unwrap_or(new));
        }
        let places = if old.is_empty() { Vec::new() } else { line_ends::find(text, old) };
        let is_crlf = line_ends::are_crlf(text.as_bytes())
            || places.first().is_some_and(|place| text[place.clone()].contains("\r\n"));
        (places, if is_crlf { line_ends::to_crlf(new) } else { line_ends::to_lf(new) })
    }

    /// Returns the result that the edit would have on the file as it is now. A finding shows lines of the file only
    /// with `shows_lines`.
    pub(super) fn preview(
        &self,
        root: &Dir,
        path: &Plain,
        limits: &Limits,
        shows_lines: bool,
    ) -> Result<EditPreview, Finding> {
        let shown = path.as_str();
        let failed = |error: io::Error| failure::finding(&error, &format!("edit `{shown}`"), "path");
        walk::parent(root, path).map_err(|error| failed(tree::known(root, shown, error, limits)))?;
        let WriteTarget { present, .. } = look(root, path, limits)?;
        if present.is_none() {
            return Err(failed(io::ErrorKind::NotFound.into()));
        }
        let parent = walk::parent(root, path).map_err(failed)?;
        let parent = parent.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let bytes = held(parent.as_fd(), path.split().1, limits.bytes()).map_err(failed)?;
        let bytes = bytes.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let (before, digest) = (bytes.len() as u64, BlobHash::of(&bytes));
        let text = super::read::text(shown, bytes, 0)?;
        let (whole, places) = self.apply(shown, &text, shows_lines)?;
        limits.check_bytes(shown, whole.len() as u64)?;
        limits.check_total(root, whole.len() as u64, before)?;
        Ok(EditPreview { whole: whole.into_bytes(), before, digest, places })
    }

    /// Makes the edit, if the file's present content and its new content both match their pins.
    pub(super) fn make(
        &self,
        root: &Dir,
        path: &Plain,
        (pinned, becomes): (BlobHash, BlobHash),
        temporary: &str,
        limits: &Limits,
    ) -> Result<EditPreview, WriteOutcome> {
        let edited = match self.preview(root, path, limits, false) {
            Ok(edited) if edited.digest == pinned && BlobHash::of(&edited.whole) == becomes => edited,
            Ok(_) => return Err(WriteOutcome::Changed),
            // A problem of the edit itself did not exist when the call was judged, so the file must have changed.
            Err(finding) if finding.rule.starts_with("edit/") => return Err(WriteOutcome::Changed),
            Err(finding) => return Err(WriteOutcome::Failed(finding)),
        };
        let failed = |error: io::Error| {
            WriteOutcome::Failed(failure::finding(&error, &format!("edit `{}`", path.as_str()), "path"))
        };
        let parent = walk::parent(root, path).map_err(failed)?.ok_or(WriteOutcome::Changed)?;
        let name = path.split().1;
        let expected = walk::present(parent.as_fd(), name, limits.bytes()).map_err(failed)?;
        if expected.as_ref().map(|present| present.digest) != Some(pinned) {
            return Err(WriteOutcome::Changed);
        }
        let placing = AtomicWrite {
            directory: parent.as_fd(),
            name,
            temporary,
            bytes: &edited.whole,
            expected,
            limit: limits.bytes(),
        };
        match placing.put() {
            Ok(()) => Ok(edited),
            Err(AtomicWriteError::Changed) => Err(WriteOutcome::Changed),
            Err(AtomicWriteError::Io(error)) => Err(failed(error)),
        }
    }
}

/// The state of an edit that a crash interrupted.
pub(super) enum EditState {
    /// The edit was made. This is the file's content now.
    Done(Vec<u8>),
    /// The file still has the old content.
    NotDone,
    /// The file has another content, or cannot be read.
    Unknown,
}

/// Returns the state of an edit that a crash interrupted. Leftovers of the crash beside the file are removed.
pub(super) fn find(
    root: &Dir,
    path: &Plain,
    (pinned, becomes): (BlobHash, BlobHash),
    temporary: &str,
    limits: &Limits,
) -> EditState {
    let Ok(Some(parent)) = walk::parent(root, path) else { return EditState::Unknown };
    match held(parent.as_fd(), path.split().1, limits.bytes()) {
        Ok(Some(now)) if BlobHash::of(&now) == becomes => {
            atomic_write::tidy(parent.as_fd(), temporary, &[pinned, becomes], limits.bytes());
            // The rename may have been seen but not yet be durable.
            let _ = rustix::fs::fsync(&parent);
            EditState::Done(now)
        }
        Ok(Some(now)) if BlobHash::of(&now) == pinned => EditState::NotDone,
        _ => EditState::Unknown,
    }
}

/// Returns the lines that are most similar to the first line of a text that was not found.
fn nearest(text: &str, old: &str) -> Vec<String> {
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let words: Vec<&str> =
        first.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut like: Vec<(usize, usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let same = if !first.is_empty() && line.trim() == first { words.len() + 1 } else { 0 };
            (words.iter().filter(|word| line.contains(**word)).count().max(same), at, line)
        })
        .filter(|(score, _, _)| *score > 0 && score * 2 >= words.len())
        .collect();
    like.sort_by_key(|(score, at, _)| (std::cmp::Reverse(*score), *at));
    like.into_iter()
        .take(3)
        .map(|(_, at, line)| format!("line {}: `{}`", at + 1, short(line.trim())))
        .collect()
}

/// Returns the beginning of a text on one line.
fn short(text: &str) -> String {
    let cut: String = text.chars().take(80).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{more}", visible_line(&cut))
}
