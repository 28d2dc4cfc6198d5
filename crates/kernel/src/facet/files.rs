//! Files: calls on directories of this machine, and on trees of files that never change.
//!
//! The state knows the place of a directory, but nothing of its content. So a call becomes a [`FileCall`], and the
//! daemon, which has the files, carries it out. At that moment, the daemon asks for the [`AccessPath`] again, because
//! the grants on the way to the directory may have ended.
//!
//! A file or directory that was looked up in a directory is no formula. The holder of such a part remembers the
//! directory and the path, and asks [`part`] about each call on the part.

use resource::Resource;

use crate::command::Fault;
use crate::formula::Formula;
use crate::grant::Attenuation;
use crate::id::FormulaId;
use crate::name::{NameError, NamePath};
use crate::name_lookup::{PathTarget, settled_references};
use crate::proposal::Value;
use crate::table;
use crate::txn::ReadTxn;

use super::args::{self, Args};
use super::interface::{Support, facet};
use super::names::NameView;
use super::plan::{Need, Plan};
use super::refusal::Refusal;

pub use crate::model::file_part::Part;

/// The maximum length of a file's name, in bytes: the limit of file systems.
const MAX_LEN: usize = 255;

/// The maximum number of names in a path.
const MAX_DEPTH: usize = 64;

/// A call on a directory or a tree of files.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCall {
    /// The directory or the tree, or a grant of it.
    pub target: FormulaId,
    /// The grants that were passed on the way to the target.
    pub through: Vec<FormulaId>,
    /// The operation.
    pub op: FileOp,
}

/// A path of names, each in the directory that the name before it names. An empty path is the target itself.
pub type Way = Vec<String>;

/// An operation on files.
#[derive(Clone, Debug, PartialEq)]
pub enum FileOp {
    /// Whether a file or directory exists.
    Has(Way),
    /// The names in a directory.
    List(Way),
    /// A reference to a file or a directory.
    Lookup(Way),
    /// The text of a file.
    Read {
        /// The path of the file.
        way: Way,
        /// Whether the answer for a missing file is `undefined`.
        maybe: bool,
    },
    /// The content of a JSON file, as a value.
    ReadJson(Way),
    /// The bytes of a file, piece by piece.
    Stream(Way),
    /// The SHA-256 of a file or tree that never changes, in hexadecimal digits.
    Digest(Way),
    /// Replaces the content of a file by a text.
    Write {
        /// The path of the file.
        way: Way,
        /// The new content of the file.
        text: String,
    },
    /// Appends a text to a file. A missing file is made.
    Append {
        /// The path of the file.
        way: Way,
        /// The text to append.
        text: String,
    },
    /// Replaces the content of a file as [`FileOp::Write`] does, by bytes from the caller's iterator.
    WriteBytes(Way),
    /// Removes a file or an empty directory.
    Remove(Way),
    /// Moves a file or a directory.
    Move {
        /// The old path.
        from: Way,
        /// The new path. A file at this path is replaced.
        to: Way,
    },
    /// Makes a directory, and the directories that lead to it.
    MakeDirectory(Way),
    /// A reference to the same file or directory that permits no changes.
    ReadOnly,
    /// The current content, as a tree that never changes.
    Snapshot,
}

impl FileOp {
    /// Returns the methods of which each one, if granted, permits this operation: the method itself, and its names in
    /// worker files.
    fn permitting_methods(&self) -> &'static [&'static str] {
        match self {
            FileOp::Has(_) => &["has", "list"],
            FileOp::List(_) => &["list"],
            FileOp::Lookup(_) => &["lookup", "list"],
            FileOp::Read { .. } | FileOp::ReadJson(_) | FileOp::Stream(_) => &["readText", "read"],
            FileOp::Digest(_) => &["sha256", "read"],
            FileOp::Write { .. } | FileOp::WriteBytes(_) => &["writeText", "write"],
            FileOp::Append { .. } => &["append", "write"],
            FileOp::Remove(_) => &["remove"],
            FileOp::Move { .. } => &["move"],
            FileOp::MakeDirectory(_) => &["makeDirectory", "write"],
            FileOp::ReadOnly => &["readOnly", "list"],
            FileOp::Snapshot => &["snapshot", "read"],
        }
    }

    /// Returns the operation's own method, the first of the methods that permit it.
    pub fn method(&self) -> &'static str {
        self.permitting_methods().first().copied().unwrap_or_default()
    }

    /// Returns whether the operation changes anything.
    pub fn changes(&self) -> bool {
        matches!(
            self,
            FileOp::Write { .. }
                | FileOp::Append { .. }
                | FileOp::WriteBytes(_)
                | FileOp::Remove(_)
                | FileOp::Move { .. }
                | FileOp::MakeDirectory(_)
        )
    }

    /// Returns the operation with `before` in front of its paths.
    pub fn behind(mut self, before: &[String]) -> FileOp {
        let ways: Vec<&mut Way> = match &mut self {
            FileOp::Has(way)
            | FileOp::List(way)
            | FileOp::Lookup(way)
            | FileOp::Read { way, .. }
            | FileOp::ReadJson(way)
            | FileOp::Stream(way)
            | FileOp::Digest(way)
            | FileOp::Write { way, .. }
            | FileOp::Append { way, .. }
            | FileOp::WriteBytes(way)
            | FileOp::Remove(way)
            | FileOp::MakeDirectory(way) => vec![way],
            FileOp::Move { from, to } => vec![from, to],
            FileOp::ReadOnly | FileOp::Snapshot => vec![],
        };
        for way in ways {
            way.splice(0..0, before.iter().cloned());
        }
        self
    }
}

