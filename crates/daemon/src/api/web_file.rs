//! The state of the web pages that outlives a daemon: the port, the name and the sessions. The file is readable only
//! by the user.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gateway_web::guard::sessions::Sessions;
use serde::{Deserialize, Serialize};

use control::exit::{Exit, Failure};

/// The version of the file format.
pub const VERSION: u32 = 1;

/// The contents of the file.
#[derive(Serialize, Deserialize)]
pub struct WebFile {
    /// The version of the file format.
    pub version: u32,
    /// The private part of the name under which the pages are served.
    pub seed: String,
    /// The port of the pages.
    pub port: u16,
    /// The sessions. Only hashes of their tokens are stored.
    #[serde(default)]
    pub sessions: Sessions,
}

impl Default for WebFile {
    fn default() -> WebFile {
        WebFile { version: VERSION, seed: String::new(), port: 0, sessions: Sessions::default() }
    }
}

/// Returns the path of the file in the state directory.
pub fn path(state: &Path) -> PathBuf {
    state.join("web.json")
}

/// Reads the file. Returns `None` if the pages were never opened.
///
/// # Errors
/// When the file cannot be read, is malformed or has another version.
pub fn read(path: &Path) -> Result<Option<WebFile>, Failure> {
    let fail = |what: String| {
        Failure::new(Exit::Failure, format!("cannot use {}: {what}", path.display()))
            .help("remove this file: all sessions end with it, and `almoner open` begins again")
    };
    match std::fs::read(path) {
        Ok(bytes) => {
            let kept: WebFile = serde_json::from_slice(&bytes).map_err(|error| fail(error.to_string()))?;
            match kept.version {
                VERSION => Ok(Some(kept)),
                other => Err(fail(format!("it is of version {other}, and this program knows {VERSION}"))),
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail(error.to_string())),
    }
}

/// Removes the permissions of other users, if the file has any. The state directory is already closed to other users,
/// so this is a second protection.
pub fn restrict_permissions(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(file) = std::fs::File::open(path) else { return };
    if file.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 != 0) {
        // If this fails, the directory still keeps other users out.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o600));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::state::private_file::write;

    #[test]
    fn web_file_of_unknown_version_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = path(directory.path());
        assert!(read(&path).unwrap().is_none());
        let mut kept = WebFile { port: 7, ..WebFile::default() };
        write(&path, &kept).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().port, 7);
        kept.version = 99;
        write(&path, &kept).unwrap();
        let refused = read(&path).err().unwrap();
        assert!(refused.message.raw().contains("version 99"), "{refused:?}");
    }

    #[test]
    fn web_file_is_readable_by_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = path(directory.path());
        restrict_permissions(&path);
        write(&path, &WebFile::default()).unwrap();
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        restrict_permissions(&path);
        assert_eq!(mode(), 0o600);
    }
}
