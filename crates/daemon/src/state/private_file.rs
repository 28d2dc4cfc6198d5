//! JSON files that only the user can read.

use std::io::Write as _;
use std::path::Path;

use control::exit::Failure;
use serde::Serialize;

/// Writes a file that only the user can read. A failed write leaves the old file unchanged.
///
/// # Errors
/// When the file cannot be written.
pub fn write<T: Serialize>(path: &Path, kept: &T) -> Result<(), Failure> {
    let fail = |error: std::io::Error| {
        Failure::of_file("write", &path.to_string_lossy(), error).help("nothing was changed")
    };
    let bytes = serde_json::to_vec(kept).map_err(|error| fail(error.into()))?;
    let directory = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(fail)?;
    file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}
