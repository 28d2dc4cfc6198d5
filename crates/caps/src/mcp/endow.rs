//! The endowment of a server: it is asked once for its tools, and the tools that the user named are pinned.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kernel::BlobHash;
use kernel::proposal::Effect;
use resource::mcp::{PinnedTool, ServerTransport, ToolDefinition, ToolServer};

use super::interface::unfit;
use super::session::{McpError, READY_TIMEOUT, Session};
use crate::http::HostServices;

/// The maximum size of a file that is pinned because a server's arguments name it.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Starts or reaches a server, and asks it for its tools. `patience` limits the time until the server is ready.
///
/// # Errors
/// When the server cannot be asked.
pub fn ask_tools(
    name: &str,
    line: &ServerTransport,
    outside: &Arc<dyn HostServices>,
    patience: Option<Duration>,
) -> Result<Vec<ToolDefinition>, McpError> {
    let server = ToolServer { name: name.to_owned(), line: line.clone(), tools: vec![], call_ms: 60_000 };
    let mut session = Session::open(&server, outside, patience.unwrap_or(READY_TIMEOUT))?;
    match session.tools() {
        Ok(tools) => Ok(tools),
        Err(error) => Err(session.close_with_error(error)),
    }
}

/// Returns the pins of the server's tools that the user named.
///
/// # Errors
/// The name of a tool, and its problem.
pub fn endow_server(
    told: &[ToolDefinition],
    named: &[(String, Effect)],
) -> Result<Vec<PinnedTool>, (String, String)> {
    let mut pinned: Vec<PinnedTool> = Vec::new();
    for (name, effect) in named {
        let wrong = |what: &str| Err((name.clone(), what.to_owned()));
        let mut same = told.iter().filter(|told| told.name == *name);
        let Some(first) = same.next() else { return wrong("it has no such tool") };
        if same.next().is_some() {
            return wrong("it has two tools of this name");
        }
        if let Some(why) = unfit(first) {
            return wrong(&why);
        }
        let tool = first.pin(*effect);
        if pinned.iter().any(|other| other.method == tool.method) {
            return wrong("another tool has the same name as a model writes it, or it is named twice");
        }
        pinned.push(tool);
    }
    Ok(pinned)
}

/// Returns the digest of a file that a server is told to run. Returns `None` if it is no file, or too large.
pub(super) fn file_digest(path: &Path) -> Option<BlobHash> {
    if !std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_FILE_BYTES) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(BlobHash::of(&bytes))
}

/// Returns the files that arguments name, such as the script of an interpreter. Files in places that the server may
/// write are not pinned, because the server may change them.
pub fn named_files(arguments: &[String], writable: &[&str]) -> std::collections::BTreeMap<String, BlobHash> {
    let files = arguments.iter().filter_map(|argument| {
        let path = Path::new(argument);
        let real = path.is_absolute().then(|| path.canonicalize().ok()).flatten()?;
        if writable.iter().any(|place| real.starts_with(place)) {
            return None;
        }
        let digest = file_digest(&real)?;
        Some((real.into_os_string().into_string().ok()?, digest))
    });
    files.collect()
}
