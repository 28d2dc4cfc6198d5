//! The kinds that are paths of this machine: directories, and spools of outgoing mail.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Kind, Limit, ResourceSpec, Row, TextStart, keyword_kinds};
use crate::{Attenuation, Rate, SpecError, Surroundings, quote, units};

/// The row of `dir` in the table.
pub(crate) static DIR: Row = Row {
    kind: Kind::Dir { write: false },
    label: "dir",
    noun: "a directory",
    verb: "read",
    type_name: "mount",
    start: TextStart::Path,
    example: "PATH",
    grammar: "PATH, or SLOT=PATH?suffix=.pdf&max=10MiB&methods=list,read&rate=60/h&private",
    keys: &["suffix=", "max=", "methods=", "rate=", "private"],
    limits: &[Limit::Suffixes, Limit::Max, Limit::Rate, Limit::Private],
    methods: &["list", "read", "glob", "grep", "stat"],
    discloses: true,
    sends: false,
    needs_confirmation: false,
    permission_phrase: "",
    by_name: true,
    parse,
};

/// The row of `dir rw` in the table. Its keys include all keys that a path can have.
pub(crate) static DIR_RW: Row = Row {
    kind: Kind::Dir { write: true },
    label: "dir rw",
    noun: "a directory that may be written",
    verb: "write",
    type_name: "mount",
    start: TextStart::Path,
    example: "PATH:rw",
    grammar: "PATH, SLOT=PATH:rw, SLOT=PATH:stage, or SLOT=PATH?suffix=.pdf&max=10MiB&total=1GiB&methods=list,read&rate=60/h&private",
    keys: &["suffix=", "max=", "total=", "methods=", "rate=", "private"],
    limits: &[Limit::Suffixes, Limit::Max, Limit::Total, Limit::Rate, Limit::Private],
    methods: &[
        "list",
        "read",
        "glob",
        "grep",
        "stat",
        "write",
        "append",
        "edit",
        "move",
        "remove",
        "make_directory",
    ],
    discloses: true,
    sends: false,
    needs_confirmation: false,
    permission_phrase: "",
    by_name: true,
    parse,
};

/// The row of `outbox` in the table.
pub(crate) static OUTBOX: Row = Row {
    kind: Kind::Outbox,
    label: "outbox",
    noun: "an outbox",
    verb: "send through",
    type_name: "spool",
    start: TextStart::Path,
    example: "PATH",
    grammar: "PATH, or SLOT=PATH?max=1MiB&rate=60/h",
    keys: &["max=", "methods=", "rate="],
    limits: &[Limit::Max, Limit::Rate],
    methods: &["send"],
    discloses: false,
    sends: true,
    needs_confirmation: false,
    permission_phrase: "",
    by_name: true,
    parse,
};

/// The word in a grant that means every method.
const EVERY_METHOD: &str = "*";

/// Returns whether any of the methods can change something.
pub(crate) fn can_write(methods: &BTreeSet<String>) -> bool {
    methods.contains(EVERY_METHOD)
        || methods.iter().any(|method| {
            DIR_RW.methods.contains(&method.as_str()) && !DIR.methods.contains(&method.as_str())
        })
}

/// Returns whether a text is a valid suffix of file names.
pub(crate) fn is_suffix(text: &str) -> bool {
    text.starts_with('.') && text.len() >= 2
}

/// Describes a directory.
pub(crate) fn directory_summary(path: &str, write: bool) -> String {
    format!("directory {path}{}", if write { " (rw)" } else { "" })
}

/// Describes a spool of outgoing mail.
pub(crate) fn spool_summary(path: &str) -> String {
    format!("mail spool {path}")
}

/// Describes a staged copy by the directory that it copies.
pub fn staged_copy(real: &str) -> String {
    format!("staged copy of directory {real}")
}

