//! Repositories as a person hands them over.

use resource::repository::Repository;

use crate::files::directories;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use resource::{GitSpec, Resource};

/// Returns the resource that is bound to the slot. The repository is not read here: its first call reports errors in
/// it.
///
/// # Errors
/// When the directory is not there, is the daemon's own, or was bound for less than the slot needs.
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
