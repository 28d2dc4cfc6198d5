//! The proof that a release can be reproduced: a second build in another folder, compared byte for byte.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::{checksums, signature};

/// Files that differ between two builds for a reason. A key that is made for one build signs no other, and the digests
/// repeat what the other files hold.
const NEW_EACH_TIME: &[&str] = &[signature::FILE, signature::SIGNERS];

/// Returns a line for each artefact that differs between the folders of two builds.
///
/// # Errors
/// When an artefact cannot be read.
pub(super) fn differences(first: &Path, second: &Path) -> Result<Vec<String>> {
    let (ours, theirs) = (names(first)?, names(second)?);
    let mut found = Vec::new();
    for name in ours.iter().filter(|name| !theirs.contains(name)) {
        found.push(format!("{name}: only the first build has it"));
    }
    for name in theirs.iter().filter(|name| !ours.contains(name)) {
        found.push(format!("{name}: only the second build has it"));
    }
    for name in ours.iter().filter(|name| theirs.contains(name) && !NEW_EACH_TIME.contains(&name.as_str())) {
        let read = |folder: &Path| fs::read(folder.join(name)).with_context(|| format!("cannot read {name}"));
        let (one, other) = (read(first)?, read(second)?);
        if one != other {
            let shared = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
            found.push(format!(
                "{name}: {} and {} bytes differ from byte {shared} on",
                one.len(),
                other.len()
            ));
        }
    }
    Ok(found)
}

/// Returns the files below a folder, sorted, relative to it.
pub(super) fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    gather(folder, "", &mut names)?;
    names.sort();
    Ok(names)
}

fn gather(root: &Path, below: &str, names: &mut Vec<String>) -> Result<()> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            gather(root, &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}

/// Returns the artefacts that the digests list: all files but the digests, their signature and its key.
pub(super) fn listed(folder: &Path) -> Result<Vec<String>> {
    let own = [checksums::FILE, signature::FILE, signature::SIGNERS];
    Ok(names(folder)?.into_iter().filter(|name| !own.contains(&name.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::{differences, listed};

    #[test]
    fn differing_and_missing_artefacts_are_found() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |folder: &tempfile::TempDir, name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        for folder in [&first, &second] {
            write(folder, "almoner.tar.gz", "the same bytes");
            write(folder, "man/almoner.1", "the same page");
            write(folder, "SHA256SUMS", "digests");
        }
        write(&first, "SHA256SUMS.sig", "one signature");
        write(&second, "SHA256SUMS.sig", "another signature");
        let find = || differences(first.path(), second.path()).unwrap();
        assert_eq!(find(), Vec::<String>::new());
        write(&second, "man/almoner.1", "the same Page");
        write(&first, "almoner.deb", "package");
        assert_eq!(
            find(),
            [
                "almoner.deb: only the first build has it",
                "man/almoner.1: 13 and 13 bytes differ from byte 9 on"
            ]
        );
        assert_eq!(listed(first.path()).unwrap(), ["almoner.deb", "almoner.tar.gz", "man/almoner.1"]);
    }
}
