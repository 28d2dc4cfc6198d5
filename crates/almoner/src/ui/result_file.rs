//! The file that gets the exact bytes of a result, as `--output` names it.

use std::io;
use std::path::{Path, PathBuf};

use super::output;
use config::whole_file;
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
        whole_file::check_replaceable(path).map_err(|e| failure(path, &e))?;
        Ok(ResultFile { path: path.to_owned() })
    }

    /// Writes the bytes in the place of whatever the file holds, and tells the user.
    ///
    /// # Errors
    /// When the file cannot be written. It then holds what it held before, but for the exception of [`whole_file`].
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        whole_file::replace(&self.path, bytes).map_err(|e| failure(&self.path, &e))?;
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
