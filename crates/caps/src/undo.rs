//! The undo of a run's changes in a directory. It checks the present state of a path, and restores the prior state
//! unless somebody has changed the path since the run.
//!
//! The user acts here, so no call is proposed and no effect is started. A restore is one atomic step, like any other
//! change. It happens only if the present state is still the one that was checked.

use std::io;
use std::os::fd::AsFd as _;

use cap_std::fs::Dir;
use kernel::grant::Attenuation;
use kernel::id::{BlobHash, RunNumber};
use kernel::proposal::Finding;
use passable::{quoting, visible_line};
use rustix::fs::Mode;

use crate::atomic_write::{self, AtomicWrite, AtomicWriteError};
use crate::dir::Limits;
use crate::dir::relocate::{self, EntryState, MoveRefused};
use crate::path::{Plain, Purpose};
use crate::walk;
use crate::{OpenError, failure, make_directory, open_directory, open_own_directory};

/// The largest file that is examined, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Returns the maximum size of a file whose content is kept when a change replaces it, in bytes.
pub fn max_kept_bytes(attenuation: &Attenuation) -> u64 {
    Limits::new(attenuation).bytes()
}

/// The state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathState {
    /// Nothing exists at the path.
    Nothing,
    /// A file with this digest.
    File(BlobHash),
    /// A directory.
    Directory,
}

impl PathState {
    /// Returns the state in a few words.
    pub fn description(self) -> String {
        match self {
            PathState::Nothing => "not there".to_owned(),
            PathState::File(digest) => format!("file {}", digest.short()),
            PathState::Directory => "folder".to_owned(),
        }
    }

    fn digest(self) -> Option<BlobHash> {
        match self {
            PathState::File(digest) => Some(digest),
            PathState::Nothing | PathState::Directory => None,
        }
    }

    fn of(stood: EntryState) -> PathState {
        match stood {
            EntryState::Nothing => PathState::Nothing,
            EntryState::File(digest, _) => PathState::File(digest),
            EntryState::Directory => PathState::Directory,
        }
    }
}

/// A file whose earlier content is restored.
pub struct SavedFile<'a> {
    /// The earlier content.
    pub bytes: &'a [u8],
    /// The permissions for the file, used if no file is there now whose permissions can be taken. With `None`, only
    /// the owner can read and write the file.
    pub mode: Option<u32>,
    /// The run that changed the file.
    pub run: RunNumber,
}

/// The content of a file that is about to be replaced or removed.
pub enum FileContent {
    /// All of it.
    Whole(Vec<u8>),
    /// The file is larger than asked for.
    Large {
        /// Its size.
        bytes: u64,
    },
    /// Nothing with this content is there any more.
    Gone,
}

/// A directory whose earlier state is restored.
pub struct Undo {
    root: Dir,
    limits: Limits,
}

impl Undo {
    /// Opens a directory by its absolute path, which a person chose when the directory was endowed.
    ///
    /// # Errors
    /// When nothing exists at the path, it is no directory, or a link stands in it by now.
    pub fn open(path: &str) -> Result<Undo, OpenError> {
        open_directory(path).map(Undo::of)
    }

