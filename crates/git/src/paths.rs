//! Paths within a working tree.

use crate::part::shorten;
use crate::refusal::Refusal;

/// The maximum number of impossible names that a refusal names.
const MAX_NAMED: usize = 5;

/// The maximum length of a path, in bytes.
const MAX_LEN: usize = 1024;

/// Checks that a path is relative and plain, and does not lead into `.git`. `at` is the name of the parameter, for
/// the error.
pub(crate) fn check<'p>(path: &'p str, at: &str) -> Result<&'p str, Refusal> {
    let plain = path.strip_suffix('/').unwrap_or(path);
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    if plain.len() > MAX_LEN || plain.contains('\0') || !plain.split('/').all(is_part) {
        return Err(Refusal::new(
            "path",
            at,
            "this is no plain path within the repository",
            "names with `/` between them, from the top of the repository; no `..`, nothing absolute",
        ));
    }
    if plain.split('/').any(is_own) {
        return Err(Refusal::new("path", at, "that is the repository's own", "files of the working tree"));
    }
    Ok(plain)
}

/// Checks the names of files that a repository itself gives. A repository can hold names that no file can have, or that
/// lead elsewhere: only git's own commands refuse to make them.
pub(crate) fn check_found<'p>(paths: impl IntoIterator<Item = &'p str>, at: &str) -> Result<(), Refusal> {
    let mut bad: Vec<&str> = paths.into_iter().filter(|path| is_impossible(path)).collect();
    bad.truncate(MAX_NAMED);
    if bad.is_empty() { Ok(()) } else { Err(refuse_found(&bad, at)) }
}

/// Returns the refusal of names that a repository gives.
pub(crate) fn refuse_found(bad: &[&str], at: &str) -> Refusal {
    let names: Vec<String> = bad.iter().map(|path| format!("`{}`", shorten(path.as_bytes(), 100))).collect();
    let message = format!("the repository holds names that no file of it can have: {}", names.join(", "));
    let allowed = "other commits, or a `path` of another file; the user has to look at this repository";
    Refusal::new("name", at, message, allowed)
}

/// Returns whether a name leads out of the working tree, into `.git`, or is no name on some system. A tree holds names
/// one by one, so an entry with a slash in it is impossible as well; it looks like a path.
pub(crate) fn is_impossible(path: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !is_own(part);
    path.contains(['\0', '\\']) || !path.split('/').all(is_part)
}

/// Returns whether some file system may take this name for `.git`.
fn is_own(part: &str) -> bool {
    let visible: String = part.chars().filter(|c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')).collect();
    let lower = visible.to_lowercase();
    let lower = lower.trim_end_matches([' ', '.']);
    let is_short = lower.strip_prefix("git~").is_some_and(|rest| {
        let digits = rest.split(':').next().unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    lower == ".git" || is_short || lower.starts_with(".git:")
}

#[cfg(test)]
mod tests {
    use super::{check, check_found};

    #[test]
    fn only_plain_worktree_paths_are_accepted() {
        for good in ["a", "a/b", "dir/", "a b", ".gitignore", "x.git/y"] {
            assert!(check(good, "path").is_ok(), "{good}");
        }
        for bad in [
            "",
            "/a",
            "../a",
            "a/../b",
            "./a",
            "a//b",
            "a\0b",
            ".git/config",
            "a/.GIT/hooks",
            ".git./x",
            "git~1/config",
            ".g\u{200c}it/x",
        ] {
            assert_eq!(check(bad, "path").unwrap_err().rule, "git/path", "{bad}");
        }
    }

    /// Reported of other programs: go-git/go-git#2339, gitbutlerapp/grit#860.
    #[test]
    fn impossible_names_of_a_repository_are_named() {
        for good in ["a", "a/b", ".gitignore", ".gitmodules", "x.git/y", "git~", "git~one", "..a", "a..", "…"]
        {
            assert!(check_found([good], "path").is_ok(), "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "../evil.txt",
            "a/../../b",
            "a//b",
            "./a",
            "a\\b",
            "a\0b",
            ".git/config",
            "a/.GIT/hooks/x",
            ".git::$INDEX_ALLOCATION/config",
            ".git ",
            ".git. . ",
            "GIT~1/config",
            "git~2",
            "git~1::$INDEX_ALLOCATION",
            ".g\u{200c}it/x",
        ] {
            let refused = check_found(["a.txt", bad], "path").unwrap_err();
            assert_eq!(refused.rule, "git/name", "{bad}");
        }
    }
}
