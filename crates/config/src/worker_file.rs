//! Worker files on the user's disk.

use std::path::Path;

use control::exit::{Exit, Failure};
use control::protocol::WorkerSource;
use worker::definition::{Bundle, LoadError};

/// Reads a worker file and the files that it includes.
///
/// # Errors
/// When one of the files cannot be read.
pub fn load(path: &Path) -> Result<Bundle, Failure> {
    Bundle::load(path).map_err(|e| {
        let exit = match &e {
            LoadError::Missing { .. } | LoadError::NotAFile { .. } => Exit::NotFound,
            LoadError::Io { .. } => Exit::Failure,
            _ => Exit::Invalid,
        };
        {
            let help = e.help();
            Failure::from_error(exit, e).help(help)
        }
    })
}

/// Returns a worker file in the form that a request carries. `beside` is the directory of the file.
pub fn source_of(bundle: Bundle, beside: Option<String>) -> WorkerSource {
    let Bundle { name, source, includes, .. } = bundle;
    WorkerSource { name, source, includes, beside, policy: None }
}

/// Returns the absolute path of the directory of a worker file.
pub fn beside(worker: &Path) -> Option<String> {
    let path = std::path::absolute(worker).ok()?;
    Some(path.parent()?.to_str()?.to_owned())
}
