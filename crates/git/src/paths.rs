//! Paths within a working tree.

use crate::refusal::Refusal;

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

/// Returns whether some file system may take this name for `.git`.
fn is_own(part: &str) -> bool {
    let visible: String = part.chars().filter(|c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')).collect();
    let lower = visible.to_lowercase();
    let lower = lower.trim_end_matches([' ', '.']);
    lower == ".git" || lower == "git~1" || lower.starts_with(".git:")
}

#[cfg(test)]
mod tests {
    use super::check;

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
}
