//! The administrator's files on the disk: their place, their owner, and their changes.
//!
//! Each directory from the root on is opened by its descriptor, and none may be a link. So no other user can put a file
//! of their own in the place of one of these.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::ManagedError;

/// The directory of the administrator's files.
#[cfg(not(target_os = "macos"))]
const DIRECTORY: &str = "/etc/almoner";
/// The directory of the administrator's files. `/etc` is a link on this system.
#[cfg(target_os = "macos")]
const DIRECTORY: &str = "/private/etc/almoner";

/// The flag with which a directory is opened only to look at it and to go on from it.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH;
/// The flag with which a directory is opened, on systems that cannot only look at one.
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::RDONLY;

/// The file with the rules.
const RULES_FILE: &str = "managed.toml";

/// The file with the policies.
pub const POLICY_FILE: &str = "managed.cedar";

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 128 << 10;

/// The age of a change from which on its writer is done. Many programs write a file in two steps, and half of the
/// rules may be valid rules.
const SETTLED_AGE: Duration = Duration::from_secs(1);

/// The time between two looks at files that change.
const SETTLE_INTERVAL: Duration = Duration::from_millis(100);

/// The maximum number of looks at files that change.
const MAX_LOOKS: usize = 20;

/// The texts of the administrator's files, as far as they exist.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// The rules.
    pub(super) rules: Option<String>,
    /// The policies.
    pub(super) policies: Option<String>,
}

/// The place of the files.
struct Place {
    directory: PathBuf,
    /// The first directory whose owner counts: the root of the file system, except in a test.
    first: PathBuf,
}

/// The variable that names the directory for a program that a test starts.
#[cfg(feature = "failpoints")]
const TEST_VARIABLE: &str = "ALMONER_TEST_MANAGED";

/// Returns the place for tests, if this process belongs to one.
#[cfg(feature = "failpoints")]
fn test_place() -> Option<Place> {
    let directory = PathBuf::from(std::env::var_os(TEST_VARIABLE)?);
    Some(Place { first: directory.clone(), directory })
}

/// Returns `None`: without failpoints, only the fixed place counts.
#[cfg(not(feature = "failpoints"))]
fn test_place() -> Option<Place> {
    None
}

fn place() -> Place {
    test_place().unwrap_or_else(|| Place { directory: DIRECTORY.into(), first: "/".into() })
}

/// Returns the path of the file with the rules.
pub(super) fn rules_path() -> PathBuf {
    place().directory.join(RULES_FILE)
}

/// Returns the path of the file with the policies.
pub fn policy_path() -> PathBuf {
    place().directory.join(POLICY_FILE)
}

/// The fingerprints of the directories and the files, by which a change is noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamps(Vec<Option<Stamp>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    access: (u32, u32),
    /// The size, and the times of the last change of content and of attributes. They count for files alone.
    content: Option<(u64, i128, i128)>,
}

impl Stamps {
    /// Returns the present fingerprints.
    pub(super) fn now() -> Stamps {
        let Place { directory, first } = place();
        let mut all: Vec<_> = ancestors(&directory, &first).iter().map(|path| Stamp::of(path)).collect();
        all.extend([RULES_FILE, POLICY_FILE].map(|name| Stamp::of(&directory.join(name))));
        Stamps(all)
    }

    /// Returns the fingerprints once the files have not changed for a while. `now` are those of the last look.
    pub(super) fn settled(mut now: Stamps) -> Stamps {
        for _ in 0..MAX_LOOKS {
            if !now.is_recent() {
                break;
            }
            std::thread::sleep(SETTLE_INTERVAL);
            let then = Stamps::now();
            if then == now {
                break;
            }
            now = then;
        }
        now
    }

    /// Returns whether a file was changed just now.
    fn is_recent(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let settled = now.saturating_sub(SETTLED_AGE).as_nanos();
        let mut changes = self.0.iter().flatten().filter_map(|stamp| stamp.content);
        changes.any(|(_, _, changed)| u128::try_from(changed).is_ok_and(|changed| changed > settled))
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        use std::os::unix::fs::MetadataExt as _;
        // A link is refused, so its own fingerprint counts.
        let meta = std::fs::symlink_metadata(path).ok()?;
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        let content = (!meta.is_dir()).then(|| {
            let written = nanoseconds(meta.mtime(), meta.mtime_nsec());
            // Programs cannot set this time.
            let changed = nanoseconds(meta.ctime(), meta.ctime_nsec());
            (meta.len(), written, changed)
        });
        Some(Stamp { place: (meta.dev(), meta.ino()), access: (meta.uid(), meta.mode()), content })
    }
}

/// Returns the directories from `first` to `directory`, both included.
fn ancestors(directory: &Path, first: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        directory.ancestors().take_while(|path| path.starts_with(first)).map(Path::to_owned).collect();
    all.reverse();
    all
}

