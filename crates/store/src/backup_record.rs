//! The record of the backups that were made of a store, in a file beside the store's directory. A damaged store can
//! still name its newest backup, and a restored one knows the backups that were made before.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::error::quoted;
use crate::place::{self, FILE_MODE};

/// The end of the name of the file. The name of the store's directory comes before it.
const FILE_SUFFIX: &str = ".backups.json";
/// The maximum number of backups in the record.
const MAX_RECORDED: usize = 16;
/// The maximum size of the file, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// A backup of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    /// The file of the backup, or the directory of a copy of the store alone.
    pub path: PathBuf,
    /// The time at which it was complete, in milliseconds since 1970.
    pub made_ms: i64,
}

impl BackupRecord {
    /// Returns the newest backup of the store in `dir` that is still there.
    #[must_use]
    pub fn newest(dir: &Path) -> Option<BackupRecord> {
        let is_there = |path: &Path| path.is_file() || path.join(place::DATABASE).is_file();
        read(dir).into_iter().rev().find(|backup| is_there(&backup.path))
    }

    /// Records that a backup was made now.
    pub(crate) fn add(dir: &Path, path: &Path) -> io::Result<()> {
        let made_ms = now_ms();
        let mut all = read(dir);
        all.retain(|backup| backup.path != path);
        all.push(BackupRecord { path: path.to_path_buf(), made_ms });
        let all = all.split_off(all.len().saturating_sub(MAX_RECORDED));
        let record = record_path(dir);
        let new = place::beside(&record, ".new");
        // A process that was killed may have left an unfinished file, which is no link then.
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&new)?;
        file.write_all(&serde_json::to_vec(&all)?)?;
        file.sync_all()?;
        fs::rename(&new, &record)?;
        place::sync_parent(&record)
    }
}

/// Returns the way back from a damaged store in `dir`: the newest backup, with the commands to restore it.
pub fn restore_advice(dir: &Path) -> String {
    let shell = |path: &Path| quoted(path);
    match BackupRecord::newest(dir) {
        Some(BackupRecord { path, made_ms }) => {
            let (made, copy) = (kernel::time::shown(made_ms), shell(&path));
            // The line is pasted by a person who wants exactly this store back, so it asks nothing more.
            let restore = match path.is_file() {
                true => format!("almoner restore {copy} --store --yes"),
                false => {
                    let (here, aside) = (shell(dir), shell(&unused_name(dir, "damaged")));
                    format!("mv -T {here} {aside} && cp -a {copy} {here}")
                }
            };
            format!("the newest backup is of {made}; restore it with `almoner stop && {restore}`")
        }
        None => format!(
            "no backup is known (`almoner backup` makes one); `sqlite3 {} .recover` reads out what is left",
            shell(&dir.join(place::DATABASE))
        ),
    }
}

/// Returns a name beside a store's directory, to which the directory can be moved. It has the reason and the time, and
/// there is no file of that name.
pub fn unused_name(dir: &Path, reason: &str) -> PathBuf {
    let shown = kernel::time::shown(now_ms());
    let time: String = shown.chars().filter(char::is_ascii_digit).collect();
    let name = place::beside(dir, &format!(".{reason}-{time}"));
    let others = (2..).map(|n: u32| place::beside(&name, &format!("-{n}")));
    let mut names = std::iter::once(name.clone()).chain(others);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or(name)
}

/// Returns the present time, in milliseconds since 1970.
fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the path of the record of the store in `dir`.
fn record_path(dir: &Path) -> PathBuf {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    place::beside(&dir, FILE_SUFFIX)
}

/// Returns the recorded backups, the oldest first. A file that cannot be read has none.
fn read(dir: &Path) -> Vec<BackupRecord> {
    let path = record_path(dir);
    let is_sound = path.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
    let bytes = is_sound.then(|| fs::read(&path).ok()).flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_backup_that_is_still_there_is_named() {
        let root = std::env::temp_dir().join(format!("store-backups-{}", std::process::id()));
        let dir = root.join("a store");
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(BackupRecord::newest(&dir), None);
        let copies: Vec<PathBuf> = (0..20).map(|n| root.join(format!("copy{n}"))).collect();
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
        // A store that is put in the place of this one knows the same backups.
        fs::rename(&dir, root.join("moved")).unwrap();
        fs::create_dir(&dir).unwrap();
        assert_eq!(BackupRecord::newest(&dir).unwrap().path, copies[18]);
        // A backup of a whole home is a file, which a command of its own restores.
        let file = root.join("home.tar.gz");
        fs::write(&file, "").unwrap();
        BackupRecord::add(&dir, &file).unwrap();
        let advice = restore_advice(&dir);
        assert!(
            advice.contains(&format!("`almoner stop && almoner restore {} --store --yes`", file.display())),
            "{advice}"
        );
        fs::write(record_path(&dir), "no record").unwrap();
        assert_eq!(BackupRecord::newest(&dir), None);
        assert!(restore_advice(&dir).contains("no backup is known"));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn moved_store_gets_a_name_that_is_not_in_use() {
        let root = std::env::temp_dir().join(format!("store-aside-{}", std::process::id()));
        let dir = root.join("it's v1.2");
        fs::create_dir_all(&dir).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..4 {
            let name = unused_name(&dir, "damaged");
            let text = name.file_name().unwrap().to_str().unwrap();
            assert!(text.starts_with("it's v1.2.damaged-20"), "{text}");
            fs::create_dir(&name).unwrap();
            assert!(seen.insert(name));
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
