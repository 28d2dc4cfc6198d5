//! The project file `almoner.toml`. It gives endowments to a project's workers, once the user has trusted exactly its
//! text.
//!
//! The file comes with the project, so anyone can have written it. It is parsed only if the user trusts its digest.
//! `almoner trust` shows the content and asks for that trust.

mod project;
mod trusted_files;
mod trusted_worker;

use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kernel::BlobHash;
use passable::visible_line;

pub use project::Project;
pub use trusted_files::{TrustedFile, all, get, is_trusted, keep, keep_record, revoke};
pub use trusted_worker::TrustedWorker;

use crate::mcp_file::Servers;
use crate::place::Place;
use crate::settings::check_trusted;
use crate::settings::project::{ProjectEndowments, Workers, parse};
use control::exit::{Exit, Failure};
use resource::Endowment;
use worker::definition::Bundle;

/// The name of a project file.
pub const NAME: &str = "almoner.toml";

/// The names of the directories that mark the root of a project.
const TOPS: [&str; 3] = [".git", ".jj", ".hg"];

/// A project file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The real path of the file.
    pub path: PathBuf,
    /// The directory that contains the file.
    pub dir: PathBuf,
    /// The hash of the file's bytes.
    pub digest: BlobHash,
    text: String,
}

impl File {
    /// Reads the file at this path. Returns `None` if nothing exists there.
    ///
    /// # Errors
    /// When the path is a link or no regular file, or the file could have been written by others, or is no UTF-8
    /// text.
    pub fn load(path: &Path) -> Result<Option<File>, Failure> {
        let shown = path.display().to_string();
        let shown = visible_line(&shown).into_owned();
        let fail = |what: String, help: &str| {
            Err(Failure::new(Exit::Invalid, format!("{shown}: {what}")).help(help.to_owned()))
        };
        match std::fs::symlink_metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return fail(e.to_string(), "it must be yours to read"),
            Ok(meta) if meta.file_type().is_symlink() => {
                return fail("it is a link".to_owned(), "put the file itself there");
            }
            Ok(_) => {}
        }
        let dir = path.parent().map(std::fs::canonicalize);
        let Some(Ok(dir)) = dir else { return fail("its directory is gone".to_owned(), "try again") };
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let flags = i32::try_from(flags.bits()).unwrap_or(0);
        let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
        let read = opened.and_then(|file| Ok((file.metadata()?, file)));
        let (meta, file) = match read {
            Ok(read) => read,
            Err(e) => return fail(e.to_string(), "it must be yours to read"),
        };
        if let Err((what, help)) = check_trusted(path, &meta) {
            return fail(what.to_owned(), &help);
        }
        let mut bytes = Vec::new();
        if let Err(e) = file.take(meta.len().saturating_add(1)).read_to_end(&mut bytes) {
            return fail(e.to_string(), "it must be yours to read");
        }
        let digest = BlobHash::of(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(File { path: dir.join(NAME), dir, digest, text })),
            Err(_) => fail("this is not UTF-8".to_owned(), "save it as plain text"),
        }
    }

    /// Parses the file into the endowments of its workers.
    ///
    /// # Errors
    /// When the file has errors.
    pub fn workers(&self) -> Result<Workers, Failure> {
        parse(&self.path, &self.dir, &self.text)
    }
}

/// Returns the path of the project file for a directory, whether or not the file exists. It is the file in the
/// directory itself, or else in the nearest parent up to the root of the project.
pub fn nearest(dir: &Path) -> PathBuf {
    let here = dir.join(NAME);
    let is_there = |path: &Path| std::fs::symlink_metadata(path).is_ok();
    if is_there(&here) {
        return here;
    }
    let top = dir.ancestors().position(|above| TOPS.iter().any(|name| is_there(&above.join(name))));
    let within = dir.ancestors().take(top.map_or(0, |at| at + 1));
    within.map(|above| above.join(NAME)).find(|path| is_there(path)).unwrap_or(here)
}

/// Returns the project file for the current directory, trusted or not, if there is one.
///
/// # Errors
/// When the file cannot be read.
pub fn project_here() -> Result<Option<File>, Failure> {
    match std::fs::canonicalize(".") {
        Ok(here) => File::load(&nearest(&here)),
        // The current directory is gone, and so no file is in it.
        Err(_) => Ok(None),
    }
}

/// The endowments that a trusted project file gives to one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endowed {
    /// The project file.
    pub file: File,
    /// The endowments of the worker.
    pub handed: ProjectEndowments,
}

impl Endowed {
    /// Returns the endowments and the model without the parts that the command line overrides. For a slot that the
    /// command line fills, the file's approval rules do not apply either.
    #[must_use]
    pub fn beside(mut self, model: Option<&str>, endow: &[Endowment]) -> Endowed {
        // A slot that the command line fills overrides the file, and so do the slots within it.
        let is_given = |slot: &str| {
            endow.iter().any(|given| {
                let below = slot.strip_prefix(given.slot.as_str());
                below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
            })
        };
        if model.is_some() {
            self.handed.model = None;
        }
        self.handed.endow.retain(|own| !is_given(&own.slot));
        self.handed.allow.retain(|rule| rule.rsplit_once('.').is_none_or(|(slot, _)| !is_given(slot)));
        self
    }

