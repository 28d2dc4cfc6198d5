//! Directories of this machine, and trees, as Endo's clients use them: each call is carried out at once.
//!
//! Nothing here knows of connections, and nothing holds a lock while a disk is asked.

use std::path::Path;

use caps::mount::{MOST_BYTES, MOST_TEXT, Mount};
use kernel::begun::Begun;
use kernel::facet::{FileOp, Ground, Part, ReadAs};
use kernel::formula::{Formula, Tree};
use kernel::proposal::Finding;
use kernel::{BlobHash, FormulaId, Value};
use passable::{visible_line, with_article};
use resource::Resource;
use store::Blobs;

use super::guest_files::{Gates, Own as OwnHand};
use super::trees;
use super::trees::{DEEPEST, Entry, MOST_ENTRIES, Shelf, sha256};
use crate::state::protected_paths::Own;
use crate::state::scratch_dirs;
use control::exit::{Exit, Failure};

/// The result of a call.
#[derive(Debug)]
pub enum Came {
    /// A value without references.
    Value(Value),
    /// A file or a directory: the names that lead to it from the root, and whether nothing in it may be changed.
    Part {
        /// Returns the names.
        place: Vec<String>,
        /// Whether it is a file or a directory.
        kind: Part,
        /// Whether nothing in it may be changed.
        read_only: bool,
    },
    /// Bytes that are handed out piece by piece.
    Bytes(Vec<u8>),
    /// A tree of the files that were there.
    Tree(Tree),
}

impl Came {
    /// Returns the record of a result for the journal: its size and its hash, but not its content.
    pub fn seen(&self) -> Value {
        let (digest, bytes) = match self {
            Came::Value(value) => {
                let text = value.as_str().map_or_else(|| value.to_json().to_string(), str::to_owned);
                (BlobHash::of(text.as_bytes()).to_string(), text.len())
            }
            Came::Bytes(bytes) => (BlobHash::of(bytes).to_string(), bytes.len()),
            Came::Part { place, .. } => {
                let text = place.join("/");
                (BlobHash::of(text.as_bytes()).to_string(), text.len())
            }
            Came::Tree(tree) => (tree.sha256.clone(), 0),
        };
        Value::record_from_map(
            [("seen".to_owned(), Value::from(digest)), ("bytes".to_owned(), Value::number(bytes as f64))]
                .into(),
        )
    }
}

/// The place of a call below a directory or a tree.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The names that lead there from the root, none of them through a link.
    pub place: Vec<String>,
    /// Whether it is a file or a directory.
    pub kind: Part,
    /// Whether nothing there may be changed, even if a grant allows it.
    pub read_only: bool,
}

fn refused(finding: Finding) -> Failure {
    Failure::new(Exit::Failure, finding.message)
}

/// Returns the absolute path of a directory of this machine, with the links in it followed. It is opened anew with
/// each call.
///
/// # Errors
/// When it is no directory, or one that holds files of the daemon's own.
pub fn look_for(own: &Own, path: &str) -> Result<String, Failure> {
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
    own.keeps_from(&real)?;
    real.into_os_string().into_string().map_err(|_| failed("its path is no text in UTF-8".to_owned()))
}

