//! Directories that the daemon keeps itself: they go when nothing refers to them any more.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kernel::id::Number;
use kernel::{FormulaId, table};

use super::desk::Desk;

/// How the name of one that is being removed begins: whatever a crash leaves of it is removed later.
const GOING: &str = ".gone-";

/// The directories whose formulas this process has seen.
///
/// No other is ever removed: a store that was put back to an older state does not know what was made later, and that is
/// no reason to lose it.
#[derive(Default)]
pub struct Scratches {
    seen: BTreeSet<Number>,
    began: bool,
}

impl Scratches {
    /// Looks which are still referred to. What was collected since the last time goes.
    pub fn tidy(&mut self, desk: &Desk) {
        let folder = desk.state.join("mounts");
        let Ok(entries) = fs::read_dir(&folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if !self.began && name.starts_with(GOING) {
                let _ = fs::remove_dir_all(entry.path());
            }
            let Ok(number) = name.parse::<Number>() else { continue };
            let id = FormulaId { number: number.0, node: desk.daemon.host.node };
            // What cannot be read now is looked at again.
            let Ok(row) = desk.daemon.read(|txn| table::formula(txn, &id)) else { return };
            match row {
                Some(_) => drop(self.seen.insert(number)),
                None if self.seen.contains(&number) => remove(&folder, name),
                None => {}
            }
        }
        self.began = true;
    }
}

/// Takes the name away first, so that nothing half removed is ever found under it.
fn remove(folder: &Path, name: &str) {
    let going = folder.join(format!("{GOING}{name}"));
    if fs::rename(folder.join(name), &going).is_ok() {
        // Whatever is left, the next process removes.
        let _ = fs::remove_dir_all(&going);
    }
}
