//! The methods of a directory.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kernel::proposal::Value;
use kernel::{Interface, Method, Param, Pattern};
use passable::Effect;

use super::limits::MAX_BYTES;
use super::{cursor, glob, grep, list, range};
use crate::text;

/// The largest number for a range or a limit: the largest integer that a number holds exactly.
const MAX_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Returns the interface of every directory. A grant says which of the methods may be called.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let looks = |name: &str, about: &str| Method::new(name, Effect::Observe, about);
        let changes = |name: &str, about: &str| Method::new(name, Effect::Modify, about).with_probe();
        let path = |about: &str| Param::required("path", text(1024), about);
        let count = |name: &str, least: f64, about: &str| {
            Param::optional(name, Pattern::between(least, MAX_INTEGER), about)
        };
        let content = |name: &str, about: &str| Param::required(name, text(MAX_BYTES), about);
        let after = || {
            let about = "the `next` of a partial answer to the same call: begins behind it";
            Param::optional("after", text(cursor::MAX_LEN), about)
        };
        let ignored = || {
            let about = "true: also what `.gitignore` names, and `.git`, `node_modules`, build directories";
            Param::optional("ignored", Pattern::bool(), about)
        };
        let written = || record([("path", text(1024)), ("bytes", Pattern::number()), ("digest", text(64))]);
        Interface::new("Dir", "a directory of files")
            .with(
                looks(
                    "list",
                    "The names in the directory, sorted; subdirectories end in /. With `answer` and `next` if there are \
                     more than fit, or some cannot be shown.",
                )
                    .param(Param::optional(
                        "path",
                        text(1024),
                        "a subdirectory; left out: the directory itself",
                    ))
                    .param(after())
                    .returns(list::pattern()),
            )
            .with(
                looks(
                    "read",
                    "The text of a file. A part of it, if a range is asked for or the file is long: \
                     { text, unit, from, to, total, truncated, next }.",
                )
                .param(path("the file, relative to the directory"))
                .param(count("from", 1.0, "the first line, from 1"))
                .param(count("lines", 1.0, "how many lines"))
                .param(count("offset", 0.0, "instead of lines: the first byte, from 0"))
                .param(count("bytes", 1.0, "how many bytes, with or without offset"))
                .returns(Pattern::or([text(MAX_BYTES), range::pattern()])),
            )
            .with(
                changes("write", "Writes a file, whole; what was there is replaced.")
                    .param(path("the file, relative to the directory; directories on the way are made"))
                    .param(content("content", "the whole text of the file"))
                    .returns(written()),
            )
            .with(
                changes("append", "Adds a text at the end of a file; makes it if it is not there.")
                    .param(path("the file, relative to the directory; directories on the way are made"))
                    .param(content("content", "what is added, with its line breaks"))
                    .returns(written()),
            )
            .with(
                changes("edit", "Replaces a text in a file by another: exactly, and only where it stands once. The line ends of the file stay.")
                    .param(path("the file, relative to the directory"))
                    .param(content("old", "what stands there now, with its line breaks"))
                    .param(content("new", "what is to stand there"))
                    .param(Param::optional("all", Pattern::bool(), "true: wherever it stands"))
                    .returns(written()),
            )
            .with(
                changes("move", "Gives a file another name or place in the directory. Replaces nothing.")
                    .param(Param::required("from", text(1024), "the file, relative to the directory"))
                    .param(Param::required("to", text(1024), "its new path; directories on the way are made"))
                    .returns(record([("path", text(1024)), ("from", text(1024))])),
            )
            .with(
                changes("remove", "Removes a file, or a directory that is empty.")
                    .param(path("the file or directory"))
                    .returns(record([("path", text(1024)), ("removed", Pattern::bool())])),
            )
            .with(
                changes("make_directory", "Makes a directory, and those on the way; one that is there is as good.")
                    .param(path("the directory"))
                    .returns(record([("directory", text(1024))])),
            )
            .with(
                looks(
                    "glob",
                    "The paths that match a pattern, newest first: * and ? within a name, ** for any directories, \
                     {a,b} for either, [a-z]. Directories end in /. With `answer` and `next` if there are more than \
                     fit, or some were left out.",
                )
                .param(Param::required("pattern", text(glob::MAX_LEN), "such as **/*.md"))
                .param(after())
                .param(ignored())
                .returns(glob::pattern()),
            )
            .with(
                looks(
                    "grep",
                    "The lines of text files that a regular expression matches (Rust's syntax; (?i) for any case), newest \
                     files first. `answer` says whether that is all.",
                )
                .param(Param::required("pattern", text(grep::MAX_LEN), "the regular expression"))
                .param(Param::optional("path", text(1024), "a file or a subdirectory; left out: everything"))
                .param(Param::optional("glob", text(glob::MAX_LEN), "only files that match, such as *.rs"))
                .param(count("most", 1.0, "how many matches at most; without it, 100"))
                .param(after())
                .param(ignored())
                .returns(grep::pattern()),
            )
            .with(
                looks("stat", "What is at a path: its kind, size, digest, and when it was changed last.")
                    .param(path("the file or directory"))
                    .returns(Pattern::any()),
            )
    });
    &INTERFACE
}

/// Returns a record of exactly these fields.
pub(super) fn record<const N: usize>(fields: [(&'static str, Pattern); N]) -> Pattern {
    Pattern::record(fields).unwrap_or_else(|_| Pattern::any())
}

/// Returns a record with these fields.
pub(super) fn value<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    Value::record_from_map(BTreeMap::from(fields))
}
