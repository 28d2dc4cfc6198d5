//! Files that are replaced atomically.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

/// The maximum size of a file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 128 << 20;

/// A hook that runs before each step at which a crash could happen. Tests return an error from it.
pub(crate) type CrashHook<'a> = &'a dyn Fn() -> io::Result<()>;

/// Replaces a file, or creates it. At every moment, even after a crash, a reader finds either the old bytes or the
/// new ones.
pub(crate) fn replace(path: &Path, bytes: &[u8], step: CrashHook<'_>) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = Path::new(&name);
    step()?;
    remove(new)?;
    step()?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    step()?;
    file.write_all(bytes)?;
    step()?;
    file.sync_all()?;
    step()?;
    std::fs::rename(new, path)?;
    step()?;
    File::open(dir)?.sync_all()
}

/// Removes a file. A missing file is no error.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Moves a file to a name beside it at which there is nothing, such as `vault.key.earlier-1`. A missing file is no error.
pub(crate) fn keep_aside(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".earlier-{number}"));
        std::path::PathBuf::from(name)
    };
    match (1..).map(named).find(|name| name.symlink_metadata().is_err()) {
        Some(aside) => std::fs::rename(path, aside),
        None => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

/// Returns the bytes of a file, or `None` if there is no such file. If others could read the file, its permissions
/// are tightened.
pub(crate) fn read(path: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let nofollow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(nofollow).open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file of this program's"));
    }
    if meta.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    let size = usize::try_from(meta.len()).unwrap_or(0);
    let mut bytes = Zeroizing::new(Vec::with_capacity(size + 1));
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
