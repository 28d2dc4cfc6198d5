//! The machine on which an endowment was typed: the files, programs and models that its text can name.

use std::borrow::Cow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use model::ModelRef;
use passable::visible_line;
use resource::{Endowment, SpecError, Surroundings};

use crate::secret_variables::is_secret;
use control::exit::{Exit, Failure};

/// The machine for which an endowment is read, with the directory from which relative paths start.
pub enum Machine<'a> {
    /// The directory from which relative paths start. If it is empty, the current directory is meant.
    At(&'a Path),
    /// No directory: every path must begin at the root.
    FromRoot,
}

impl Machine<'_> {
    /// Parses the text after `-e`.
    ///
    /// # Errors
    /// When the text is malformed, or names a program that does not exist.
    pub fn parse_endowment(&self, text: &str) -> Result<Endowment, Failure> {
        Endowment::parse(text, self).map_err(failure)
    }

    fn base(&self) -> &Path {
        match self {
            Machine::At(base) => base,
            Machine::FromRoot => Path::new("/"),
        }
    }
}

impl Surroundings for Machine<'_> {
    fn exists(&self, path: &str) -> bool {
        self.base().join(&*expand_home_in(self.base(), path)).exists()
    }

    fn absolute(&self, path: &str) -> Result<String, SpecError> {
        if matches!(self, Machine::FromRoot) && !path.starts_with('/') {
            let message = format!("{}: the path does not begin at the root", visible_line(path));
            return Err(SpecError::new(message, "write it in full, beginning with `/`"));
        }
        absolute_in(self.base(), path)
    }

    fn program(&self, name: &str) -> Result<String, SpecError> {
        find_program(name)
    }

    fn model(&self, reference: &str) -> Result<String, SpecError> {
        // A name that the user chose is resolved by the daemon, which reads the user's settings.
        let is_word = !reference.is_empty()
            && reference.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        let wrong = |what: String| SpecError::new(what, "write SLOT=model:NAME, with a model as after `-m`");
        let all = match model::parse_list(reference) {
            Err(_) if is_word => return Ok(reference.to_owned()),
            listed => listed.map_err(|error| wrong(error.to_string()))?,
        };
        let here = |reference: ModelRef| -> Result<String, SpecError> {
            // A path is relative to the directory of this process, not to that of the daemon.
            let lies = |path: PathBuf| absolute_in(Path::new(""), &path.to_string_lossy()).map(PathBuf::from);
            Ok(match reference {
                ModelRef::Scripted { path } => ModelRef::Scripted { path: lies(path)? }.to_string(),
                ModelRef::Replay { path } => ModelRef::Replay { path: lies(path)? }.to_string(),
                other => other.to_string(),
            })
        };
        all.into_iter().map(here).collect::<Result<Vec<_>, _>>().map(|all| all.join(","))
    }

    fn looks_secret(&self, variable: &str, value: &str) -> bool {
        is_secret(variable, value)
    }
}

/// Returns the failure for a malformed text, or for a missing program.
pub fn failure(error: SpecError) -> Failure {
    let exit = if error.is_missing { Exit::NotFound } else { Exit::Usage };
    Failure::new(exit, error.message).help(error.help)
}

/// Returns the absolute form of a path, without following links.
///
/// # Errors
/// When the current directory is unknown, or the path is not UTF-8 text.
pub fn absolute(path: &str) -> Result<String, Failure> {
    absolute_in(Path::new(""), path).map_err(failure)
}

/// Returns the absolute path of a program, given by its name or its path. A path is relative to `base`.
///
/// # Errors
/// When a program with this name does not exist, or the path is not UTF-8 text.
pub fn program_path(base: &Path, name: &str) -> Result<String, Failure> {
    let found = if name.contains('/') { absolute_in(base, name) } else { find_program(name) };
    found.map_err(failure)
}

/// Returns a path whose leading `~` is replaced by the user's home, as a shell does. A shell leaves it where it does
/// not begin a word, as in `out=~/notes`. An existing file of that name is meant itself.
pub fn expand_home(path: &str) -> Cow<'_, str> {
    expand_home_in(Path::new(""), path)
}

fn expand_home_in<'a>(base: &Path, path: &'a str) -> Cow<'a, str> {
    let below = match path.strip_prefix('~') {
        Some("") => "",
        Some(rest) if rest.starts_with('/') => rest,
        _ => return Cow::Borrowed(path),
    };
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    match home.as_deref().and_then(Path::to_str) {
        Some(home) if !base.join(path).exists() => Cow::Owned(format!("{home}{below}")),
        _ => Cow::Borrowed(path),
    }
}

