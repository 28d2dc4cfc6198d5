//! The mapping of the database's error codes to the few kinds of fault that callers distinguish.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use kernel::txn::StoreFault;
use rusqlite::{Error, ErrorCode, ffi};
use rustix::io::Errno;

/// Returns the fault for an error of SQLite.
pub(crate) fn from_sqlite(error: &Error) -> StoreFault {
    let text = error.to_string();
    // A column of another type than the one that was written.
    if matches!(
        error,
        Error::InvalidColumnType(..)
            | Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
    ) {
        return StoreFault::Corrupt("a row holds a value of another kind".to_owned());
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreFault::Full(text),
        Some(ErrorCode::ReadOnly) => StoreFault::ReadOnly(text),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreFault::Corrupt(text),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreFault::Io(format!("another program has locked the database ({text})"))
        }
        _ => StoreFault::Io(text),
    }
}

/// Returns whether a sync to disk failed. The kernel drops pages that it could not write, so a second sync would
/// succeed without them. Therefore nothing more may be acknowledged until the store has been opened again.
pub(crate) fn lost_sync(error: &Error) -> bool {
    let code = error.sqlite_error().map(|e| e.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC))
}

/// Distinguishes a full disk or quota from other I/O errors. SQLite reports some of these cases as plain I/O errors,
/// so this function writes a small file to see the real error.
pub(crate) fn refine(dir: &Path, fault: StoreFault) -> StoreFault {
    let StoreFault::Io(text) = fault else { return fault };
    let probe = dir.join("tmp").join("probe");
    let outcome = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&probe)
        .and_then(|mut file| file.write_all(&[0; 1 << 16]));
    // If this fails, the file is removed with everything else in tmp/ when the store opens.
    let _ = fs::remove_file(&probe);
    match outcome.err().and_then(|e| e.raw_os_error()).map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT) => StoreFault::Full(text),
        Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => StoreFault::ReadOnly(text),
        _ => StoreFault::Io(text),
    }
}
