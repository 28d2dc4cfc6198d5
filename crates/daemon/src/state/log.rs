//! The daemon's log: lines on standard error. If a command has started the daemon, standard error is the file
//! `daemon.log`.

use std::io::Write as _;

use passable::{visible, visible_line};

use config::clock;
use control::exit::Failure;

/// Writes a line. A line that cannot be written is lost, and no caller depends on it.
pub fn line(text: &str) {
    let when = kernel::time::iso(clock::now_ms());
    let _ = writeln!(std::io::stderr().lock(), "{when} {}", visible_line(text));
}

/// Writes a failure for which no client waits, with its help.
pub fn failure(failure: &Failure) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible(&failure.render(None)));
}
