//! `read`: the text of one file.

use std::io::{Read as _, Seek as _, SeekFrom};

use cap_std::fs::Dir;
use kernel::proposal::Finding;
use passable::{quoting, visible_line};

use super::Limits;
use super::range::{self, Range};
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

/// The maximum size of a file that is searched for keys as a whole, in bytes.
const MAX_SEARCHED_BYTES: u64 = range::MAX_COUNTED_BYTES;

/// The number of bytes around a range in a larger file that are searched too. A key that begins before the range may
/// reach into it.
const MARGIN_BYTES: u64 = 1 << 20;

/// Returns the kind of a key that stands in a file of which a call reads a part. Where the file is too large, only the
/// part and its surroundings are searched.
pub(super) fn key(root: &Dir, found: &FoundEntry, range: Range) -> Option<&'static str> {
    let mut file = walk::open(root, found).ok()?;
    let (from, most) = match range {
        Range::Bytes { offset, bytes } if found.bytes > MAX_SEARCHED_BYTES => {
            let bytes = bytes.unwrap_or(range::MAX_BYTES).min(range::MAX_BYTES);
            (offset.saturating_sub(MARGIN_BYTES), bytes + 2 * MARGIN_BYTES)
        }
        Range::All if found.bytes > MAX_SEARCHED_BYTES => (0, range::MAX_BYTES + MARGIN_BYTES),
        _ => (0, MAX_SEARCHED_BYTES),
    };
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    policy::secrets::key_in(&bytes)
}

/// The maximum size of a file of certificates that is read unasked, in bytes.
const MAX_CERTIFICATES_BYTES: u64 = 1 << 20;

/// Returns whether a file holds certificates or public keys in PEM, and no private key.
pub(super) fn is_certificate(root: &Dir, found: &FoundEntry) -> bool {
    let text = || {
        let file = walk::open(root, found).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_CERTIFICATES_BYTES + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= MAX_CERTIFICATES_BYTES).then(|| String::from_utf8(bytes).ok())?
    };
    text().is_some_and(|text| policy::secrets::is_public_pem(&text))
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
