//! The output of a command: results go to standard output, everything else to standard error.
//!
//! The caller replaces the control characters in foreign text, line by line (the text is made visible). On a
//! terminal, this module does so once more for the whole text, in case a caller forgot it. The text of a result goes to
//! [`text`], which keeps all of it that its reader can use.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use passable::{ExactJson, LegibleText, file_text, legible, visible, visible_line};
use rustix::fs::FileType;
use serde::Serialize;

use crate::client;
use control::exit::{Exit, Failure};
use control::show::object_view::Reader;
use control::show::{json, lines};

/// Writes a line of the result to standard output.
///
/// # Errors
/// When the reader has closed standard output.
pub fn result(line: &str) -> Result<(), Failure> {
    tell_warning();
    let line = line.trim_end_matches('\n');
    let line = if io::stdout().is_terminal() { legible(line) } else { line.into() };
    writeln!(io::stdout().lock(), "{line}").map_err(|e| write_failure(&e))
}

/// Writes the foreign text of a result to standard output. A file or a pipe gets the text as it is, except characters
/// that act on a terminal. A line that the text leaves open is ended.
///
/// # Errors
/// When the reader has closed standard output.
pub fn text(text: &str) -> Result<(), Failure> {
    tell_warning();
    let shown = if io::stdout().is_terminal() { legible(text) } else { file_text(text) };
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    let mut out = io::stdout().lock();
    out.write_all(shown.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .map_err(|e| write_failure(&e))
}

/// The foreign text of a result that is written in pieces, as it comes.
#[derive(Debug)]
pub struct TextOutput(LegibleText);

impl TextOutput {
    /// Returns the output for a new text.
    pub fn begin() -> TextOutput {
        let is_terminal = io::stdout().is_terminal();
        TextOutput(if is_terminal { LegibleText::for_terminal() } else { LegibleText::for_file() })
    }

    /// Writes the next piece.
    ///
    /// # Errors
    /// When the reader has closed standard output.
    pub fn write(&mut self, piece: &str) -> Result<(), Failure> {
        write_now(&self.0.push(piece))
    }

    /// Writes the rest of the text, and ends its line.
    ///
    /// # Errors
    /// When the reader has closed standard output.
    pub fn finish(mut self) -> Result<(), Failure> {
        write_now(&(self.0.finish() + "\n"))
    }
}

fn write_now(text: &str) -> Result<(), Failure> {
    tell_warning();
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| write_failure(&e))
}

/// Writes a part of a result without ending the line, because more follows.
///
/// # Errors
/// When the reader has closed standard output.
pub fn part(text: &str) -> Result<(), Failure> {
    tell_warning();
    let text = if io::stdout().is_terminal() { legible(text) } else { text.into() };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| write_failure(&e))
}

/// Writes one JSON document to standard output.
///
/// # Errors
/// When the reader has closed standard output.
pub fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let json = serde_json::to_value(value).map_err(|e| Failure::from_error(Exit::Failure, e))?;
    result(&json::escaped(&ExactJson(&json).to_string()))
}

/// Writes standard output to the disk, if it is a file. The file keeps the output even if the system goes down.
///
/// # Errors
/// When the disk is full or fails.
pub fn sync() -> Result<(), Failure> {
    match rustix::fs::fdatasync(io::stdout()) {
        // A pipe or a terminal has no disk.
        Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::ROFS) => Ok(()),
        Err(error) => Err(write_failure(&error.into())),
    }
}

/// Checks that standard output does not discard what is written to it.
///
/// A process whose standard output is closed at its start has `/dev/null` there: the standard library opens it, so that
/// no other file gets the number. It cannot be told from a `/dev/null` that the user has chosen, since other programs
/// open that for reading and writing, too. So both are refused.
///
/// # Errors
/// When standard output is closed or `/dev/null`.
pub fn expect_taker() -> Result<(), Failure> {
    let out = rustix::fs::fstat(io::stdout()).map_err(|error| write_failure(&error.into()))?;
    let is_null = rustix::fs::stat("/dev/null").is_ok_and(|null| {
        FileType::from_raw_mode(out.st_mode) == FileType::CharacterDevice && out.st_rdev == null.st_rdev
    });
    if is_null {
        let message = "cannot write standard output: it is closed, or `/dev/null`, which keeps nothing";
        return Err(Failure::new(Exit::Failure, message));
    }
    Ok(())
}

/// Writes lines of the result that contain foreign text. For a terminal, the lines are wrapped, so that the terminal
/// breaks none. Nothing is written if there are no lines.
///
/// # Errors
/// When the reader has closed standard output.
pub fn listing(text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        tell_warning();
        return Ok(());
    }
    let columns = io::stdout().is_terminal().then(width).flatten();
    result(&lines::fit(text, columns))
}

/// Writes the failure of a command to standard error.
pub fn failure(failure: &Failure) {
    note(&failure.render(stderr_width()));
}

/// Writes the warning that the store is damaged to standard error, if one came with an answer of the daemon and was not
/// written yet. It comes before the result of a command.
pub fn tell_warning() {
    if let Some(warning) = client::take_warning() {
        note(&warning.render_warning(stderr_width()));
    }
}

