//! The binding of programs to slots. A program is read once, and identified by its digest from then on.

use std::path::Path;

use crate::state::secret_access;
use passable::visible_line;
use resource::programs::{
    DEFAULT_MEMORY_BYTES, DEFAULT_WALL_TIMEOUT_MS, ProgramDirectory, Programs, Setting,
};

use crate::files::directories;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use resource::{ProgramSpec, Resource};

/// Returns the programs that are bound to a slot.
///
/// # Errors
/// When a program or a directory is missing, or a program could change itself.
pub fn resolve(daemon: &HostDaemon, slot: &str, given: &ProgramSpec) -> Result<Resource, Failure> {
    let wrong = |exit: Exit, what: String, help: &str| {
        Failure::new(exit, format!("slot `{slot}`: {what}")).help(help.to_owned())
    };
    let mut directories = Vec::new();
    for (path, write) in &given.directories {
        let real = directories::resolve_directory(&daemon.protected_paths, path).map_err(|failure| {
            failure.help(
                "programs get directories that are there already, and none of the daemon's own: `dir=PATH`",
            )
        })?;
        directories.push(ProgramDirectory { path: real, write: *write });
    }
    for name in given.environment.values().filter_map(Setting::secret) {
        secret_access::for_program(daemon, slot, name)?;
    }
    let mut programs = Vec::new();
    for (name, path) in &given.programs {
        let program = caps::endow_program(name, path).map_err(|error| {
            let what = format!("the program {}: {error}", visible_line(path));
            wrong(Exit::NotFound, what, "name a program by its name or by its path")
        })?;
        let files = std::iter::once(&program.path).chain(program.interpreters.iter().map(|it| &it.path));
        for file in files {
            let own = directories.iter().find(|d| d.write && Path::new(file).starts_with(&d.path));
            let Some(directory) = own else { continue };
            let directory = visible_line(&directory.path);
            let what = match *file == program.path {
                true => format!("`{name}` lies in {directory}, which it could change"),
                false => {
                    format!(
                        "`{name}` is read by {}, which lies in {directory}, which it could change",
                        visible_line(file)
                    )
                }
            };
            return Err(wrong(Exit::Usage, what, "leave out `:rw`, or keep the program elsewhere"));
        }
        programs.push(program);
    }
    Ok(Resource::Programs(Programs {
        programs,
        directories,
        environment: given.environment.clone(),
        network: given.network,
        starts_others: given.starts_others,
        wall_ms: given.wall_ms.unwrap_or(DEFAULT_WALL_TIMEOUT_MS),
        memory: given.memory.unwrap_or(DEFAULT_MEMORY_BYTES),
    }))
}
