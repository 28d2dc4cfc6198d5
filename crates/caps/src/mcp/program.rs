//! A server that is a program of this machine. It runs in the sandbox, and sends and receives messages as lines.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kernel::proposal::Finding;
use passable::{quoting, visible_line};
use resource::mcp::ServerProgram;
use resource::programs::Setting;
use sandbox::{Confinement, End, Helper, Limits, Spec};
use serde_json::Value as Json;

use super::SECRET;
use super::mcp_error::McpError;
use super::message::{self, Content};
use super::transport::{Incoming, IncomingSender, Link, MAX_LEN, MAX_UNASKED, ServerHandle};
use crate::http::HostServices;
use crate::program::scratch::Scratch;
use crate::program::{digest, interpreters};

/// The maximum lifetime of a server, which is longer than any run is at work.
const LIFE_MS: u64 = 24 * 3600 * 1000;
/// The time in which the server must end by itself after its input is closed.
const TIMEOUT: Duration = Duration::from_millis(300);
/// The maximum number of characters of the server's last output that are reported. `MAX_LAST_LINES` limits the lines.
const MAX_LAST_CHARS: usize = 800;
const MAX_LAST_LINES: usize = 4;
/// The words in a line of error output that most likely names the fault. The lines after it are often a stack.
const FAULT_WORDS: [&str; 4] = ["error", "cannot", "not found", "failed"];

/// Starts the server, with two threads that pass messages to and from it.
pub(super) fn open(
    name: &str,
    line: &ServerProgram,
    outside: &Arc<dyn HostServices>,
) -> Result<(ServerHandle, Link), McpError> {
    unchanged(name, line)?;
    let broken = |error: String| McpError::Unreachable(visible_line(&error).into_owned());
    let scratch = Scratch::new().map_err(|error| broken(format!("there is no place to work in: {error}")))?;
    let spec = spec(name, line, scratch.path(), &**outside)?;
    let (session, (stdin, stdout)) =
        sandbox::open(&Helper::own(), &spec).map_err(|error| broken(error.to_string()))?;
    let (out, said) = channel::<Vec<u8>>();
    let (link, incoming) = Link::new(out);
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
    let noise = Arc::new(Mutex::new(String::new()));
    let written = Arc::clone(&noise);
    let reader = std::thread::Builder::new()
        .name("mcp-read".to_owned())
        .spawn(move || read_lines(BufReader::new(stdout), &unasked, &incoming, &written));
    writer.and(reader).map_err(|error| broken(error.to_string()))?;
    let carrier = ServerHandle::new(move || {
        let report = session.end(TIMEOUT);
        drop(scratch);
        let noise = noise.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let words = report.map(|report| {
            let said = last_lines(&String::from_utf8_lossy(&report.stderr.bytes));
            let how = report.end.description();
            match (&report.end, said.is_empty()) {
                (End::Refused { .. }, _) => format!("it {how}"),
                (_, true) => format!("it {how}, and wrote nothing to its standard error output"),
                _ => format!("it {how}, saying: {said}"),
            }
        });
        let noise = Some(noise).filter(|noise| !noise.is_empty());
        let noise =
            noise.map(|noise| format!("its standard output, which is for messages alone, has: {noise}"));
        let words: Vec<String> = words.into_iter().chain(noise).collect();
        (!words.is_empty()).then(|| visible_line(&words.join("; ")).into_owned())
    });
    Ok((carrier, link))
}

/// Reads the server's messages, one on each line, until the server ends or writes what cannot be read.
fn read_lines(
    mut lines: impl BufRead,
    unasked: &AtomicU32,
    incoming: &IncomingSender,
    noise: &Mutex<String>,
) {
    let fail = |reason: &str| {
        let error = McpError::invalid("", reason);
        // Dropping the sender tells the session that the server is gone.
        let _gone = incoming.send(Incoming::Failure { id: Json::Null, error });
    };
    loop {
        let mut line = Vec::new();
        let read = (&mut lines).take(MAX_LEN as u64).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        if line.len() >= MAX_LEN && line.last() != Some(&b'\n') {
            return fail("a message is longer than 8 MiB");
        }
        if unasked.fetch_add(1, Ordering::Relaxed) > MAX_UNASKED {
            return fail("it writes thousands of messages that answer nothing");
        }
        match message::read(&line) {
            Content::Messages(messages) => {
                for message in messages {
                    if incoming.send(Incoming::Message(message)).is_err() {
                        return;
                    }
                }
            }
            Content::Broken => {
                let error = McpError::invalid("", "it is no JSON, or was cut");
                if incoming.send(Incoming::Failure { id: Json::Null, error }).is_err() {
                    return;
                }
            }
            Content::Noise => {
                let text = String::from_utf8_lossy(&line);
                if !text.trim().is_empty() {
                    let text = text.trim().chars().take(MAX_LAST_CHARS / MAX_LAST_LINES).collect();
                    *noise.lock().unwrap_or_else(PoisonError::into_inner) = text;
                }
            }
        }
    }
}

