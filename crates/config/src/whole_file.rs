//! Files that are written whole: a full disk leaves the old file, or no file, and never a part of the new one.
//!
//! The exception is a file that no other file can replace, on a file system that reserves no space.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use tempfile::NamedTempFile;

/// The permissions of a new file, before the mask of the process.
pub const NEW_FILE_MODE: u32 = 0o666;

/// The maximum number of symbolic links that lead from one to the next.
const MAX_LINKS: usize = 40;

/// A new file. It gets its name only when it is complete.
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Begins a file beside its place. `mode` has its permissions, before the mask of the process.
    ///
    /// # Errors
    /// When something exists at the path, or the directory takes no file.
    pub fn begin(path: &Path, mode: u32) -> io::Result<NewFile> {
        match path.symlink_metadata() {
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(NewFile { file: temporary(directory(path), mode)?, path: path.to_owned() })
    }

    /// Writes the file to the disk, and gives it its name.
    ///
    /// # Errors
    /// When the disk is full or fails, or something exists at the path by now. Then nothing of the file stays.
    pub fn finish(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist_noclobber(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl io::Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a new file. An existing file is never replaced.
///
/// # Errors
/// When something exists at the path, or the disk is full or fails. Then nothing of the file stays.
pub fn create(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::begin(path, mode)?;
    file.write_all(bytes)?;
    file.finish()
}

/// Returns the error that [`replace`] would find before it writes. Nothing is changed.
///
/// # Errors
/// When the path is a directory, or a file cannot be written there.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    match FileTarget::of(path)? {
        // A pipe without a reader would block.
        FileTarget::Other(path) => Ok(rustix::fs::access(&path, rustix::fs::Access::WRITE_OK)?),
        FileTarget::Nothing(path) => temporary(directory(&path), NEW_FILE_MODE).map(drop),
        FileTarget::File(path) | FileTarget::Descriptor(path) => {
            OpenOptions::new().write(true).open(&path).map(drop)
        }
    }
}

/// Writes the content of a file. The file keeps its permissions, and a symbolic link still leads to it.
///
/// # Errors
/// When the disk is full or fails. Then the old file is unchanged, or there is still no file. A file that no other file
/// can replace may be half written: if the disk fails, or if it is full and its file system reserves no space.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match FileTarget::of(path)? {
        FileTarget::Other(path) => OpenOptions::new().write(true).open(path)?.write_all(bytes),
        FileTarget::Descriptor(path) => write_in_place(&path, bytes),
        FileTarget::Nothing(path) => create(&path, NEW_FILE_MODE, bytes),
        FileTarget::File(path) if is_bound_to_its_file(&path)? => write_in_place(&path, bytes),
        FileTarget::File(path) => match replace_by_rename(&path, bytes) {
            Err(error) if takes_no_rename(&error) => write_in_place(&path, bytes),
            done => done,
        },
    }
}

/// The place to which a path leads over symbolic links.
enum FileTarget {
    /// A regular file.
    File(PathBuf),
    /// No file yet.
    Nothing(PathBuf),
    /// A regular file that this process has open, such as `/dev/stdout`.
    Descriptor(PathBuf),
    /// A device, a pipe or a socket.
    Other(PathBuf),
}

