//! The reason why a call is refused.

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

impl From<git2::Error> for Refusal {
    fn from(error: git2::Error) -> Refusal {
        let message = format!("git: {}", error.message());
        match error.code() {
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
