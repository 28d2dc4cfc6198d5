//! The parsed calls of a directory.

use kernel::proposal::{Finding, Value};
use passable::{quoting, visible_line};

use super::cursor::Cursor;
use super::edit::Edit;
use super::glob::{Glob, PathSearch};
use super::grep::{Search, SearchArguments};
use super::interface;
use super::range::Range;
use crate::path::{Plain, Purpose};

/// A call with its parsed arguments. The parser looks at no files.
pub(super) enum Call<'a> {
    List { path: Option<Plain>, after: Option<Cursor> },
    Read { path: Plain, range: Range },
    Write { path: Plain, content: &'a str },
    Append { path: Plain, content: &'a str },
    Edit { path: Plain, edit: Edit<'a> },
    Move { from: Plain, to: Plain },
    Remove { path: Plain },
    MakeDirectory { path: Plain },
    Glob { search: PathSearch },
    Grep { path: Option<Plain>, search: Search },
    Stat { path: Plain },
}

impl<'a> Call<'a> {
    /// Parses the arguments of a call.
    ///
    /// # Errors
    /// When these are not the arguments of the method, or a path or a pattern is not valid.
    pub(super) fn parse(method: &str, args: &'a [Value]) -> Result<Call<'a>, Box<Finding>> {
        let most = interface().method(method).map_or(0, |method| method.params.len());
        if args.len() > most {
            return Err(mismatch(method));
        }
        let given = |at: usize| args.get(at).filter(|value| !matches!(value, Value::Undefined));
        let maybe_text = |at: usize| match given(at) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| mismatch(method)),
        };
        let text = |at: usize| maybe_text(at)?.ok_or_else(|| mismatch(method));
        let path = |at: usize, purpose: Purpose| Ok::<_, Box<Finding>>(Plain::check(text(at)?, purpose)?);
        let count = |at: usize| match given(at) {
            None => Ok(None),
            // A number with a fraction is no count.
            Some(value) => match value.as_f64() {
                Some(number) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
                _ => Err(mismatch(method)),
            },
        };
        let flag = |at: usize| match given(at) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| mismatch(method)),
        };
        let after = |at: usize| maybe_text(at)?.filter(|text| !text.is_empty()).map(Cursor::read).transpose();
        let place = |at: usize| match maybe_text(at)? {
            // These texts commonly mean the directory itself.
            None | Some("" | "." | "./") => Ok(None),
            Some(path) => Ok::<_, Box<Finding>>(Some(Plain::check(path, Purpose::Look)?)),
        };
        Ok(match method {
            "list" => Call::List { path: place(0)?, after: after(1)? },
            "read" => Call::Read {
                path: path(0, Purpose::Look)?,
                range: range(count(1)?, count(2)?, count(3)?, count(4)?)?,
            },
            "write" => Call::Write { path: writable(text(0)?)?, content: text(1)? },
            "append" => Call::Append { path: writable(text(0)?)?, content: text(1)? },
            "edit" => Call::Edit {
                path: writable(text(0)?)?,
                edit: Edit { old: text(1)?, new: text(2)?, all: flag(3)? },
            },
            "move" => Call::Move {
                from: named(path(0, Purpose::Look), "from")?,
                to: named(path(1, Purpose::Make), "to")?,
            },
            "remove" => Call::Remove { path: path(0, Purpose::Look)? },
            "make_directory" => {
                let path = text(0)?;
                Call::MakeDirectory {
                    // The path of a directory may end with a slash.
                    path: Plain::check(path.strip_suffix('/').unwrap_or(path), Purpose::Make)?,
                }
            }
            "glob" => Call::Glob {
                search: PathSearch {
                    glob: Glob::read(text(0)?, "pattern", false)?,
                    after: after(1)?,
                    ignored: flag(2)?,
                },
            },
            "grep" => {
                let path = place(1)?;
                let search = Search::read(SearchArguments {
                    pattern: text(0)?,
                    start: path.as_ref().map(Plain::as_str),
                    glob: maybe_text(2)?,
                    most: count(3)?,
                    after: after(4)?,
                    ignored: flag(5)?,
                })?;
                Call::Grep { path, search }
            }
            "stat" => Call::Stat { path: path(0, Purpose::Look)? },
            _ => return Err(mismatch(method)),
        })
    }
}

/// Returns the path of a file to change. An existing file may have a name with characters that nobody sees, but a new
/// one may not: see [`visible`].
fn writable(path: &str) -> Result<Plain, Box<Finding>> {
    let checked = Plain::check(path, Purpose::Make);
    checked.or_else(|finding| match finding.rule == "path/invisible" {
        true => Ok(Plain::check(path, Purpose::Look)?),
        false => Err(Box::new(finding)),
    })
}

/// Checks the path of a file or directory that would be new.
pub(super) fn visible(path: &Plain) -> Result<(), Finding> {
    Plain::check(path.as_str(), Purpose::Make).map(drop)
}

/// Returns the range of a `read`. A range counts lines or bytes, not both.
fn range(
    from: Option<u64>,
    lines: Option<u64>,
    offset: Option<u64>,
    bytes: Option<u64>,
) -> Result<Range, Box<Finding>> {
    match ((from, lines), (offset, bytes)) {
        ((None, None), (None, None)) => Ok(Range::All),
        ((from, lines), (None, None)) => Ok(Range::Lines { from: from.unwrap_or(1).max(1), lines }),
        ((None, None), (offset, bytes)) => Ok(Range::Bytes { offset: offset.unwrap_or(0), bytes }),
        _ => Err(Box::new(
            Finding::new("dir/range", "a range counts lines or bytes, and this one both")
                .at("offset")
                .counter_example("lines and bytes")
                .allowed("`from` and `lines`, or `offset` and `bytes`"),
        )),
    }
}

/// Renames the argument in the finding about a path, if the method does not call it `path`.
fn named(path: Result<Plain, Box<Finding>>, at: &str) -> Result<Plain, Box<Finding>> {
    path.map_err(|finding| match finding.at.as_deref() {
        Some("path") => Box::new(finding.at(at)),
        _ => finding,
    })
}

fn mismatch(method: &str) -> Box<Finding> {
    let allowed = match interface().method(method) {
        Some(known) => known.signature(),
        None => interface().methods.iter().map(|method| method.signature()).collect::<Vec<_>>().join(", "),
    };
    Box::new(
        Finding::new("dir/arguments", quoting!("these are not the arguments of `{}`", visible_line(method)))
            .at("method")
            .counter_example(visible_line(method))
            .allowed(allowed),
    )
}