/// Reads the administrator's files.
///
/// # Errors
/// When somebody else than root can have written one of them, or one cannot be read by every user.
pub(super) fn texts() -> Result<Texts, ManagedError> {
    let Place { directory, first } = place();
    let mut opened: Option<OwnedFd> = None;
    let mut walked = Vec::new();
    for path in ancestors(&directory, &first) {
        let flags = LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match (&opened, path.file_name()) {
            (Some(above), Some(name)) => rustix::fs::openat(above, name, flags, Mode::empty()),
            _ => rustix::fs::open(&path, flags, Mode::empty()),
        };
        let found = match found {
            Ok(found) => found,
            // Without the directory, nothing is managed.
            Err(Errno::NOENT) => return Ok(Texts::default()),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                let reason = "it is a link, or no directory";
                let repair = format!("mv {0} {0}.old; mkdir -m 755 {0}", path.display());
                return Err(ManagedError::Untrusted { path, reason, repair });
            }
            Err(error) => return Err(ManagedError::Unreadable { path, source: error.into() }),
        };
        let stat = rustix::fs::fstat(&found)
            .map_err(|error| ManagedError::Unreadable { path: path.clone(), source: error.into() })?;
        walked.push((path, stat));
        opened = Some(found);
    }
    let Some(opened) = opened else { return Ok(Texts::default()) };
    let open = |name: &str| open_file(&opened, &directory, name);
    let (rules, policies) = (open(RULES_FILE)?, open(POLICY_FILE)?);
    if rules.is_none() && policies.is_none() {
        return Ok(Texts::default());
    }
    // The owner of the directories counts only if there is a file that another could replace.
    walked.iter().try_for_each(|(path, stat)| expect_of_root(path, stat, true))?;
    let read = |found: Option<std::fs::File>, name: &str| {
        found.map(|file| read_file(file, &directory.join(name))).transpose()
    };
    Ok(Texts { rules: read(rules, RULES_FILE)?, policies: read(policies, POLICY_FILE)? })
}

fn open_file(above: &OwnedFd, directory: &Path, name: &str) -> Result<Option<std::fs::File>, ManagedError> {
    let path = directory.join(name);
    // Without the flag NONBLOCK, opening a pipe without a writer would block for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::openat(above, name, flags, Mode::empty()) {
        Ok(found) => Ok(Some(std::fs::File::from(found))),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP) => Err(untrusted_link(path)),
        Err(error) => Err(ManagedError::Unreadable { path, source: error.into() }),
    }
}

fn untrusted_link(path: PathBuf) -> ManagedError {
    let repair = format!("cp --remove-destination \"$(readlink -f {0})\" {0}", path.display());
    ManagedError::Untrusted { path, reason: "it is a link", repair }
}

fn read_file(file: std::fs::File, path: &Path) -> Result<String, ManagedError> {
    let unreadable = |source: std::io::Error| ManagedError::Unreadable { path: path.to_owned(), source };
    let stat = rustix::fs::fstat(&file).map_err(|error| unreadable(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        let repair = format!("mv {0} {0}.old", path.display());
        return Err(ManagedError::Untrusted { path: path.to_owned(), reason: "it is no file", repair });
    }
    expect_of_root(path, &stat, false)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let invalid = |reason: String, advice: &str| ManagedError::Invalid {
        place: path.display().to_string(),
        reason,
        advice: advice.to_owned(),
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let reason = format!("it has more than {} KiB", MAX_FILE_BYTES >> 10);
        return Err(invalid(reason, "write fewer and more general rules"));
    }
    String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8".to_owned(), "save it as plain text"))
}

/// Returns whether a file of this owner counts as the administrator's.
fn is_root(owner: u32) -> bool {
    // A test that is not run by root can make no file of root.
    owner == 0 || (test_place().is_some() && owner == rustix::process::geteuid().as_raw())
}

/// Checks that only root can have written a file or can replace it, and that it binds every user.
fn expect_of_root(path: &Path, stat: &Stat, is_directory: bool) -> Result<(), ManagedError> {
    let untrusted =
        |reason, repair: String| Err(ManagedError::Untrusted { path: path.to_owned(), reason, repair });
    if !is_root(stat.st_uid) {
        return untrusted("it does not belong to root", format!("chown root:root {}", path.display()));
    }
    if stat.st_mode & 0o022 != 0 {
        let what =
            if is_directory { "others than root may write into it" } else { "others than root may write it" };
        return untrusted(what, format!("chmod go-w {}", path.display()));
    }
    let for_others = if is_directory { Mode::XOTH } else { Mode::ROTH };
    if Mode::from_raw_mode(stat.st_mode).contains(for_others) {
        Ok(())
    } else {
        Err(ManagedError::Hidden { path: path.to_owned(), is_directory })
    }
}
