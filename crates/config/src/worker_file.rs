//! Worker files as they lie on the disk of the user.

use std::path::Path;

use control::exit::{Exit, Failure};
use control::protocol::WorkerSource;
use worker::definition::{Bundle, LoadError};

/// Reads a worker file and the files that it includes.
///
/// # Errors
/// When it cannot be read.
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

/// Returns a worker file as a request carries it; `beside` is the directory around it.
pub fn source_of(bundle: Bundle, beside: Option<String>) -> WorkerSource {
    let Bundle { name, source, includes, .. } = bundle;
    WorkerSource { name, source, includes, beside, policy: None }
}

/// Returns the directory of a worker file, from the root.
pub fn beside(worker: &Path) -> Option<String> {
    let path = std::path::absolute(worker).ok()?;
    Some(path.parent()?.to_str()?.to_owned())
}