/// A path of this machine, with the limits of its grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathSpec {
    /// The absolute path.
    pub path: String,
    /// Whether the path may be written to.
    #[serde(default)]
    pub write: bool,
    /// Whether changes go to a staged copy.
    #[serde(default)]
    pub stage: bool,
    /// The allowed endings of the names of files. An empty list allows any.
    #[serde(default)]
    pub suffixes: Vec<String>,
    /// The maximum size of a file in bytes.
    pub max_bytes: Option<u64>,
    /// The maximum size in bytes of all files in the directory together.
    #[serde(default)]
    pub total_bytes: Option<u64>,
    /// The allowed methods. An empty list allows all methods of the slot.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Whether only models that may read private data may read the contents.
    #[serde(default)]
    pub private: bool,
    /// The maximum rate of calls.
    #[serde(default)]
    pub rate: Option<Rate>,
}

impl PathSpec {
    pub(super) fn kind(&self) -> Kind {
        match self.path.ends_with(".worker") || self.path.ends_with(".worker.md") {
            true => Kind::Worker,
            false => Kind::Dir { write: self.write },
        }
    }

    /// Returns a path with the limits of a grant.
    pub fn limited(path: String, taken: &Attenuation) -> PathSpec {
        PathSpec {
            path,
            suffixes: taken.suffixes.iter().cloned().collect(),
            max_bytes: taken.max_bytes,
            total_bytes: taken.total_bytes,
            private: taken.private,
            rate: taken.rate,
            ..PathSpec::default()
        }
    }

    pub(super) fn from_grant(
        path: &str,
        kind: Kind,
        taken: &Attenuation,
        methods: &BTreeSet<String>,
    ) -> PathSpec {
        let is_all = kind.methods().iter().all(|method| methods.contains(*method));
        let path = taken.staged_from.clone().unwrap_or_else(|| path.to_owned());
        PathSpec {
            write: kind == Kind::Dir { write: true },
            stage: taken.staged_from.is_some(),
            // A directory that is only read does not grow.
            total_bytes: taken.total_bytes.filter(|_| kind != Kind::Dir { write: false }),
            methods: if is_all { vec![] } else { methods.iter().cloned().collect() },
            ..PathSpec::limited(path, taken)
        }
    }

    /// Returns the problem with a limit that was typed and that a slot of this kind would not enforce. Returns `None`
    /// if there is no such limit.
    pub(super) fn unsupported_limit(&self, kind: Kind) -> Option<String> {
        let row = kind.row();
        if self.stage && !matches!(kind, Kind::Dir { .. }) {
            return Some(format!("`:stage` is for a directory, and this is {}", row.noun));
        }
        let typed = [
            ("suffix=", !self.suffixes.is_empty()),
            ("max=", self.max_bytes.is_some()),
            ("total=", self.total_bytes.is_some()),
            ("methods=", !self.methods.is_empty()),
            ("rate=", self.rate.is_some()),
            ("private", self.private),
        ];
        let (key, _) = typed.into_iter().find(|(key, is_typed)| *is_typed && !row.keys.contains(key))?;
        let noun =
            if kind == (Kind::Dir { write: false }) { "a directory that is only read" } else { row.noun };
        Some(format!("`{key}` has no effect on {noun}"))
    }

    pub(super) fn attenuation(&self) -> Attenuation {
        Attenuation {
            suffixes: self.suffixes.iter().cloned().collect(),
            max_bytes: self.max_bytes,
            total_bytes: self.total_bytes,
            staged_from: self.stage.then(|| self.path.clone()),
            private: self.private,
            rate: self.rate,
        }
    }

    pub(super) fn summary(&self, kind: Kind) -> String {
        match (kind, self.stage) {
            (Kind::Outbox, _) => spool_summary(&self.path),
            (Kind::Worker, _) => keyword_kinds::worker_file_summary(&self.path),
            (_, true) => staged_copy(&self.path),
            (_, false) => directory_summary(&self.path, self.write),
        }
    }

