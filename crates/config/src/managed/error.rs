//! The faults of the administrator's files.

use std::path::PathBuf;

/// A fault of the administrator's files. While there is one, no call is judged and no run begins.
#[derive(Debug, thiserror::Error)]
pub enum ManagedError {
    /// Somebody else than root can have written the file, or put another one in its place.
    #[error("cannot follow {}: {reason}", path.display())]
    Untrusted {
        /// The file or the directory.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
        /// The command that repairs it.
        repair: String,
    },
    /// Root reads the file, and other users cannot. So it binds the homes of root alone.
    #[error("cannot follow {}: users other than root cannot {}", path.display(), if *is_directory { "go through it" } else { "read it" })]
    Hidden {
        /// The file or the directory.
        path: PathBuf,
        /// Whether it is a directory.
        is_directory: bool,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file or the directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file holds a fault.
    #[error("cannot follow {place}: {reason}")]
    Invalid {
        /// The file, and the line if one is to blame.
        place: String,
        /// The fault, made safe to show.
        reason: String,
        /// The advice.
        advice: String,
    },
}

impl ManagedError {
    /// Returns one line that names the remedy. Runs that have stopped go on after `almoner resume`.
    pub fn help(&self) -> String {
        match self {
            ManagedError::Untrusted { repair, .. } => format!("as root: `{repair}`"),
            ManagedError::Hidden { path, .. } => format!("as root: `chmod a+rX {}`", path.display()),
            ManagedError::Unreadable { path, .. } => {
                let above = path.parent().unwrap_or(path).display();
                format!("as root: `chmod a+rX {above} {}`", path.display())
            }
            ManagedError::Invalid { advice, .. } => {
                format!("{advice}; `almoner doctor managed` reads it again")
            }
        }
    }
}
