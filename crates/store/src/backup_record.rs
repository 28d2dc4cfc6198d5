//! The record of the backups that were made of a store, in a file beside the database. A damaged store can still name
//! its newest backup.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::error::quoted;
use crate::place::{self, FILE_MODE};

/// The name of the file in the directory of a store.
const FILE: &str = "backups.json";
/// The maximum number of backups in the record.
const MAX_RECORDED: usize = 16;
/// The maximum size of the file, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// A backup of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    /// The directory of the backup.
    pub path: PathBuf,
    /// The time at which it was complete, in milliseconds since 1970.
    pub made_ms: i64,
}

impl BackupRecord {
    /// Returns the newest backup of the store in `dir` that is still there.
    #[must_use]
    pub fn newest(dir: &Path) -> Option<BackupRecord> {
        read(dir).into_iter().rev().find(|backup| backup.path.join(place::DATABASE).is_file())
    }

    /// Records that a backup was made now.
    pub(crate) fn add(dir: &Path, path: &Path) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let made_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let mut all = read(dir);
        all.retain(|backup| backup.path != path);
        all.push(BackupRecord { path: path.to_path_buf(), made_ms });
        let all = all.split_off(all.len().saturating_sub(MAX_RECORDED));
        let new = dir.join(place::TEMPORARY).join(FILE);
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&new)?;
        file.write_all(&serde_json::to_vec(&all)?)?;
        file.sync_all()?;
        fs::rename(&new, dir.join(FILE))?;
        place::sync_dir(dir)
    }
}

/// Returns the way back from a damaged store in `dir`: the newest backup, with the commands to restore it.
pub fn restore_advice(dir: &Path) -> String {
    let shell = |path: &Path| quoted(path);
    match BackupRecord::newest(dir) {
        Some(BackupRecord { path, made_ms }) => {
            let (made, copy) = (kernel::time::shown(made_ms), shell(&path));
            let (here, aside) = (shell(dir), shell(&dir.with_extension("damaged")));
            format!(
                "the newest backup is of {made}; restore it with `almoner stop; mv {here} {aside} && cp -a {copy} {here}`"
            )
        }
        None => format!(
            "no backup is known (`almoner backup` makes one); `sqlite3 {} .recover` reads out what is left",
            shell(&dir.join(place::DATABASE))
        ),
    }
}

/// Returns the recorded backups, the oldest first. A file that cannot be read has none.
fn read(dir: &Path) -> Vec<BackupRecord> {
    let path = dir.join(FILE);
    let is_sound = path.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
    let bytes = is_sound.then(|| fs::read(&path).ok()).flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_backup_that_is_still_there_is_named() {
        let dir = std::env::temp_dir().join(format!("store-backups-{}", std::process::id()));
        fs::create_dir_all(dir.join(place::TEMPORARY)).unwrap();
        assert_eq!(BackupRecord::newest(&dir), None);
        let copies: Vec<PathBuf> = (0..20).map(|n| dir.join(format!("copy{n}"))).collect();
        for copy in &copies {
            fs::create_dir_all(copy).unwrap();
            fs::write(copy.join(place::DATABASE), "").unwrap();
            BackupRecord::add(&dir, copy).unwrap();
        }
        assert_eq!(read(&dir).len(), MAX_RECORDED);
        assert_eq!(BackupRecord::newest(&dir).unwrap().path, copies[19]);
        let advice = restore_advice(&dir);
        assert!(advice.contains("the newest backup is of 20") && advice.contains("copy19 "), "{advice}");
        fs::remove_dir_all(&copies[19]).unwrap();
        assert_eq!(BackupRecord::newest(&dir).unwrap().path, copies[18]);
        fs::write(dir.join(FILE), "no record").unwrap();
        assert_eq!(BackupRecord::newest(&dir), None);
        assert!(restore_advice(&dir).contains("no backup is known"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
