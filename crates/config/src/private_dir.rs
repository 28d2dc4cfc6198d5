//! Directories and sockets of this user, in places where other users can make files of their own.
//!
//! The name of a directory among temporary files says nothing about its owner. So the kind, the owner and the mode of the
//! open directory are checked before it is used, and a mode changes through a descriptor alone.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use control::exit::{Exit, Failure};
use passable::visible_line;
use rustix::fs::{Mode, OFlags};

/// The owner that the system reports for files of users who do not exist in this container, such as its host's root.
const UNKNOWN_OWNER: u32 = 65534;

/// The map of users of a process outside of all containers, in which every user exists.
const ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];

/// Creates a directory that only its owner can enter. Refuses an existing one that another user could have created.
///
/// # Errors
/// When the directory cannot be created, is a link or no directory, or belongs to another user.
pub fn private_dir(dir: &Path) -> Result<(), Failure> {
    let fail = |what: String| {
        let dir = dir.to_string_lossy();
        Failure::new(Exit::Failure, format!("cannot use {}: {what}", visible_line(&dir)))
            .help("set ALMONER_HOME to a directory of yours")
    };
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| fail(e.to_string()))?;
    let opened = open_own(dir).map_err(|e| fail(e.to_string()))?;
    let meta = opened.metadata().map_err(|e| fail(e.to_string()))?;
    if meta.mode() & 0o1000 != 0 {
        return Err(fail("it is shared by several users: its sticky bit is set".to_owned()));
    }
    if meta.mode() & 0o077 != 0 {
        opened.set_permissions(Permissions::from_mode(0o700)).map_err(|e| fail(e.to_string()))?;
    }
    Ok(())
}

/// Makes a directory like [`private_dir`], among the files of other users. Refuses it also if another user could later
/// put another directory in its place.
///
/// # Errors
/// When the directory cannot be created, belongs to another user, or can be replaced by one.
pub fn private_dir_among_others(dir: &Path) -> Result<(), Failure> {
    inspect(dir).map_err(|what| {
        let dir = dir.to_string_lossy();
        Failure::new(Exit::Denied, format!("cannot use {}: {what}", visible_line(&dir)))
            .help("name another directory, or have the owner remove this one")
    })?;
    private_dir(dir)
}

/// Looks whether [`private_dir_among_others`] takes a directory. Nothing is made or changed.
///
/// # Errors
/// The reason why it does not.
pub fn inspect(dir: &Path) -> Result<(), String> {
    match open_own(dir) {
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e.to_string()),
    }
    match dir.parent() {
        Some(parent) => check_shared(parent),
        None => Ok(()),
    }
}

/// Checks that no other user can replace a file or directory of this user in a directory. A directory that does not
/// exist yet passes.
///
/// # Errors
/// The reason why another user can.
pub fn check_shared(dir: &Path) -> Result<(), String> {
    let meta = match std::fs::metadata(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta.map_err(|e| e.to_string())?,
    };
    let shown = dir.to_string_lossy();
    let shown = visible_line(&shown);
    if !meta.is_dir() {
        return Err(format!("{shown} is not a directory"));
    }
    let own = rustix::process::geteuid().as_raw();
    if ![0, own].contains(&meta.uid()) && !is_unknown(meta.uid()) {
        return Err(format!("{shown} belongs to another user, who can replace what is in it"));
    }
    match meta.mode() & 0o1002 {
        0o0002 => Err(format!("every user can replace what is in {shown}, since its sticky bit is not set")),
        _ => Ok(()),
    }
}

/// Returns whether an owner stands for users who do not exist in this container. Outside of containers, it is a user.
fn is_unknown(owner: u32) -> bool {
    let users = std::fs::read_to_string("/proc/self/uid_map");
    owner == UNKNOWN_OWNER && users.is_ok_and(|users| !users.split_whitespace().eq(ALL_USERS))
}

/// Opens a directory of this user, following no link at its name.
fn open_own(dir: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let not_ours = || io::Error::other("is not a directory of yours");
    let opened = match rustix::fs::open(dir, flags, Mode::empty()) {
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => return Err(not_ours()),
        // Another user's directory may also be closed to this user.
        Err(rustix::io::Errno::ACCESS) => return Err(not_ours()),
        opened => File::from(opened?),
    };
    match opened.metadata()?.uid() == rustix::process::geteuid().as_raw() {
        true => Ok(opened),
        false => Err(not_ours()),
    }
}

