//! The text of an endowment, as a user writes it after `-e`.

use std::path::Path;

use resource::Endowment;

use crate::machine::Machine;

/// Returns a text for `-e` that is read as the same endowment if `base` is the current directory. Returns `None` if
/// no such text exists.
pub fn typed(base: &Path, endowment: &Endowment) -> Option<String> {
    let mut short = endowment.clone();
    short.fill.paths_mut().into_iter().for_each(|path| *path = relative(base, path));
    let machine = Machine::At(base);
    [short.typed(), endowment.typed()]
        .into_iter()
        .find(|text| machine.parse_endowment(text).is_ok_and(|read| read == *endowment))
}

/// Returns a path below `base` as a relative path, and any other path unchanged.
fn relative(base: &Path, path: &str) -> String {
    match Path::new(path).strip_prefix(base).ok().and_then(Path::to_str) {
        Some("") => ".".to_owned(),
        Some(below) => format!("./{below}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use resource::{Kind, PathSpec, ResourceSpec};

    use super::*;

    fn directory(path: &Path, max_bytes: Option<u64>) -> Endowment {
        let path = path.display().to_string();
        let fill = ResourceSpec::Path(PathSpec { path, max_bytes, ..PathSpec::default() });
        Endowment { slot: "d".to_owned(), fill }
    }

    #[test]
    fn path_below_the_directory_is_typed_relative_to_it() {
        let dir = tempfile::tempdir().unwrap();
        for (name, expected) in [
            ("a", "d=./a"),
            ("git:x", "d=./git:x"),
            ("clock", "d=./clock"),
            ("x:rw", "d=\"./x:rw\""),
            ("a?max=1", "d=\"./a?max=1\""),
            ("new\nline", "d=./new\nline"),
        ] {
            let given = directory(&dir.path().join(name), None);
            assert_eq!(typed(dir.path(), &given).as_deref(), Some(expected));
            assert_eq!(given.fill.kind(), Kind::Dir { write: false });
        }
        assert_eq!(typed(dir.path(), &directory(dir.path(), None)).as_deref(), Some("d=."));
    }

    #[test]
    fn path_that_would_be_misread_is_not_typed() {
        let dir = tempfile::tempdir().unwrap();
        let given = directory(&dir.path().join("a"), Some(1));
        assert_eq!(typed(dir.path(), &given).as_deref(), Some("d=./a?max=1"));
        // If a file has exactly this name, the text would name that file.
        std::fs::create_dir(dir.path().join("a?max=1")).unwrap();
        assert_eq!(typed(dir.path(), &given), None);
    }
}