impl FileTarget {
    fn of(path: &Path) -> io::Result<FileTarget> {
        // `Path` ignores a slash at the end.
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(meta) if !meta.is_file() => Ok(FileTarget::Other(path.to_owned())),
            Ok(_) if is_descriptor(path) => Ok(FileTarget::Descriptor(path.to_owned())),
            Ok(_) => Ok(FileTarget::File(fs::canonicalize(path)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut path = path.to_owned();
                for _ in 0..MAX_LINKS {
                    match fs::read_link(&path) {
                        Ok(to) => path = directory(&path).join(to),
                        Err(_) => return Ok(FileTarget::Nothing(path)),
                    }
                }
                Err(error)
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns whether a path is a name for an open file of a process.
fn is_descriptor(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"].iter().any(|names| path.starts_with(names))
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(directory: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".almoner-").suffix(".tmp").permissions(Permissions::from_mode(mode));
    // The error of the library names a temporary file, of which the user knows nothing.
    builder.tempfile_in(directory).map_err(|error| match (error.raw_os_error(), error.kind()) {
        (Some(code), _) => io::Error::from_raw_os_error(code),
        (None, io::ErrorKind::NotFound) => {
            io::Error::new(io::ErrorKind::NotFound, format!("there is no directory {}", directory.display()))
        }
        (None, kind) => kind.into(),
    })
}

/// Returns whether another file in the place of this one would lose something: a second name that leads to it, or a list
/// of those who may read it.
fn is_bound_to_its_file(path: &Path) -> io::Result<bool> {
    let has_list = rustix::fs::getxattr(path, c"system.posix_acl_access", &mut [0_u8; 64 << 10][..]).is_ok();
    Ok(has_list || fs::metadata(path)?.nlink() > 1)
}

fn replace_by_rename(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = OpenOptions::new().write(true).open(path)?.metadata()?;
    // The content may be private, so nobody else reads it before it has its permissions.
    let mut file = temporary(directory(path), 0o600)?;
    file.write_all(bytes)?;
    let new = file.as_file().metadata()?;
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        std::os::unix::fs::fchown(file.as_file(), Some(old.uid()), Some(old.gid()))?;
    }
    file.as_file().set_permissions(old.permissions())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Returns whether a file can perhaps be written where it is, though no other file can take its place.
///
/// Its directory takes no file, it belongs to another user, or another file system begins at it.
fn takes_no_rename(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::CrossesDevices
    )
}

/// Writes a file where it is. The space is reserved first, so that a full disk is found before the file is changed.
fn write_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).open(path)?;
    let length = bytes.len() as u64;
    if length > 0 {
        match rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, length) {
            // Some file systems cannot reserve space.
            Ok(()) | Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    file.write_all(bytes)?;
    file.set_len(length)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns the names in a directory.
    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn replaced_file_keeps_mode_and_link() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/file"), "a longer old text").unwrap();
        fs::set_permissions(at("d/file"), Permissions::from_mode(0o640)).unwrap();
        symlink("d/file", at("link")).unwrap();
        symlink("d/new", at("dangling")).unwrap();
        for path in ["link", "dangling", "plain"] {
            check_replaceable(&at(path)).unwrap();
            replace(&at(path), b"text").unwrap();
            assert_eq!(fs::read(at(path)).unwrap(), b"text", "{path}");
        }
        assert_eq!(fs::metadata(at("d/file")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(at("link").is_symlink() && at("dangling").is_symlink());
        write_in_place(&at("d/file"), b"other").unwrap();
        assert_eq!(fs::read(at("link")).unwrap(), b"other");
        assert_eq!(names(base.path()), ["d", "dangling", "link", "plain"]);
        assert_eq!(names(&at("d")), ["file", "new"]);
    }

    #[test]
    fn unwritable_place_is_found_before_it_is_written() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        fs::create_dir(at("d")).unwrap();
        symlink("missing/file", at("dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for (path, kind) in [
            ("dangling", io::ErrorKind::NotFound),
            ("missing/file", io::ErrorKind::NotFound),
            ("d", io::ErrorKind::IsADirectory),
            ("new/", io::ErrorKind::IsADirectory),
        ] {
            let path = PathBuf::from(format!("{}/{path}", base.path().display()));
            assert_eq!(check_replaceable(&path).unwrap_err().kind(), kind, "{path:?}");
            assert_eq!(replace(&path, b"x").unwrap_err().kind(), kind, "{path:?}");
        }
        let missing = at("missing");
        let says = check_replaceable(&missing.join("file")).unwrap_err().to_string();
        assert_eq!(says, format!("there is no directory {}", missing.display()));
        check_replaceable(&at("loop")).unwrap_err();
        // Even root makes no file there.
        check_replaceable(Path::new("/proc/self/file")).unwrap_err();
        // A device is written, and not replaced.
        check_replaceable(Path::new("/dev/full")).unwrap();
        let full = replace(Path::new("/dev/full"), b"x").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert_eq!(names(base.path()), ["d", "dangling", "loop"]);
    }

    #[test]
    fn unfinished_new_file_leaves_nothing() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("file");
        let mut begun = NewFile::begin(&path, NEW_FILE_MODE).unwrap();
        begun.write_all(b"half").unwrap();
        drop(begun);
        assert_eq!(names(base.path()), Vec::<String>::new());
        let late = NewFile::begin(&path, 0o600).unwrap();
        create(&path, 0o600, b"whole").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(late.finish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(create(&path, 0o600, b"x").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&path).unwrap().as_slice(), names(base.path()).len()), (&b"whole"[..], 1));
    }

    #[test]
    fn second_name_of_a_file_keeps_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        fs::write(&one, "old and longer").unwrap();
        fs::hard_link(&one, &other).unwrap();
        replace(&one, b"new").unwrap();
        assert_eq!((fs::read(&one).unwrap(), fs::read(&other).unwrap()), (b"new".to_vec(), b"new".to_vec()));
    }
}