/// Closes a socket of this user to other users. It must lie in a directory where no other user can replace it.
///
/// # Errors
/// When there is no socket of this user at the path, or its mode cannot be changed.
pub fn close_socket_to_others(socket: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened: OwnedFd = rustix::fs::open(socket, flags, Mode::empty())?;
    let opened = File::from(opened);
    let meta = opened.metadata()?;
    if !meta.file_type().is_socket() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("another user has put something else in its place"));
    }
    // A socket cannot be opened otherwise. The mode of such a descriptor can be changed only through its own name.
    let own = format!("/proc/self/fd/{}", opened.as_raw_fd());
    std::fs::set_permissions(own, Permissions::from_mode(0o600))
}

/// Makes a directory for temporary files that only this user can enter. It is removed when the value is dropped.
///
/// # Errors
/// When it cannot be made, or another user could replace it.
pub fn temporary_dir(prefix: &str) -> io::Result<tempfile::TempDir> {
    let place = std::env::temp_dir();
    check_shared(&place).map_err(io::Error::other)?;
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(place)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    /// Reported of other programs: ROCm/rocm-cli#74, powerline/powerline#2217, Mibayy/token-savior#98.
    #[test]
    fn directory_of_others_is_refused_and_unchanged() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        std::fs::create_dir(path("target")).unwrap();
        std::fs::set_permissions(path("target"), Permissions::from_mode(0o755)).unwrap();
        symlink(path("target"), path("link")).unwrap();
        std::fs::write(path("file"), "x").unwrap();
        std::fs::create_dir(path("sticky")).unwrap();
        std::fs::set_permissions(path("sticky"), Permissions::from_mode(0o1777)).unwrap();
        for name in ["link", "file", "sticky"] {
            assert!(private_dir(&path(name)).is_err(), "{name}");
            assert!(private_dir_among_others(&path(name)).is_err(), "{name}");
        }
        assert_eq!(mode(&path("target")), 0o755, "the mode behind the link is unchanged");
        assert_eq!(mode(&path("sticky")), 0o1777);
        // A directory of one's own is closed, and a missing one is made closed.
        for name in ["target", "new/deep"] {
            private_dir_among_others(&path(name)).unwrap();
            assert_eq!(mode(&path(name)), 0o700, "{name}");
        }
        // Only root can give a directory away.
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir(path("theirs")).unwrap();
            std::os::unix::fs::chown(path("theirs"), Some(12345), None).unwrap();
            std::fs::set_permissions(path("theirs"), Permissions::from_mode(0o777)).unwrap();
            let refused = private_dir_among_others(&path("theirs")).unwrap_err();
            assert!(refused.message.raw().contains("not a directory of yours"), "{refused:?}");
            assert_eq!(mode(&path("theirs")), 0o777);
            assert!(private_dir_among_others(&path("theirs/mine")).is_err());
            // It is also theirs if they call themselves nobody.
            std::os::unix::fs::chown(path("theirs"), Some(UNKNOWN_OWNER), None).unwrap();
            std::fs::set_permissions(path("theirs"), Permissions::from_mode(0o1777)).unwrap();
            let all = std::fs::read_to_string("/proc/self/uid_map").unwrap();
            let is_refused = check_shared(&path("theirs")).is_err();
            assert_eq!(is_refused, all.split_whitespace().eq(ALL_USERS));
        }
    }

    #[test]
    fn directory_that_others_can_replace_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let shared = base.path().join("shared");
        std::fs::create_dir(&shared).unwrap();
        for (bits, is_safe) in [(0o777, false), (0o1777, true), (0o755, true), (0o700, true)] {
            std::fs::set_permissions(&shared, Permissions::from_mode(bits)).unwrap();
            assert_eq!(inspect(&shared.join("endo-me")).is_ok(), is_safe, "{bits:o}");
            assert_eq!(private_dir_among_others(&shared.join("endo-me")).is_ok(), is_safe, "{bits:o}");
        }
    }

    #[test]
    fn only_an_own_socket_is_closed_to_others() {
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        let _listener = UnixListener::bind(path("own.sock")).unwrap();
        close_socket_to_others(&path("own.sock")).unwrap();
        assert_eq!(mode(&path("own.sock")), 0o600);
        std::fs::write(path("script"), "x").unwrap();
        std::fs::set_permissions(path("script"), Permissions::from_mode(0o755)).unwrap();
        symlink(path("script"), path("link.sock")).unwrap();
        for name in ["script", "link.sock", "missing"] {
            assert!(close_socket_to_others(&path(name)).is_err(), "{name}");
        }
        assert_eq!(mode(&path("script")), 0o755);
    }
}
