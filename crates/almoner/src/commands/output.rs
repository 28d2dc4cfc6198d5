//! The two streams: results go to standard output, everything else to standard error.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::exit::{Exit, Failure};

/// Writes a line of the result to standard output.
///
/// # Errors
/// When nobody reads any more.
pub fn result(line: &str) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{}", line.trim_end_matches('\n')).map_err(|e| closed(&e))
}

/// Writes one JSON document to standard output.
///
/// # Errors
/// When nobody reads any more.
pub fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|e| Failure::new(Exit::Failure, e.to_string()))?;
    result(&text)
}

/// Writes a line for the person who watches. If nobody watches, it is lost, and nothing else.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", line.trim_end_matches('\n'));
}

/// Writes text for the person who watches, without ending the line.
pub fn prompt(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// How many columns the person's terminal has.
pub fn columns() -> usize {
    let size =
        rustix::termios::tcgetwinsize(io::stderr()).or_else(|_| rustix::termios::tcgetwinsize(io::stdout()));
    match size {
        Ok(size) if size.ws_col >= 40 => usize::from(size.ws_col).min(120),
        _ => 80,
    }
}

/// Whether a person can be asked here: both the question and the answer need a terminal.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn closed(e: &io::Error) -> Failure {
    if e.kind() == io::ErrorKind::BrokenPipe {
        // Whoever read the output has had enough: not an error of ours to tell.
        Failure::silent(Exit::Ok)
    } else {
        Failure::new(Exit::Failure, format!("standard output: {e}"))
    }
}
