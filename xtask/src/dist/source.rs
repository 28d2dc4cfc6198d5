//! The source of a release: its commit, its time, and a copy of its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process::output;

/// Names the variable with the time of a release, in seconds since 1970. Build tools of many projects know it.
pub(super) const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Names the variable with the commit of a tree that has no repository.
pub(super) const COMMIT: &str = "ALMONER_COMMIT";

/// How many digits of a commit are shown.
const SHOWN_DIGITS: usize = 12;

/// The source that a release is built from.
pub(super) struct Source {
    pub(super) root: PathBuf,
    /// The commit, and whether files differ from it.
    pub(super) commit: String,
    /// The time that every file of the release gets, in seconds since 1970.
    pub(super) epoch: u64,
    /// The author of the commit, whom a Debian package names as its maintainer.
    pub(super) maintainer: String,
}

impl Source {
    /// Asks Git about the clone. [`EPOCH`] and [`COMMIT`] go before, and stand in where there is no repository.
    ///
    /// # Errors
    /// When neither knows the time or the commit.
    pub(super) fn read(root: &Path) -> Result<Source> {
        let git = |arguments: &[&str]| output(Command::new("git").arg("-C").arg(root).args(arguments));
        let commit = match std::env::var(COMMIT) {
            Ok(commit) => commit,
            Err(_) => {
                let commit = git(&["rev-parse", "HEAD"]).with_context(|| {
                    format!("cannot name the commit of the release; without Git, set {COMMIT}")
                })?;
                let is_changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.trim().is_empty();
                shown_commit(commit.trim(), is_changed)
            }
        };
        let epoch = match std::env::var(EPOCH) {
            Ok(epoch) => epoch,
            Err(_) => git(&["log", "-1", "--format=%ct"])
                .with_context(|| format!("cannot date the release; without Git, set {EPOCH}"))?,
        };
        let epoch =
            epoch.trim().parse().with_context(|| format!("cannot read the time `{}`", epoch.trim()))?;
        let maintainer = git(&["log", "-1", "--format=%an <%ae>"]).unwrap_or_default().trim().to_owned();
        let maintainer = if maintainer.is_empty() {
            "Almoner contributors <unknown@invalid>".to_owned()
        } else {
            maintainer
        };
        Ok(Source { root: root.to_owned(), commit, epoch, maintainer })
    }

    /// Copies the files that Git knows, as they are now, into an empty folder, and returns the copy as a source.
    pub(super) fn copy_to(&self, folder: &Path) -> Result<Source> {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        let list = output(Command::new("git").arg("-C").arg(&self.root).args(["ls-files", "-z"]))?;
        for name in list.split('\0').filter(|name| !name.is_empty()) {
            let (from, to) = (self.root.join(name), folder.join(name));
            // A file that was removed since the commit is not there.
            if !from.exists() {
                continue;
            }
            let parent = to.parent().context("a file lies in a folder")?;
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        if !folder.join("Cargo.toml").is_file() {
            bail!("cannot copy the source: Git knows no Cargo.toml in {}", self.root.display());
        }
        Ok(Source {
            root: folder.to_owned(),
            commit: self.commit.clone(),
            maintainer: self.maintainer.clone(),
            ..*self
        })
    }

    /// Returns the time as people and programs write it.
    pub(super) fn time(&self) -> Result<String> {
        let seconds = i64::try_from(self.epoch).context("the time of the release is out of range")?;
        Ok(jiff::Timestamp::from_second(seconds)
            .context("the time of the release is out of range")?
            .to_string())
    }
}

/// Returns the commit as `--version` shows it.
fn shown_commit(commit: &str, is_changed: bool) -> String {
    let digits: String = commit.chars().take(SHOWN_DIGITS).collect();
    if is_changed { format!("{digits}, modified") } else { digits }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Source, shown_commit};

    #[test]
    fn changed_tree_is_shown_as_modified() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(shown_commit(commit, false), "0123456789ab");
        assert_eq!(shown_commit(commit, true), "0123456789ab, modified");
    }

    #[test]
    fn time_is_written_in_utc() {
        let source = Source {
            root: PathBuf::new(),
            commit: String::new(),
            epoch: 1_764_374_400,
            maintainer: String::new(),
        };
        assert_eq!(source.time().unwrap(), "2025-11-29T00:00:00Z");
    }
}