/// Returns the path of the directory of a formula, and whether nothing in it may be changed.
///
/// # Errors
/// When the formula has none.
pub fn path_of(state: &Path, id: &FormulaId, formula: &Formula) -> Result<(String, bool), Failure> {
    Ok(match formula {
        Formula::Resource(Resource::Directory { path, read_only }) => (path.clone(), *read_only),
        Formula::Scratch { read_only } => {
            let path = scratch_dirs::path(state, id);
            // It is made when somebody first looks into it.
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
pub enum Hand<'a> {
    /// The host's own.
    Own(&'a OwnHand),
    /// The right of an agent with a grant: the capability that makes the call, and the call, which only looks.
    Begun(&'a caps::mount::Handed, &'a Begun),
}

/// Opens a directory of the host's own.
fn open(state: &Path, own: &OwnHand) -> Result<Mount, Failure> {
    let ground: &Ground = own.ground();
    let (path, read_only) = path_of(state, &ground.id, &ground.formula)?;
    Mount::open(&path, read_only, &ground.attenuation).map_err(|e| Failure::new(Exit::Failure, e.to_string()))
}

/// Returns a call that looks at nothing.
///
/// # Errors
/// When there is nothing that it could come to.
pub fn narrowed(spot: &Spot, op: &FileOp) -> Result<Came, Failure> {
    match op {
        FileOp::ReadOnly => Ok(Came::Part { place: spot.place.clone(), kind: spot.kind, read_only: true }),
        _ => Err(Failure::new(Exit::Failure, "what can change has no hash: take a snapshot")),
    }
}

/// Carries out a call in a directory. `bytes` are the bytes to write, if the call brings them apart; `reads` judges
/// each file that is read for a snapshot.
///
/// # Errors
/// When it cannot be done, or is refused.
pub fn carry_out(
    state: &Path,
    shelf: &dyn Shelf,
    hand: Hand<'_>,
    spot: &Spot,
    op: FileOp,
    bytes: Option<&[u8]>,
    reads: &dyn Fn(&[String]) -> Result<(), Failure>,
) -> Result<Came, Failure> {
    // A file is reached from the directory that it lies in.
    let (place, op) = match (spot.kind, spot.place.split_last()) {
        (Part::File, Some((name, before))) => (before, op.behind(std::slice::from_ref(name))),
        _ => (&spot.place[..], op),
    };
    let mount = match hand {
        Hand::Own(own) => {
            let mount = open(state, own)?;
            let mount = if spot.read_only { mount.read_only() } else { mount };
            mount.enter(place).map_err(refused)?
        }
        Hand::Begun(handed, begun) => handed.looking(begun).map_err(refused)?,
    };
    let value = |value| Ok(Came::Value(value));
    match op {
        FileOp::Has(way) => value(Value::bool(mount.has(&way).map_err(refused)?)),
        FileOp::List(way) => {
            let entries = mount.list(&way).map_err(refused)?;
            value(Value::array(entries.into_iter().map(|entry| Value::string(entry.name))))
        }
        FileOp::Lookup(way) => {
            let looked = mount.look_up(&way).map_err(refused)?;
            let kind = if looked.is_directory { Part::Directory } else { Part::File };
            let place = place.iter().cloned().chain(looked.place).collect();
            Ok(Came::Part { place, kind, read_only: spot.read_only })
        }
        FileOp::Read { way, maybe: true } => match mount.maybe_read(&way, MOST_TEXT).map_err(refused)? {
            Some(bytes) => value(read_as(ReadAs::Text, &bytes)?),
            None => value(Value::undefined()),
        },
        FileOp::Read { way, maybe: false } => {
            value(read_as(ReadAs::Text, &mount.read(&way, MOST_TEXT).map_err(refused)?)?)
        }
        FileOp::ReadJson(way) => {
            value(read_as(ReadAs::Json, &mount.read(&way, MOST_TEXT).map_err(refused)?)?)
        }
        FileOp::Stream(way) => Ok(Came::Bytes(mount.read(&way, MOST_BYTES).map_err(refused)?)),
        FileOp::Write { way, text } => {
            mount.write(&way, text.as_bytes(), MOST_TEXT).map_err(refused)?;
            value(Value::undefined())
        }
        FileOp::Append { way, text } => {
            let mut bytes = mount.maybe_read(&way, MOST_TEXT).map_err(refused)?.unwrap_or_default();
            bytes.extend_from_slice(text.as_bytes());
            mount.write(&way, &bytes, MOST_TEXT).map_err(refused)?;
            value(Value::undefined())
        }
        FileOp::WriteBytes(way) => {
            mount.write(&way, bytes.unwrap_or_default(), MOST_BYTES).map_err(refused)?;
            value(Value::undefined())
        }
        FileOp::Remove(way) => {
            mount.remove(&way).map_err(refused)?;
            value(Value::undefined())
        }
        FileOp::Move { from, to } => {
            mount.rename(&from, &to).map_err(refused)?;
            value(Value::undefined())
        }
        FileOp::MakeDirectory(way) => {
            mount.make_directory(&way).map_err(refused)?;
            let place = place.iter().cloned().chain(way).collect();
            Ok(Came::Part { place, kind: Part::Directory, read_only: spot.read_only })
        }
        FileOp::ReadOnly | FileOp::Digest(_) => narrowed(spot, &op),
        FileOp::Snapshot => {
            let reads = |way: &[String]| reads(&[place, way].concat());
            let mut left = MOST_ENTRIES;
            Ok(Came::Tree(snapshot(&mount, shelf, &reads, &mut vec![], &mut left)?))
        }
    }
}

fn read_as(read_as: ReadAs, bytes: &[u8]) -> Result<Value, Failure> {
    read_as.value(bytes).map_err(|refusal| Failure::new(Exit::Failure, refusal.to_string()))
}

/// Stores the contents of a directory as a tree. Links to directories are left out: they could lead round in circles.
fn snapshot(
    mount: &Mount,
    shelf: &dyn Shelf,
    reads: &dyn Fn(&[String]) -> Result<(), Failure>,
    way: &mut Vec<String>,
    left: &mut usize,
) -> Result<Tree, Failure> {
    if way.len() >= DEEPEST {
        return Err(Failure::new(Exit::Failure, format!("a tree can be {DEEPEST} directories deep")));
    }
    let mut entries = Vec::new();
    for found in mount.list_all(way).map_err(refused)? {
        *left = left.checked_sub(1).ok_or_else(|| {
            Failure::new(Exit::Failure, format!("a tree can have {MOST_ENTRIES} files and directories"))
        })?;
        let name = found.name.clone();
        way.push(found.name);
        let entry = match found.is_directory {
            true if found.is_link => None,
            true => {
                let tree = snapshot(mount, shelf, reads, way, left)?;
                Some(Entry { name, is_tree: true, hash: tree.hash, bytes: 0, sha256: tree.sha256 })
            }
            false => {
                reads(way)?;
                if found.is_link {
                    reads(&mount.look_up(way).map_err(refused)?.place)?;
                }
                let bytes = mount.read(way, MOST_BYTES).map_err(refused)?;
                let (hash, sha256) = (shelf.put(&bytes)?, sha256(&bytes));
                Some(Entry { name, is_tree: false, hash, bytes: bytes.len() as u64, sha256 })
            }
        };
        way.pop();
        entries.extend(entry);
    }
    trees::keep(shelf, entries)
}

/// Carries out a call in a tree.
///
/// # Errors
/// When it cannot be done.
pub fn in_tree(
    blobs: &Blobs,
    tree: &Tree,
    spot: &Spot,
    op: FileOp,
    gates: Option<&Gates>,
) -> Result<Came, Failure> {
    if let Some(gates) = gates {
        // There are no links in a tree, and nothing in it is moved.
        gates.pass(&spot.place, &op, &|_| None)?;
    }
    let value = |value| Ok(Came::Value(value));
    let at = |way: &[String]| -> Vec<String> { spot.place.iter().chain(way).cloned().collect() };
    let bytes = |way: &[String]| {
        let found = trees::found(blobs, tree, &at(way))?;
        if found.is_tree {
            return Err(Failure::new(
                Exit::Failure,
                format!("`{}` is a directory", visible_line(&found.name)),
            ));
        }
        blobs
            .get(&found.hash)
            .map_err(|e| Failure::new(Exit::Failure, e.to_string()).help("`almoner doctor`"))
    };
    match op {
        FileOp::Has(way) => value(Value::bool(trees::find(blobs, tree, &at(&way))?.is_some())),
        FileOp::List(way) => {
            let found = trees::found(blobs, tree, &at(&way))?;
            if !found.is_tree {
                let what = format!("`{}` is no directory", visible_line(&found.name));
                return Err(Failure::new(Exit::Failure, what));
            }
            let entries = trees::entries(blobs, &found.hash)?;
            value(Value::array(entries.into_iter().map(|entry| Value::string(entry.name))))
        }
        FileOp::Lookup(way) => {
            let found = trees::found(blobs, tree, &at(&way))?;
            let kind = if found.is_tree { Part::Tree } else { Part::Blob };
            Ok(Came::Part { place: at(&way), kind, read_only: true })
        }
        FileOp::Read { way, maybe: true } if trees::find(blobs, tree, &at(&way))?.is_none() => {
            value(Value::undefined())
        }
        FileOp::Read { way, .. } => value(read_as(ReadAs::Text, &bytes(&way)?)?),
        FileOp::ReadJson(way) => value(read_as(ReadAs::Json, &bytes(&way)?)?),
        FileOp::Stream(way) => Ok(Came::Bytes(bytes(&way)?)),
        FileOp::Digest(way) => value(Value::string(trees::found(blobs, tree, &at(&way))?.sha256)),
        FileOp::Snapshot => {
            let found = trees::found(blobs, tree, &spot.place)?;
            Ok(Came::Tree(Tree { hash: found.hash, sha256: found.sha256 }))
        }
        FileOp::ReadOnly => Ok(Came::Part { place: spot.place.clone(), kind: spot.kind, read_only: true }),
        _ => Err(Failure::new(Exit::Failure, "a tree never changes: `stageTree` copies it to where it can")),
    }
}

/// Copies a tree into a directory that was just made.
///
/// # Errors
/// When bytes are gone, or the disk does not take them.
pub fn stage(state: &Path, blobs: &Blobs, tree: &Tree, into: &OwnHand) -> Result<(), Failure> {
    let mount = open(state, into)?;
    expect_same(&mount, blobs, &tree.hash, &mut vec![])?;
    copy(&mount, blobs, &tree.hash, &mut vec![])
}

/// Checks that a directory holds nothing but the leftovers of an interrupted copy. Files that were changed since are
/// not overwritten.
fn expect_same(mount: &Mount, blobs: &Blobs, hash: &BlobHash, way: &mut Vec<String>) -> Result<(), Failure> {
    let found = mount.list(way).map_err(refused)?;
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
                let bytes = mount.read(way, MOST_BYTES).map_err(refused)?;
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
    if way.len() > DEEPEST {
        return Err(Failure::new(Exit::Failure, "the tree is too deep"));
    }
    for entry in trees::entries(blobs, hash)? {
        way.push(entry.name);
        if entry.is_tree {
            mount.make_directory(way).map_err(refused)?;
            copy(mount, blobs, &entry.hash, way)?;
        } else {
            let bytes = blobs.get(&entry.hash).map_err(|e| Failure::new(Exit::Failure, e.to_string()))?;
            mount.write(way, &bytes, MOST_BYTES).map_err(refused)?;
        }
        way.pop();
    }
    Ok(())
}
