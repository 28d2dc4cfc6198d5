//! The reading of programs from an archive or a tree of files. The result is [`Modules`]. Nothing is run, and nothing
//! is read but the given bytes.
//!
//! An archive is a ZIP file of sources with a `compartment-map.json`, in the format of Endo's `bundle-source` and
//! `compartment-mapper`. Only the files that the map names are unpacked. Each file must have the digest in the map,
//! if the map has one. A source map that a source names is read too, if it lies in the source's package.

mod map;
mod tree;

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use passable::visible_line;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::modules::{MAX_SOURCE_BYTES, join};
use crate::source_map::{MAX_MAP_BYTES, beside};
use crate::{ModuleName, Modules};

/// The maximum size of an archive, in bytes.
pub const MAX_ARCHIVE_BYTES: usize = 16 << 20;
/// The maximum number of entries of an archive, whether the map names them or not.
pub const MAX_ENTRIES: usize = 4_000;
/// The first bytes of an entry in the directory of a ZIP file.
const ENTRY_SIGNATURE: &[u8] = b"PK\x01\x02";
/// The name of the file that describes an archive.
pub const MAP: &str = "compartment-map.json";

/// The reason why an archive or a tree is not a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// A size is beyond its limit, packed or unpacked.
    #[error("the archive has {what}, but {most} is the limit")]
    TooLarge {
        /// The amount that is too large, such as `9000000 bytes`.
        what: String,
        /// The limit.
        most: usize,
    },
    /// The archive is not a ZIP file, or is damaged.
    #[error("the archive cannot be read: {0}")]
    Damaged(String),
    /// A required file is missing.
    #[error("the archive has no file `{0}`")]
    NoFile(String),
    /// A file's digest differs from the digest in the map.
    #[error("the file `{0}` is not the one that the map speaks of: its digest is another")]
    Digest(String),
    /// The map, the package description or a file has the wrong form.
    #[error("{0}")]
    Shape(String),
}

/// A source of files, by their paths.
trait Files {
    /// Returns the bytes of a file. A file of more than `most` bytes is an error.
    fn file(&mut self, path: &str, most: usize) -> Result<Vec<u8>, ArchiveError>;
}

/// Files, with the number of bytes that may still be taken from them.
struct FileBudget<'a> {
    files: &'a mut dyn Files,
    /// The number of bytes that sources may still have, of all that may be unpacked.
    left: usize,
    /// The source maps that sources name: the source, and the path of its map.
    wanted: Vec<(ModuleName, String)>,
}

impl<'a> FileBudget<'a> {
    fn of(files: &'a mut dyn Files) -> FileBudget<'a> {
        FileBudget { files, left: MAX_SOURCE_BYTES, wanted: Vec::new() }
    }

    fn source(&mut self, path: &str) -> Result<Vec<u8>, ArchiveError> {
        let bytes = self.files.file(path, self.left)?;
        self.left = self.left.saturating_sub(bytes.len());
        Ok(bytes)
    }

    /// Notes the source map that a source names, if the map is a file in the folder of the source's package.
    fn request_map(&mut self, source: ModuleName, folder: &str, location: &str, text: &str) {
        let joined = beside(text).and_then(|map| join(&format!("./{location}"), &format!("./{map}")));
        if let Some(path) = joined.as_deref().and_then(|path| path.strip_prefix("./")) {
            self.wanted
                .push((source, if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }));
        }
    }

    /// Returns the source maps that were noted. They are read after all sources. A map that cannot be read is left
    /// out, because the program runs without it.
    fn maps(&mut self) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut maps: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut left = MAX_MAP_BYTES;
        for (source, path) in std::mem::take(&mut self.wanted) {
            let Ok(bytes) = self.files.file(&path, left) else { continue };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            left = left.saturating_sub(text.len());
            maps.entry(source.package).or_default().insert(source.module, text);
        }
        maps
    }
}

