//! The loading of a worker file and its includes from a directory.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};

use super::bundle::{Bundle, MAX_BYTES};
use super::{parse, suggest};

/// The maximum size of all included files together, in bytes.
const MAX_INCLUDED: usize = 4 << 20;
/// The maximum number of names in a directory that are compared with a misspelled name.
const MAX_NAMES: usize = 1_000;

/// The reason why a worker file could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file's name cannot be that of a worker file.
    #[error("`{}` is not the name of a worker file: {why}", path.display())]
    Name {
        /// The given path.
        path: PathBuf,
        /// The reason why the name is invalid.
        why: &'static str,
        /// A worker in the same directory with a similar name.
        near: Option<String>,
    },
    /// There is no such file.
    #[error("there is no file `{}`", path.display())]
    Missing {
        /// The given path.
        path: PathBuf,
        /// A worker in the same directory with a similar name.
        near: Option<String>,
    },
    /// The path exists, but is not a regular file. It may be a directory, a pipe or a device.
    #[error("`{}` is not a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The worker file or an included file is too large.
    #[error("`{}` is larger than {} KiB", path.display(), limit >> 10)]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// The maximum size, in bytes.
        limit: usize,
    },
    /// The file is not UTF-8 text.
    #[error("`{}` is not UTF-8 text: the byte at offset {offset} (line {line}) cannot be read", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
        /// The offset of the first invalid byte.
        offset: usize,
        /// The line of that byte, from 1.
        line: usize,
    },
    /// The path leads out of the directory of the worker file.
    #[error("`{}` leads out of the directory of the worker file", path.display())]
    OutsideDirectory {
        /// The path.
        path: PathBuf,
    },
    /// The operating system failed to read the file.
    #[error("`{}` cannot be read", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl LoadError {
    /// Returns a way to fix the problem, in one line.
    pub fn help(&self) -> String {
        match self {
            LoadError::Name { near: Some(near), .. } | LoadError::Missing { near: Some(near), .. } => {
                format!("did you mean `{near}`?")
            }
            LoadError::Name { .. } => "a worker file is called `NAME.worker` or `NAME.worker.md`".to_owned(),
            LoadError::Missing { .. } => {
                "look at the path; there is no worker file of a similar name there".to_owned()
            }
            LoadError::NotAFile { .. } => "give the path of a worker file".to_owned(),
            LoadError::TooLarge { .. } => "hand long documents over as attachments or inputs".to_owned(),
            LoadError::NotText { .. } => "save it as UTF-8".to_owned(),
            LoadError::OutsideDirectory { .. } => "copy the file instead of linking to it".to_owned(),
            LoadError::Io { .. } => "look at the file's permissions".to_owned(),
        }
    }
}

impl Bundle {
    /// Reads a worker file and its includes, all from the file's directory or below it. A missing include is no error
    /// here. [`parse`] reports it, because it knows the place of the include.
    ///
    /// # Errors
    /// When the worker file is missing. When the worker file or an included file is not a file, is too large, is not
    /// text, or leads out of the directory.
    pub fn load(path: &Path) -> Result<Bundle, LoadError> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let Some(file) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(LoadError::NotAFile { path: path.to_owned() });
        };
        let dir = match Dir::open_ambient_dir(parent, ambient_authority()) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LoadError::Missing { path: path.to_owned(), near: None });
            }
            Err(source) => return Err(LoadError::Io { path: parent.to_owned(), source }),
        };
        let near = || near(&dir, file).map(|name| path.with_file_name(name).display().to_string());
        let Some(name) = file.strip_suffix(".worker.md").or_else(|| file.strip_suffix(".worker")) else {
            let why = "it does not end in `.worker` or `.worker.md`";
            return Err(LoadError::Name { path: path.to_owned(), why, near: near() });
        };
        if !is_name(name) {
            let why = "a name is letters, digits, `-` and `_`, at most 64, and begins with a letter";
            return Err(LoadError::Name { path: path.to_owned(), why, near: None });
        }
        let source = match read(&dir, file, path, MAX_BYTES)? {
            Some(source) => source,
            None => return Err(LoadError::Missing { path: path.to_owned(), near: near() }),
        };
        let mut bundle =
            Bundle { name: name.to_owned(), file: file.to_owned(), source, includes: BTreeMap::new() };
        bundle.load_includes(&dir, parent)?;
        Ok(bundle)
    }

    /// Reads the included files, then the files that those include, until there are no new ones.
    fn load_includes(&mut self, dir: &Dir, parent: &Path) -> Result<(), LoadError> {
        let (mut missing, mut total) = (Vec::new(), 0);
        loop {
            let wanted = parse::wanted(self);
            let mut new = wanted
                .into_iter()
                .filter(|name| !self.includes.contains_key(name) && !missing.contains(name));
            let Some(name) = new.next() else { return Ok(()) };
            match read(dir, &name, &parent.join(&name), MAX_BYTES.min(MAX_INCLUDED.saturating_sub(total)))? {
                Some(text) => {
                    total += text.len();
                    self.includes.insert(name, text);
                }
                None => missing.push(name),
            }
        }
    }
}

/// Returns whether a worker can have this name.
fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Returns the text of a file in a directory, or `None` if there is no such file. `shown` is the path for messages.
fn read(dir: &Dir, name: &str, shown: &Path, limit: usize) -> Result<Option<String>, LoadError> {
    let path = || shown.to_owned();
    let mut options = OpenOptions::new();
    // Without this flag, opening a pipe would block until the pipe has a writer.
    options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = match dir.open_with(name, &options) {
        Ok(file) => file,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                io::ErrorKind::IsADirectory => Err(LoadError::NotAFile { path: path() }),
                // For links and `..` that lead out of the directory, cap-std returns an error without a system error
                // number.
                io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                    Err(LoadError::OutsideDirectory { path: path() })
                }
                _ => Err(LoadError::Io { path: path(), source: error }),
            };
        }
    };
    let io = |source| LoadError::Io { path: path(), source };
    if !file.metadata().map_err(io)?.is_file() {
        return Err(LoadError::NotAFile { path: path() });
    }
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() > limit {
        return Err(LoadError::TooLarge { path: path(), limit });
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..offset).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        LoadError::NotText { path: path(), offset, line }
    })
}

/// Returns the worker file in a directory whose name is nearest to `file`. The ending of `file` is ignored.
fn near(dir: &Dir, file: &str) -> Option<String> {
    let names =
        dir.entries().ok()?.take(MAX_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let workers: Vec<String> =
        names.filter(|name| name.ends_with(".worker") || name.ends_with(".worker.md")).collect();
    let stem = |name: &str| name.strip_suffix(".md").unwrap_or(name).trim_end_matches(".worker").to_owned();
    let stems: Vec<String> = workers.iter().map(|name| stem(name)).collect();
    let meant = suggest::nearest(&stem(file), stems.iter().map(String::as_str))?;
    stems.iter().position(|stem| stem == meant).and_then(|at| workers.get(at).cloned())
}
