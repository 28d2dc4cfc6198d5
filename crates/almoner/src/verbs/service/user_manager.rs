//! The service manager of the user: systemd, reached by `systemctl --user`.

use std::io;
use std::process::{Command, Output, Stdio};

use control::exit::{Exit, Failure};

/// The user's service manager, which answers.
pub struct UserManager(());

impl UserManager {
    /// Returns the service manager.
    ///
    /// # Errors
    /// When there is none, as in most containers, or when it cannot be reached.
    pub fn find() -> Result<UserManager, Failure> {
        const HELP: &str =
            "commands start the daemon by themselves; `almoner service install --print` shows the unit";
        match systemctl(&["show-environment"]) {
            Ok(output) if output.status.success() => Ok(UserManager(())),
            Ok(output) => Err(Failure::new(
                Exit::Failure,
                format!("cannot reach the service manager of this user: {}", reason(&output)),
            )
            .help(HELP)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::new(
                Exit::Failure,
                "cannot find a service manager: this machine has no `systemctl`",
            )
            .help(HELP)),
            Err(error) => {
                Err(Failure::new(Exit::Failure, format!("cannot start `systemctl`: {error}")).help(HELP))
            }
        }
    }

    /// Runs a command of the service manager.
    ///
    /// # Errors
    /// When the command fails.
    pub fn run(&self, arguments: &[&str]) -> Result<(), Failure> {
        let shown = arguments.join(" ");
        let failed = |why: String| {
            Failure::new(Exit::Failure, format!("cannot run `systemctl --user {shown}`: {why}"))
                .help("`journalctl --user -e` shows what the service said")
        };
        let output = systemctl(arguments).map_err(|error| failed(error.to_string()))?;
        if output.status.success() { Ok(()) } else { Err(failed(reason(&output))) }
    }

    /// Returns the word that the service manager answers, such as `active`. An answer can come with any exit code.
    pub fn word(&self, question: &str, unit: &str) -> String {
        let output = systemctl(&[question, unit]).ok();
        let word = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        word.filter(|word| !word.is_empty()).unwrap_or_else(|| "unknown".to_owned())
    }
}

fn systemctl(arguments: &[&str]) -> io::Result<Output> {
    Command::new("systemctl").arg("--user").args(arguments).stdin(Stdio::null()).output()
}

/// Returns the first line that a command said about its failure.
fn reason(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    passable::visible_line(line.trim()).into_owned()
}

/// Returns whether the user's services run while the user is not logged in. Returns `None` if that is unknown.
pub fn lingers() -> Option<bool> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let arguments = ["show-user", &uid, "--property=Linger", "--value"];
    let output = Command::new("loginctl").args(arguments).stdin(Stdio::null()).output().ok()?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}
