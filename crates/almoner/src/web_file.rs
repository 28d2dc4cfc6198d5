//! What outlives a daemon of its web pages: port, name and sessions, in a file for the user alone.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use gateway_web::guard::sessions::Sessions;
use serde::{Deserialize, Serialize};

use control::exit::{Exit, Failure};

/// The form of the file.
pub const VERSION: u32 = 1;

/// What is kept.
#[derive(Default, Serialize, Deserialize)]
pub struct WebFile {
    /// The form of this file.
    pub version: u32,
    /// The private part of the name under which the pages are served.
    pub seed: String,
    /// The port.
    pub port: u16,
    /// The sessions; what opens a door is kept as a hash.
    #[serde(default)]
    pub sessions: Sessions,
}

/// Where it lies: in the state directory.
pub fn path(state: &Path) -> PathBuf {
    state.join("web.json")
}

/// Reads it; none if the pages were never opened.
///
/// # Errors
/// When it is not what was written.
pub fn read(path: &Path) -> Result<Option<WebFile>, Failure> {
    let fail = |what: String| {
        Failure::new(Exit::Failure, format!("{}: {what}", path.display()))
            .help("remove this file: all sessions end with it, and `almoner open` begins again")
    };
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| fail(error.to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail(error.to_string())),
    }
}

/// Writes it, or another file like it, for the user alone, whole or not at all.
///
/// # Errors
/// When the disk does not take it.
pub fn write<T: Serialize>(path: &Path, kept: &T) -> Result<(), Failure> {
    let fail = |error: std::io::Error| {
        Failure::new(Exit::Failure, format!("{}: {error}", path.display())).help("nothing was changed")
    };
    let bytes = serde_json::to_vec(kept).map_err(|error| fail(error.into()))?;
    let directory = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(fail)?;
    file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}
