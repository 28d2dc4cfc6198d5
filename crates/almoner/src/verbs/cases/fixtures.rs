//! Copies of endowed directories, so that a case changes nothing but them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use passable::visible_line;

use super::sandbox::CaseSandbox;
use config::case::{Case, SLOTS, is_within};
use resource::{Endowment, ResourceSpec, programs};

/// The maximum number of bytes that are copied for one case.
const MAX_BYTES: u64 = 64 << 20;
/// The maximum number of files and directories that are copied for one case.
const MAX_FILES: usize = 20_000;
/// The maximum depth of directories.
const MAX_DEPTH: usize = 64;

/// Copies of directories for a case. All writes go through the one directory that contains the copies, so nothing in
/// a case can redirect them.
#[derive(Debug)]
pub struct Fixtures<'a> {
    sandbox: &'a CaseSandbox,
    /// The path of the directory that contains the copies. `room` is the same directory, opened.
    at: PathBuf,
    room: Dir,
    /// The real path of each copied directory, and the path of its copy in `room`.
    copies: Vec<(PathBuf, PathBuf)>,
    bytes: u64,
    files: usize,
}

fn display_path(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}

impl<'a> Fixtures<'a> {
    /// Creates the directory `at`, in which the copies will lie.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn create(at: &Path, within: &'a CaseSandbox) -> Result<Fixtures<'a>, String> {
        let fail = |e: std::io::Error| format!("{}: {e}", display_path(at));
        std::fs::create_dir_all(at).map_err(fail)?;
        let at = std::fs::canonicalize(at).map_err(fail)?;
        let room = Dir::open_ambient_dir(&at, ambient_authority()).map_err(fail)?;
        Ok(Fixtures { sandbox: within, at, room, copies: vec![], bytes: 0, files: 0 })
    }

    /// Replaces the directories of the endowments by copies. Endowments that reach beyond this machine, cannot be
    /// copied, or need the user's trust first are refused.
    ///
    /// # Errors
    /// When the case cannot be tried, with the reason.
    pub fn take(&mut self, endowments: &mut [Endowment]) -> Result<(), String> {
        let mut paths: Vec<(PathBuf, &mut String)> = Vec::new();
        for given in endowments {
            let slot = &given.slot;
            let real = |path: &str| {
                self.sandbox.real_path(Path::new(path)).map_err(|why| format!("`{slot}`: {why}"))
            };
            match &mut given.fill {
                ResourceSpec::Path(fill) => {
                    let real = real(&fill.path)?;
                    if real.is_file() {
                        // The path is a worker file or another single file, which is only read.
                        if fill.write {
                            return Err(format!("`{slot}` is a file, and only directories are written in"));
                        }
                        fill.path = self.sandbox.text(&real)?;
                    } else {
                        paths.push((real, &mut fill.path));
                    }
                }
                ResourceSpec::Program(fill) if fill.network => {
                    return Err(format!("`{slot}` may open connections, and a case sends nothing"));
                }
                ResourceSpec::Program(fill)
                    if fill.environment.values().any(|value| value.secret().is_some()) =>
                {
                    return Err(format!("`{slot}` needs a secret, and a case has no vault"));
                }
                ResourceSpec::Program(_) if !self.sandbox.is_trusted() => {
                    return Err(format!(
                        "`{slot}` runs programs, and the case {}",
                        self.sandbox.trust_help()
                    ));
                }
                ResourceSpec::Program(fill) => {
                    let directories = fill.directories.iter_mut().map(|(path, _)| path);
                    for path in directories.filter(|path| programs::staged_slot(path).is_none()) {
                        let real = real(path)?;
                        if real.is_file() {
                            return Err(format!("`{slot}`: {} is no directory", display_path(&real)));
                        }
                        paths.push((real, path));
                    }
                }
                ResourceSpec::Git(fill) => {
                    let real = real(&fill.path)?;
                    if !real.join(".git").symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                        return Err(format!("`{slot}` is a repository that lies elsewhere"));
                    }
                    paths.push((real, &mut fill.path));
                }
                ResourceSpec::Clock | ResourceSpec::Myself => {}
                ResourceSpec::Secret(_) => {
                    return Err(format!("`{slot}` is a secret, and a case has no vault"));
                }
                // Kinds for which no copying is defined are refused too.
                _ => {
                    return Err(format!(
                        "`{slot}` leads out of this machine's directories, and a case sends nothing"
                    ));
                }
            }
        }
        // The outer directories come first. A directory inside another one then lies in the copy of the outer one as
        // well.
        paths.sort_by_key(|(real, _)| real.components().count());
        for (real, path) in paths {
            *path = self.copy_of(&real)?;
        }
        Ok(())
    }

    /// Returns the path of the copy of a directory. Each directory, identified by its real path, is copied only once.
    fn copy_of(&mut self, real: &Path) -> Result<String, String> {
        let lies_in = self.copies.iter().find_map(|(from, to)| Some(to.join(real.strip_prefix(from).ok()?)));
        let to = match lies_in {
            Some(to) => to,
            None => {
                let to = Path::new(&self.copies.len().to_string()).join(real.file_name().unwrap_or_default());
                match Dir::open_ambient_dir(real, ambient_authority()) {
                    Ok(from) => self.copy(&from, real, &to, 0)?,
                    // The run will make the directory.
                    Err(e) if e.kind() == ErrorKind::NotFound => self.make(&to)?,
                    Err(e) => return Err(format!("{}: {e}", display_path(real))),
                }
                self.copies.push((real.to_owned(), to.clone()));
                to
            }
        };
        self.at.join(to).into_os_string().into_string().map_err(|_| "a path is not text".to_owned())
    }

    fn make(&self, to: &Path) -> Result<(), String> {
        self.room.create_dir_all(to).map_err(|e| format!("{}: {e}", display_path(to)))
    }

    /// Copies the content of a directory. `path` is its name in messages.
    fn copy(&mut self, from: &Dir, path: &Path, to: &Path, depth: usize) -> Result<(), String> {
        let fail = |e: std::io::Error| format!("{}: {e}", display_path(path));
        if depth > MAX_DEPTH {
            return Err(format!("{}: directories lie too deep to be copied", display_path(path)));
        }
        self.make(to)?;
        for entry in from.entries().map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let (name, meta) = (entry.file_name(), entry.metadata().map_err(fail)?);
            self.files += 1;
            self.bytes = self.bytes.saturating_add(if meta.is_file() { meta.len() } else { 0 });
            if self.files > MAX_FILES || self.bytes > MAX_BYTES {
                return Err(format!("{}: there is too much to copy for a case", display_path(path)));
            }
            let target = to.join(&name);
            if meta.is_dir() {
                let below = from.open_dir(&name).map_err(fail)?;
                self.copy(&below, &path.join(&name), &target, depth + 1)?;
            } else if meta.is_file() {
                from.copy(&name, &self.room, &target).map_err(fail)?;
            }
            // Links and pipes are not copied. A link could lead anywhere.
        }
        Ok(())
    }

    /// Restores in the copies the state in which the run found the directories.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn restore(&mut self, case: &Case, endowments: &[Endowment]) -> Result<(), String> {
        for given in endowments {
            let ResourceSpec::Path(fill) = &given.fill else { continue };
            // Only copies are changed.
            let Ok(copy) = Path::new(&fill.path).strip_prefix(&self.at).map(Path::to_owned) else { continue };
            let before = format!("{}/", given.slot);
            let paths = case.recorded.made.iter().filter_map(|name| name.strip_prefix(&before));
            for path in paths.filter(|path| is_within(path)) {
                // The file may already be gone.
                let _ = self.room.remove_file(copy.join(path));
            }
            let place = Path::new(SLOTS).join(&given.slot);
            match case.dir.open_dir(&place) {
                Ok(kept) => self.copy(&kept, &case.root.join(&place), &copy, 0)?,
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(format!("{}: {e}", display_path(&case.root.join(&place)))),
            }
        }
        Ok(())
    }

    /// Writes a file beside the copies, and returns its path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        self.room.write(name, bytes).map_err(|e| format!("{}: {e}", display_path(Path::new(name))))?;
        self.at.join(name).into_os_string().into_string().map_err(|_| "a path is not text".to_owned())
    }
}
