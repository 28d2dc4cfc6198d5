//! The calls of Endo's clients on directories of this machine and on trees. Each call is carried out at once.
//!
//! This module knows no connections, and holds no lock during disk access.

use std::path::Path;

use caps::mount::{MAX_BYTES, MAX_TEXT_BYTES, Mount};
use kernel::facet::{AccessPath, FileOp, Part, ReadFormat};
use kernel::formula::{Formula, Tree};
use kernel::proposal::Finding;
use kernel::started_effect::StartedEffect;
use kernel::{BlobHash, FormulaId, Value};
use passable::{visible_line, with_article};
use resource::Resource;
use store::Blobs;

use super::guest_files::{Gates, HostAccess as OwnHand};
use super::trees;
use super::trees::{BlobSink, MAX_DEPTH, MAX_ENTRIES, TreeEntry, sha256};
use crate::state::protected_paths::ProtectedPaths;
use crate::state::scratch_dirs;
use control::exit::{Exit, Failure};

/// The result of a call on files.
#[derive(Debug)]
pub enum FileOutcome {
    /// A value without references.
    Value(Value),
    /// A file or a directory below the root.
    Part {
        /// The names that lead from the root to the file or directory.
        place: Vec<String>,
        /// The kind of the target: a file or a directory.
        kind: Part,
        /// Whether nothing in the target may be changed.
        read_only: bool,
    },
    /// The bytes of a file, which are handed out piece by piece.
    Bytes(Vec<u8>),
    /// A snapshot of a directory's files.
    Tree(Tree),
}

impl FileOutcome {
    /// Returns the entry for the journal that describes this result: its size and its hash, but not its content.
    pub fn observation(&self) -> Value {
        let (digest, bytes) = match self {
            FileOutcome::Value(value) => {
                let text = value
                    .as_str()
                    .map_or_else(|| passable::ExactJson(&value.to_json()).to_string(), str::to_owned);
                (BlobHash::of(text.as_bytes()).to_string(), text.len())
            }
            FileOutcome::Bytes(bytes) => (BlobHash::of(bytes).to_string(), bytes.len()),
            FileOutcome::Part { place, .. } => {
                let text = place.join("/");
                (BlobHash::of(text.as_bytes()).to_string(), text.len())
            }
            FileOutcome::Tree(tree) => (tree.sha256.clone(), 0),
        };
        Value::record_from_map(
            [("seen".to_owned(), Value::from(digest)), ("bytes".to_owned(), Value::number(bytes as f64))]
                .into(),
        )
    }
}

/// The target of a call, below a directory or a tree.
#[derive(Clone, Debug)]
pub struct FilePlace {
    /// The names that lead from the root to the target. None of them is a link.
    pub place: Vec<String>,
    /// The kind of the target: a file or a directory.
    pub kind: Part,
    /// Whether nothing in the target may be changed, even if a grant allows changes.
    pub read_only: bool,
}

fn finding_failure(finding: Finding) -> Failure {
    Failure::new(Exit::Failure, finding.message)
}

/// Returns the absolute path of a directory of this machine, with its links followed. Each call opens the directory
/// anew.
///
/// # Errors
/// When the path is not a directory, or the directory holds files of the daemon's own.
pub fn resolve_directory(own: &ProtectedPaths, path: &str) -> Result<String, Failure> {
    let shown = visible_line(path).into_owned();
    let failed = |why: String| Failure::new(Exit::Failure, format!("`{shown}` cannot be bound: {why}"));
    let missing = |why: String| Failure {
        exit: Exit::NotFound,
        help: "check the path and its permissions; a directory must be there before it is bound".to_owned(),
        ..failed(why)
    };
    if !Path::new(path).is_absolute() || path.contains('\0') {
        return Err(failed("a directory is named by its absolute path".to_owned()));
    }
    let real = std::fs::canonicalize(path).map_err(|e| missing(e.to_string()))?;
    if !real.is_dir() {
        return Err(missing("it is no directory".to_owned()));
    }
    own.check(&real)?;
    real.into_os_string().into_string().map_err(|_| failed("its path is no text in UTF-8".to_owned()))
}