/// Unpacks an archive.
///
/// # Errors
/// [`ArchiveError`]. The archive is foreign, so none of its statements is trusted.
pub fn unpack(bytes: &[u8]) -> Result<Modules, ArchiveError> {
    if bytes.len() > MAX_ARCHIVE_BYTES {
        return Err(ArchiveError::TooLarge {
            what: format!("{} bytes", bytes.len()),
            most: MAX_ARCHIVE_BYTES,
        });
    }
    // The entries are counted before the directory is read, because each takes far more space in memory than in the
    // archive.
    let entries = bytes.windows(ENTRY_SIGNATURE.len()).filter(|window| *window == ENTRY_SIGNATURE).count();
    if entries > MAX_ENTRIES {
        return Err(ArchiveError::TooLarge { what: format!("{entries} entries"), most: MAX_ENTRIES });
    }
    let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    program(&mut ArchiveFiles { zip, left: bytes.len() as u64 })
}

/// Returns whether a file of a tree can be used, by its name. `.js` and `.mjs` are modules, `.json` is JSON, `.txt`
/// and `.md` are text, and `.map` is a source map. All others are ignored, unless the tree is an unpacked archive.
pub fn is_importable(path: &str) -> bool {
    tree::language(path).is_some() || path.ends_with(".map")
}

/// Makes a program from a tree of files. Their paths are separated by `/` and have no leading one. A tree with a
/// `compartment-map.json` is an unpacked archive. Any other tree is one package, whose modules can import each other
/// only by relative paths. Its first module is the one that `package.json` names, or `index.js`.
///
/// # Errors
/// [`ArchiveError`].
pub fn from_tree(files: &BTreeMap<String, Vec<u8>>) -> Result<Modules, ArchiveError> {
    match files.contains_key(MAP) {
        true => program(&mut TreeFiles(files)),
        false => tree::program(files, &mut FileBudget::of(&mut TreeFiles(files))).and_then(checked),
    }
}

fn program(files: &mut dyn Files) -> Result<Modules, ArchiveError> {
    // The map itself does not count as a source.
    let text = files.file(MAP, MAX_SOURCE_BYTES)?;
    checked(map::program(&text, &mut FileBudget::of(files))?)
}

fn checked(modules: Modules) -> Result<Modules, ArchiveError> {
    modules.check().map_err(ArchiveError::Shape)?;
    Ok(modules)
}

fn damaged(error: &ZipError) -> ArchiveError {
    ArchiveError::Damaged(visible_line(&error.to_string()).into_owned())
}

struct ArchiveFiles<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// The number of packed bytes that may still be unpacked. Entries that overlap, or are read twice, would have
    /// more bytes than the archive.
    left: u64,
}

impl Files for ArchiveFiles<'_> {
    fn file(&mut self, path: &str, most: usize) -> Result<Vec<u8>, ArchiveError> {
        let file = self.zip.by_name(path).map_err(|error| match error {
            ZipError::FileNotFound => ArchiveError::NoFile(visible_line(path).into_owned()),
            other => damaged(&other),
        })?;
        let left = self.left.checked_sub(file.compressed_size());
        self.left = left.ok_or_else(|| ArchiveError::Damaged("its files overlap".to_owned()))?;
        // The sizes that the archive states are not trusted.
        let mut bytes = Vec::new();
        let read = file.take(most as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| ArchiveError::Damaged(visible_line(&error.to_string()).into_owned()))?;
        within(bytes.len(), most)?;
        Ok(bytes)
    }
}

struct TreeFiles<'a>(&'a BTreeMap<String, Vec<u8>>);

impl Files for TreeFiles<'_> {
    fn file(&mut self, path: &str, most: usize) -> Result<Vec<u8>, ArchiveError> {
        let found = self.0.get(path).ok_or_else(|| ArchiveError::NoFile(visible_line(path).into_owned()))?;
        within(found.len(), most)?;
        Ok(found.clone())
    }
}

fn within(bytes: usize, most: usize) -> Result<(), ArchiveError> {
    match bytes > most {
        true => {
            Err(ArchiveError::TooLarge { what: "more bytes of sources".to_owned(), most: MAX_SOURCE_BYTES })
        }
        false => Ok(()),
    }
}

/// Returns the text of a file, without a byte order mark.
fn text(path: &str, bytes: Vec<u8>) -> Result<String, ArchiveError> {
    let text = String::from_utf8(bytes)
        .map_err(|_| ArchiveError::Shape(format!("the file `{}` is not UTF-8", visible_line(path))))?;
    Ok(match text.strip_prefix('\u{FEFF}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
