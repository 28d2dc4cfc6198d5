//! The process that holds a local model. It reads what a stranger has made, the weights, and what strangers wrote, the
//! prompts: so it shuts itself in before it has read a byte of either.

use std::path::Path;
use std::process::Command;

use model::local::{HostOptions, READS, VARIABLES};
use sandbox::{Confinement, Limits, SandboxError, UNLIMITED};

use control::exit::{Ended, Exit, Failure};

/// Descriptors that are open at one time: the streams, the weights twice, and some to spare.
const OPEN_FILES: u64 = 64;

/// The command that starts a host for these weights: with nothing in its environment but what says how many threads it
/// may have.
pub fn command(program: &Path, weights: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("model-host").arg(weights).env_clear().current_dir("/");
    command.envs(VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command
}

/// The host's whole life.
///
/// # Errors
/// When it cannot be confined, or its output breaks.
pub fn live(weights: &Path) -> Ended {
    confine(weights)?;
    let options = HostOptions::new(weights);
    model::local::serve(&options, std::io::stdin(), std::io::stdout().lock())
        .map_err(|e| Failure::new(Exit::Failure, e.to_string()).help(e.help()))?;
    Ok(Exit::Ok)
}

/// Shuts this process in for good: it reads the weights, and how much memory and how many processors there are; it has
/// no other file, no network, makes no process, starts no program, and leaves no core dump. How much memory it takes is
/// limited once it is known how much the weights need.
///
/// # Errors
/// What cannot be held: then there is no local model. Where nothing at all can be confined (elsewhere than on Linux) it
/// goes on as it is, and `almoner doctor` says so.
pub fn confine(weights: &Path) -> Result<(), Failure> {
    let paths = std::iter::once(weights).chain(READS.iter().map(Path::new));
    // Weights that are not there are told of by whoever wants to load them.
    let readable = paths.filter_map(|path| path.canonicalize().ok()).collect();
    let within = Confinement {
        readable,
        writable: Vec::new(),
        executable: Vec::new(),
        network: false,
        pretends: true,
        limits: Limits { cpu_s: UNLIMITED, file_size: 0, open_files: OPEN_FILES, ..Limits::default() },
    };
    match sandbox::confine_self(&within) {
        Ok(()) | Err(SandboxError::Unsupported) => Ok(()),
        Err(error) => Err(Failure::new(
            Exit::Failure,
            format!("the local model cannot be confined on this machine: {error}"),
        )
        .help(
            "`almoner doctor` says what is missing; a model on a server needs none of it: `-m openai:MODEL`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn nothing_of_the_daemons_environment_is_handed_on() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("host");
        std::fs::write(&script, "#!/bin/sh\nenv\necho \"$@\"\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ours = "CARGO_MANIFEST_DIR";
        assert!(std::env::var_os(ours).is_some(), "the control");
        let output = command(&script, Path::new("/w.gguf")).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("model-host /w.gguf"), "{said}");
        for name in [ours, "HOME", "PATH"] {
            assert!(!said.lines().any(|line| line.starts_with(&format!("{name}="))), "{said}");
        }
    }
}