/// Writes a note that a listing has no rows. Of a damaged store, nothing is said to be absent.
pub fn empty(text: &str) {
    tell_warning();
    note(if client::is_store_damaged() { "nothing that can be read is in this list" } else { text });
}

/// Writes lines that contain foreign text to standard error, wrapped to the width of the terminal. Nothing is written if
/// there are no lines.
pub fn report(text: &str) {
    if !text.is_empty() {
        note(&lines::fit(text, stderr_width()));
    }
}

/// Writes a progress message as one line, clipped to the width of the terminal.
pub fn progress(line: &str) {
    note(&lines::clip(line, stderr_width()));
}

/// Writes a line about the progress of a run, at a time in milliseconds since 1970. In a log, the time stands before the
/// line.
pub fn log_line(at_ms: i64, line: &str) {
    if io::stderr().is_terminal() {
        return progress(line);
    }
    note(&format!("{} {line}", kernel::time::shown(at_ms)));
}

/// Writes a line for the user to standard error, and ignores errors. Without a reader, only this line is lost.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(line.trim_end_matches('\n')));
}

/// Writes text for the user to standard error, without ending the line.
pub fn prompt(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(visible(text).as_bytes()).and_then(|()| err.flush());
}

/// Returns whether lines on standard error can be redrawn, and the user wants that. This needs a terminal, and no
/// `NO_COLOR`.
pub fn can_draw() -> bool {
    let says = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    io::stderr().is_terminal()
        && says("NO_COLOR").is_none()
        && says("TERM").is_some_and(|term| term != "dumb")
        && size().is_some()
}

/// Lines at the end of the screen that are redrawn in place.
#[derive(Debug, Default)]
pub struct ScreenLines {
    /// The number of characters of each line that is on the screen now.
    widths: Vec<usize>,
    /// The number of columns for which the lines on the screen were made, and their text.
    shown: (usize, String),
}

impl ScreenLines {
    /// Draws lines in the place of those that were drawn before. Each line is clipped to the width of the screen.
    /// `lines` gets the maximum number of lines.
    pub fn draw(&mut self, lines: impl FnOnce(usize) -> Vec<String>) {
        let Some((columns, rows)) = size() else { return };
        let lines = lines(rows.saturating_sub(1).max(1));
        let lines: Vec<String> =
            lines.iter().map(|line| lines::clip(&visible(line), Some(columns))).collect();
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        if !self.widths.is_empty() && self.shown == (columns, text.clone()) {
            return;
        }
        let before = self.rewind(columns);
        self.widths = lines.iter().map(|line| line.chars().count()).collect();
        self.shown = (columns, text.clone());
        let _ = io::stderr().lock().write_all(format!("{before}{text}").as_bytes());
    }

    /// Erases the lines from the screen.
    pub fn erase(&mut self) {
        if let Some((columns, _)) = size() {
            let before = self.rewind(columns);
            let _ = io::stderr().lock().write_all(before.as_bytes());
        }
        self.widths.clear();
    }

    /// Returns the control sequence that goes back to the first line and erases everything below. A terminal that has
    /// become narrower shows a line as several rows.
    fn rewind(&self, columns: usize) -> String {
        match self.widths.iter().map(|width| width.div_ceil(columns).max(1)).sum::<usize>() {
            0 => String::new(),
            rows => format!("\r\u{1b}[{rows}A\u{1b}[J"),
        }
    }
}

/// Returns the columns and rows of the terminal.
fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0 && rows > 0).then_some((columns, rows))
}

/// Returns a path as one visible line, because anyone may have chosen a directory's name.
pub fn path(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}

/// Returns the kind of reader of standard output.
pub fn reader() -> Reader {
    if io::stdout().is_terminal() { Reader::Person } else { Reader::Program }
}

/// Returns the maximum width of a card: the width of the terminal, but not more than can be read easily.
pub fn columns() -> usize {
    width().unwrap_or(80).min(120)
}

/// Returns the width of the terminal for standard error, or `None` if standard error is no terminal.
fn stderr_width() -> Option<usize> {
    io::stderr().is_terminal().then(width).flatten()
}

/// Returns the width of the terminal. If both streams are terminals, it is the smaller width.
fn width() -> Option<usize> {
    let sizes = [rustix::termios::tcgetwinsize(io::stderr()), rustix::termios::tcgetwinsize(io::stdout())];
    sizes.into_iter().flatten().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).min()
}

/// Returns whether a person can be asked here: both the question and the answer need a terminal.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn write_failure(e: &io::Error) -> Failure {
    if e.kind() == io::ErrorKind::BrokenPipe {
        // The reader has read enough, which is no error of this program.
        Failure::silent(Exit::Ok)
    } else {
        let failure = Failure::new(Exit::Failure, format!("cannot write standard output: {e}"));
        match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                failure.help("make room first: `df -h` shows how full each disk is")
            }
            _ => failure,
        }
    }
}
