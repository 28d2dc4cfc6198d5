//! The examination of a store for `doctor`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kernel::txn::StoreFault;
use rusqlite::Connection;

use crate::blob::{BlobError, Blobs};
use crate::database;
use crate::place::{self, PartKind};

/// A problem of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file or directory with the problem.
    pub path: PathBuf,
    /// The problem, in words for a person.
    pub problem: String,
    /// A way to fix the problem.
    pub remedy: String,
}

/// The state of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The size of the database file, in bytes.
    pub database_bytes: u64,
    /// The size of the log beside the database file, in bytes.
    pub log_bytes: u64,
    /// The number of blobs, or `None` if they were not verified.
    pub blobs: Option<u64>,
    /// The number of bytes that the file system has free for this user.
    pub free_bytes: u64,
    /// The problems that were found. Empty for a healthy store.
    pub findings: Vec<Finding>,
}

pub(crate) fn examine(dir: &Path, conn: &Connection, blobs: Option<&Blobs>) -> Result<Health, StoreFault> {
    let file = dir.join(place::DATABASE);
    let mut findings = Vec::new();
    let problems = match database::quick_check(conn, 10) {
        Err(StoreFault::Corrupt(problem)) => vec![problem],
        other => other?,
    };
    for problem in problems {
        let remedy = "Restore a backup (`almoner backup` makes one), or read out what is left with `sqlite3 … .recover`.".to_owned();
        findings.push(Finding { path: file.clone(), problem, remedy });
    }
    for (path, kind) in place::parts(dir) {
        permissions(&path, kind, &mut findings);
    }
    let io = |e: std::io::Error| StoreFault::Io(format!("{}: {e}", dir.display()));
    for shelf in fs::read_dir(dir.join(place::BLOBS)).map_err(io)? {
        let shelf = shelf.map_err(io)?.path();
        permissions(&shelf, PartKind::Dir, &mut findings);
        for blob in fs::read_dir(&shelf).map_err(io)? {
            permissions(&blob.map_err(io)?.path(), PartKind::File, &mut findings);
        }
    }
    let blobs = blobs.map(|blobs| verify(blobs, &mut findings)).transpose()?;
    let free = rustix::fs::statvfs(dir).map_err(|e| io(e.into()))?;
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    Ok(Health {
        database_bytes: bytes(&file),
        log_bytes: bytes(&place::log_of(&file)),
        blobs,
        free_bytes: free.f_bavail.saturating_mul(free.f_frsize),
        findings,
    })
}

fn permissions(path: &Path, kind: PartKind, findings: &mut Vec<Finding>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    if place::is_open(&meta, kind) {
        let mode = meta.mode() & 0o7777;
        findings.push(Finding {
            path: path.to_path_buf(),
            problem: format!("others may read or write it (mode {mode:04o})"),
            remedy: format!("chmod {:04o} {}", kind.mode(), path.display()),
        });
    }
}

fn verify(blobs: &Blobs, findings: &mut Vec<Finding>) -> Result<u64, StoreFault> {
    let mut seen = 0;
    for hash in blobs.list()? {
        seen += 1;
        match blobs.open(&hash) {
            Ok(_) => {}
            Err(BlobError::Corrupt { path }) => findings.push(Finding {
                path,
                // A sweep goes by the names that are left in a damaged list, so the list must be repaired first.
                problem: match blobs.is_list(&hash).unwrap_or(false) {
                    true => "the list of other bytes is damaged: what it no longer names is not kept".into(),
                    false => "its bytes are not the ones that were stored".into(),
                },
                remedy: "Restore it from a backup, or store the original again.".into(),
            }),
            // The blob was removed after it was listed.
            Err(BlobError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(seen)
}