/// Returns the lines of error output that most likely name the fault: the last ones, and the last one with such a word.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(MAX_LAST_LINES));
    let names_fault = |line: &&&str| {
        let line = line.to_lowercase();
        FAULT_WORDS.iter().any(|word| line.contains(word))
    };
    let fault = match last.iter().any(|line| names_fault(&line)) {
        true => None,
        false => before.iter().rev().find(names_fault),
    };
    let shown: Vec<&str> = fault.into_iter().chain(last).copied().collect();
    shown.join(" / ").chars().take(MAX_LAST_CHARS).collect()
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
    if let Some((tree, _)) =
        line.trees.iter().find(|(tree, known)| super::tree_digest(Path::new(tree)) != Some(**known))
    {
        return kept("its package", tree);
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
            executable: match line.starts_others {
                true => sandbox::programs_of_the_system(),
                false => Vec::new(),
            },
            network: line.network,
            limits: Limits {
                wall_ms: LIFE_MS,
                cpu_s: 3600,
                memory: line.memory,
                written: 4 << 30,
                // It lives for long, and what others make on the same disk counts as well.
                files: 1_000_000,
                ..Limits::default()
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_name_the_fault_above_a_stack() {
        let node = "node:internal/modules/cjs/loader:1143\n  throw err;\n\nError: Cannot find module '/a/b.js'\n    at a\n    at b\n    at c {\n  requireStack: []\n}\n\nNode.js v20\n";
        assert_eq!(
            last_lines(node),
            "Error: Cannot find module '/a/b.js' / at c { / requireStack: [] / } / Node.js v20"
        );
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 1\nModuleNotFoundError: No module named 'mcp'\n";
        assert!(last_lines(python).ends_with("ModuleNotFoundError: No module named 'mcp'"));
        assert_eq!(last_lines(""), "");
        assert!(last_lines(&"x".repeat(5000)).len() <= MAX_LAST_CHARS);
    }

    #[test]
    fn lines_become_messages_failures_or_noise() {
        let read = |text: &[u8]| {
            let (out, _said) = channel();
            let (link, incoming) = Link::new(out);
            let noise = Mutex::new(String::new());
            std::thread::scope(|scope| {
                let noise = &noise;
                scope.spawn(move || read_lines(text, &AtomicU32::new(0), &incoming, noise));
                let mut found = Vec::new();
                while let Ok(Some(incoming)) =
                    link.receive(std::time::Instant::now() + Duration::from_secs(20))
                {
                    found.push(match incoming {
                        Incoming::Message(json) => json.to_string(),
                        Incoming::Failure { error, .. } => error.to_string(),
                    });
                }
                (found, noise.lock().unwrap().clone())
            })
        };
        let (found, noise) =
            read(b"Starting\r\n\n\xef\xbb\xbf{\"id\":1}\r\n[{\"id\":2},{\"id\":3}]\n{\"id\":4}");
        assert_eq!(found, ["{\"id\":1}", "{\"id\":2}", "{\"id\":3}", "{\"id\":4}"]);
        assert_eq!(noise, "Starting");
        let (found, _) = read(b"{\"jsonrpc\":\"2.0\",\"id\"\n{\"id\":2}\n");
        assert_eq!(found, ["its answer to `` cannot be used: it is no JSON, or was cut", "{\"id\":2}"]);
        let long = [&b"{\"a\":\""[..], &vec![b'x'; MAX_LEN], b"\"}\n{}\n"].concat();
        assert_eq!(read(&long).0, ["its answer to `` cannot be used: a message is longer than 8 MiB"]);
        let flood = "{\"method\":\"notifications/message\"}\n".repeat(MAX_UNASKED as usize + 9);
        let (found, _) = read(flood.as_bytes());
        assert!(
            found.last().is_some_and(|last| last.contains("thousands of messages")),
            "{:?}",
            found.last()
        );
    }
}
