//! `read`: the text of one file.

use std::io::Read as _;

use cap_std::fs::Dir;
use kernel::proposal::Finding;
use passable::{quoting, visible_line};

use super::Limits;
use crate::path::Plain;
use crate::walk::{self, FoundEntry, Kind};

/// The advice in a finding that a file is no text.
const TEXT_ONLY: &str =
    "a file of UTF-8 text; a document of another kind can be given to the run as an attachment";

/// Looks a file up, and returns the problems of reading it. A file is too large only if the grant names a limit. Of
/// other large files, a part is read.
pub(super) fn look(root: &Dir, path: &Plain, limits: &Limits) -> Result<FoundEntry, Finding> {
    let shown = path.as_str();
    let found = limits.look(root, shown, &format!("read `{shown}`"))?;
    if found.kind != Kind::File {
        return Err(Finding::new(
            "dir/kind",
            quoting!("`{}` is {}", visible_line(shown), found.kind.phrase()),
        )
        .at("path")
        .counter_example(visible_line(shown))
        .allowed("the path of a file; `list` shows what is in a directory"));
    }
    if !limits.cover(shown, found.bytes) {
        limits.check_bytes(shown, found.bytes)?;
    }
    Ok(found)
}

/// Returns the bytes of a file. Returns `None` if the file has more than `most` bytes, is no plain file, or cannot be
/// read.
pub(super) fn bytes(root: &Dir, path: &Plain, most: u64) -> Option<Vec<u8>> {
    let found = walk::look(root, path.as_str()).ok()?;
    if found.kind != Kind::File || found.bytes > most {
        return None;
    }
    let mut bytes = Vec::new();
    walk::open(root, &found).ok()?.take(most.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// Returns bytes as text. `first` is the position of the bytes in the file, for the finding if they are no text.
pub(super) fn text(shown: &str, bytes: Vec<u8>, first: u64) -> Result<String, Finding> {
    let wrong = |rule: &str, what: String| {
        Finding::new(rule, quoting!("`{}` ", visible_line(shown)).and(what))
            .at("path")
            .counter_example(visible_line(shown))
            .allowed(TEXT_ONLY)
    };
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(wrong("dir/binary", format!("is no text: byte {} is zero", first + at as u64)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = first + error.utf8_error().valid_up_to() as u64;
        let known = [("%PDF-", "a PDF"), ("PK\u{3}\u{4}", "a ZIP archive or an office document")];
        let start = error.as_bytes();
        match known.iter().find(|(magic, _)| start.starts_with(magic.as_bytes())) {
            Some((_, kind)) => wrong("dir/binary", format!("is {kind}, not text")),
            None => wrong("dir/not-utf8", format!("is not UTF-8: byte {at} cannot be read")),
        }
    })
}