/// The directory or tree behind a reference, as long as the reference may be used.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPath {
    /// The formula behind all grants.
    pub id: FormulaId,
    /// The formula itself.
    pub formula: Formula,
    /// The restrictions of the grants on the way.
    pub attenuation: Attenuation,
}

/// Returns the place where a call is carried out, if its grants permit the call.
///
/// # Errors
/// When a grant on the way has ended or leaves out the method of the call. When the target has no files.
pub fn check_access(txn: &mut dyn ReadTxn, now_ms: i64, call: &FileCall) -> Result<AccessPath, Refusal> {
    for grant in &call.through {
        let reached = table::reach(txn, grant)?.ok_or(Fault::Dangling(*grant))?;
        if let Some(finding) = reached.ended(now_ms) {
            return Err(Fault::Revoked(finding.message).into());
        }
    }
    let reached = table::reach(txn, &call.target)?.ok_or(Fault::Dangling(call.target))?;
    let mut refusals = call.op.permitting_methods().iter().map(|word| reached.refusal(word, now_ms));
    if let Some(Some(finding)) = refusals.next()
        && !refusals.any(|refusal| refusal.is_none())
    {
        return Err(Fault::Revoked(finding.message).into());
    }
    if !has_files(&reached.formula) {
        let what = format!("{} has no files", crate::query::describe(&reached.formula));
        return Err(Refusal::Argument(what));
    }
    let attenuation = reached.grant().map(|grant| grant.attenuation).unwrap_or_default();
    Ok(AccessPath { id: reached.id, formula: reached.formula, attenuation })
}

/// Returns whether a formula has files.
pub(super) fn has_files(formula: &Formula) -> bool {
    matches!(
        formula,
        Formula::Resource(Resource::Directory { .. }) | Formula::Scratch { .. } | Formula::Tree(_)
    )
}

impl Part {
    fn facet(self) -> &'static super::Facet {
        facet(match self {
            Part::Directory => "mount",
            Part::File => "mount-file",
            Part::Tree => "readable-tree",
            Part::Blob => "readable-blob",
        })
    }

    /// Returns the name of the part's interface.
    pub fn interface(self) -> &'static str {
        self.facet().name
    }
}

/// Returns the result of a call on a part of a directory or tree: its answer, or the operation to carry out at the
/// part.
///
/// # Errors
/// When there is no such method, or its arguments do not fit.
pub fn part(part: Part, method: &str, args: &[Value]) -> Result<Result<FileOp, Value>, Refusal> {
    let facet = part.facet();
    match method {
        "__getMethodNames__" => {
            return Ok(Err(Value::array(facet.method_names().into_iter().map(Value::string))));
        }
        "__getInterfaceGuard__" => return Ok(Err(facet.guard().to_value())),
        _ => {}
    }
    let Some(known) = facet.methods.get(method) else {
        return Err(Refusal::NoMethod { method: method.to_owned(), known: facet.method_names() });
    };
    if known.support != Support::Full {
        return Err(Fault::NotSupported(known.name).into());
    }
    facet.check(known, args)?;
    let args = Args(args);
    if method == "help" {
        let about = args.get(0).map(|_| args.text(0)).transpose()?;
        return Ok(Err(Value::string(facet.help(about.as_deref()))));
    }
    let op = match part {
        Part::Directory | Part::Tree => in_directory(method, args)?,
        Part::File | Part::Blob => of_file(method, args)?,
    };
    op.map(Ok).ok_or_else(|| Fault::NotSupported(known.name).into())
}

