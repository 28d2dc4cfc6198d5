//! A file that was found below a directory which a person named, or that a person named itself.
//!
//! For a file that was found, the person named the directory and not the file. So a link in the directory may lead to
//! another file of it, and not out of it. The file is reached from the open directory, so that no link that is put there
//! meanwhile leads out either.

use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::OFlags;

use crate::path::Plain;
use crate::path::Purpose;
use crate::walk::{self, Kind};

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FoundFileError {
    /// A link leads out of the directory, or the path does not lie in it.
    #[error("a symbolic link leads out of the directory")]
    LeadsOut,
    /// The path leads to something else than a file.
    #[error("it is not a file")]
    NoFile,
    /// The file system fails.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A file that is open for reading.
pub struct FoundFile {
    /// The file.
    pub file: std::fs::File,
    /// The path from the directory with all links followed, if a link was followed.
    pub link_target: Option<String>,
}

/// Opens the file at a path below a directory, both absolute. Waits for no pipe.
///
/// # Errors
/// When the path leads out of the directory or to no file, or the file system fails.
pub fn open(directory: &Path, path: &Path) -> Result<FoundFile, FoundFileError> {
    let inner = path.strip_prefix(directory).ok().and_then(Path::to_str);
    let inner = inner.filter(|inner| !inner.is_empty()).ok_or(FoundFileError::LeadsOut)?;
    // The person's own path may have links. They are followed once.
    let opened = walk::open_resolved(&directory.canonicalize()?)?;
    let root = Dir::from_std_file(opened.into());
    let found = walk::look(&root, inner).map_err(refine)?;
    match found.kind {
        Kind::File => {}
        Kind::Link => return Err(FoundFileError::LeadsOut),
        Kind::Directory | Kind::Other => return Err(FoundFileError::NoFile),
    }
    let file = walk::open(&root, &found).map_err(refine)?.into_std();
    let is_link = Plain::check(inner, Purpose::Look)
        .map_or(inner != found.resolved, |plain| plain.as_str() != found.resolved);
    Ok(FoundFile { file, link_target: is_link.then_some(found.resolved) })
}

/// Opens a file that a person has named itself, so links may lead anywhere. A pipe without a writer would block an
/// ordinary opening for ever.
///
/// # Errors
/// When the file system fails.
pub fn open_named(path: &Path) -> io::Result<std::fs::File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns the error for an error of the lookup. A refusal to leave the directory has no error number of its own.
fn refine(error: io::Error) -> FoundFileError {
    match error.kind() {
        io::ErrorKind::PermissionDenied if crate::failure::is_escape(&error) => FoundFileError::LeadsOut,
        _ => FoundFileError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn file_is_found_through_links_that_stay_inside() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("in");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/a.txt"), "inside").unwrap();
        std::fs::write(base.path().join("secret"), "outside").unwrap();
        for (link, to) in
            [("latest.txt", "sub/a.txt"), ("out.txt", "../secret"), ("up", ".."), ("gone.txt", "nowhere")]
        {
            symlink(to, root.join(link)).unwrap();
        }
        let read = |path: &str| {
            let mut found = open(&root, &root.join(path)).map_err(|error| error.to_string())?;
            let mut text = String::new();
            found.file.read_to_string(&mut text).unwrap();
            Ok::<_, String>((text, found.link_target))
        };
        let inside = |target: Option<&str>| Ok(("inside".to_owned(), target.map(str::to_owned)));
        assert_eq!(read("sub/a.txt"), inside(None));
        assert_eq!(read("./sub//a.txt"), inside(None));
        assert_eq!(read("latest.txt"), inside(Some("sub/a.txt")));
        for path in ["out.txt", "up/secret", "up/in/sub/a.txt", "../secret"] {
            let refused = read(path).unwrap_err();
            assert!(refused.contains("leads out"), "{path}: {refused}");
        }
        assert_eq!(read("sub").unwrap_err(), "it is not a file");
        assert!(read("gone.txt").is_err() && open(&root, &base.path().join("secret")).is_err());
        // The directory itself may be named by a link.
        symlink("in", base.path().join("named")).unwrap();
        let named = base.path().join("named");
        assert!(open(&named, &named.join("sub/a.txt")).is_ok());
    }
}
