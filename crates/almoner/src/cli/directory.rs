//! The documents in a directory that a person names as an input.

use std::path::{Path, PathBuf};

use passable::visible_line;

use super::globs;
use super::input::InputMode;
use control::exit::{Exit, Failure};
use control::protocol::Document;
use passable::shell_word;

/// The maximum number of subdirectories that a note names.
const MAX_NAMED_DIRECTORIES: usize = 3;

/// The directories of a mailbox in the format Maildir that hold its mails. Its third one, `tmp`, holds unfinished ones.
const MAILDIR_PARTS: [&str; 2] = ["cur", "new"];

/// The beginnings of the names of files that mail programs keep in a mailbox for themselves.
const MAIL_PROGRAM_FILES: [&str; 4] = ["dovecot", "maildir", "courier", "subscriptions"];

/// The documents in a directory.
pub(super) struct DirectoryFiles {
    /// The files, by name.
    pub(super) files: Vec<Document>,
    /// The note about the subdirectories that were left out, if there are any.
    pub(super) note: Option<String>,
}

/// Returns the files that lie directly in a directory, and names the subdirectories beside them. In a mailbox of the
/// format Maildir, the mails lie one level below.
///
/// # Errors
/// When the directory cannot be read, or has no files.
pub(super) fn files_of(dir: &str, mode: InputMode) -> Result<DirectoryFiles, Failure> {
    let mut found = DirectoryEntries::default();
    let parts = MAILDIR_PARTS.map(|part| Path::new(dir).join(part));
    let places = match parts.iter().all(|part| part.is_dir()) {
        true => parts.to_vec(),
        false => vec![PathBuf::from(dir)],
    };
    for place in &places {
        found.read(place, mode)?;
    }
    if places.len() > 1 {
        found.add_beside_mails(dir, mode)?;
    }
    found.files.sort();
    found.directories.sort();
    let left_out = found.left_out(dir);
    if found.files.is_empty() {
        let failure = Failure::new(Exit::NotFound, format!("there are no files in {}", visible_line(dir)));
        return Err(failure.help(match left_out {
            Some(left_out) => left_out,
            None => "name a directory that holds the documents, or the documents".to_owned(),
        }));
    }
    let files = found
        .files
        .iter()
        .map(|path| globs::document_at(path, Path::new(dir), mode))
        .collect::<Result<_, _>>()?;
    Ok(DirectoryFiles { files, note: left_out })
}

#[derive(Default)]
struct DirectoryEntries {
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    /// The number of files beside the mails of a mailbox.
    beside: usize,
}

