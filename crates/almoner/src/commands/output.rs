//! The two streams: results go to standard output, everything else to standard error.
//!
//! Whoever makes a text makes the foreign parts of it visible, each in its line. What a terminal gets is made visible
//! here once more, as a whole: where that was forgotten, nothing acts on the terminal all the same.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use passable::{visible, visible_line};
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::show::{json, lines};

/// Writes a line of the result to standard output.
///
/// # Errors
/// When nobody reads any more.
pub fn result(line: &str) -> Result<(), Failure> {
    let line = line.trim_end_matches('\n');
    let line = if io::stdout().is_terminal() { visible(line) } else { line.into() };
    writeln!(io::stdout().lock(), "{line}").map_err(|e| closed(&e))
}

/// Writes a part of the result that goes on, without ending the line.
///
/// # Errors
/// When nobody reads any more.
pub fn part(text: &str) -> Result<(), Failure> {
    let text = if io::stdout().is_terminal() { visible(text) } else { text.into() };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| closed(&e))
}

/// Writes one JSON document to standard output.
///
/// # Errors
/// When nobody reads any more.
pub fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|e| Failure::new(Exit::Failure, e.to_string()))?;
    result(&json::escaped(&text))
}

/// Writes lines of the result that hold words of others: on a terminal none is broken where it likes.
///
/// # Errors
/// When nobody reads any more.
pub fn listing(text: &str) -> Result<(), Failure> {
    let columns = io::stdout().is_terminal().then(width).flatten();
    result(&lines::fit(text, columns))
}

/// Writes why a command failed.
pub fn failure(failure: &Failure) {
    note(&failure.render(told()));
}

/// Writes lines for the person who watches that hold words of others.
pub fn report(text: &str) {
    note(&lines::fit(text, told()));
}

/// Writes what happens on the way: one line, however long it is.
pub fn progress(line: &str) {
    note(&lines::clip(line, told()));
}

/// Writes a line for the person who watches. If nobody watches, it is lost, and nothing else.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(line.trim_end_matches('\n')));
}

/// Writes text for the person who watches, without ending the line.
pub fn prompt(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(visible(text).as_bytes()).and_then(|()| err.flush());
}

/// A path in one line: whoever made a directory chose its name.
pub fn path(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}

/// How many columns a card may take: as many as the terminal has, and not so many that it cannot be read.
pub fn columns() -> usize {
    width().unwrap_or(80).min(120)
}

/// The width of what is told on standard error, if a person sees it on a terminal.
fn told() -> Option<usize> {
    io::stderr().is_terminal().then(width).flatten()
}

/// The width of the terminal; of the narrower one, if there are two.
fn width() -> Option<usize> {
    let sizes = [rustix::termios::tcgetwinsize(io::stderr()), rustix::termios::tcgetwinsize(io::stdout())];
    sizes.into_iter().flatten().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).min()
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
