//! The demo's files. They are part of the binary, so that the demo runs anywhere.

use std::path::Path;

use super::io;
use control::exit::Failure;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/inbox/", $name)))),*]
    };
}

/// Every file by its path in the folder.
const FILES: &[(&str, &[u8])] = files![
    "mail/1-invoice-harbour-print.pdf",
    "mail/2-invoice-northlight.txt",
    "mail/3-meeting-note.md",
    "mail/4-contract-excerpt.md",
    "mail/5-mail-from-supplier.eml",
    "encoded/5-mail-from-supplier.eml",
    "expected.json",
    "triage.worker",
    "extract.worker",
    "record.md.j2",
    "summary.md.j2",
    "clerk.worker",
    "hijacked.json",
    "script.json",
];

/// Returns the content of one file, which is empty if the demo has no such file.
pub(super) fn file(name: &str) -> &'static [u8] {
    FILES.iter().find(|(known, _)| *known == name).map_or(&[], |(_, bytes)| bytes)
}

/// Writes the files under `dir`. Existing files of the same names are replaced.
///
/// # Errors
/// When the directory cannot be written.
pub(super) fn lay_out(dir: &Path) -> Result<(), Failure> {
    for (name, bytes) in FILES {
        put(&dir.join(name), bytes)?;
    }
    Ok(())
}

/// Writes one file and the directories above it.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let shown = path.display().to_string();
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(|e| io(&shown, &e))?;
    }
    std::fs::write(path, bytes).map_err(|e| io(&shown, &e))
}
