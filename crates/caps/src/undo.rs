//! Putting back what a run changed in a directory: looking at what is there, and making it what it was, if nobody has
//! touched it since.
//!
//! A person's own doing, so nothing here is proposed or begun. What is put in place is put there in one step and only where
//! there is still what was looked at, as with any other change.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::Dir;
use kernel::grant::Attenuation;
use kernel::id::BlobHash;
use kernel::proposal::Finding;
use passable::visible_line;

use crate::dir::Limits;
use crate::dir::relocate::{self, Not, Stood};
use crate::path::{Plain, Purpose};
use crate::place::{PlaceError, Placing};
use crate::walk;
use crate::{OpenError, failure, open_directory};

/// The largest file that is looked at, in bytes.
const LARGEST: u64 = 1 << 30;

/// Temporary files of one process have different names.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A file that holds this.
    File(BlobHash),
    /// A directory.
    Directory,
}

impl Standing {
    /// The same in a few words.
    pub fn words(self) -> String {
        match self {
            Standing::Nothing => "not there".to_owned(),
            Standing::File(digest) => format!("file {}", digest.short()),
            Standing::Directory => "folder".to_owned(),
        }
    }

    fn of(stood: Stood) -> Standing {
        match stood {
            Stood::Nothing => Standing::Nothing,
            Stood::File(digest, _) => Standing::File(digest),
            Stood::Directory => Standing::Directory,
        }
    }
}

/// A directory in which something is put back.
pub struct Undo {
    root: Dir,
    limits: Limits,
}

impl Undo {
    /// Opens it by its absolute path, which a person chose when it was endowed.
    ///
    /// # Errors
    /// When it is not there, or no directory.
    pub fn open(path: &str) -> Result<Undo, OpenError> {
        let limits = Attenuation { max_bytes: Some(LARGEST), ..Attenuation::default() };
        Ok(Undo { root: open_directory(path)?, limits: Limits::new(&limits) })
    }

    /// What stands at a path now.
    ///
    /// # Errors
    /// When the path makes no sense, a link stands at it or on the way, or the file system fails.
    pub fn look(&self, path: &str) -> Result<Standing, Finding> {
        let path = Plain::check(path, Purpose::Look)?;
        relocate::look(&self.root, &path, "look at", "path", &self.limits).map(Standing::of)
    }

    /// The bytes of the file at a path, if they are these.
    pub fn bytes(&self, path: &str, digest: &BlobHash) -> Option<Vec<u8>> {
        let path = Plain::check(path, Purpose::Look).ok()?;
        let parent = walk::parent(&self.root, &path).ok()??;
        let held = crate::dir::held(parent.as_fd(), path.split().1, LARGEST).ok()??;
        (BlobHash::of(&held) == *digest).then_some(held)
    }

    /// Makes what stands at a path, which must be `now`, what it was; `held` are the bytes of a file.
    ///
    /// # Errors
    /// When something else stands there, a directory is not empty, or the file system fails. Nothing is changed then.
    pub fn put_back(&self, path: &str, now: Standing, was: Standing, held: &[u8]) -> Result<(), Finding> {
        let plain = Plain::check(path, Purpose::Look)?;
        let name = format!(".almoner-u{}-{}.tmp", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        if was == now {
            return Ok(());
        }
        let done = match was {
            Standing::File(_) => return self.fill(&plain, now, held, &name),
            Standing::Directory if now == Standing::Nothing => relocate::make(&self.root, &plain),
            Standing::Nothing if now == Standing::Directory && !relocate::is_empty(&self.root, &plain)? => {
                return Err(relocate::unfit(
                    &plain,
                    "path",
                    "undo/not-empty",
                    "is a folder that the run made, and something else lies in it now",
                    "nothing: it stays",
                ));
            }
            Standing::Nothing => {
                let was = match now {
                    Standing::File(digest) => Stood::File(digest, 0),
                    Standing::Directory => Stood::Directory,
                    Standing::Nothing => return Ok(()),
                };
                relocate::remove(&self.root, &plain, was, &name, &self.limits)
            }
            Standing::Directory => Err(Not::Changed),
        };
        done.map_err(|not| match not {
            Not::Changed => changed(&plain),
            Not::Failed(finding) => finding,
        })
    }

    fn fill(&self, path: &Plain, now: Standing, held: &[u8], temporary: &str) -> Result<(), Finding> {
        let failed =
            |error: io::Error| failure::finding(&error, &format!("put back `{}`", path.as_str()), "path");
        let parent = walk::make_parent(&self.root, path).map_err(failed)?;
        let name = path.split().1;
        let expected = walk::present(parent.as_fd(), name, LARGEST).map_err(failed)?;
        let found = expected.as_ref().map_or(Standing::Nothing, |present| Standing::File(present.digest));
        if found != now {
            return Err(changed(path));
        }
        let placing =
            Placing { directory: parent.as_fd(), name, temporary, bytes: held, expected, limit: LARGEST };
        placing.put().map_err(|error| match error {
            PlaceError::Changed => changed(path),
            PlaceError::Io(error) => failed(error),
        })
    }
}

fn changed(path: &Plain) -> Finding {
    let shown = visible_line(path.as_str()).into_owned();
    Finding::new("undo/changed", format!("`{shown}` was changed meanwhile"))
        .at("path")
        .counter_example(shown)
        .allowed("`almoner undo` once more: it looks again")
}
