//! The target of the exact bytes of a result, as `--output` names it.

use std::io;
use std::path::{Path, PathBuf};

use super::output;
use config::whole_file;
use control::exit::{Exit, Failure};

/// A target for the exact bytes of one result.
#[derive(Debug)]
pub enum ResultFile {
    /// Standard output, which is named `-`.
    StandardOutput,
    /// A file.
    File(PathBuf),
}

impl ResultFile {
    /// Returns the target at a path. It is checked before the work begins, so that no model is paid for a result that
    /// cannot be written.
    ///
    /// # Errors
    /// When the path is a directory, or cannot be written.
    pub fn new(path: &Path) -> Result<ResultFile, Failure> {
        if path == Path::new("-") {
            return Ok(ResultFile::StandardOutput);
        }
        whole_file::check_replaceable(path).map_err(|e| failure(path, &e))?;
        Ok(ResultFile::File(path.to_owned()))
    }

    /// Writes the text in the place of whatever the file holds, and tells the user. A terminal gets the text without
    /// the characters that act on it.
    ///
    /// # Errors
    /// When the file cannot be written. It then holds what it held before, but for the exception of [`whole_file`].
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        let path = match self {
            ResultFile::StandardOutput => return output::part(text),
            ResultFile::File(path) => path,
        };
        whole_file::replace(path, text.as_bytes()).map_err(|e| failure(path, &e))?;
        let count = if text.len() == 1 { "1 byte".to_owned() } else { format!("{} bytes", text.len()) };
        output::note(&format!("{} has the result ({count})", output::path(path)));
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
