//! The file that gets the exact bytes of a result, as `--output` names it.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::output;
use control::exit::{Exit, Failure};

/// A file for the exact bytes of one result.
#[derive(Debug)]
pub struct ResultFile {
    path: PathBuf,
}

impl ResultFile {
    /// Returns the file at a path. It is checked before the work begins, so that no model is paid for a result that
    /// cannot be written.
    ///
    /// # Errors
    /// When the path is a directory, or cannot be written.
    pub fn new(path: &Path) -> Result<ResultFile, Failure> {
        let fail = |e: io::Error| failure(path, &e);
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(fail(io::ErrorKind::IsADirectory.into())),
            Ok(_) => rustix::fs::access(path, Access::WRITE_OK).map_err(|e| fail(e.into()))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
                rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK).map_err(|e| fail(e.into()))?;
            }
            Err(e) => return Err(fail(e)),
        }
        Ok(ResultFile { path: path.to_owned() })
    }

    /// Writes the bytes in the place of whatever the file holds, and tells the user.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let opened = OpenOptions::new().write(true).create(true).truncate(true).open(&self.path);
        opened.and_then(|mut file| file.write_all(bytes)).map_err(|e| failure(&self.path, &e))?;
        let count = if bytes.len() == 1 { "1 byte".to_owned() } else { format!("{} bytes", bytes.len()) };
        output::note(&format!("{} has the result ({count})", output::path(&self.path)));
        Ok(())
    }
}

fn failure(path: &Path, e: &io::Error) -> Failure {
    let exit = match e.kind() {
        io::ErrorKind::NotFound => Exit::NotFound,
        io::ErrorKind::IsADirectory => Exit::Usage,
        _ => Exit::Failure,
    };
    Failure::new(exit, format!("cannot write {}: {e}", output::path(path)))
        .help("`--output` takes a file in a directory that you may write")
}
