//! Reading in a mounted directory: the entries of directories, and the contents of files.

use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd as _;

use cap_std::fs::Dir;
use kernel::proposal::Finding;
use passable::visible_line;

use super::{Mount, plain, something};
use crate::failure;
use crate::path::{Plain, Purpose, is_temporary};
use crate::walk::{self, FoundEntry, Kind};

/// The maximum number of names in one directory.
const MAX_NAMES: usize = 10_000;

/// The result of a lookup: a place relative to the mounted directory, without links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPlace {
    /// The names that lead to the place.
    pub place: Vec<String>,
    /// Whether the place is a directory. Otherwise it is a file.
    pub is_directory: bool,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Whether the entry is a directory. Otherwise it is a file.
    pub is_directory: bool,
    /// Whether the entry is a link.
    pub is_link: bool,
}

impl Mount {
    /// Returns whether [`Mount::look_up`] would find a file or a directory.
    ///
    /// # Errors
    /// When the path is not valid, or the file system fails.
    pub fn has(&self, way: &[String]) -> Result<bool, Finding> {
        let Some(path) = plain(way, Purpose::Look)? else { return Ok(true) };
        match walk::look(&self.root, path.as_str()) {
            Ok(found) => Ok(self.shows(path.as_str(), &found)),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(failure::finding(&error, &format!("look for `{}`", path.as_str()), "path")),
        }
    }

    /// Returns the place at the end of a path.
    ///
    /// # Errors
    /// When the path does not exist, leads out, or leads to neither a file nor a directory.
    pub fn look_up(&self, way: &[String]) -> Result<ResolvedPlace, Finding> {
        let path = something(way, Purpose::Look)?;
        let found = self.found(&path, "look up")?;
        let place = found.resolved.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned);
        Ok(ResolvedPlace { place: place.collect(), is_directory: found.kind == Kind::Directory })
    }

    /// Returns the entries of a directory that can be looked up, sorted by name.
    ///
    /// # Errors
    /// When the directory cannot be read, or has too many entries.
    pub fn list(&self, way: &[String]) -> Result<Vec<Entry>, Finding> {
        self.entries(way).map(|(entries, _)| entries)
    }

    /// Returns the entries of a directory like `list`, for a caller that stores all of them. So no entry may be left
    /// out because of its name.
    ///
    /// # Errors
    /// As for `list`, and when an entry has a name by which it cannot be looked up.
    pub fn list_all(&self, way: &[String]) -> Result<Vec<Entry>, Finding> {
        match self.entries(way)? {
            (entries, None) => Ok(entries),
            (_, Some(name)) => {
                let what = format!("`{}` has a name by which it cannot be kept", visible_line(&name));
                Err(Finding::new("mount/name", what).at("path"))
            }
        }
    }

    /// Returns the entries of a directory, and the name of an entry that is left out because of its name.
    fn entries(&self, way: &[String]) -> Result<(Vec<Entry>, Option<String>), Finding> {
        let path = plain(way, Purpose::Look)?;
        let shown = path.as_ref().map_or(".", Plain::as_str);
        let failed = |error: &io::Error| failure::finding(error, &format!("list `{shown}`"), "path");
        let (mut entries, mut unnamed) = (Vec::new(), None);
        for (seen, entry) in self.root.read_dir(shown).map_err(|error| failed(&error))?.enumerate() {
            if seen == MAX_NAMES {
                let what = format!("`{}` holds more than {MAX_NAMES} names", visible_line(shown));
                return Err(Finding::new("mount/many", what).at("path"));
            }
            let entry = entry.map_err(|error| failed(&error))?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                // A file that the grant does not show is not mentioned either.
                let name = entry.file_name().to_string_lossy().into_owned();
                unnamed = Some(name).filter(|name| self.limits.cover(name, 0)).or(unnamed);
                continue;
            };
            let place =
                path.as_ref().map_or_else(|| name.clone(), |path| format!("{}/{name}", path.as_str()));
            if is_temporary(&name) {
                continue;
            }
            if Plain::check(&place, Purpose::Look).is_err() {
                unnamed = Some(place).filter(|_| self.limits.cover(&name, 0)).or(unnamed);
                continue;
            }
            // An entry does not exist for the caller if it vanishes meanwhile, or leads out of the directory.
            let Ok(found) = walk::look(&self.root, &place) else { continue };
            if self.shows(&name, &found) {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                entries.push(Entry { name, is_directory: found.kind == Kind::Directory, is_link });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((entries, unnamed))
    }

    /// Returns the bytes of a file. `most` is the maximum size, unless the grant has a smaller limit.
    ///
    /// # Errors
    /// When the file does not exist, cannot be read, or is too large.
    pub fn read(&self, way: &[String], most: u64) -> Result<Vec<u8>, Finding> {
        let path = something(way, Purpose::Look)?;
        let found = self.found(&path, "read")?;
        let shown = path.as_str();
        if found.kind != Kind::File {
            let what = format!("`{}` is {}, not a file", visible_line(shown), found.kind.phrase());
            return Err(Finding::new("mount/kind", what).at("path"));
        }
        let failed = |error: io::Error| failure::finding(&error, &format!("read `{shown}`"), "path");
        let file = walk::open(&self.root, &found).map_err(failed)?;
        let most = self.limits.bytes_or(most).min(most);
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > most {
            let what = format!("`{}` has more than {most} bytes", visible_line(shown));
            return Err(Finding::new("mount/size", what).at("path"));
        }
        Ok(bytes)
    }

    /// Returns the bytes of a file like `read`, or `None` if the file does not exist.
    ///
    /// # Errors
    /// When the file cannot be read, or is too large.
    pub fn maybe_read(&self, way: &[String], most: u64) -> Result<Option<Vec<u8>>, Finding> {
        if self.has(way)? { self.read(way, most).map(Some) } else { Ok(None) }
    }

    fn found(&self, path: &Plain, doing: &str) -> Result<FoundEntry, Finding> {
        let shown = path.as_str();
        let found = walk::look(&self.root, shown)
            .map_err(|error| failure::finding(&error, &format!("{doing} `{shown}`"), "path"))?;
        if let Kind::Other | Kind::Link = found.kind {
            let what = format!("`{}` is {}", visible_line(shown), found.kind.phrase());
            return Err(Finding::new("mount/kind", what).at("path"));
        }
        if found.kind == Kind::File {
            self.limits.check_name(shown)?;
            // A link must not lend a file a name that the grant covers.
            self.limits.check_name(&found.resolved)?;
        }
        Ok(found)
    }

    /// Returns whether the caller may see a found entry.
    fn shows(&self, name: &str, found: &FoundEntry) -> bool {
        match found.kind {
            Kind::Directory => true,
            Kind::File => self.limits.cover(name, found.bytes) && self.limits.fit_name(&found.resolved),
            Kind::Link | Kind::Other => false,
        }
    }

    /// Returns the handle of the directory itself.
    pub(super) fn root(&self) -> &Dir {
        &self.root
    }

    /// Returns the kind of the entry at a path, following no link, or `None` if the path does not exist.
    pub(super) fn kind_at(&self, path: &Plain) -> io::Result<Option<Kind>> {
        match walk::parent(self.root(), path)? {
            Some(parent) => walk::kind(parent.as_fd(), path.split().1),
            None => Ok(None),
        }
    }
}

/// Returns whether an error means that an entry does not exist for the caller, because it is missing or lies outside.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}
