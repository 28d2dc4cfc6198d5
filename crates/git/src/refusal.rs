//! The reason why a call is refused.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The reason why a call is refused, and the calls that would be allowed. The texts may contain text from the
/// repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The name of the rule, as `git/rule`.
    pub rule: String,
    /// The description of the fault.
    pub message: String,
    /// The argument at fault.
    pub at: String,
    /// The alternatives that are allowed.
    pub allowed: String,
}

impl Refusal {
    pub(crate) fn new(
        rule: &str,
        at: &str,
        message: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Refusal {
        Refusal {
            rule: format!("git/{rule}"),
            message: message.into(),
            at: at.to_owned(),
            allowed: allowed.into(),
        }
    }
}

impl Refusal {
    /// Returns the same without the names of files outside of the repository, which the library puts into its errors.
    pub(crate) fn without_outside_names(self, root: &Path) -> Refusal {
        let root = root.to_string_lossy();
        let (mut rest, mut message) = (self.message.as_str(), String::new());
        while let Some((before, quoted)) = rest.split_once('\'') {
            message += before;
            let Some((name, after)) = quoted.split_once('\'') else {
                // A name without an end is left out.
                message += if quoted.starts_with('/') { "a file" } else { "'" };
                rest = if quoted.starts_with('/') { "" } else { quoted };
                break;
            };
            let inner = name.strip_prefix(&*root).filter(|inner| inner.is_empty() || inner.starts_with('/'));
            match inner {
                Some(inner) => message += &format!("`{}`", inner.trim_start_matches('/')),
                None if name.starts_with('/') || name.starts_with('~') => message += "a file outside",
                None => message += &format!("'{name}'"),
            }
            rest = after;
        }
        message += rest;
        Refusal { message, ..self }
    }
}

impl From<git2::Error> for Refusal {
    fn from(error: git2::Error) -> Refusal {
        let message = format!("git: {}", error.message());
        match error.code() {
            // The library calls every file that it may not open locked.
            git2::ErrorCode::Locked if error.message().contains("Permission denied") => Refusal::new(
                "denied",
                "method",
                format!("{message}; a part of the repository may not be read or changed here"),
                "another call; the user can look at the permissions of the files",
            ),
            git2::ErrorCode::Locked => Refusal::new(
                "locked",
                "method",
                format!("{message}; another program is at work in the repository, or was killed there"),
                "the same call, once the other is done",
            ),
            git2::ErrorCode::Owner => Refusal::new(
                "owner",
                "method",
                "the repository belongs to another user of this machine",
                "nothing, until the user endows a repository of their own",
            ),
            _ => {
                Refusal::new("failed", "method", message, "another call; `status` says how the repository is")
            }
        }
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Refusal {
        Refusal::new(
            "failed",
            "paths",
            format!("a file: {error}"),
            "the same call, once the system lets it pass",
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Refusal;

    #[test]
    fn names_of_files_outside_are_left_out() {
        for (said, shown) in [
            (
                "could not open '/home/me/.gitconfig.work': Permission denied",
                "could not open a file outside: Permission denied",
            ),
            (
                "failed to lock '/r/repo/.git/index.lock' for writing",
                "failed to lock `.git/index.lock` for writing",
            ),
            ("'/r/repository/x' and '/r/repo'", "a file outside and ``"),
            ("cannot find 'topic'; it's gone", "cannot find 'topic'; it's gone"),
            ("stat '/home/me", "stat a file"),
            ("include '~/.x'", "include a file outside"),
        ] {
            let refused =
                Refusal::new("failed", "method", said, "").without_outside_names(Path::new("/r/repo"));
            assert_eq!(refused.message, shown);
        }
    }
}
