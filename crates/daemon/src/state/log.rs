//! The daemon's log: lines on standard error, which is `daemon.log` where a command has started the daemon.

use std::io::Write as _;

use passable::{visible, visible_line};

use config::clock;
use control::exit::Failure;

/// Writes a line. No caller depends on it, and a line that cannot be written is lost.
pub fn line(text: &str) {
    let when = kernel::time::iso(clock::now_ms());
    let _ = writeln!(std::io::stderr().lock(), "{when} {}", visible_line(text));
}

/// Writes a failure that no client waits for, with its help.
pub fn failure(failure: &Failure) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible(&failure.render(None)));
}
