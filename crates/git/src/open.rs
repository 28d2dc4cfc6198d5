//! The opening of a repository that lies in one directory as a whole. A repository with parts elsewhere is refused.

use std::io::Read as _;
use std::path::Path;

use git2::{Repository, RepositoryOpenFlags as Flags};

use crate::refusal::Refusal;

/// The only environment variables of git in the process that opens repositories. With them, git ignores the settings
/// of the machine, and finds none of a user.
pub const ENVIRONMENT: [(&str, &str); 1] = [("GIT_CONFIG_NOSYSTEM", "1")];

/// The maximum number of bytes of settings that are searched for files that they include.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Opens the repository whose working tree is this directory.
pub(crate) fn open(root: &Path) -> Result<Repository, Refusal> {
    let directory = root.join(".git");
    check(&directory)?;
    let flags = Flags::NO_SEARCH | Flags::NO_DOTGIT | Flags::FROM_ENV;
    let opened = Repository::open_ext(&directory, flags, [root]);
    let settings = opened.and_then(|repository| Ok((repository.config()?.snapshot()?, repository)));
    let (settings, repository) = match settings {
        Ok(both) => both,
        // This process may read nothing outside, and the library takes that for a damaged repository.
        Err(_) if includes_settings(&directory) => return Err(refuse_include()),
        Err(error) => return Err(error.into()),
    };
    // The settings of a repository can name any directory as the place of its files.
    let set = settings.get_string("core.worktree").is_ok();
    let is_here = repository.workdir().and_then(|at| at.canonicalize().ok()).is_some_and(|at| at == root);
    if set || !is_here {
        return Err(refuse_elsewhere("its settings say that its files lie elsewhere (`core.worktree`)"));
    }
    Ok(repository)
}

/// Checks that the whole repository lies in its `.git` directory. A link, or a file that names another place, is
/// refused.
fn check(directory: &Path) -> Result<(), Refusal> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    match directory.symlink_metadata() {
        Err(_) => {
            let message = "there is no repository: the directory has no `.git`";
            return Err(Refusal::new(
                "none",
                "method",
                message,
                "nothing, until the user endows a repository",
            ));
        }
        Ok(meta) if !meta.is_dir() => return Err(refuse_elsewhere("its `.git` names another directory")),
        Ok(_) => {}
    }
    for name in ["commondir", "gitdir", "objects/info/alternates", "objects/info/http-alternates"] {
        if directory.join(name).symlink_metadata().is_ok() {
            return Err(refuse_elsewhere(&format!("a part of it lies elsewhere (`.git/{name}`)")));
        }
    }
    let parts =
        ["HEAD", "config", "index", "info", "logs", "objects", "packed-refs", "refs", "config.worktree"];
    let deeper = ["objects/info", "objects/pack", "refs/heads", "info/exclude", "info/attributes"];
    match parts.into_iter().chain(deeper).find(|name| is_link(&directory.join(name))) {
        Some(name) => Err(refuse_elsewhere(&format!("a part of it is a link (`.git/{name}`)"))),
        None => Ok(()),
    }
}

/// Returns whether the settings of a repository include other files.
fn includes_settings(directory: &Path) -> bool {
    ["config", "config.worktree"].iter().any(|name| {
        let mut text = Vec::new();
        let read = std::fs::File::open(directory.join(name))
            .and_then(|file| file.take(MAX_SETTINGS_BYTES).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text).to_lowercase();
        read.is_ok() && text.lines().any(|line| line.trim_start().starts_with("[include"))
    })
}

fn refuse_include() -> Refusal {
    Refusal::new(
        "include",
        "method",
        "the repository is not opened: its settings include a file that lies elsewhere, or cannot be read \
         (`include.path` in `.git/config`)",
        "nothing, until the user removes that setting: `git config --local --unset-all include.path`",
    )
}

fn refuse_elsewhere(what: &str) -> Refusal {
    let allowed = "nothing, until the user endows a repository that lies in one directory as a whole";
    Refusal::new("elsewhere", "method", format!("the repository is not opened: {what}"), allowed)
}
