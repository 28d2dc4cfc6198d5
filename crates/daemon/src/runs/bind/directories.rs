//! The binding of directories. A directory is bound by its real path, with all links followed. A directory to write
//! to is made if it is missing, but only after all other checks.

use std::cell::RefCell;
use std::path::Path;

use caps::OpenError;
use caps::undo::Undo;
use passable::visible_line;

use crate::state::daemon::HostDaemon;
use crate::state::protected_paths;
use control::exit::{Exit, Failure};

/// The handling of a missing directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MissingPolicy {
    /// The directory is made after all other checks.
    Create,
    /// The directory is left missing, because changes to it are staged.
    Ignore,
    /// The binding is refused.
    Refuse,
}

/// The directories that are still to be made, each with its slot.
#[derive(Default)]
pub struct NewDirectories(RefCell<Vec<(String, String)>>);

impl NewDirectories {
    /// Returns the real path of the directory for a slot. A missing directory is handled by `missing`. The grant is
    /// for the real path, even if a link on the way changes later.
    ///
    /// # Errors
    /// When the path is not a directory, is missing and may not be, or belongs to the daemon.
    pub fn resolve(
        &self,
        daemon: &HostDaemon,
        slot: &str,
        path: &str,
        missing: MissingPolicy,
    ) -> Result<String, Failure> {
        let shown = visible_line(path);
        // A directory for reading is checked too, because it might contain the key of the vault.
        daemon.protected_paths.check(Path::new(path))?;
        let real = protected_paths::resolve_links(Path::new(path))
            .and_then(|real| real.into_os_string().into_string().ok());
        let real = real.ok_or_else(|| {
            let message = format!("slot `{slot}`: {shown}: where it leads has no name in UTF-8");
            Failure::new(Exit::Usage, message).help("choose another directory")
        })?;
        match std::fs::metadata(&real) {
            Ok(meta) if meta.is_dir() => Ok(real),
            Ok(_) => Err(Failure::new(Exit::Usage, format!("slot `{slot}`: {shown} is not a directory"))
                .help("a slot is bound to a directory; a single document goes after the worker")),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && missing != MissingPolicy::Refuse => {
                if missing == MissingPolicy::Create {
                    self.0.borrow_mut().push((slot.to_owned(), real.clone()));
                }
                Ok(real)
            }
            Err(e) => Err(directory_failure(slot, &shown, &e)),
        }
    }

    /// Returns whether the directory at this path is still to be made.
    pub fn is_new(&self, path: &str) -> bool {
        self.0.borrow().iter().any(|(_, new)| new == path)
    }

    /// Makes all directories that are to be made.
    ///
    /// # Errors
    /// When the file system fails, or a link stands in a path that had none when it was resolved.
    pub fn make(&self) -> Result<(), Failure> {
        for (slot, path) in self.0.borrow().iter() {
            Undo::make(path).map_err(|error| match error {
                OpenError::Directory { source, .. } => directory_failure(slot, &visible_line(path), &source),
                other => directory_failure(slot, &visible_line(path), &other),
            })?;
        }
        Ok(())
    }
}

fn directory_failure(slot: &str, shown: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::NotFound, format!("cannot bind slot `{slot}` to {shown}: {error}"))
        .help("check the path and its permissions; a directory that is only read must be there already")
}
