//! Files that are replaced whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 128 << 20;

/// A hook that runs before each step that a crash could come before; tests answer with an error.
pub(crate) type CrashHook<'a> = &'a dyn Fn() -> io::Result<()>;

/// Replaces a file, or makes it. A reader at any moment, a crash included, finds the old bytes or the new.
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

/// Removes a file; one that is not there is as good.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Returns the bytes of a file; `None` if there is none. Only its owner may be able to read it from then on.
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
