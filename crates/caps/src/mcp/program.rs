//! A server that is a program of this machine. It runs in the sandbox, and sends and receives messages as lines.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use kernel::proposal::Finding;
use passable::{quoting, visible_line};
use resource::mcp::ServerProgram;
use resource::programs::Setting;
use sandbox::{Confinement, End, Helper, Limits, Spec};

use super::SECRET;
use super::session::McpError;
use super::transport::{ClientTransport, MAX_LEN, MAX_UNASKED, ServerHandle, forward_message};
use crate::http::HostServices;
use crate::program::scratch::Scratch;
use crate::program::{digest, interpreters};

/// The maximum lifetime of a server, which is longer than any run is at work.
const LIFE_MS: u64 = 24 * 3600 * 1000;
/// The time in which the server must end by itself after its input is closed.
const TIMEOUT: Duration = Duration::from_millis(300);
/// The maximum number of characters of the server's last error output that are reported. `LAST_LINES` limits the
/// lines.
const LAST_WORDS: usize = 500;
const LAST_LINES: usize = 3;

/// Starts the server, with two threads that pass messages to and from it.
pub(super) fn open(
    name: &str,
    line: &ServerProgram,
    outside: &Arc<dyn HostServices>,
) -> Result<(ServerHandle, ClientTransport), McpError> {
    unchanged(name, line)?;
    let broken = |error: String| McpError::Unreachable(visible_line(&error).into_owned());
    let scratch = Scratch::new().map_err(|error| broken(format!("there is no place to work in: {error}")))?;
    let spec = spec(name, line, scratch.path(), &**outside)?;
    let (session, (stdin, stdout)) =
        sandbox::open(&Helper::own(), &spec).map_err(|error| broken(error.to_string()))?;
    let (out, said) = channel::<Vec<u8>>();
    let (wire, heard) = ClientTransport::new(out);
    let unasked = Arc::new(AtomicU32::new(0));
    let asked = Arc::clone(&unasked);
    let writer = std::thread::Builder::new().name("mcp-write".to_owned()).spawn(move || {
        let mut stdin = stdin;
        for mut message in said {
            asked.store(0, Ordering::Relaxed);
            message.push(b'\n');
            if stdin.write_all(&message).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    let reader = std::thread::Builder::new().name("mcp-read".to_owned()).spawn(move || {
        let mut lines = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            let read = (&mut lines).take(MAX_LEN as u64).read_until(b'\n', &mut line);
            let is_whole = line.last() == Some(&b'\n');
            let is_flood = unasked.fetch_add(1, Ordering::Relaxed) > MAX_UNASKED;
            if !matches!(read, Ok(1..)) || !is_whole || is_flood || !forward_message(&line, &heard) {
                // Dropping the sender tells the protocol that the server is gone.
                return;
            }
        }
    });
    writer.and(reader).map_err(|error| broken(error.to_string()))?;
    let carrier = ServerHandle::new(move || {
        let report = session.end(TIMEOUT);
        drop(scratch);
        report.map(|report| {
            // The actual error usually stands in the last lines.
            let said = String::from_utf8_lossy(&report.stderr.bytes).into_owned();
            let mut lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            lines.drain(..lines.len().saturating_sub(LAST_LINES));
            let said: String = lines.join(" / ").chars().take(LAST_WORDS).collect();
            let how = report.end.description();
            let words = match (&report.end, said.is_empty()) {
                (End::Refused { .. }, _) | (_, true) => format!("it {how}"),
                _ => format!("it {how}, saying: {said}"),
            };
            visible_line(&words).into_owned()
        })
    });
    Ok((carrier, wire))
}

/// Checks that the program, its interpreters, and the files that it is told to run are unchanged since the endowment.
fn unchanged(name: &str, line: &ServerProgram) -> Result<(), McpError> {
    let kept = |what: &str, path: &str| {
        let shown = visible_line(path);
        Err(McpError::Blocked(Box::new(
            Finding::new(
                "mcp/program",
                quoting!("the server {}: {} {} has changed", visible_line(name), what, shown),
            )
            .at("method")
            .counter_example(shown)
            .allowed("nothing, until the user endows it anew"),
        )))
    };
    let path = Path::new(&line.program.path);
    if digest(path).ok() != Some(line.program.digest) {
        return kept("its program", &line.program.path);
    }
    if interpreters(path).unwrap_or_default() != line.program.interpreters {
        return kept("what reads its program", &line.program.path);
    }
    let other =
        line.files.iter().find(|(file, known)| super::endow::file_digest(Path::new(file)) != Some(**known));
    match other {
        Some((file, _)) => kept("its file", file),
        None => Ok(()),
    }
}

fn spec(
    name: &str,
    line: &ServerProgram,
    scratch: &Path,
    outside: &dyn HostServices,
) -> Result<Spec, McpError> {
    let directories = |write: bool| {
        let chosen = line.directories.iter().filter(move |directory| directory.write == write);
        chosen.map(|directory| PathBuf::from(&directory.path))
    };
    let mut readable = sandbox::places_of_the_system(line.network);
    readable.push(PathBuf::from(&line.program.path));
    readable.extend(line.files.keys().map(PathBuf::from));
    readable.extend(line.reads.iter().map(PathBuf::from));
    readable.extend(directories(false));
    let mut writable = vec![scratch.to_owned()];
    writable.extend(directories(true));
    let home = scratch.to_string_lossy().into_owned();
    let usual = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", &home),
        ("TMPDIR", &home),
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
    ];
    let mut environment: BTreeMap<String, String> =
        usual.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    for (variable, setting) in &line.environment {
        let value = match setting {
            Setting::Text(text) => text.clone(),
            Setting::Secret(secret) => outside
                .secret_for_program(secret)
                .map_err(|why| McpError::Blocked(Box::new(why.of_program(SECRET, secret, name))))?
                .as_str()
                .to_owned(),
        };
        environment.insert(variable.clone(), value);
    }
    let called = line.program.name.clone();
    Ok(Spec {
        program: PathBuf::from(&line.program.path),
        digest: Some(line.program.digest.to_string()),
        interpreters: line
            .program
            .interpreters
            .iter()
            .map(|it| (PathBuf::from(&it.path), it.digest.to_string()))
            .collect(),
        argv: std::iter::once(called).chain(line.arguments.iter().cloned()).collect(),
        directory: line
            .directories
            .first()
            .map_or_else(|| scratch.to_owned(), |directory| PathBuf::from(&directory.path)),
        environment,
        within: Confinement {
            pretends: true,
            readable,
            writable,
            executable: Vec::new(),
            network: line.network,
            limits: Limits {
                wall_ms: LIFE_MS,
                cpu_s: 3600,
                memory: line.memory,
                written: 4 << 30,
                ..Limits::default()
            },
        },
    })
}
