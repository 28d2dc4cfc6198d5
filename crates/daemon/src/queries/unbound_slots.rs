//! The slots of unfinished runs that policies about files do not bind.

use kernel::formula::Formula;
use passable::{Untrusted, visible_line};
use resource::Resource;
use resource::mcp::ServerTransport;
use resource::programs::ProgramDirectory;

use super::runs;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// The maximum number of slots in one answer.
const MAX_SLOTS: usize = 100;

/// Returns a line for each slot of an unfinished run whose program or tool server works in directories. The files that it
/// will read or write are unknown before it runs.
///
/// # Errors
/// When the store cannot be read.
pub fn unbound_slots(daemon: &HostDaemon) -> Result<Vec<Untrusted>, Failure> {
    let mut lines = Vec::new();
    runs::for_each_run(daemon, None, |run| {
        if run.is_finished() {
            return Ok(true);
        }
        for (slot, id) in &run.grants {
            let Ok((_, Formula::Resource(resource))) = daemon.grant(id) else { continue };
            if let Some((what, directories)) = worker_in_directories(&resource) {
                let paths: Vec<String> = directories.iter().map(ProgramDirectory::typed_path).collect();
                let line = format!("`{slot}` of run {}: {what} in {}", run.number, paths.join(", "));
                lines.push(Untrusted::new(line));
            }
        }
        Ok(lines.len() < MAX_SLOTS)
    })?;
    Ok(lines)
}

/// Returns the program or server of a resource, in words, and the directories in which it works, if there are any.
fn worker_in_directories(resource: &Resource) -> Option<(String, &[ProgramDirectory])> {
    let (what, directories) = match resource {
        Resource::Programs(programs) => {
            let names: Vec<&str> = programs.programs.iter().map(|program| program.name.as_str()).collect();
            (format!("the program {}", visible_line(&names.join(", "))), &programs.directories)
        }
        Resource::Mcp(server) => match &server.line {
            ServerTransport::Program(program) => {
                (format!("the server {}", visible_line(&server.name)), &program.directories)
            }
            ServerTransport::Web(_) => return None,
        },
        _ => return None,
    };
    (!directories.is_empty()).then_some((what, directories))
}
