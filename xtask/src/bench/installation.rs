//! A release build with a home of its own, in which things are measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::machine;
use crate::process::{cargo, output, run, succeeds};
use crate::workspace::Workspace;

/// How long a daemon may take to listen, and to end.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The binary, the home and the working folder of one measurement. In every case the daemon is stopped at the end.
pub(super) struct Installation {
    pub(super) binary: PathBuf,
    pub(super) home: PathBuf,
    pub(super) folder: PathBuf,
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = output(&mut self.almoner(&["stop"]));
    }
}

impl Installation {
    /// Builds it, and lays these files into an empty folder.
    pub(super) fn build(workspace: &Workspace, name: &str, files: &[(&str, &str)]) -> Result<Installation> {
        if !run(&mut cargo(&workspace.root, &["build", "--release", "--package", "almoner"]))? {
            bail!("almoner did not build; the compiler's message is above");
        }
        let place = workspace.target.join(format!("bench-{name}"));
        if place.exists() {
            fs::remove_dir_all(&place).with_context(|| format!("cannot empty {}", place.display()))?;
        }
        let binary = workspace.target.join("release/almoner");
        let installation = Installation { binary, home: place.join("home"), folder: place.join("folder") };
        fs::create_dir_all(&installation.home)?;
        fs::create_dir_all(&installation.folder)?;
        for (path, text) in files {
            let path = installation.folder.join(path);
            fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(installation)
    }

    /// Returns a command of it, which starts the daemon if none runs.
    pub(super) fn almoner(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(&self.folder).env("ALMONER_HOME", &self.home);
        command
    }

    /// Returns where the daemon listens for commands.
    pub(super) fn socket(&self) -> PathBuf {
        self.home.join("run/control.sock")
    }

    /// Stops the daemon and waits until nothing of this home runs.
    pub(super) fn stop(&self) -> Result<()> {
        if machine::processes_of(&self.home).0 == 0 {
            return Ok(());
        }
        output(&mut self.almoner(&["stop"]))?;
        let start = Instant::now();
        while machine::processes_of(&self.home).0 > 0 {
            if start.elapsed() > TIMEOUT {
                bail!("the daemon still runs {} s after `stop`", TIMEOUT.as_secs());
            }
            sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Does something while every sync of the daemon is counted, of the store and of all files. `None` says that there is
    /// no `strace`.
    pub(super) fn traced<T>(&self, work: impl FnOnce(&Syncs<'_>) -> Result<T>) -> Result<Option<T>> {
        if !succeeds("strace", &["-V"]) {
            return Ok(None);
        }
        self.stop()?;
        let log = self.home.with_file_name("syncs");
        let mut daemon = Command::new("strace");
        daemon.args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-o"]).arg(&log);
        daemon.arg(&self.binary).arg("daemon").current_dir(&self.folder).env("ALMONER_HOME", &self.home);
        let mut daemon = daemon.spawn().context("cannot start strace")?;
        let worked = self.listens().and_then(|()| work(&Syncs { log: &log }));
        let stopped = self.stop();
        if stopped.is_err() {
            daemon.kill()?;
        }
        daemon.wait()?;
        worked.map(Some)
    }

    /// Waits until the daemon answers. Asking before it listens would start another one.
    fn listens(&self) -> Result<()> {
        let start = Instant::now();
        while !self.socket().exists() || output(&mut self.almoner(&["status"])).is_err() {
            if start.elapsed() > TIMEOUT {
                bail!("the traced daemon did not answer within {} s", TIMEOUT.as_secs());
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// The syncs of a traced daemon.
pub(super) struct Syncs<'a> {
    log: &'a Path,
}

impl Syncs<'_> {
    /// Returns how many there were so far.
    pub(super) fn count(&self) -> usize {
        fs::read_to_string(self.log).map(|text| text.lines().count()).unwrap_or_default()
    }
}

/// The note of a row when there is no `strace`.
pub(super) const NEEDS_STRACE: &str = "needs strace: apt-get install strace";
