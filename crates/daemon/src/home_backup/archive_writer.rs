//! The writer of a backup.

use std::fs::File;
use std::io::{self, Read};

use flate2::Compression;
use flate2::write::GzEncoder;
use kernel::BlobHash;

use super::manifest::{HEADER, Header, INDEX, Index, IndexEntry};

/// The permissions of files that only the user may read.
pub const PRIVATE_FILE: u32 = 0o600;

/// The permissions of directories that only the user may enter.
pub const PRIVATE_DIR: u32 = 0o700;

/// A backup that is being written.
pub struct ArchiveWriter {
    tar: tar::Builder<GzEncoder<File>>,
    index: Index,
    seconds: u64,
}

impl ArchiveWriter {
    /// Begins a backup with its header.
    pub fn new(to: File, header: &Header) -> io::Result<ArchiveWriter> {
        let seconds = u64::try_from(header.made_ms / 1000).unwrap_or(0);
        let tar = tar::Builder::new(GzEncoder::new(to, Compression::fast()));
        let mut writer = ArchiveWriter { tar, index: Index::default(), seconds };
        let text = serde_json::to_vec_pretty(header)?;
        writer.append(HEADER, PRIVATE_FILE, text.len() as u64, &mut text.as_slice())?;
        Ok(writer)
    }

    /// Returns the parts that are left out, so that the caller can add some.
    pub fn left_out(&mut self) -> &mut Vec<String> {
        &mut self.index.left_out
    }

    /// Adds a directory, unless it is there already.
    pub fn directory(&mut self, path: &str, mode: u32) -> io::Result<()> {
        if self.index.entries.contains_key(path) {
            return Ok(());
        }
        let mut head = self.head(tar::EntryType::Directory, mode, 0);
        self.tar.append_data(&mut head, path, io::empty())?;
        self.index.entries.insert(path.to_owned(), IndexEntry::Directory { mode });
        Ok(())
    }

    /// Adds a file of this size, and the directories above it.
    ///
    /// # Errors
    /// When the source is shorter, or the file cannot be written.
    pub fn file(&mut self, path: &str, mode: u32, bytes: u64, from: &mut dyn Read) -> io::Result<()> {
        self.parents(path)?;
        let digest = self.append(path, mode, bytes, from)?;
        self.index.entries.insert(path.to_owned(), IndexEntry::File { mode, bytes, digest });
        Ok(())
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        let mut head = self.head(tar::EntryType::Symlink, 0o777, 0);
        self.tar.append_link(&mut head, path, target)?;
        self.index.entries.insert(path.to_owned(), IndexEntry::Link { target: target.to_owned() });
        Ok(())
    }

    /// Adds the index and ends the backup, which is on the disk then. Returns the number of its files.
    pub fn finish(mut self) -> io::Result<u64> {
        let is_file = |entry: &&IndexEntry| matches!(entry, IndexEntry::File { .. });
        let files = self.index.entries.values().filter(is_file).count() as u64;
        let text = serde_json::to_vec(&self.index)?;
        self.append(INDEX, PRIVATE_FILE, text.len() as u64, &mut text.as_slice())?;
        self.tar.into_inner()?.finish()?.sync_all()?;
        Ok(files)
    }

    fn parents(&mut self, path: &str) -> io::Result<()> {
        for (end, _) in path.match_indices('/') {
            self.directory(&path[..end], PRIVATE_DIR)?;
        }
        Ok(())
    }

    fn append(&mut self, path: &str, mode: u32, bytes: u64, from: &mut dyn Read) -> io::Result<BlobHash> {
        let mut head = self.head(tar::EntryType::Regular, mode, bytes);
        let mut source = Hashed { from, left: bytes, hasher: blake3::Hasher::new() };
        self.tar.append_data(&mut head, path, &mut source)?;
        match source.left {
            0 => Ok(BlobHash(*source.hasher.finalize().as_bytes())),
            _ => Err(io::Error::other(format!("{path} was changed while it was copied"))),
        }
    }

    fn head(&self, kind: tar::EntryType, mode: u32, bytes: u64) -> tar::Header {
        let mut head = tar::Header::new_gnu();
        head.set_entry_type(kind);
        head.set_mode(mode);
        head.set_size(bytes);
        head.set_mtime(self.seconds);
        head.set_uid(0);
        head.set_gid(0);
        head
    }
}

/// A source that is hashed while it is read, and that ends after a number of bytes.
struct Hashed<'a> {
    from: &'a mut dyn Read,
    left: u64,
    hasher: blake3::Hasher,
}

impl Read for Hashed<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(room.len());
        let count = self.from.read(&mut room[..most])?;
        self.hasher.update(&room[..count]);
        self.left -= count as u64;
        Ok(count)
    }
}