fn absolute_in(base: &Path, path: &str) -> Result<String, SpecError> {
    let path: &str = &expand_home_in(base, path);
    let shown = visible_line(path);
    if path.is_empty() {
        return Err(SpecError::new("cannot use an empty text as a path", "`.` is the current directory"));
    }
    let absolute = std::path::absolute(base.join(path)).map_err(|e| {
        SpecError::new(format!("cannot use {shown} as a path: {e}"), "name it from the root on: `/…`")
    })?;
    absolute.into_os_string().into_string().map_err(|_| {
        SpecError::new(format!("cannot use {shown}: its full path is not UTF-8 text"), "rename it")
    })
}

/// Returns the absolute path of the program with a name, found in the directories of `PATH` as a shell does.
fn find_program(name: &str) -> Result<String, SpecError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| is_program(path));
    let found = found.and_then(|path| path.into_os_string().into_string().ok());
    let missing = || SpecError::missing(format!("there is no program `{name}`"), "name it by its path");
    absolute_in(Path::new(""), &found.ok_or_else(missing)?)
}

#[cfg(test)]
mod tests {
    use resource::ResourceSpec;

    use super::*;

    #[test]
    fn file_name_with_question_mark_is_no_option_if_the_file_exists() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a?max=1")).unwrap();
        let machine = Machine::At(dir.path());
        for (text, path, max) in [("d=a?max=1", "a?max=1", None), ("d=b?max=1", "b", Some(1))] {
            let ResourceSpec::Path(spec) = machine.parse_endowment(text).unwrap().fill else {
                panic!("{text}")
            };
            assert_eq!(Path::new(&spec.path), dir.path().join(path));
            assert_eq!(spec.max_bytes, max);
        }
    }

    #[test]
    fn empty_path_is_refused_in_words() {
        for base in ["", "/tmp"] {
            let refused = absolute_in(Path::new(base), "").unwrap_err();
            assert_eq!(refused.message, "cannot use an empty text as a path");
            assert!(!refused.help.is_empty());
        }
    }

    #[test]
    fn tilde_means_the_home_directory() {
        let home = std::env::home_dir().unwrap();
        let home = home.to_str().unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("~")).unwrap();
        for (text, expected) in [
            ("~", home.to_owned()),
            ("~/a b", format!("{home}/a b")),
            ("~other", "~other".to_owned()),
            ("a/~", "a/~".to_owned()),
        ] {
            assert_eq!(expand_home(text), expected, "{text}");
        }
        assert_eq!(expand_home_in(dir.path(), "~"), "~", "a directory of this name is meant itself");
        let ResourceSpec::Path(spec) =
            Machine::At(Path::new("/")).parse_endowment("out=~/no such place:rw").unwrap().fill
        else {
            panic!("a path")
        };
        assert_eq!(spec.path, format!("{home}/no such place"));
    }

    #[test]
    fn program_name_is_looked_up_in_path() {
        let machine = Machine::At(Path::new(""));
        let given = machine.parse_endowment("t=program:sh?dir=/w").unwrap();
        assert!(matches!(given.fill, ResourceSpec::Program(spec) if spec.programs[0].1.ends_with("/sh")));
        let missing = machine.parse_endowment("t=program:no-such-program-anywhere").unwrap_err();
        assert_eq!(missing.exit, Exit::NotFound);
    }

    #[test]
    fn model_is_named_by_reference_or_by_user_name() {
        let machine = Machine::At(Path::new(""));
        assert!(machine.model("scripted:s.json").unwrap().starts_with("scripted:/"));
        assert_eq!(machine.model("fast").unwrap(), "fast");
        assert!(machine.model("").is_err() && machine.model("nobody:x").is_err());
    }

    #[test]
    fn relative_path_without_base_directory_is_refused() {
        for text in ["d=x", "d=./x:rw", "g=git:x", "p=program:/bin/sh?dir=x", "p=program:./x", "d=\"x\""] {
            assert!(
                Machine::FromRoot.parse_endowment(text).is_err_and(|f| f.help.contains("beginning with `/`")),
                "{text}"
            );
        }
        for text in ["d=/x", "d=\"/x?y\":rw", "g=git:/x", "p=program:sh?dir=/x", "c=clock"] {
            assert!(Machine::FromRoot.parse_endowment(text).is_ok(), "{text}");
        }
    }
}
