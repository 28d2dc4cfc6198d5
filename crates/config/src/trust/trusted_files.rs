//! The list of trusted files: one small record for each, written atomically to the state directory.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kernel::BlobHash;
use serde::{Deserialize, Serialize};

use super::TrustedWorker;
use crate::place::{Place, private_dir};
use control::exit::{Exit, Failure};

/// A trusted file, as it was when the user trusted it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The hash of the file's bytes.
    pub digest: BlobHash,
    /// The workers to which the file gives endowments, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workers: BTreeMap<String, TrustedWorker>,
}

impl TrustedFile {
    /// Returns a record without workers.
    pub fn of(path: &Path, digest: BlobHash) -> TrustedFile {
        TrustedFile { path: path.to_owned(), digest, workers: BTreeMap::new() }
    }

    /// Returns the digest of everything that is trusted: the file, and the workers to which it gives endowments.
    ///
    /// It is the file's own digest if there are no workers. Otherwise it is `derive_key("almoner project v1")` over the
    /// file's digest and the workers. Each gives its name, its files and their digests, each with its length before it.
    pub fn seal(&self) -> BlobHash {
        if self.workers.is_empty() {
            return self.digest;
        }
        let mut hasher = blake3::Hasher::new_derive_key("almoner project v1");
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        add(&self.digest.to_string());
        for (name, worker) in &self.workers {
            add(name);
            let digests: Vec<(&str, &str)> = worker.digests().collect();
            add(&digests.len().to_string());
            for (file, digest) in digests {
                add(file);
                add(digest);
            }
        }
        BlobHash(*hasher.finalize().as_bytes())
    }
}

fn dir(place: &Place) -> PathBuf {
    place.state.join("trusted")
}

fn entry(place: &Place, path: &Path) -> PathBuf {
    let name = BlobHash::of(path.as_os_str().as_encoded_bytes()).to_string();
    dir(place).join(format!("{name}.json"))
}

fn failed(place: &Place, e: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Failure, format!("cannot look into {}: {e}", dir(place).display()))
        .help("nothing is trusted that cannot be looked up there; `almoner doctor` examines the directories")
}

/// Returns all trusted files, by path.
///
/// # Errors
/// When the list cannot be read.
pub fn all(place: &Place) -> Result<Vec<TrustedFile>, Failure> {
    let entries = match std::fs::read_dir(dir(place)) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(e) => return Err(failed(place, &e)),
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| failed(place, &e))?.path();
        if path.extension().is_some_and(|suffix| suffix == "json") {
            all.extend(read(place, &path)?);
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

fn read(place: &Place, path: &Path) -> Result<Option<TrustedFile>, Failure> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|e| failed(place, &e)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failed(place, &e)),
    }
}

/// Returns the record of the file at this path, or `None` if the user never trusted it.
///
/// # Errors
/// When the list cannot be read.
pub fn get(place: &Place, path: &Path) -> Result<Option<TrustedFile>, Failure> {
    let kept = read(place, &entry(place, path))?;
    Ok(kept.filter(|kept| kept.path == path))
}

/// Returns whether the file at this path is trusted with exactly this digest.
///
/// # Errors
/// When the list cannot be read.
pub fn is_trusted(place: &Place, path: &Path, digest: BlobHash) -> Result<bool, Failure> {
    Ok(get(place, path)?.is_some_and(|kept| kept.digest == digest))
}

/// Records that the user trusts the file at this path with this digest. The record replaces an earlier one.
///
/// # Errors
/// When the record cannot be written.
pub fn keep(place: &Place, path: &Path, digest: BlobHash) -> Result<(), Failure> {
    keep_record(place, &TrustedFile::of(path, digest))
}

/// Records that the user trusts a file, with the workers to which it gives endowments.
///
/// # Errors
/// When the record cannot be written.
pub fn keep_record(place: &Place, kept: &TrustedFile) -> Result<(), Failure> {
    private_dir(&place.state)?;
    private_dir(&dir(place))?;
    let text = serde_json::to_vec(kept).map_err(|e| failed(place, &e))?;
    let path = entry(place, &kept.path);
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let written = (|| {
        let mut out =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        out.write_all(&text)?;
        out.sync_all()?;
        std::fs::rename(&new, &path)?;
        std::fs::File::open(dir(place))?.sync_all()
    })();
    written.map_err(|e| {
        drop(std::fs::remove_file(&new));
        failed(place, &e)
    })
}

/// Removes the trust in the file at this path. Returns `false` if the file was not trusted.
///
/// # Errors
/// When the record cannot be removed.
pub fn revoke(place: &Place, path: &Path) -> Result<bool, Failure> {
    let removed = std::fs::remove_file(entry(place, path))
        .and_then(|()| std::fs::File::open(dir(place)).and_then(|dir| dir.sync_all()));
    match removed {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(failed(place, &e)),
    }
}
