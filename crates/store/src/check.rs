//! The examination of a store for `doctor`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kernel::txn::StoreFault;
use rusqlite::Connection;

use crate::blob::{BlobError, Blobs};
use crate::database;
use crate::place::{self, PartKind};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub path: PathBuf,
    /// The problem, in words for a person.
    pub problem: String,
    /// The way to fix it.
    pub remedy: String,
}

/// The state of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Bytes of the database file.
    pub database_bytes: u64,
    /// Bytes of the log beside it.
    pub log_bytes: u64,
    /// Blobs, if they were verified.
    pub blobs: Option<u64>,
    /// Bytes that the file system has free for this user.
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
                // A sweep goes by the remaining names in a list, so this is the one to mend first.
                problem: match blobs.begins_with(&hash, crate::TREE, 16).unwrap_or(false) {
                    true => {
                        "the list of what is in a tree is damaged: what it no longer names is not kept".into()
                    }
                    false => "its bytes are not the ones that were stored".into(),
                },
                remedy: "Restore it from a backup, or store the original again.".into(),
            }),
            // It was removed since it was listed.
            Err(BlobError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(seen)
}