/// Returns the path of a formula's directory, and whether nothing in the directory may be changed.
///
/// # Errors
/// When the formula has no directory.
pub fn path_of(state: &Path, id: &FormulaId, formula: &Formula) -> Result<(String, bool), Failure> {
    Ok(match formula {
        Formula::Resource(Resource::Directory { path, read_only }) => (path.clone(), *read_only),
        Formula::Scratch { read_only } => {
            let path = scratch_dirs::path(state, id);
            // A scratch directory is made at its first use.
            config::place::private_dir(&path)?;
            let path = path.into_os_string().into_string();
            let path = path.map_err(|_| Failure::new(Exit::Failure, "the state folder has an odd name"))?;
            (path, *read_only)
        }
        other => {
            return Err(Failure::new(Exit::Failure, format!("{} has no files", with_article(other.kind()))));
        }
    })
}

/// The right by which a directory is used. A granted directory is opened only for a call that has begun, and only for
/// that call.
pub enum FileAccess<'a> {
    /// The right of the host, without a grant.
    Host(&'a OwnHand),
    /// The right of an agent with a grant: the capability that makes the call, and the call that has begun. Such a
    /// call only reads.
    Granted(&'a caps::mount::GrantedDirectory, &'a StartedEffect),
}

/// Opens a directory by the host's own right.
fn open(state: &Path, own: &OwnHand) -> Result<Mount, Failure> {
    let ground: &AccessPath = own.path();
    let (path, read_only) = path_of(state, &ground.id, &ground.formula)?;
    Mount::open(&path, read_only, &ground.attenuation).map_err(|e| Failure::from_error(Exit::Failure, e))
}

/// Returns the outcome of a call that needs no access to the disk.
///
/// # Errors
/// When the call is not of this kind.
pub fn narrow_place(spot: &FilePlace, op: &FileOp) -> Result<FileOutcome, Failure> {
    match op {
        FileOp::ReadOnly => {
            Ok(FileOutcome::Part { place: spot.place.clone(), kind: spot.kind, read_only: true })
        }
        _ => Err(Failure::new(Exit::Failure, "what can change has no hash: take a snapshot")),
    }
}

/// Carries out a call in a directory. `bytes` are the bytes to write, if the call has them apart from its arguments.
/// `reads` decides on each file that is read for a snapshot.
///
/// # Errors
/// When the call fails or is refused.
pub fn carry_out(
    state: &Path,
    shelf: &dyn BlobSink,
    hand: FileAccess<'_>,
    spot: &FilePlace,
    op: FileOp,
    bytes: Option<&[u8]>,
    reads: &dyn Fn(&[String]) -> Result<(), Failure>,
) -> Result<FileOutcome, Failure> {
    // A call on a file is made on the directory that contains the file.
    let (place, op) = match (spot.kind, spot.place.split_last()) {
        (Part::File, Some((name, before))) => (before, op.behind(std::slice::from_ref(name))),
        _ => (&spot.place[..], op),
    };
    let mount = match hand {
        FileAccess::Host(own) => {
            let mount = open(state, own)?;
            let mount = if spot.read_only { mount.read_only() } else { mount };
            mount.enter(place).map_err(finding_failure)?
        }
        FileAccess::Granted(handed, begun) => handed.readable_place(begun).map_err(finding_failure)?,
    };
    let value = |value| Ok(FileOutcome::Value(value));
    match op {
        FileOp::Has(way) => value(Value::bool(mount.has(&way).map_err(finding_failure)?)),
        FileOp::List(way) => {
            let entries = mount.list(&way).map_err(finding_failure)?;
            value(Value::array(entries.into_iter().map(|entry| Value::string(entry.name))))
        }
        FileOp::Lookup(way) => {
            let looked = mount.look_up(&way).map_err(finding_failure)?;
            let kind = if looked.is_directory { Part::Directory } else { Part::File };
            let place = place.iter().cloned().chain(looked.place).collect();
            Ok(FileOutcome::Part { place, kind, read_only: spot.read_only })
        }
        FileOp::Read { way, maybe: true } => {
            match mount.maybe_read(&way, MAX_TEXT_BYTES).map_err(finding_failure)? {
                Some(bytes) => value(decode_bytes(ReadFormat::Text, &bytes)?),
                None => value(Value::undefined()),
            }
        }
        FileOp::Read { way, maybe: false } => value(decode_bytes(
            ReadFormat::Text,
            &mount.read(&way, MAX_TEXT_BYTES).map_err(finding_failure)?,
        )?),
        FileOp::ReadJson(way) => value(decode_bytes(
            ReadFormat::Json,
            &mount.read(&way, MAX_TEXT_BYTES).map_err(finding_failure)?,
        )?),
        FileOp::Stream(way) => Ok(FileOutcome::Bytes(mount.read(&way, MAX_BYTES).map_err(finding_failure)?)),
        FileOp::Write { way, text } => {
            mount.write(&way, text.as_bytes(), MAX_TEXT_BYTES).map_err(finding_failure)?;
            value(Value::undefined())
        }
        FileOp::Append { way, text } => {
            let mut bytes =
                mount.maybe_read(&way, MAX_TEXT_BYTES).map_err(finding_failure)?.unwrap_or_default();
            bytes.extend_from_slice(text.as_bytes());
            mount.write(&way, &bytes, MAX_TEXT_BYTES).map_err(finding_failure)?;
            value(Value::undefined())
        }
        FileOp::WriteBytes(way) => {
            mount.write(&way, bytes.unwrap_or_default(), MAX_BYTES).map_err(finding_failure)?;
            value(Value::undefined())
        }
        FileOp::Remove(way) => {
            mount.remove(&way).map_err(finding_failure)?;
            value(Value::undefined())
        }
        FileOp::Move { from, to } => {
            mount.rename(&from, &to).map_err(finding_failure)?;
            value(Value::undefined())
        }
        FileOp::MakeDirectory(way) => {
            mount.make_directory(&way).map_err(finding_failure)?;
            let place = place.iter().cloned().chain(way).collect();
            Ok(FileOutcome::Part { place, kind: Part::Directory, read_only: spot.read_only })
        }
        FileOp::ReadOnly | FileOp::Digest(_) => narrow_place(spot, &op),
        FileOp::Snapshot => {
            let reads = |way: &[String]| reads(&[place, way].concat());
            let mut left = MAX_ENTRIES;
            Ok(FileOutcome::Tree(snapshot(&mount, shelf, &reads, &mut vec![], &mut left)?))
        }
    }
}

