//! The oldest Debian system that `debootstrap` can make here, in a folder, and commands that run in such a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process::{output, run};

/// Debian's releases, the oldest first. The mirror of a machine may have dropped the first ones.
const RELEASES: &[&str] = &["buster", "bullseye", "bookworm", "trixie"];

/// Runs a command below a folder as a user, with the kernel's own file systems, in a mount table that ends with it. The
/// arguments are the folder, the user, the user's home, and the command.
const RUN_BELOW: &str = "mkdir -p \"$1/proc\" \"$1/dev\" \"$1/tmp\" && \
    mount -t proc proc \"$1/proc\" && mount --rbind /dev \"$1/dev\" && root=$1 user=$2 home=$3 && shift 3 && \
    exec chroot --userspec=\"$user\" \"$root\" \"$@\"";

/// A folder with a system.
pub(super) struct SystemRoot {
    pub(super) folder: PathBuf,
    /// The user and the group, as numbers, and the home of commands.
    pub(super) user: u32,
    pub(super) home: String,
}

/// Makes the oldest system below a folder, unless it is there, and returns it with the name of its release.
///
/// # Errors
/// When no release can be made.
pub(super) fn oldest(folder: &Path) -> Result<(SystemRoot, &'static str)> {
    for release in RELEASES {
        let root = folder.join(release);
        let stamp = folder.join(format!("{release}.made"));
        if !stamp.is_file() {
            if root.exists() {
                fs::remove_dir_all(&root).with_context(|| format!("cannot empty {}", root.display()))?;
            }
            fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
            let made = output(Command::new("debootstrap").args(["--variant=minbase", release]).arg(&root));
            if let Err(fault) = made {
                let last = fault.to_string().lines().last().unwrap_or_default().to_owned();
                println!("Debian {release} cannot be made here: {last}");
                continue;
            }
            // Last: a system that was cut off is made again.
            fs::write(&stamp, "").with_context(|| format!("cannot write {}", stamp.display()))?;
        }
        let system = SystemRoot { folder: root, user: 1000, home: "/home/user".to_owned() };
        system.make_home()?;
        return Ok((system, release));
    }
    bail!("cannot make any of the Debian systems {}", RELEASES.join(", "));
}

impl SystemRoot {
    /// Makes an empty home.
    pub(super) fn make_home(&self) -> Result<()> {
        let home = self.folder.join(self.home.trim_start_matches('/'));
        if home.exists() {
            fs::remove_dir_all(&home).with_context(|| format!("cannot empty {}", home.display()))?;
        }
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        fs::File::open(&home)
            .and_then(|folder| std::os::unix::fs::fchown(&folder, Some(self.user), Some(self.user)))
            .with_context(|| format!("cannot give {} to its user", home.display()))
    }

    /// Returns a command that runs below the folder as its user.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        self.command_of(&format!("{0}:{0}", self.user), words)
    }

    /// Runs a command below the folder as root and shows its output.
    ///
    /// # Errors
    /// When it fails.
    pub(super) fn run_as_root(&self, words: &[&str]) -> Result<()> {
        if !run(&mut self.command_of("0:0", words))? {
            bail!("`{}` failed below {}", words.join(" "), self.folder.display());
        }
        Ok(())
    }

    fn command_of(&self, user: &str, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", RUN_BELOW, "sh"]);
        command.arg(&self.folder).args([user, &self.home]).args(words);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", &self.home);
        command
    }
}
