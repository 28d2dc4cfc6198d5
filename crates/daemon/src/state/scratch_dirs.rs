//! Directories that the daemon keeps itself: they go when nothing refers to them any more.

use std::fs;
use std::path::{Path, PathBuf};

use kernel::id::Number;
use kernel::{FormulaId, collect, table};

use crate::state::daemon::HostDaemon;

/// The prefix of a directory that is being removed. A later process removes the rest that a crash leaves.
const REMOVED_PREFIX: &str = ".gone-";

/// Returns where the daemon keeps a directory of its own.
pub fn path(state: &Path, id: &FormulaId) -> PathBuf {
    let number: String = id.number.iter().map(|byte| format!("{byte:02x}")).collect();
    state.join("mounts").join(number)
}

/// The directories of formulas that were collected.
///
/// No other is ever removed. A store that was put back to an older state does not know directories that were made
/// later. That is no reason to lose them.
#[derive(Default)]
pub struct ScratchDirs {
    has_begun: bool,
}

impl ScratchDirs {
    /// Returns whether it has looked around since the process began.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Removes the directories of collected formulas, also those that an earlier process had no time to remove.
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
            // A formula that cannot be read now is looked at again.
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

/// Takes the name away first, so that nothing half removed is ever found under it.
fn remove(folder: &Path, name: &str) {
    let going = folder.join(format!("{REMOVED_PREFIX}{name}"));
    if fs::rename(folder.join(name), &going).is_ok() {
        // The next process removes any rest.
        let _ = fs::remove_dir_all(&going);
    }
}
