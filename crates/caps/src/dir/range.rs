//! `read` for a part of a file: a number of lines or bytes from a given position.
//!
//! A range of lines counts from 1, and its end is its last line. A range of bytes counts from 0, and its end is the
//! byte behind it. Text is never cut within a character.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use cap_std::fs::Dir;
use kernel::Pattern;
use kernel::proposal::{Finding, Value};
use passable::{quoting, visible_line};

use super::interface::record;
use crate::failure;
use crate::path::Plain;
use crate::text;
use crate::walk::{self, FoundEntry};

/// The maximum number of bytes of text in one answer.
pub(super) const MAX_BYTES: u64 = 256 << 10;

/// The maximum size of a file whose lines are counted, in bytes.
pub(super) const MAX_COUNTED_BYTES: u64 = 64 << 20;

/// The part of a file that a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    /// The whole file, or its beginning if the file is long.
    All,
    /// A number of lines, beginning with line `from`.
    Lines { from: u64, lines: Option<u64> },
    /// A number of bytes, beginning at `offset`.
    Bytes { offset: u64, bytes: Option<u64> },
}

/// A part of a file, as it was read.
#[derive(Debug)]
pub(super) struct Part {
    /// The text.
    pub(super) text: String,
    unit: &'static str,
    from: u64,
    to: u64,
    total: u64,
}

/// Returns the pattern of the value of a part.
pub(super) fn pattern() -> Pattern {
    record([
        ("text", text(MAX_BYTES)),
        ("unit", text(8)),
        ("from", Pattern::number()),
        ("to", Pattern::number()),
        ("total", Pattern::number()),
        ("truncated", Pattern::bool()),
        ("next", Pattern::or([Pattern::null(), text(200)])),
    ])
}

impl Part {
    /// Returns whether the part reaches the end of the file.
    pub(super) fn is_whole(&self) -> bool {
        self.to >= self.total
    }

    /// Returns the part as a value, with its position in the file, and advice on how to read on.
    pub(super) fn value(&self) -> Value {
        let truncated = self.to < self.total;
        let next = match (truncated, self.unit) {
            (false, _) => Value::Null,
            (true, "lines") => Value::from(format!("to read on: the same path, from: {}", self.to + 1)),
            (true, _) => Value::from(format!("to read on: the same path, offset: {}", self.to)),
        };
        let fields = [
            ("text", Value::from(self.text.as_str())),
            ("unit", Value::from(self.unit)),
            ("from", Value::number(self.from as f64)),
            ("to", Value::number(self.to as f64)),
            ("total", Value::number(self.total as f64)),
            ("truncated", Value::Bool(truncated)),
            ("next", next),
        ];
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::record_from_map(fields.collect::<BTreeMap<_, _>>())
    }
}

/// Reads a part of a file that was looked up.
pub(super) fn read(root: &Dir, path: &Plain, found: &FoundEntry, range: Range) -> Result<Part, Finding> {
    match range {
        Range::All => bytes(root, path, found, 0, MAX_BYTES, true),
        Range::Bytes { offset, bytes: most } => {
            bytes(root, path, found, offset, most.unwrap_or(MAX_BYTES).min(MAX_BYTES), false)
        }
        Range::Lines { from, lines } => self::lines(root, path, found, from, lines.unwrap_or(u64::MAX)),
    }
}

fn bytes(
    root: &Dir,
    path: &Plain,
    found: &FoundEntry,
    offset: u64,
    most: u64,
    whole_lines: bool,
) -> Result<Part, Finding> {
    let failed =
        |error: std::io::Error| failure::finding(&error, &format!("read `{}`", path.as_str()), "path");
    let mut file = walk::open(root, found).map_err(failed)?;
    let total = file.metadata().map_err(failed)?.len();
    if offset > total {
        return Err(beyond(path, "offset", &format!("byte {offset}"), &format!("{total} bytes")));
    }
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut held = Vec::new();
    // A character has at most four bytes, so this is enough to complete the last one.
    file.take(most.saturating_add(4)).read_to_end(&mut held).map_err(failed)?;
    // A range that begins within a character begins with the next one.
    let skipped = match offset {
        0 => 0,
        _ => held.iter().take(3).take_while(|byte| (**byte & 0xC0) == 0x80).count(),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut end = held.len().min(skipped.saturating_add(most));
    while end > skipped && end < held.len() && (held[end] & 0xC0) == 0x80 {
        end -= 1;
    }
    if whole_lines && end < held.len() {
        // A line that is longer than the limit is cut.
        end = held[..end].iter().rposition(|byte| *byte == b'\n').map_or(end, |at| at + 1);
    }
    // If the call asks for fewer bytes than the first character has, the whole character is returned.
    if end == skipped && skipped < held.len() {
        end = (skipped + 1..=held.len())
            .find(|at| held.get(*at).is_none_or(|b| (b & 0xC0) != 0x80))
            .unwrap_or(end);
    }
    let from = offset + skipped as u64;
    let text = super::read::text(path.as_str(), held[skipped..end].to_vec(), from)?;
    let to = offset + end as u64;
    // The file may have grown meanwhile.
    Ok(Part { text, unit: "bytes", from, to, total: total.max(to) })
}

fn lines(root: &Dir, path: &Plain, found: &FoundEntry, from: u64, lines: u64) -> Result<Part, Finding> {
    let failed =
        |error: std::io::Error| failure::finding(&error, &format!("read `{}`", path.as_str()), "path");
    let file = walk::open(root, found).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() > MAX_COUNTED_BYTES {
        let what = format!("`{}` is too large for its lines to be counted", visible_line(path.as_str()));
        return Err(Finding::new("dir/size", what)
            .at("from")
            .counter_example(format!("more than {MAX_COUNTED_BYTES} bytes"))
            .allowed("a range of bytes: `offset` and `bytes`"));
    }
    let last = from.saturating_sub(1).saturating_add(lines);
    let (mut number, mut to, mut held) = (0u64, from.saturating_sub(1), Vec::new());
    let mut reader = BufReader::new(file.take(MAX_COUNTED_BYTES));
    let mut is_full = false;
    loop {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            break;
        }
        number += 1;
        if number < from || number > last || is_full {
            continue;
        }
        if (held.len() + line.len()) as u64 > MAX_BYTES {
            if held.is_empty() {
                let what =
                    format!("line {number} of `{}` has {} bytes", visible_line(path.as_str()), line.len());
                return Err(Finding::new("dir/line", what)
                    .at("from")
                    .counter_example(format!("line {number}"))
                    .allowed("a range of bytes: `offset` and `bytes`"));
            }
            is_full = true;
            continue;
        }
        held.extend(line);
        to = number;
    }
    if from > number.max(1) {
        return Err(beyond(path, "from", &format!("line {from}"), &format!("{number} lines")));
    }
    let text = super::read::text(path.as_str(), held, 0)?;
    Ok(Part { text, unit: "lines", from, to, total: number })
}

fn beyond(path: &Plain, at: &str, asked: &str, has: &str) -> Finding {
    Finding::new("dir/range", quoting!("`{}` has {}, and no {}", visible_line(path.as_str()), has, asked))
        .at(at)
        .counter_example(asked)
        .allowed(format!("a range within {has}"))
}