    pub(super) fn typed(&self) -> String {
        let mut query: Vec<String> = Vec::new();
        query.extend(self.suffixes.iter().map(|suffix| format!("suffix={}", quote::part(suffix, &['&']))));
        query.extend(self.max_bytes.map(|bytes| format!("max={}", units::typed_bytes(bytes))));
        query.extend(self.total_bytes.map(|bytes| format!("total={}", units::typed_bytes(bytes))));
        if !self.methods.is_empty() {
            query.push(format!("methods={}", quote::typed_list(&self.methods)));
        }
        query.extend(self.rate.map(|rate| format!("rate={}", rate.typed())));
        query.extend(self.private.then(|| "private".to_owned()));
        let query = query.join("&");
        let manner = match (self.stage, self.write) {
            (true, _) => ":stage",
            (false, true) => ":rw",
            (false, false) => "",
        };
        // In a path without quotes, the last `?` begins the query.
        let path = match query.contains('?') {
            true => quote::quoted(&self.path),
            false => typed_path(&self.path, &['?']),
        };
        if query.is_empty() { format!("{path}{manner}") } else { format!("{path}{manner}?{query}") }
    }
}

/// Returns a path as [`split_access_suffix`] reads it. The path is quoted if it contains one of `special`.
pub(crate) fn typed_path(path: &str, special: &[char]) -> String {
    let ends = [":rw", ":ro", ":stage"].iter().any(|manner| path.ends_with(manner));
    if ends { quote::quoted(path) } else { quote::part(path, special) }
}

/// Returns a path without its quotes, and the suffix out of `manners` after it. Returns `None` if a quoted path is
/// followed by other text.
pub(crate) fn split_access_suffix<'a>(text: &str, manners: &[&'a str]) -> Option<(String, &'a str)> {
    if let Some((path, behind)) = quote::leading(text) {
        let manner = manners.iter().copied().chain([""]).find(|manner| *manner == behind);
        return manner.map(|manner| (path, manner));
    }
    let found = manners.iter().find_map(|manner| text.strip_suffix(manner).map(|path| (path, *manner)));
    let (path, manner) = found.unwrap_or((text, ""));
    Some((path.to_owned(), manner))
}

/// Reads a path with its query.
pub(super) fn parse(text: &str, around: &dyn Surroundings) -> Result<ResourceSpec, SpecError> {
    let wrong = |what: &str| DIR_RW.syntax_error(what);
    let cut = match quote::leading(text) {
        Some(_) => quote::split_once(text, '?'),
        // If a file has a question mark in its name, the whole text is its path.
        None => text.rsplit_once('?').filter(|_| !around.exists(text)),
    };
    let (path, query) = cut.unwrap_or((text, ""));
    let (path, manner) = split_access_suffix(path, &[":rw", ":stage", ":ro"])
        .ok_or_else(|| wrong("behind a path only `:rw`, `:stage` or `?` can follow"))?;
    if path.is_empty() {
        return Err(wrong("there is no path"));
    }
    let (write, stage) = (matches!(manner, ":rw" | ":stage"), manner == ":stage");
    let mut spec = PathSpec { path: around.absolute(&path)?, write, stage, ..PathSpec::default() };
    for (key, value) in quote::query(query) {
        match (key, value) {
            ("suffix", Some(suffix)) => {
                let suffix = quote::plain(suffix);
                if !is_suffix(&suffix) {
                    return Err(wrong("a suffix begins with a point, like `.pdf`"));
                }
                spec.suffixes.push(suffix.to_lowercase());
            }
            ("max" | "total", Some(size)) => {
                let bytes = units::bytes(size)
                    .ok_or_else(|| wrong("a size is written like `10MiB`, `200kB` or `4096`"))?;
                let place = if key == "max" { &mut spec.max_bytes } else { &mut spec.total_bytes };
                if place.replace(bytes).is_some() {
                    return Err(wrong(&format!("`{key}=` stands there twice")));
                }
            }
            ("private", None) => spec.private = true,
            ("rate", Some(rate)) => spec.rate = Some(Rate::parse(rate).map_err(|what| wrong(&what))?),
            ("methods", Some(methods)) => {
                spec.methods.extend(quote::list(methods));
                if spec.methods.is_empty() {
                    return Err(wrong("`methods=` names none"));
                }
            }
            _ => {
                // The slot of the path is not known here, so every key of a path is valid.
                let row = if spec.kind() == Kind::Worker { &keyword_kinds::WORKER } else { &DIR_RW };
                return Err(row.unknown_key());
            }
        }
    }
    Ok(ResourceSpec::Path(spec))
}
