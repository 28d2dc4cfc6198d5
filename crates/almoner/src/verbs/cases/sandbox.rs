//! The paths that a case may reach. Its author is not known, because a case comes along with a project.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use passable::visible_line;

use crate::cli;
use crate::cli::{Inputs, NamedText};
use config::case::is_within;
use control::protocol::Document;

/// The paths that a case may reach: those in its own directory, or any path if the user trusts exactly this case.
#[derive(Debug)]
pub struct CaseSandbox {
    /// The real path of the directory in which the case lies.
    base: PathBuf,
    is_trusted: bool,
}

impl CaseSandbox {
    /// Returns the boundary of a case that lies in this directory, which is given by its real path.
    pub fn new(base: PathBuf, is_trusted: bool) -> CaseSandbox {
        CaseSandbox { base, is_trusted }
    }

    /// Returns whether the user trusts exactly this case.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Returns the real path, without links and dots, of a path in a case. A part that does not exist yet keeps its
    /// plain names.
    ///
    /// # Errors
    /// When the path leads nowhere, or out of the directory in which the case lies.
    pub fn real_path(&self, path: &Path) -> Result<PathBuf, String> {
        let path = self.base.join(path);
        let fail =
            |what: &dyn std::fmt::Display| format!("{}: {what}", visible_line(&path.display().to_string()));
        let (mut at, mut missing) = (path.as_path(), Vec::<OsString>::new());
        let mut real = loop {
            match std::fs::canonicalize(at) {
                Ok(real) => break real,
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(fail(&e)),
            }
            let (Some(name), Some(above)) = (at.file_name(), at.parent()) else {
                return Err(fail(&"it leads nowhere"));
            };
            missing.push(name.to_owned());
            at = above;
        };
        real.extend(missing.iter().rev());
        if self.is_trusted || real.starts_with(&self.base) {
            return Ok(real);
        }
        Err(format!("{}, and it {}", fail(&"it leads out of where the case lies"), self.trust_help()))
    }

    /// Returns the words about a case that is not trusted, with the command that trusts it.
    pub fn trust_help(&self) -> &'static str {
        "is not trusted: `almoner trust`, with the case behind it, shows what it hands over, and asks"
    }

    /// Returns the real path of a path in a case, as text.
    ///
    /// # Errors
    /// When [`CaseSandbox::real_path`] fails, or the path is not text.
    pub fn text(&self, path: &Path) -> Result<String, String> {
        self.real_path(path)?.into_os_string().into_string().map_err(|_| "a path is not text".to_owned())
    }

    /// Returns the inputs of a command that was given in the directory of the case.
    ///
    /// # Errors
    /// When an input does not exist, or lies where the case may not reach.
    pub fn inputs(&self, words: &[String]) -> Result<Inputs, String> {
        let words: Vec<String> = words.iter().map(|word| self.word(word)).collect::<Result<_, _>>()?;
        let mut inputs =
            cli::read_inputs(&words).map_err(|failure| failure.message.visible_line().into_owned())?;
        for document in &mut inputs.documents {
            if let Document::File { path, .. } = document {
                *path = self.text(Path::new(path.as_str()))?;
            }
        }
        Ok(inputs)
    }

    /// Returns one input. If the input has a path, the path is made absolute.
    fn word(&self, word: &str) -> Result<String, String> {
        if word == "-" {
            return Err("standard input is no part of a case".to_owned());
        }
        if self.base.join(word).symlink_metadata().is_ok() {
            return self.text(Path::new(word));
        }
        match cli::split_named(word) {
            Some((name, NamedText::Text(value))) => match value.strip_prefix('@') {
                Some(path) => Ok(format!("{name}=@{}", self.text(Path::new(path))?)),
                None => Ok(word.to_owned()),
            },
            Some(_) => Ok(word.to_owned()),
            // The word is a pattern of paths, or the path does not exist.
            None if self.is_trusted || is_within(word) => Ok(format!("{}/{word}", self.base.display())),
            None => self.text(Path::new(word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_outside_the_case_is_refused_unless_trusted() {
        let room = tempfile::tempdir().unwrap();
        let room = std::fs::canonicalize(room.path()).unwrap();
        let base = room.join("p");
        std::fs::create_dir_all(base.join("docs/deep")).unwrap();
        std::fs::write(room.join("else"), "x").unwrap();
        std::os::unix::fs::symlink(room.join("else"), base.join("link")).unwrap();
        std::os::unix::fs::symlink(&room, base.join("docs/up")).unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        let plain = CaseSandbox::new(base.clone(), false);
        let trusted = CaseSandbox::new(base.clone(), true);
        for (path, own, any) in [
            ("docs", Some("p/docs"), Some("p/docs")),
            ("./docs/../docs/deep", Some("p/docs/deep"), Some("p/docs/deep")),
            ("docs/not/yet", Some("p/docs/not/yet"), Some("p/docs/not/yet")),
            // A missing directory leads nowhere, so no `..` leads back from it.
            ("docs/not/../../../else", None, None),
            ("../else", None, Some("else")),
            ("link", None, Some("else")),
            ("docs/up/else", None, Some("else")),
            ("docs/up/new", None, Some("new")),
            ("loop", None, None),
        ] {
            assert_eq!(plain.real_path(Path::new(path)).ok(), own.map(|path| room.join(path)), "{path}");
            assert_eq!(trusted.real_path(Path::new(path)).ok(), any.map(|path| room.join(path)), "{path}");
        }
        for word in ["-", "k=@../else", "k=@link", "../*", "link", "docs/up"] {
            assert!(plain.inputs(&[word.to_owned()]).is_err(), "{word}");
        }
        assert_eq!(trusted.inputs(&["k=@link".to_owned()]).unwrap().values["k"], "x");
    }
}
