//! The reading of a program of modules from this machine: a directory, or a ZIP file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use passable::{to_base64, visible_line};
use vat::archive::{MAP, MAX_ARCHIVE_BYTES, MAX_ENTRIES, is_importable};

use control::exit::{Exit, Failure};
use control::protocol::GivenModules;

/// The maximum depth of directories in a program.
const MAX_DEPTH: usize = 32;

/// The folder of other packages. It is left out, because a directory is read as one package.
const PACKAGES_DIR: &str = "node_modules";

/// Reads the program at a path, or returns `None` if the path does not exist.
///
/// # Errors
/// When the program cannot be read, is too large, or contains links.
pub fn read(path: &str) -> Result<Option<GivenModules>, Failure> {
    let place = Path::new(path);
    let found = match fs::metadata(place) {
        Ok(found) => found,
        Err(e)
            if e.kind() == std::io::ErrorKind::NotFound || e.kind() == std::io::ErrorKind::NotADirectory =>
        {
            return Ok(None);
        }
        Err(e) => return Err(read_failure(place, e)),
    };
    if found.is_dir() {
        let mut gathered = ModuleFiles {
            files: BTreeMap::new(),
            remaining: MAX_ARCHIVE_BYTES,
            is_archive: place.join(MAP).is_file(),
        };
        gathered.directory(place, "", MAX_DEPTH)?;
        return Ok(Some(GivenModules::Files { files: gathered.files }));
    }
    if !found.is_file() {
        return Err(Failure::new(
            Exit::Usage,
            format!("{} is neither a file nor a directory", display_path(place)),
        )
        .help("name a directory or a ZIP file"));
    }
    let bytes = bytes(place, MAX_ARCHIVE_BYTES)?;
    // Every ZIP file begins with these bytes, also one that contains no file.
    if !bytes.starts_with(b"PK") {
        return Err(Failure::new(Exit::Invalid, format!("{} is no ZIP archive", display_path(place))).help(
            "name an archive of modules, or a directory with an `index.js`; `almoner eval @FILE` runs one file of code",
        ));
    }
    Ok(Some(GivenModules::Archive { base64: to_base64(&bytes) }))
}

fn display_path(path: &Path) -> String {
    visible_line(&path.to_string_lossy()).into_owned()
}

fn read_failure(path: &Path, e: std::io::Error) -> Failure {
    Failure::of_file("read", &path.to_string_lossy(), e)
}

fn too_large(path: &Path) -> Failure {
    let (path, most) = (display_path(path), MAX_ARCHIVE_BYTES >> 20);
    let what = format!("cannot take {path}: a program can have {most} MiB");
    Failure::new(Exit::Invalid, what).help("leave out what it does not import")
}

/// Returns the bytes of a file.
///
/// # Errors
/// When the file cannot be read, or has more than `most` bytes.
fn bytes(path: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    let file = fs::File::open(path).map_err(|e| read_failure(path, e))?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|e| read_failure(path, e))?;
    if bytes.len() > most { Err(too_large(path)) } else { Ok(bytes) }
}

/// The files that were found in a directory so far.
struct ModuleFiles {
    files: BTreeMap<String, String>,
    remaining: usize,
    /// Whether the directory is an unpacked archive, in which a file may have any name.
    is_archive: bool,
}

impl ModuleFiles {
    fn directory(&mut self, place: &Path, before: &str, depth: usize) -> Result<(), Failure> {
        if depth == 0 {
            return Err(Failure::new(Exit::Invalid, format!("{} lies too deep", display_path(place)))
                .help(format!("a program can have {MAX_DEPTH} directories in one another")));
        }
        for entry in fs::read_dir(place).map_err(|e| read_failure(place, e))? {
            let entry = entry.map_err(|e| read_failure(place, e))?;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                return Err(Failure::new(
                    Exit::Invalid,
                    format!("{} has a name that is no text", display_path(&path)),
                )
                .help("rename it"));
            };
            if !self.is_archive && (name.starts_with('.') || name == PACKAGES_DIR) {
                continue;
            }
            let kind = entry.file_type().map_err(|e| read_failure(&path, e))?;
            if kind.is_dir() {
                self.directory(&path, &format!("{before}{name}/"), depth - 1)?;
                continue;
            }
            let wanted = self.is_archive || is_importable(&name);
            // A link may lead to anything, including files that the user never meant to hand over.
            if kind.is_symlink() && (wanted || path.is_dir()) {
                return Err(Failure::new(Exit::Invalid, format!("{} is a link", display_path(&path)))
                    .help("put what it leads to in its place, or take it away"));
            }
            // A program runs without its source maps, so a large source map is left out.
            let is_map = !self.is_archive && name.ends_with(".map");
            if is_map && entry.metadata().is_ok_and(|found| found.len() > self.remaining as u64 / 4) {
                continue;
            }
            if wanted && kind.is_file() {
                self.file(&path, format!("{before}{name}"))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), Failure> {
        if self.files.len() >= MAX_ENTRIES {
            return Err(Failure::new(Exit::Invalid, format!("there are more than {MAX_ENTRIES} files"))
                .help("leave out what it does not import"));
        }
        let bytes = bytes(path, self.remaining)?;
        self.remaining -= bytes.len();
        self.files.insert(name, to_base64(&bytes));
        Ok(())
    }
}
