//! The headers of the database file and of its log, read without SQLite.
//!
//! SQLite takes an empty file for a new database, and a log with a damaged header for an empty log. It writes to both
//! when it opens them. These functions only read.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

use crate::error::OpenError;
use crate::{migration, place, schema};

/// The mark of a file of this program: "ALMO" at offset 68.
pub(crate) const APPLICATION: i32 = 0x414c_4d4f;

/// The maximum length of the path of the database, in bytes. SQLite takes 512 with the endings of its own files.
const MAX_DATABASE_PATH_BYTES: usize = 504;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The number of bytes that are read of the database file: up to the end of the application's mark.
const HEAD: usize = 72;
/// The sizes of the header of a log, and of the header of each frame in it.
const LOG_HEAD: usize = 32;
const FRAME_HEAD: usize = 24;

/// Checks whether this build can open the store in `dir`, as far as the headers of its files show. Nothing is
/// written.
///
/// A directory without a store passes, because a store can be made there.
///
/// # Errors
/// The error that [`crate::Store::open`] would return.
pub fn inspect(dir: &Path) -> Result<(), OpenError> {
    let path = dir.join(place::DATABASE);
    match path.symlink_metadata() {
        // `StoreDirectory::claim` refuses a database that is no regular file or belongs to another user.
        Ok(meta) if meta.is_file() && meta.uid() == geteuid().as_raw() => recognise(dir).map(|_| ()),
        _ => is_absent_whole(dir),
    }
}

/// Checks that the path of a store is not too long for the database and the system. Nothing is written.
///
/// # Errors
/// [`OpenError::PathTooLong`], as [`crate::Store::open`] would return it.
pub fn check_path(dir: &Path) -> Result<(), OpenError> {
    let path = dir.join(place::DATABASE);
    let is_refused = |error: io::Error| error.kind() == io::ErrorKind::InvalidFilename;
    if path.as_os_str().len() > MAX_DATABASE_PATH_BYTES || path.symlink_metadata().is_err_and(is_refused) {
        return Err(OpenError::PathTooLong { path });
    }
    Ok(())
}

/// Refuses a store whose database is missing while other parts of the store exist.
pub(crate) fn is_absent_whole(dir: &Path) -> Result<(), OpenError> {
    let path = dir.join(place::DATABASE);
    let is_empty = fs::read_dir(dir.join(place::BLOBS)).map_or(true, |mut entries| entries.next().is_none());
    if path.symlink_metadata().is_err() && (place::log_of(&path).exists() || !is_empty) {
        return Err(OpenError::Missing { path });
    }
    Ok(())
}

/// Checks that the database file and its log are a store that this build opens, or migrates. Returns whether the last owner ended without
/// closing the store.
pub(crate) fn recognise(dir: &Path) -> Result<bool, OpenError> {
    let path = &dir.join(place::DATABASE);
    let head = head::<HEAD>(path)?;
    let corrupt = |path: &Path, detail: &str| {
        Err(OpenError::Corrupt { path: path.to_path_buf(), detail: detail.to_owned() })
    };
    if head.len() < HEAD {
        return corrupt(path, "it is cut short");
    }
    let head = head.as_slice();
    if &head[..16] != MAGIC {
        return corrupt(path, "it is not a database");
    }
    identify(dir, head)?;
    let log = place::log_of(path);
    // An empty log is as good as none.
    if fs::metadata(&log).map_or(0, |meta| meta.len()) == 0 {
        let len = fs::metadata(path).map_err(|error| OpenError::from_io(path, &error))?.len();
        let whole = u64::from(page_size(head)) * u64::from(number(head, 28));
        return if len < whole { corrupt(path, "it is cut short") } else { Ok(false) };
    }
    let head = self::head::<LOG_HEAD>(&log)?;
    let magic = [0x377f_0682_u32.to_be_bytes(), 0x377f_0683_u32.to_be_bytes()];
    // If the first page of a log never reached the disk, its header is all zeros. Such a log held nothing
    // acknowledged.
    if head.len() == LOG_HEAD && head.iter().any(|b| *b != 0) && !magic.iter().any(|m| head[..4] == *m) {
        return corrupt(&log, "it is not a log");
    }
    // If the owner was killed, the log may have a newer first page than the file.
    if let Some(first) = first_page(&log).map_err(|error| OpenError::from_io(&log, &error))? {
        identify(dir, &first)?;
    }
    Ok(!head.is_empty())
}

