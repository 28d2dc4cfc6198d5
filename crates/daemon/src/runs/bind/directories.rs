//! Directories as a person hands them over: where they lie with all links followed, and made, if they are to be written to,
//! only once all else has been checked.

use std::cell::RefCell;
use std::path::Path;

use passable::visible_line;

use crate::state::daemon::HostDaemon;
use crate::state::protected_paths;
use control::exit::{Exit, Failure};

/// The handling of a missing directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MissingPolicy {
    /// Make it, when all else is known to be well.
    Create,
    /// Leave it: changes to it are staged.
    Ignore,
    /// Refuse.
    Refuse,
}

/// Directories that are to be made.
#[derive(Default)]
pub struct NewDirectories(RefCell<Vec<(String, String)>>);

impl NewDirectories {
    /// Returns the real path that a slot's path leads to. There must be a directory, or nothing, if one is made then.
    /// The grant is for that place, even if a link on the way changes later.
    ///
    /// # Errors
    /// When it is no directory, is missing, or is one of the daemon's own.
    pub fn resolve(
        &self,
        daemon: &HostDaemon,
        slot: &str,
        path: &str,
        missing: MissingPolicy,
    ) -> Result<String, Failure> {
        let shown = visible_line(path);
        // Read-only directories are checked too: the key of the vault may lie there.
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

    /// Returns whether this one is to be made.
    pub fn is_new(&self, path: &str) -> bool {
        self.0.borrow().iter().any(|(_, new)| new == path)
    }

    /// Makes them.
    ///
    /// # Errors
    /// When the file system fails.
    pub fn make(&self) -> Result<(), Failure> {
        for (slot, path) in self.0.borrow().iter() {
            std::fs::create_dir_all(path).map_err(|e| directory_failure(slot, &visible_line(path), &e))?;
        }
        Ok(())
    }
}

fn directory_failure(slot: &str, shown: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::NotFound, format!("slot `{slot}`: {shown}: {error}"))
        .help("check the path and its permissions; a directory that is only read must be there already")
}
