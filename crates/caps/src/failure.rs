//! Failures of the file system as findings, each with advice on what helps.

use std::io::{Error, ErrorKind};

use kernel::proposal::Finding;
use passable::{quoting, visible_line};

/// Returns a failure of the file system as a finding. `doing` is a phrase such as "write `report.md`". `at` is the
/// parameter.
pub(crate) fn finding(error: &Error, doing: &str, at: &str) -> Finding {
    let doing = visible_line(doing);
    let (rule, what, allowed) = match error.kind() {
        ErrorKind::NotFound => ("missing", "there is no such file", "a path that `list` shows"),
        ErrorKind::PermissionDenied if is_escape(error) => {
            ("escape", "a symbolic link on the way leads out of the directory", "a path that stays inside")
        }
        ErrorKind::PermissionDenied => {
            ("denied", "the operating system forbids it", "a path whose permissions let the user do this")
        }
        ErrorKind::ReadOnlyFilesystem => {
            ("read-only", "the file system is read-only", "a directory on another one")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ("full", "the disk or the quota is full", "the same call, once there is room again")
        }
        ErrorKind::NotADirectory => {
            ("not-a-directory", "a name on the way is no directory", "a path that `list` shows")
        }
        ErrorKind::IsADirectory => ("directory", "it is a directory", "the path of a file"),
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            ("link", "there is a symbolic link at or on the way to it", "a path without symbolic links")
        }
        ErrorKind::InvalidFilename => {
            ("name", "the file system does not take this name", "a shorter or plainer name")
        }
        _ => return other(error, &doing, at),
    };
    Finding::new(format!("file/{rule}"), quoting!("could not {}: ", doing).and(what)).at(at).allowed(allowed)
}

fn other(error: &Error, doing: &str, at: &str) -> Finding {
    Finding::new("file/failed", quoting!("could not {}: ", doing).and(error.to_string()))
        .at(at)
        .allowed("the same call, once the operating system lets it pass")
}

/// Returns whether a path was refused because it leads out of the directory. Such a refusal has no error number of
/// its own.
pub(crate) fn is_escape(error: &Error) -> bool {
    error.raw_os_error().is_none() || error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error())
}
