//! `-e SLOT=git:PATH[:rw][?author=NAME <ADDRESS>&methods=status,log]`.

use std::path::Path;

use kernel::repository::Author;

use super::endow::absolute_in;
use control::endowment::GitFill;
use control::exit::{Exit, Failure};

/// What stands before the path of a repository.
pub(super) const PREFIX: &str = "git:";

/// Reads what follows `git:`.
///
/// # Errors
/// When it is not written as it should be.
pub(super) fn parse(base: &Path, text: &str) -> Result<GitFill, Failure> {
    let wrong = |what: &str| {
        Failure::new(Exit::Usage, format!("{PREFIX}{text}: {what}"))
            .help("write SLOT=git:PATH, SLOT=git:PATH:rw, or SLOT=git:PATH:rw?author=NAME <ADDRESS>&methods=status,commit")
    };
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let (path, write) = match path.strip_suffix(":rw") {
        Some(path) => (path, true),
        None => (path.strip_suffix(":ro").unwrap_or(path), false),
    };
    if path.is_empty() {
        return Err(wrong("there is no path"));
    }
    let mut fill = GitFill { path: absolute_in(base, path)?, write, ..GitFill::default() };
    for part in query.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("author", author)) => {
                let author = Author::parse(author);
                fill.author =
                    Some(author.ok_or_else(|| wrong("an author is written like `Ada <ada@example.org>`"))?);
            }
            Some(("methods", methods)) => {
                let methods = methods.split(',').map(str::trim).filter(|method| !method.is_empty());
                fill.methods.extend(methods.map(str::to_owned));
            }
            None if part == "private" => fill.private = true,
            _ => return Err(wrong("after `?` only `author=`, `methods=` and `private` are known")),
        }
    }
    Ok(fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_by_its_working_tree() {
        let fill = parse(Path::new(""), "/w:rw?author=Ada <a@b.c>&methods=status, commit").unwrap();
        assert_eq!((fill.path.as_str(), fill.write), ("/w", true));
        assert_eq!(fill.methods, ["status", "commit"]);
        assert_eq!(
            fill.words(),
            "repository /w (may be read and committed to), as Ada <a@b.c>, only status, commit"
        );
        assert!(
            !parse(Path::new(""), "/w").unwrap().write && parse(Path::new(""), "/w?private").unwrap().private
        );
        for bad in ["", ":rw", "/w?author=Ada", "/w?colour=red"] {
            assert_eq!(parse(Path::new(""), bad).unwrap_err().exit, Exit::Usage, "{bad}");
        }
    }
}