/// Checks which program and which version wrote a database header.
fn identify(dir: &Path, head: &[u8]) -> Result<(), OpenError> {
    if head[68..72] != APPLICATION.to_be_bytes() {
        return Err(OpenError::Foreign { path: dir.join(place::DATABASE) });
    }
    let dir = dir.to_path_buf();
    let version = number(head, 60);
    match version.cmp(&schema::VERSION) {
        std::cmp::Ordering::Less if migration::is_known(version) => Ok(()),
        std::cmp::Ordering::Less => Err(OpenError::Earlier { dir }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(OpenError::Newer { dir }),
    }
}

/// Returns the beginning of the database's first page from the last commit in the log that has this page, if there is
/// one.
fn first_page(log: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut log = BufReader::new(File::open(log)?);
    let mut head = [0; LOG_HEAD];
    if !fill(&mut log, &mut head)? {
        return Ok(None);
    }
    let size = number(&head, 8) as usize;
    if !(512..=65_536).contains(&size) || !size.is_power_of_two() {
        return Ok(None);
    }
    // The lowest bit of the magic number gives the byte order of the words in the checksum.
    let mut sum = Sum { big_endian: head[3] & 1 == 1, low: 0, high: 0 };
    sum.add(&head[..24]);
    if !sum.is(&head[24..]) {
        return Ok(None);
    }
    let (mut committed, mut pending) = (None, None);
    let mut frame = vec![0; FRAME_HEAD + size];
    while fill(&mut log, &mut frame)? {
        sum.add(&frame[..8]);
        sum.add(&frame[FRAME_HEAD..]);
        // The remaining frames are from an earlier use of the log, or were cut off.
        if frame[8..16] != head[16..24] || !sum.is(&frame[16..24]) {
            break;
        }
        if number(&frame, 0) == 1 {
            pending = Some(frame[FRAME_HEAD..FRAME_HEAD + HEAD].to_vec());
        }
        // The last frame of a commit has the length of the file after the commit. In other frames, this number is 0.
        if number(&frame, 4) != 0 {
            committed = pending.take().or(committed);
        }
    }
    Ok(committed)
}

/// The checksum of a frame of a log, which covers all frames before it too.
struct Sum {
    big_endian: bool,
    low: u32,
    high: u32,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks_exact(8) {
            self.low = self.low.wrapping_add(self.word(pair, 0)).wrapping_add(self.high);
            self.high = self.high.wrapping_add(self.word(pair, 4)).wrapping_add(self.low);
        }
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = number(bytes, at);
        if self.big_endian { word } else { word.swap_bytes() }
    }

    fn is(&self, stored: &[u8]) -> bool {
        (number(stored, 0), number(stored, 4)) == (self.low, self.high)
    }
}

/// Returns the number in the four bytes at `at`, in big-endian order.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn page_size(head: &[u8]) -> u32 {
    // The value 1 stands for 65,536, which does not fit into the field.
    match number(head, 16) >> 16 {
        1 => 65_536,
        size => size,
    }
}

/// Fills the buffer. Returns `false` if the source ends before.
fn fill(from: &mut impl Read, room: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(room) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// Returns at most the first `N` bytes of a file.
fn head<const N: usize>(path: &Path) -> Result<Vec<u8>, OpenError> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(N as u64).read_to_end(&mut head));
    read.map_err(|error| OpenError::from_io(path, &error))?;
    Ok(head)
}
