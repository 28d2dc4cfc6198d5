//! `list`: the names in one directory that the grant lets its holder use.

use std::io;

use cap_std::fs::Dir;
use kernel::Pattern;
use kernel::proposal::{Finding, Value};

use super::cursor::{self, Cursor};
use super::interface::{record, value};
use super::omissions::Omissions;
use super::{Limits, tree};
use crate::failure;
use crate::path::{Plain, Purpose, is_temporary};
use crate::text;
use crate::walk::{self, Kind};

/// The maximum number of names in one answer.
const MAX_NAMES: usize = 1000;

/// The names in a directory.
#[derive(Default)]
pub(super) struct Listing {
    /// The sorted names of this part.
    pub(super) names: Vec<String>,
    total: usize,
    next: Option<Cursor>,
    omitted: Omissions,
    is_cut: bool,
}

/// Returns the pattern of the answer.
pub(super) fn pattern() -> Pattern {
    let names = || Pattern::array_of(text(255));
    let next = Pattern::or([Pattern::null(), text(cursor::MAX_LEN)]);
    Pattern::or([names(), record([("answer", Pattern::string()), ("names", names()), ("next", next)])])
}

/// Returns the sorted names in a directory: plain files that `read` would accept, and directories with a `/` at the
/// end. Left out without a note are pipes, devices, links that lead out, Almoner's temporary files, and files that the
/// grant does not cover. Names that `read` would refuse are counted.
pub(super) fn list(
    root: &Dir,
    path: Option<&Plain>,
    after: Option<&Cursor>,
    limits: &Limits,
) -> Result<Listing, Finding> {
    let shown = path.map_or(".", Plain::as_str);
    let failed = |error: &io::Error| failure::finding(error, &format!("list `{shown}`"), "path");
    let entries = root.read_dir(shown).map_err(|error| failed(&tree::known(root, shown, error, limits)))?;
    let mut listing = Listing::default();
    let mut all = Vec::new();
    for (seen, entry) in entries.enumerate() {
        if seen == tree::MAX_ENTRIES {
            listing.is_cut = true;
            break;
        }
        let entry = entry.map_err(|error| failed(&error))?;
        let raw = entry.file_name();
        if raw.to_str().is_some_and(is_temporary) {
            continue;
        }
        // An entry that vanishes meanwhile does not exist for the run.
        let Ok(meta) = entry.metadata() else { continue };
        let name = raw.to_str().map(str::to_owned);
        let place = name.as_ref().map(|name| match path {
            None => name.clone(),
            Some(path) => format!("{}/{name}", path.as_str()),
        });
        let (Some(name), Some(place)) =
            (name, place.filter(|place| Plain::check(place, Purpose::Look).is_ok()))
        else {
            if meta.is_dir() || limits.cover(&raw.to_string_lossy(), meta.len()) {
                listing.omitted.note_unnameable(".", &raw);
            }
            continue;
        };
        if meta.is_dir() {
            all.push(format!("{name}/"));
        } else if meta.is_file() {
            all.extend(limits.cover(&name, meta.len()).then_some(name));
        } else if let Ok(found) = walk::look(root, &place) {
            // A link that leads out of the directory cannot be looked up.
            match found.kind {
                Kind::Directory => all.push(format!("{name}/")),
                Kind::File if limits.cover(&name, found.bytes) && limits.fit_name(&found.resolved) => {
                    all.push(name);
                }
                _ => {}
            }
        }
    }
    all.sort();
    listing.total = all.len();
    let mut rest = all.into_iter().filter(|name| after.is_none_or(|after| *name > after.path)).peekable();
    listing.names = cursor::fitting(&mut rest, MAX_NAMES, |name| name);
    if rest.peek().is_some() {
        let last = listing.names.last().cloned();
        listing.next = last.map(|path| Cursor { modified: 0, line: 0, path });
    }
    Ok(listing)
}

impl Listing {
    /// Returns the names as a value: a list if it has all of them, and otherwise a record that begins with the reason.
    pub(super) fn value(self) -> Value {
        let Listing { names, total, next, omitted, is_cut } = self;
        let shown = names.len();
        let names = Value::array(names.into_iter().map(Value::from));
        let mut notes = omitted.sentences();
        if notes.is_empty() && next.is_none() && !is_cut && shown == total {
            return names;
        }
        let count = if total == 1 { "1 name".to_owned() } else { format!("{total} names") };
        let first = match &next {
            Some(_) => {
                format!("partial: {shown} of {count}. For more, call again with `after` set to `next`")
            }
            None if is_cut => {
                format!("partial: {count}; the directory has more than {} entries", tree::MAX_ENTRIES)
            }
            None if shown < total => format!("the last part: {shown} of {count}"),
            None => format!("complete: {count}"),
        };
        notes.insert(0, first);
        value([
            ("answer", Value::from(notes.join(". "))),
            ("names", names),
            ("next", next.map_or(Value::Null, |next| Value::from(next.text()))),
        ])
    }
}
