//! `SHA256SUMS`: the digests of the artefacts, as `sha256sum --check` reads them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

/// The name of the file.
pub(super) const FILE: &str = "SHA256SUMS";

/// Returns the SHA-256 of bytes in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Returns one line for each of these files of a folder, in their order.
pub(super) fn text(folder: &Path, names: &[String]) -> Result<String> {
    let mut text = String::new();
    for name in names {
        let bytes = fs::read(folder.join(name)).with_context(|| format!("cannot read {name}"))?;
        writeln!(text, "{}  {name}", sha256(&bytes))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{FILE, text};
    use crate::process::output;

    #[test]
    fn sums_are_those_of_coreutils() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::create_dir(path.join("man")).unwrap();
        std::fs::write(path.join("man/almoner.1"), "page").unwrap();
        std::fs::write(path.join("empty"), "").unwrap();
        let sums = text(path, &["empty".to_owned(), "man/almoner.1".to_owned()]).unwrap();
        std::fs::write(path.join(FILE), &sums).unwrap();
        let check =
            || output(Command::new("sha256sum").args(["--check", "--strict", FILE]).current_dir(path));
        assert_eq!(check().unwrap(), "empty: OK\nman/almoner.1: OK\n");
        std::fs::write(path.join("empty"), "changed").unwrap();
        assert!(check().is_err());
    }
}
