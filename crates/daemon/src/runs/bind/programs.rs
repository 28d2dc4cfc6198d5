//! The binding of programs to slots. A program is read once, and identified by its digest from then on.

use std::path::Path;

use crate::state::secret_access;
use passable::visible_line;
use resource::programs::{
    DEFAULT_MEMORY_BYTES, DEFAULT_WALL_TIMEOUT_MS, ProgramDirectory, Programs, Setting, staged_slot,
};

use crate::files::directories;
use crate::runs::start::StartContext;
use crate::state::daemon::HostDaemon;
use caps::stage::StageUse;
use control::exit::{Exit, Failure};
use control::protocol::StartSpec;
use resource::{Endowment, ProgramSpec, Resource, ResourceSpec};

/// Returns the programs that are bound to a slot.
///
/// # Errors
/// When a program or a directory is missing, or a program could change itself.
pub fn resolve(
    shelf: &StartContext<'_>,
    slot: &str,
    given: &ProgramSpec,
    start: &StartSpec,
) -> Result<Resource, Failure> {
    let daemon: &HostDaemon = shelf.daemon;
    let wrong = |exit: Exit, what: String, help: &str| {
        Failure::new(exit, format!("slot `{slot}`: {what}")).help(help.to_owned())
    };
    let mut directories = Vec::new();
    for (path, write) in &given.directories {
        if let Some(other) = staged_slot(path) {
            let path = staged_directory(shelf, slot, other, start)?;
            directories.push(ProgramDirectory { path, write: *write, staged_slot: Some(other.to_owned()) });
            continue;
        }
        let real = directories::resolve_directory(&daemon.protected_paths, path).map_err(|failure| {
            failure.help(
                "programs get directories that are there already, and none of the daemon's own: `dir=PATH`",
            )
        })?;
        directories.push(ProgramDirectory { path: real, write: *write, staged_slot: None });
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

/// Returns the use of the staged copy for a slot: programs of other slots may work in it.
pub fn stage_use(slot: &str, start: &StartSpec) -> StageUse {
    let works_there = |endowment: &Endowment| match &endowment.fill {
        ResourceSpec::Program(spec) => {
            spec.directories.iter().any(|(path, _)| staged_slot(path) == Some(slot))
        }
        _ => false,
    };
    match start.endow.iter().any(works_there) {
        true => StageUse::Programs,
        false => StageUse::Capabilities,
    }
}

/// Returns the directory of the staged copy that fills another slot. In a preview there is no copy, so it is the real
/// directory.
fn staged_directory(
    shelf: &StartContext<'_>,
    slot: &str,
    other: &str,
    start: &StartSpec,
) -> Result<String, Failure> {
    let refused = |why: String, help: String| {
        let message = format!("slot `{slot}`: `dir=@{other}`: {why}");
        Err(Failure::new(Exit::Usage, message).help(help))
    };
    let bind_it = || format!("bind it to a staged directory: `-e {other}=PATH:stage`");
    if slot.contains('.') {
        let why =
            "a staged copy belongs to the run that begins with it, and this is a slot of another worker";
        return refused(why.to_owned(), "give the program a directory of its own: `dir=PATH:rw`".to_owned());
    }
    match start.endow.iter().find(|endowment| endowment.slot == other).map(|found| &found.fill) {
        None => refused(format!("no slot `{other}` is bound"), bind_it()),
        Some(ResourceSpec::Path(path)) if path.stage => match shelf.stages.path(other) {
            Some(stage) => Ok(stage),
            None => directories::resolve_directory(&shelf.daemon.protected_paths, &path.path),
        },
        Some(ResourceSpec::Path(_)) => refused(
            format!("slot `{other}` is not staged, so its files would change at once"),
            format!("say `-e {other}=PATH:stage`, or give the directory itself: `dir=PATH:rw`"),
        ),
        Some(ResourceSpec::Git(_)) => refused(
            format!("slot `{other}` is a repository, and only a directory can be staged"),
            format!("bind the directory of its files instead: `-e {other}=PATH:stage`"),
        ),
        Some(filled) => {
            let noun = filled.kind().row().noun;
            refused(format!("slot `{other}` is {noun}, and only a directory can be staged"), bind_it())
        }
    }
}