fn decode_bytes(read_as: ReadFormat, bytes: &[u8]) -> Result<Value, Failure> {
    read_as.value(bytes).map_err(|refusal| Failure::from_error(Exit::Failure, refusal))
}

/// Stores the contents of a directory as a tree. Links to directories are left out, because they could form a cycle.
fn snapshot(
    mount: &Mount,
    shelf: &dyn BlobSink,
    reads: &dyn Fn(&[String]) -> Result<(), Failure>,
    way: &mut Vec<String>,
    left: &mut usize,
) -> Result<Tree, Failure> {
    if way.len() >= MAX_DEPTH {
        return Err(Failure::new(Exit::Failure, format!("a tree can be {MAX_DEPTH} directories deep")));
    }
    let mut entries = Vec::new();
    for found in mount.list_all(way).map_err(finding_failure)? {
        *left = left.checked_sub(1).ok_or_else(|| {
            Failure::new(Exit::Failure, format!("a tree can have {MAX_ENTRIES} files and directories"))
        })?;
        let name = found.name.clone();
        way.push(found.name);
        let entry = match found.is_directory {
            true if found.is_link => None,
            true => {
                let tree = snapshot(mount, shelf, reads, way, left)?;
                Some(TreeEntry { name, is_tree: true, hash: tree.hash, bytes: 0, sha256: tree.sha256 })
            }
            false => {
                reads(way)?;
                if found.is_link {
                    reads(&mount.look_up(way).map_err(finding_failure)?.place)?;
                }
                let bytes = mount.read(way, MAX_BYTES).map_err(finding_failure)?;
                let (hash, sha256) = (shelf.put(&bytes)?, sha256(&bytes));
                Some(TreeEntry { name, is_tree: false, hash, bytes: bytes.len() as u64, sha256 })
            }
        };
        way.pop();
        entries.extend(entry);
    }
    trees::store(shelf, entries)
}