    /// Opens a directory like [`Undo::open`], or returns `None` if nothing exists at the path.
    ///
    /// # Errors
    /// When the path is no directory, or a link stands in it by now.
    pub fn find(path: &str) -> Result<Option<Undo>, OpenError> {
        match Undo::open(path) {
            Err(OpenError::Directory { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Opens a directory like [`Undo::open`], after it was made if it is missing.
    ///
    /// # Errors
    /// When the directory cannot be made, or a link stands in its path by now.
    pub fn make(path: &str) -> Result<Undo, OpenError> {
        make_directory(path).map(Undo::of)
    }

    /// Opens a staged copy, which the daemon has made in its own state.
    ///
    /// # Errors
    /// When nothing exists at the path, or no directory.
    pub fn open_copy(path: &str) -> Result<Undo, OpenError> {
        open_own_directory(path).map(Undo::of)
    }

    fn of(root: Dir) -> Undo {
        let limits = Attenuation { max_bytes: Some(MAX_FILE_BYTES), ..Attenuation::default() };
        Undo { root, limits: Limits::new(&limits) }
    }

    /// Returns the present state of a path.
    ///
    /// # Errors
    /// When the path is malformed, a symbolic link stands at the path or at one of its parents, or the file system
    /// fails.
    pub fn look(&self, path: &str) -> Result<PathState, Finding> {
        let path = Plain::check(path, Purpose::Look)?;
        relocate::look(&self.root, &path, "look at", "path", &self.limits).map(PathState::of)
    }

    /// Returns the bytes of the file at a path, if they match the digest.
    pub fn bytes(&self, path: &str, digest: &BlobHash) -> Option<Vec<u8>> {
        let path = Plain::check(path, Purpose::Look).ok()?;
        let parent = walk::parent(&self.root, &path).ok()??;
        let held = crate::dir::held(parent.as_fd(), path.split().1, MAX_FILE_BYTES).ok()??;
        (BlobHash::of(&held) == *digest).then_some(held)
    }

    /// Returns the content of the file at a path, if it matches the digest and has at most `most` bytes.
    pub fn content(&self, path: &str, digest: &BlobHash, most: u64) -> FileContent {
        let found = || {
            let path = Plain::check(path, Purpose::Look).ok()?;
            let parent = walk::parent(&self.root, &path).ok()??;
            let bytes = walk::open_file(parent.as_fd(), path.split().1).ok()?.metadata().ok()?.len();
            if bytes > most {
                return Some(FileContent::Large { bytes });
            }
            let held = crate::dir::held(parent.as_fd(), path.split().1, most).ok()??;
            (BlobHash::of(&held) == *digest).then_some(FileContent::Whole(held))
        };
        found().unwrap_or(FileContent::Gone)
    }

    /// Returns the permissions of the file at a path, if its content matches the digest.
    pub fn mode(&self, path: &str, digest: &BlobHash) -> Option<u32> {
        let path = Plain::check(path, Purpose::Look).ok()?;
        let parent = walk::parent(&self.root, &path).ok()??;
        let found = walk::present(parent.as_fd(), path.split().1, MAX_FILE_BYTES).ok()??;
        (found.digest == *digest).then(|| found.mode.as_raw_mode())
    }

    /// Removes the temporary files of an interrupted attempt beside a path whose state is `was` again.
    pub fn tidy(&self, path: &str, now: PathState, was: PathState, run: RunNumber) {
        let Ok(plain) = Plain::check(path, Purpose::Look) else { return };
        let known: Vec<BlobHash> = [now, was].into_iter().filter_map(PathState::digest).collect();
        if let Ok(Some(parent)) = walk::parent(&self.root, &plain) {
            atomic_write::tidy(parent.as_fd(), &temporary(&plain, now, was, run), &known, MAX_FILE_BYTES);
        }
    }

    /// Restores the state `was` of a path whose state must be `now`. `whole` is the content for the path if `was` is
    /// a file.
    ///
    /// # Errors
    /// When the path has another state than `now`, a directory is not empty, or the file system fails. Then nothing
    /// is changed.
    pub fn put_back(
        &self,
        path: &str,
        now: PathState,
        was: PathState,
        whole: &SavedFile<'_>,
    ) -> Result<(), Finding> {
        let plain = Plain::check(path, Purpose::Look)?;
        let name = temporary(&plain, now, was, whole.run);
        if was == now {
            return Ok(());
        }
        let done = match was {
            PathState::File(_) => return self.fill(&plain, now, whole, &name),
            PathState::Directory if now == PathState::Nothing => relocate::make(&self.root, &plain),
            PathState::Nothing if now == PathState::Directory && !relocate::is_empty(&self.root, &plain)? => {
                return Err(relocate::unfit(
                    &plain,
                    "path",
                    "undo/not-empty",
                    "is a folder that the run made, and something else lies in it now",
                    "nothing: it stays",
                ));
            }
            PathState::Nothing => {
                let was = match now {
                    PathState::File(digest) => EntryState::File(digest, 0),
                    PathState::Directory => EntryState::Directory,
                    PathState::Nothing => return Ok(()),
                };
                // A file that an interrupted attempt has moved aside would be in the way.
                self.tidy(path, now, PathState::Nothing, whole.run);
                relocate::remove(&self.root, &plain, was, &name, &self.limits)
            }
            PathState::Directory => Err(MoveRefused::Changed),
        };
        done.map_err(|not| match not {
            MoveRefused::Changed => changed(&plain),
            MoveRefused::Failed(finding) => finding,
        })
    }

    fn fill(
        &self,
        path: &Plain,
        now: PathState,
        whole: &SavedFile<'_>,
        temporary: &str,
    ) -> Result<(), Finding> {
        let failed =
            |error: io::Error| failure::finding(&error, &format!("put back `{}`", path.as_str()), "path");
        let parent = walk::make_parent(&self.root, path).map_err(failed)?;
        let name = path.split().1;
        let expected = walk::present(parent.as_fd(), name, MAX_FILE_BYTES).map_err(failed)?;
        let found = expected.as_ref().map_or(PathState::Nothing, |present| PathState::File(present.digest));
        if found != now {
            return Err(changed(path));
        }
        let placing = AtomicWrite {
            directory: parent.as_fd(),
            name,
            temporary,
            bytes: whole.bytes,
            expected,
            limit: MAX_FILE_BYTES,
        };
        let mode = whole.mode.map_or(Mode::RUSR | Mode::WUSR, Mode::from_raw_mode);
        placing.put_as(Some(mode)).map_err(|error| match error {
            AtomicWriteError::Changed => changed(path),
            AtomicWriteError::Io(error) => failed(error),
        })
    }
}

/// Returns the name of the temporary file. Every attempt at the same change uses the same name, so that a leftover
/// file is found again.
fn temporary(path: &Plain, now: PathState, was: PathState, run: RunNumber) -> String {
    let what = format!("{}\n{now:?}\n{was:?}", path.as_str());
    format!(".almoner-u{run}-{}.tmp", BlobHash::of(what.as_bytes()).short())
}

fn changed(path: &Plain) -> Finding {
    let shown = visible_line(path.as_str()).into_owned();
    Finding::new("undo/changed", quoting!("`{}` was changed meanwhile", shown))
        .at("path")
        .counter_example(shown)
        .allowed("`almoner undo` once more: it looks again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_undo_removes_leftovers_of_an_interrupted_one() {
        let base = tempfile::tempdir().unwrap();
        let undo = Undo::open(base.path().to_str().unwrap()).unwrap();
        let file = |text: &str| PathState::File(BlobHash::of(text.as_bytes()));
        let (path, run) = (Plain::check("a.md", Purpose::Look).unwrap(), RunNumber(1));
        let whole = SavedFile { bytes: b"old", mode: None, run };
        // The five cases: interrupted before the file was in place, interrupted after it, and interrupted while a
        // file was being removed.
        for (stands, left, now, was) in [
            (Some("new"), "ol", file("new"), file("old")),
            (None, "ol", PathState::Nothing, file("old")),
            (Some("old"), "new", file("new"), file("old")),
            (Some("new"), "new", file("new"), PathState::Nothing),
            (None, "new", file("new"), PathState::Nothing),
        ] {
            if let Some(text) = stands {
                std::fs::write(base.path().join("a.md"), text).unwrap();
            }
            std::fs::write(base.path().join(temporary(&path, now, was, run)), left).unwrap();
            if undo.look("a.md").unwrap() == was {
                undo.tidy("a.md", now, was, run);
            } else {
                undo.put_back("a.md", now, was, &whole).unwrap();
            }
            assert_eq!(undo.look("a.md").unwrap(), was);
            let _ = std::fs::remove_file(base.path().join("a.md"));
            assert_eq!(
                std::fs::read_dir(base.path()).unwrap().count(),
                0,
                "{stands:?} {left} {now:?} {was:?}"
            );
        }
        // A file that somebody else has changed is not removed.
        let name = temporary(&path, file("new"), file("old"), run);
        std::fs::write(base.path().join(&name), "theirs").unwrap();
        undo.tidy("a.md", file("new"), file("old"), run);
        assert!(base.path().join(name).exists());
    }
}
