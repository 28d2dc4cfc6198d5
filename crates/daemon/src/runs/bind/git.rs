//! The binding of git repositories to slots.

use resource::repository::Repository;

use crate::files::directories;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use resource::{GitSpec, Resource};

/// Returns the repository that is bound to a slot. The repository is not read here, so its errors show only at the
/// first call.
///
/// # Errors
/// When the directory is missing or belongs to the daemon, or its access differs from the access that the slot needs.
pub fn resolve(daemon: &HostDaemon, slot: &str, write: bool, given: &GitSpec) -> Result<Resource, Failure> {
    if write != given.write {
        let (message, help) = match write {
            true => ("changes a repository, but it was bound for reading only", "add `:rw` if you mean it"),
            false => ("only reads, and gets no more than that", "leave out `:rw`"),
        };
        return Err(Failure::new(Exit::Usage, format!("slot `{slot}` {message}")).help(help));
    }
    let path = directories::resolve_directory(&daemon.protected_paths, &given.path)
        .map_err(|failure| failure.help("a repository is bound by the directory of its files: `git:PATH`"))?;
    Ok(Resource::Repository(Repository { path, write, author: given.author.clone() }))
}