/// Carries out a call in a tree.
///
/// # Errors
/// When the call fails or is refused.
pub fn carry_out_in_tree(
    blobs: &Blobs,
    tree: &Tree,
    spot: &FilePlace,
    op: FileOp,
    gates: Option<&Gates>,
) -> Result<FileOutcome, Failure> {
    if let Some(gates) = gates {
        // A tree has no links, so no name needs to be resolved.
        gates.check_unrecorded(&spot.place, &op, &|_| None)?;
    }
    let value = |value| Ok(FileOutcome::Value(value));
    let at = |way: &[String]| -> Vec<String> { spot.place.iter().chain(way).cloned().collect() };
    let bytes = |way: &[String]| {
        let found = trees::expect_entry(blobs, tree, &at(way))?;
        if found.is_tree {
            return Err(Failure::new(
                Exit::Failure,
                format!("`{}` is a directory", visible_line(&found.name)),
            ));
        }
        blobs.get(&found.hash).map_err(|e| Failure::from_error(Exit::Failure, e).help("`almoner doctor`"))
    };
    match op {
        FileOp::Has(way) => value(Value::bool(trees::find(blobs, tree, &at(&way))?.is_some())),
        FileOp::List(way) => {
            let found = trees::expect_entry(blobs, tree, &at(&way))?;
            if !found.is_tree {
                let what = format!("`{}` is no directory", visible_line(&found.name));
                return Err(Failure::new(Exit::Failure, what));
            }
            let entries = trees::entries(blobs, &found.hash)?;
            value(Value::array(entries.into_iter().map(|entry| Value::string(entry.name))))
        }
        FileOp::Lookup(way) => {
            let found = trees::expect_entry(blobs, tree, &at(&way))?;
            let kind = if found.is_tree { Part::Tree } else { Part::Blob };
            Ok(FileOutcome::Part { place: at(&way), kind, read_only: true })
        }
        FileOp::Read { way, maybe: true } if trees::find(blobs, tree, &at(&way))?.is_none() => {
            value(Value::undefined())
        }
        FileOp::Read { way, .. } => value(decode_bytes(ReadFormat::Text, &bytes(&way)?)?),
        FileOp::ReadJson(way) => value(decode_bytes(ReadFormat::Json, &bytes(&way)?)?),
        FileOp::Stream(way) => Ok(FileOutcome::Bytes(bytes(&way)?)),
        FileOp::Digest(way) => value(Value::string(trees::expect_entry(blobs, tree, &at(&way))?.sha256)),
        FileOp::Snapshot => {
            let found = trees::expect_entry(blobs, tree, &spot.place)?;
            Ok(FileOutcome::Tree(Tree { hash: found.hash, sha256: found.sha256 }))
        }
        FileOp::ReadOnly => {
            Ok(FileOutcome::Part { place: spot.place.clone(), kind: spot.kind, read_only: true })
        }
        _ => Err(Failure::new(Exit::Failure, "a tree never changes: `stageTree` copies it to where it can")),
    }
}

/// Copies a tree into a directory that was just made.
///
/// # Errors
/// When stored bytes are missing, or cannot be written to the disk.
pub fn copy_tree_into(state: &Path, blobs: &Blobs, tree: &Tree, into: &OwnHand) -> Result<(), Failure> {
    let mount = open(state, into)?;
    expect_same(&mount, blobs, &tree.hash, &mut vec![])?;
    copy(&mount, blobs, &tree.hash, &mut vec![])
}

/// Checks that a directory holds nothing but the leftovers of an interrupted copy of this tree. Other files must not
/// be overwritten.
fn expect_same(mount: &Mount, blobs: &Blobs, hash: &BlobHash, way: &mut Vec<String>) -> Result<(), Failure> {
    let found = mount.list(way).map_err(finding_failure)?;
    if found.is_empty() {
        return Ok(());
    }
    let entries = trees::entries(blobs, hash)?;
    for there in found {
        let ours = entries.iter().find(|entry| entry.name == there.name);
        way.push(there.name);
        let same = match ours {
            Some(entry) if entry.is_tree && there.is_directory => {
                expect_same(mount, blobs, &entry.hash, way)?;
                true
            }
            Some(entry) if !entry.is_tree && !there.is_directory => {
                let bytes = mount.read(way, MAX_BYTES).map_err(finding_failure)?;
                bytes.len() as u64 == entry.bytes && trees::sha256(&bytes) == entry.sha256
            }
            _ => false,
        };
        if !same {
            let shown = visible_line(&way.join("/")).into_owned();
            return Err(Failure::new(
                Exit::Conflict,
                format!("`{shown}` is there already, and is not the tree's"),
            )
            .help("choose another name, or remove what is there"));
        }
        way.pop();
    }
    Ok(())
}

fn copy(mount: &Mount, blobs: &Blobs, hash: &BlobHash, way: &mut Vec<String>) -> Result<(), Failure> {
    if way.len() > MAX_DEPTH {
        return Err(Failure::new(Exit::Failure, "the tree is too deep"));
    }
    for entry in trees::entries(blobs, hash)? {
        way.push(entry.name);
        if entry.is_tree {
            mount.make_directory(way).map_err(finding_failure)?;
            copy(mount, blobs, &entry.hash, way)?;
        } else {
            let bytes = blobs.get(&entry.hash).map_err(|e| Failure::from_error(Exit::Failure, e))?;
            mount.write(way, &bytes, MAX_BYTES).map_err(finding_failure)?;
        }
        way.pop();
    }
    Ok(())
}
