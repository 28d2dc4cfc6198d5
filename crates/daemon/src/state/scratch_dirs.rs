//! Directories that the daemon itself keeps. They are removed when nothing refers to them any more.

use std::fs;
use std::path::{Path, PathBuf};

use kernel::id::Number;
use kernel::{FormulaId, collect, table};

use crate::state::daemon::HostDaemon;

/// The name prefix of a directory that is being removed. If a crash interrupts the removal, a later process removes
/// the rest.
const REMOVED_PREFIX: &str = ".gone-";

/// Returns the path of a directory that the daemon keeps, with all links followed: a directory is opened by a path
/// without links.
pub fn path(state: &Path, id: &FormulaId) -> PathBuf {
    let number: String = id.number.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::canonicalize(state).unwrap_or_else(|_| state.to_owned()).join("mounts").join(number)
}

/// The remover of directories whose formulas were collected.
///
/// No other directory is ever removed. A store that was restored from a backup does not know directories that were
/// made later, and these must not be lost.
#[derive(Default)]
pub struct ScratchDirs {
    has_begun: bool,
}

impl ScratchDirs {
    /// Returns whether this process has already searched for directories to remove.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Removes the directories of collected formulas, including those that an earlier process left.
    pub fn remove_collected(&mut self, daemon: &HostDaemon) {
        let folder = daemon.state().join("mounts");
        let first = !std::mem::replace(&mut self.has_begun, true);
        let Ok(entries) = fs::read_dir(&folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if first && name.starts_with(REMOVED_PREFIX) {
                let _ = fs::remove_dir_all(entry.path());
            }
            let Ok(number) = name.parse::<Number>() else { continue };
            let id = FormulaId { number: number.0, node: daemon.host.node };
            // If a formula cannot be read now, the next search tries again.
            let known = daemon.read(|txn| {
                let is_there = table::formula(txn, &id)?.is_some();
                Ok((is_there, !is_there && collect::is_gone(txn, &id)?))
            });
            match known {
                Ok((false, true)) => remove(&folder, name),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// Removes a directory. It is renamed first, so that a half-removed directory is never found under its own name.
fn remove(folder: &Path, name: &str) {
    let going = folder.join(format!("{REMOVED_PREFIX}{name}"));
    if fs::rename(folder.join(name), &going).is_ok() {
        // The next process removes what is left.
        let _ = fs::remove_dir_all(&going);
    }
}