/// Returns the operation that a call on a directory or a tree asks for.
pub(super) fn in_directory(method: &str, args: Args<'_>) -> Result<Option<FileOp>, Refusal> {
    let one = |at| way(args, at);
    let something = |at| match way(args, at) {
        Ok(way) if way.is_empty() => Err(NameError::Path.into()),
        other => other,
    };
    Ok(Some(match method {
        "has" => FileOp::Has(rest(args)?),
        "list" => FileOp::List(rest(args)?),
        "lookup" => FileOp::Lookup(something(0)?),
        "readText" => FileOp::Read { way: something(0)?, maybe: false },
        "maybeReadText" => FileOp::Read { way: something(0)?, maybe: true },
        "writeText" => FileOp::Write { way: something(0)?, text: args.text(1)? },
        "append" => FileOp::Append { way: something(0)?, text: args.text(1)? },
        "remove" => match rest(args)? {
            way if way.is_empty() => return Err(NameError::Path.into()),
            way => FileOp::Remove(way),
        },
        "move" => FileOp::Move { from: something(0)?, to: something(1)? },
        "makeDirectory" => FileOp::MakeDirectory(one(0)?),
        "readOnly" => FileOp::ReadOnly,
        "snapshot" => FileOp::Snapshot,
        "sha256" => FileOp::Digest(vec![]),
        _ => return Ok(None),
    }))
}

fn of_file(method: &str, args: Args<'_>) -> Result<Option<FileOp>, Refusal> {
    Ok(Some(match method {
        "text" => FileOp::Read { way: vec![], maybe: false },
        "json" => FileOp::ReadJson(vec![]),
        "streamBase64" => FileOp::Stream(vec![]),
        "sha256" => FileOp::Digest(vec![]),
        "writeText" => FileOp::Write { way: vec![], text: args.text(0)? },
        "append" => FileOp::Append { way: vec![], text: args.text(0)? },
        "writeBytes" => FileOp::WriteBytes(vec![]),
        "readOnly" => FileOp::ReadOnly,
        _ => return Ok(None),
    }))
}

fn rest(args: Args<'_>) -> Result<Way, Refusal> {
    checked(args.0.iter().map(args::text).collect::<Result<_, _>>()?)
}

fn way(args: Args<'_>, at: usize) -> Result<Way, Refusal> {
    checked(match args.get(at) {
        Some(value @ Value::Array(_)) => args::texts(value)?,
        _ => vec![args.text(at)?],
    })
}

/// Returns names as a path, if no name leads up, out, or to the same directory.
fn checked(names: Vec<String>) -> Result<Way, Refusal> {
    let bad = |name: &&String| {
        name.is_empty()
            || matches!(name.as_str(), "." | "..")
            || name.contains(['/', '\0'])
            || name.len() > MAX_LEN
    };
    match names.iter().find(bad) {
        Some(name) => {
            let shown: String = name.chars().take(100).collect();
            Err(NameError::Name(format!("{shown:?}")).into())
        }
        None if names.len() > MAX_DEPTH => Err(NameError::Path.into()),
        None => Ok(names),
    }
}

impl NameView<'_> {
    /// Returns the plan of a call whose path leads into a directory or a tree of files. Returns `None` if the path
    /// does not lead there, or if files do not answer the call.
    pub(super) fn cross(&mut self, method: &str, args: Args<'_>) -> Result<Option<Plan>, Refusal> {
        let names = match method {
            "has" | "list" | "remove" => match args.rest() {
                Ok(Some(path)) => path,
                // The plan for names reports an invalid path.
                _ => return Ok(None),
            },
            "lookup" | "maybeLookup" | "readText" | "maybeReadText" | "writeText" | "makeDirectory" => {
                args.path(0)?
            }
            _ => return Ok(None),
        };
        let Some((target, through, way)) = self.leave(&names, method == "list")? else { return Ok(None) };
        let op = match method {
            "has" => FileOp::Has(way),
            "list" => FileOp::List(way),
            "lookup" | "maybeLookup" => FileOp::Lookup(way),
            "readText" => FileOp::Read { way, maybe: false },
            "maybeReadText" => FileOp::Read { way, maybe: true },
            "writeText" => FileOp::Write { way, text: args.text(1)? },
            "makeDirectory" => FileOp::MakeDirectory(way),
            _ => FileOp::Remove(way),
        };
        Ok(Some(Plan::need(Need::Files(FileCall { target, through, op }))))
    }

    /// Returns the point at which a path passes from names to files: the directory or tree, the grants on the way,
    /// and the rest of the path.
    fn leave(
        &mut self,
        path: &NamePath,
        whole: bool,
    ) -> Result<Option<(FormulaId, Vec<FormulaId>, Way)>, Refusal> {
        let names = path.names();
        let last = if whole { names.len() } else { names.len().saturating_sub(1) };
        for at in 0..last {
            let Ok(mut here) = self.here.at_end(self.txn, &names[..at]) else { return Ok(None) };
            let Some(PathTarget::Formula(id)) = here.entry(self.txn, &names[at])? else { return Ok(None) };
            // A promise counts as its value.
            let came = settled_references(self.txn, &id)?;
            let target = came.last().copied().unwrap_or(id);
            let Some(reached) = table::reach(self.txn, &target)? else { return Ok(None) };
            if has_files(&reached.formula) {
                here.pass(self.txn, &id)?;
                let way = checked(names[at + 1..].to_vec())?;
                return Ok(Some((target, here.through, way)));
            }
        }
        Ok(None)
    }
}
