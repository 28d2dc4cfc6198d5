//! The comparison of a server of tools that a run was given with the one that the machine's administrator has fixed.

use std::collections::BTreeMap;
use std::path::Path;

use resource::mcp::{ServerTransport, ToolServer};
use resource::programs::Setting;
use resource::web::Place;

use crate::mcp_file::{DEFAULT_MEMORY, Server, setting};

/// Returns whether a server that a run was given is the fixed one. The digests of its files are checked when it
/// starts.
pub(super) fn is_same(fixed: &Server, given: &ToolServer) -> bool {
    match (&given.line, &fixed.command, &fixed.url) {
        (ServerTransport::Program(program), Some(command), None) => {
            let directories: Vec<(String, bool)> =
                program.directories.iter().map(|one| (one.path.clone(), one.write)).collect();
            let fixed_directories = fixed.directories().map(|(path, write)| (real(path), write));
            program.program.name == *command
                && program.program.path == real(command)
                && program.arguments == fixed.args
                && program.environment == settings(&fixed.env)
                && program.reads == fixed.reads.iter().map(|path| real(path)).collect::<Vec<_>>()
                && directories == fixed_directories.collect::<Vec<_>>()
                && program.network == fixed.net
                && program.starts_others == fixed.exec
                && program.memory == fixed.memory.unwrap_or(DEFAULT_MEMORY)
        }
        (ServerTransport::Web(web), None, Some(url)) => {
            let (url, query) = url.split_once('?').unwrap_or((url, ""));
            let headers =
                fixed.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
            let key = web.secret.as_ref().map(|used| used.name.as_str());
            let header = web.secret.as_ref().map(|used| used.header.as_str());
            let fixed_header = fixed.header.as_deref().unwrap_or("authorization").to_ascii_lowercase();
            Place::parse(url).is_ok_and(|place| web.places == [place])
                && given.query == query
                && given.headers == settings(&headers.collect())
                && key == fixed.key.as_deref()
                && header.is_none_or(|header| header == fixed_header)
                && web.address.map(|address| address.to_string()) == fixed.address
        }
        _ => false,
    }
}

fn settings(texts: &BTreeMap<String, String>) -> BTreeMap<String, Setting> {
    texts.iter().map(|(name, value)| (name.clone(), setting(value))).collect()
}

/// Returns the path with all links followed. A path that leads nowhere stays, and equals nothing that is in use.
fn real(path: &str) -> String {
    let real = std::fs::canonicalize(Path::new(path));
    real.ok().and_then(|real| real.into_os_string().into_string().ok()).unwrap_or_else(|| path.to_owned())
}
