//! Copies of what was handed over, so that a case changes nothing but them.

use std::path::{Path, PathBuf};

use super::case::{Case, SLOTS, is_within};
use control::endowment::{Endowment, Fill};

/// No more bytes are copied for one case.
const MOST_BYTES: u64 = 64 << 20;
/// No more files and directories.
const MOST_FILES: usize = 20_000;
/// Directories lie at most so deep.
const DEEPEST: usize = 64;

/// Copies of directories.
#[derive(Debug)]
pub struct Staged {
    room: PathBuf,
    /// Each directory, and its copy.
    copies: Vec<(PathBuf, PathBuf)>,
    bytes: u64,
    files: usize,
}

impl Staged {
    /// Copies into `room`.
    pub fn into(room: PathBuf) -> Staged {
        Staged { room, copies: vec![], bytes: 0, files: 0 }
    }

    /// Has what is handed over lead to copies. What of it reaches beyond this machine, or cannot be copied, is said.
    ///
    /// # Errors
    /// Why the case cannot be tried.
    pub fn take(&mut self, endowments: &mut [Endowment]) -> Result<(), String> {
        let mut paths: Vec<&mut String> = Vec::new();
        for given in endowments {
            let slot = &given.slot;
            match &mut given.fill {
                Fill::Path(fill) => paths.push(&mut fill.path),
                Fill::Program(fill) if fill.network => {
                    return Err(format!("`{slot}` may open connections, and a case sends nothing"));
                }
                Fill::Program(fill) if fill.environment.values().any(|value| value.secret().is_some()) => {
                    return Err(format!("`{slot}` needs a secret, and a case has no vault"));
                }
                Fill::Program(fill) => paths.extend(fill.directories.iter_mut().map(|(path, _)| path)),
                Fill::Git(fill) if !Path::new(&fill.path).join(".git").is_dir() => {
                    return Err(format!("`{slot}` is a repository that lies elsewhere"));
                }
                Fill::Git(fill) => paths.push(&mut fill.path),
                Fill::Clock | Fill::Myself => {}
                Fill::Secret(_) => return Err(format!("`{slot}` is a secret, and a case has no vault")),
                Fill::Web(_) | Fill::Mcp(_) | Fill::Model(_) => {
                    return Err(format!(
                        "`{slot}` leads out of this machine's directories, and a case sends nothing"
                    ));
                }
            }
        }
        // What lies in another directory that is handed over lies in its copy as well.
        paths.sort_by_key(|path| path.len());
        for path in paths {
            *path = self.copy_of(Path::new(path.as_str()))?;
        }
        Ok(())
    }

    fn copy_of(&mut self, path: &Path) -> Result<String, String> {
        let text =
            |path: PathBuf| path.into_os_string().into_string().map_err(|_| "a path is not text".to_owned());
        // A worker, or one file: it is only read.
        if path.is_file() {
            return text(path.to_owned());
        }
        for (from, to) in &self.copies {
            if let Ok(rest) = path.strip_prefix(from) {
                return text(to.join(rest));
            }
        }
        let to = self.room.join(self.copies.len().to_string()).join(path.file_name().unwrap_or_default());
        self.copy(path, &to, 0)?;
        self.copies.push((path.to_owned(), to.clone()));
        text(to)
    }

    fn copy(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), String> {
        let fail = |e: std::io::Error| format!("{}: {e}", from.display());
        if depth > DEEPEST {
            return Err(format!("{}: directories lie too deep to be copied", from.display()));
        }
        std::fs::create_dir_all(to).map_err(fail)?;
        let entries = match std::fs::read_dir(from) {
            Ok(entries) => entries,
            // The run makes it.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(fail(e)),
        };
        for entry in entries {
            let entry = entry.map_err(fail)?;
            let meta = entry.metadata().map_err(fail)?;
            self.files += 1;
            self.bytes = self.bytes.saturating_add(if meta.is_file() { meta.len() } else { 0 });
            if self.files > MOST_FILES || self.bytes > MOST_BYTES {
                return Err(format!("{}: there is too much to copy for a case", from.display()));
            }
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            if meta.is_dir() {
                self.copy(&source, &target, depth + 1)?;
            } else if meta.is_file() {
                std::fs::copy(&source, &target).map_err(fail)?;
            }
            // A link could lead anywhere, and a pipe is nothing to copy.
        }
        Ok(())
    }

    /// Puts the copies in the state in which the run found the directories.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn as_before(&self, case: &Case, endowments: &[Endowment]) -> Result<(), String> {
        for given in endowments {
            let Fill::Path(fill) = &given.fill else { continue };
            let dir = Path::new(&fill.path);
            // Only in a copy of ours.
            if !dir.starts_with(&self.room) || !dir.is_dir() {
                continue;
            }
            let before = format!("{}/", given.slot);
            let paths = case.recorded.made.iter().filter_map(|name| name.strip_prefix(&before));
            for path in paths.filter(|path| is_within(path)) {
                // It may be gone by now.
                let _ = std::fs::remove_file(dir.join(path));
            }
            let kept = case.root.join(SLOTS).join(&given.slot);
            if kept.is_dir() {
                Staged::into(self.room.clone()).copy(&kept, dir, 0)?;
            }
        }
        Ok(())
    }
}
