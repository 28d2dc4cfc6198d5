//! The methods of a repository.

use std::sync::LazyLock;

use kernel::{Interface, Method, Param, Pattern};
use passable::{Effect, Limit, Limits};

use crate::text;

/// The maximum length of a path, and of the name of a revision or a branch.
const MAX_LEN: u64 = 1024;
/// The maximum number of paths of one call.
const MAX_PATHS: f64 = 1000.0;
/// The maximum length of a commit's message.
const MAX_MESSAGE_LEN: u64 = 32 << 10;
/// The largest number for a range: the largest integer that a number holds exactly.
const MAX_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Returns the interface of every repository. A grant says which of the methods may be called.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let looks = |name: &str, about: &str| {
            Method::new(name, Effect::Observe, about).returns(Pattern::any_record())
        };
        let changes = |name: &str, effect: Effect, about: &str| {
            Method::new(name, effect, about).returns(Pattern::any_record()).with_probe()
        };
        let path =
            || Param::optional("path", text(MAX_LEN), "only this file, or what lies in this directory");
        let offset = || {
            Param::optional(
                "offset",
                Pattern::between(0.0, MAX_INTEGER),
                "where to read on, as the answer said",
            )
        };
        let count =
            |name: &str, about: &str| Param::optional(name, Pattern::between(1.0, MAX_INTEGER), about);
        let paths = || {
            let list = Pattern::array_of_within(
                text(MAX_LEN),
                Limits::from_pairs([(Limit::ArrayLength, MAX_PATHS)]),
            );
            Param::required("paths", list, "files and directories; `.` is everything")
        };
        Interface::new("Git", "a repository of git: its files as they were, and what has changed")
            .with(looks(
                "status",
                "What is checked out, what has changed, and what is committed next (`staged`).",
            ))
            .with(
                looks("log", "Commits, newest first: { commit, parents, author, when, message }.")
                    .param(Param::optional("range", text(MAX_LEN), "such as `main..topic`, or one revision"))
                    .param(Param::optional("path", text(MAX_LEN), "only commits that changed what is there"))
                    .param(count("n", "how many at most; without it, 20"))
                    .param(Param::optional(
                        "skip",
                        Pattern::between(0.0, MAX_INTEGER),
                        "how many are passed over",
                    )),
            )
            .with(
                looks("diff", "Differences as text. Without `from`: what was changed and is not staged.")
                    .param(Param::optional("from", text(MAX_LEN), "a revision"))
                    .param(Param::optional(
                        "to",
                        text(MAX_LEN),
                        "another one; left out: the files as they are",
                    ))
                    .param(Param::optional("staged", Pattern::bool(), "true: what would be committed"))
                    .param(path())
                    .param(offset()),
            )
            .with(
                looks(
                    "show",
                    "A commit with what it changed; with a path, the file as it was in that commit.",
                )
                .param(Param::required("revision", text(MAX_LEN), "such as `HEAD~1`, a branch, a commit"))
                .param(Param::optional("path", text(MAX_LEN), "a file or a directory of that commit"))
                .param(offset()),
            )
            .with(
                looks("blame", "Which commit each line of a committed file comes from.")
                    .param(Param::required("path", text(MAX_LEN), "the file"))
                    .param(count("from", "the first line, from 1"))
                    .param(count("lines", "how many lines; without it, 200")),
            )
            .with(looks("branches", "All branches, and which is checked out."))
            .with(
                changes("add", Effect::Modify, "Stages files as they are now: they are committed next.")
                    .param(paths()),
            )
            .with(
                changes(
                    "unstage",
                    Effect::Modify,
                    "Takes files out of what is committed next; the files stay.",
                )
                .param(paths()),
            )
            .with(
                changes(
                    "commit",
                    Effect::Commit,
                    "Commits what is staged. No hook is run, nothing is signed.",
                )
                .param(Param::required(
                    "message",
                    text(MAX_MESSAGE_LEN),
                    "one line, or one line, an empty one and more",
                )),
            )
            .with(
                changes("branch", Effect::Modify, "Makes a branch, without checking it out.")
                    .param(Param::required("name", text(MAX_LEN), "its name"))
                    .param(Param::optional("at", text(MAX_LEN), "a revision; left out: what is checked out")),
            )
            .with(
                changes(
                    "switch",
                    Effect::Modify,
                    "Checks a branch out; refuses where changes would be lost.",
                )
                .param(Param::required("name", text(MAX_LEN), "the branch")),
            )
    });
    &INTERFACE
}

/// The methods that change a repository.
pub(crate) const CHANGING: [&str; 5] = ["add", "unstage", "commit", "branch", "switch"];