impl DirectoryEntries {
    /// Adds the entries of a directory that are not hidden.
    fn read(&mut self, dir: &Path, mode: InputMode) -> Result<(), Failure> {
        let fail = |e: std::io::Error| {
            let shown = dir.display().to_string();
            Failure::new(Exit::Failure, format!("cannot read {}: {e}", visible_line(&shown)))
                .help("check the permissions of the directory")
        };
        for entry in std::fs::read_dir(dir).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if path.file_name().is_some_and(globs::is_hidden) {
                continue;
            }
            if mode.takes(&path) {
                self.files.push(path);
            } else if path.is_dir() {
                self.directories.push(path);
            }
        }
        Ok(())
    }

    /// Adds what lies beside the mails of a mailbox, to be named. Files that mail programs keep there for themselves are
    /// not counted.
    fn add_beside_mails(&mut self, dir: &str, mode: InputMode) -> Result<(), Failure> {
        let mut all = DirectoryEntries::default();
        all.read(Path::new(dir), mode)?;
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.beside = all
            .files
            .iter()
            .filter(|path| !MAIL_PROGRAM_FILES.iter().any(|own| name(path).starts_with(own)))
            .count();
        let is_part = |path: &&PathBuf| MAILDIR_PARTS.contains(&name(path).as_str()) || name(path) == "tmp";
        self.directories.extend(all.directories.iter().filter(|path| !is_part(path)).cloned());
        Ok(())
    }

    /// Returns the sentence about what was left out of `dir`, if something was.
    fn left_out(&self, dir: &str) -> Option<String> {
        let beside = match self.beside {
            0 => None,
            1 => Some("1 file beside the mails of this mailbox is left out; name it to take it".to_owned()),
            count => Some(format!(
                "{count} files beside the mails of this mailbox are left out; name them to take them"
            )),
        };
        let all: Vec<String> = beside.into_iter().chain(self.left_out_directories(dir)).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Returns the sentence about the subdirectories of `dir`, with the pattern that takes their files.
    fn left_out_directories(&self, dir: &str) -> Option<String> {
        let names = self.directories.iter().take(MAX_NAMED_DIRECTORIES).filter_map(|path| {
            let name = path.file_name()?.to_string_lossy();
            Some(format!("`{}`", visible_line(&name)))
        });
        let names = names.collect::<Vec<_>>().join(", ");
        let dir = dir.trim_end_matches('/');
        // A pattern would read the name of such a directory as another one.
        let pattern = (!globs::is_pattern(dir)).then(|| shell_word(&format!("{}/**", visible_line(dir))));
        let more = if self.directories.len() > MAX_NAMED_DIRECTORIES { ", …" } else { "" };
        Some(match (self.directories.len(), pattern) {
            (0, _) => return None,
            (1, Some(all)) => format!("the subdirectory {names} is left out; {all} takes its files, too"),
            (1, None) => format!("the subdirectory {names} is left out; name it to take its files"),
            (count, Some(all)) => {
                format!("{count} subdirectories are left out ({names}{more}); {all} takes their files, too")
            }
            (count, None) => {
                format!("{count} subdirectories are left out ({names}{more}); name them to take their files")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        dir
    }

    fn listed(dir: &tempfile::TempDir) -> Result<(Vec<String>, Option<String>), Failure> {
        let root = dir.path().to_str().unwrap();
        let found = files_of(root, InputMode::Items)?;
        let relative = |document| match document {
            Document::File { path, .. } => {
                path.strip_prefix(root).unwrap().trim_start_matches('/').to_owned()
            }
            _ => panic!("a directory has files"),
        };
        Ok((
            found.files.into_iter().map(relative).collect(),
            found.note.map(|note| note.replace(root, "DIR")),
        ))
    }

    #[test]
    fn subdirectories_are_named_with_the_pattern_that_takes_them() {
        let (files, note) = listed(&tree(&["a.txt", ".hidden/x"])).unwrap();
        assert_eq!((files, note), (vec!["a.txt".to_owned()], None));
        let (files, note) = listed(&tree(&["a.txt", "b/c.txt"])).unwrap();
        assert_eq!(files, ["a.txt"]);
        assert_eq!(note.as_deref(), Some("the subdirectory `b` is left out; 'DIR/**' takes its files, too"));
        let (_, note) = listed(&tree(&["a.txt", "b/c", "d/e", "f/g", "h/i"])).unwrap();
        let expected = "4 subdirectories are left out (`b`, `d`, `f`, …); 'DIR/**' takes their files, too";
        assert_eq!(note.as_deref(), Some(expected));
        let odd = tree(&["it's/a", "it's/b/c", "[x]/a", "[x]/b/c"]);
        let note =
            |name: &str| files_of(odd.path().join(name).to_str().unwrap(), InputMode::Items).unwrap().note;
        let root = odd.path().display();
        let quoted = format!(r"the subdirectory `b` is left out; '{root}/it'\''s/**' takes its files, too");
        assert_eq!(note("it's"), Some(quoted));
        assert!(note("[x]").unwrap().ends_with("name it to take its files"));
        let failure = listed(&tree(&["b/c.txt"])).unwrap_err();
        assert!(failure.help.contains("takes its files"), "{failure:?}");
    }

    #[test]
    fn maildir_lists_its_mails_and_no_unfinished_ones() {
        let dir = tree(&["cur/1.a:2,S", "new/2.b", "tmp/3.c", "dovecot.index", "maildirfolder"]);
        let mails = vec!["cur/1.a:2,S".to_owned(), "new/2.b".to_owned()];
        assert_eq!(listed(&dir).unwrap(), (mails.clone(), None));
        // Two empty directories must not hide the other documents of a directory.
        let dir = tree(&["cur/1.a:2,S", "new/2.b", "invoice.txt", "archive/q.txt"]);
        let (files, note) = listed(&dir).unwrap();
        let said = "1 file beside the mails of this mailbox is left out; name it to take it; the subdirectory \
                    `archive` is left out; 'DIR/**' takes its files, too";
        assert_eq!((files, note.as_deref()), (mails, Some(said)));
    }
}