    /// Returns the lines that a dry run prints for the worker in the file `worker`. They are not escaped for a
    /// terminal.
    pub fn lines(&self, worker: &Path, servers: &Servers) -> Vec<String> {
        let file = format!("{} ({})", self.file.path.display(), self.file.digest.short());
        std::iter::once(file).chain(self.handed.lines(Some(worker), servers)).collect()
    }
}

/// A line that tells the user the reason why a project file is not used.
pub type Unused = String;

/// Returns the endowments that a trusted project file gives to a worker, or the reason why the file is not used.
/// `bundle` is the worker as it was read for this run.
///
/// # Errors
/// When the trust records cannot be read, or the file has errors.
pub fn of_worker(
    place: &Place,
    worker: &Path,
    bundle: &Bundle,
) -> Result<Result<Option<Endowed>, Unused>, Failure> {
    let parent = worker.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(dir) = std::fs::canonicalize(parent) else { return Ok(Ok(None)) };
    let path = nearest(&dir);
    let file = match File::load(&path) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Ok(None)),
        Err(failure) => return Ok(Err(format!("{} (not used)", failure.message.visible_line()))),
    };
    let shown = path.display().to_string();
    let unused = |what: &str| {
        Ok(Err(format!("{} {what}, and is not used: {}", visible_line(&shown), to_type(&file.path))))
    };
    let Some(record) = get(place, &file.path)? else { return unused("is not trusted") };
    if record.digest != file.digest {
        return unused("has changed since you trusted it");
    }
    let mut workers = file.workers()?;
    let Some(name) = name_in(&file.dir, &dir, worker) else { return Ok(Ok(None)) };
    let Some(handed) = workers.remove(&name) else { return Ok(Ok(None)) };
    let now = TrustedWorker::now(&file.dir, &name, &handed);
    let trusted = record.workers.get(&name);
    if trusted != Some(&now) || !now.has(bundle.digest()) {
        let what = format!("trusts `{}.worker` as it was, which has changed", visible_line(&name));
        let difference = now.difference(trusted.unwrap_or(&TrustedWorker::default()));
        return Ok(unused(&what)?.map_err(|unused: Unused| format!("{unused}{difference}")));
    }
    Ok(Ok(Some(Endowed { file, handed })))
}

/// Returns the name of a worker in the project file: its path relative to the file's directory, without the suffix.
fn name_in(base: &Path, dir: &Path, worker: &Path) -> Option<String> {
    let name = worker.file_name()?.to_str()?;
    let name = name.strip_suffix(".worker.md").or_else(|| name.strip_suffix(".worker"))?;
    let below = dir.strip_prefix(base).ok()?.to_str()?;
    Some(if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") })
}

/// Returns a hint with the command that shows a project file and asks for trust. A path that a shell would not take
/// literally is left out. Otherwise the author of a directory's name could write a command for the user.
pub fn to_type(path: &Path) -> String {
    let is_plain = |text: &&str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c));
    match path.to_str().filter(is_plain) {
        Some(path) => format!("`almoner trust {path}` shows what it hands over, and asks"),
        None => "`almoner trust`, in its directory, shows what it hands over, and asks".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_project_file_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        let deep = root.join("p/a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(root.join(NAME), "").unwrap();
        // Without the root of a project, only the directory itself counts.
        assert_eq!(nearest(&deep), deep.join(NAME));
        std::fs::create_dir(root.join("p/.git")).unwrap();
        assert_eq!(nearest(&deep), deep.join(NAME));
        std::fs::write(root.join("p").join(NAME), "").unwrap();
        assert_eq!(nearest(&deep), root.join("p").join(NAME));
        std::fs::write(deep.join(NAME), "").unwrap();
        assert_eq!(nearest(&deep), deep.join(NAME));
    }

    #[test]
    fn worker_is_named_by_its_path_within_the_project() {
        for (dir, worker, name) in [
            ("/p", "triage.worker", Some("triage")),
            ("/p", "./triage.worker.md", Some("triage")),
            ("/p/sub", "x/../triage.worker", Some("sub/triage")),
            ("/q", "triage.worker", None),
            ("/p", "triage.md", None),
        ] {
            let found = name_in(Path::new("/p"), Path::new(dir), Path::new(worker));
            assert_eq!(found.as_deref(), name, "{worker}");
        }
    }

    #[test]
    fn suggested_command_never_contains_shell_syntax_of_a_path() {
        assert!(to_type(Path::new("/a/b.c/almoner.toml")).contains("trust /a/b.c/almoner.toml"));
        assert!(!to_type(Path::new("/a/$(x)/almoner.toml")).contains('$'));
    }
}
