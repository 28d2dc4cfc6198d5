//! The process that holds a local model. It reads weights and prompts that strangers have made. So it confines itself
//! before it reads a byte of either.

use std::path::Path;
use std::process::Command;

use model::local::{HostOptions, READ_PATHS, VARIABLES};
use sandbox::{Confinement, Limits, SandboxError, UNLIMITED};

use control::exit::{Exit, ExitResult, Failure};

/// The maximum number of open file descriptors: the streams, the weights twice, and some to spare.
const MAX_OPEN_FILES: u64 = 64;

/// Returns the command that starts a host for these weights. Its environment has only the variables that set its
/// number of threads.
pub fn command(program: &Path, weights: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("model-host").arg(weights).env_clear().current_dir("/");
    command.envs(VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command
}

/// Runs the host of a local model until its input ends.
///
/// # Errors
/// When the process cannot be confined, or its output breaks.
pub fn serve(weights: &Path) -> ExitResult {
    confine(weights)?;
    let options = HostOptions::new(weights);
    model::local::serve(&options, std::io::stdin(), std::io::stdout().lock()).map_err(|e| {
        let help = e.help();
        Failure::from_error(Exit::Failure, e).help(help)
    })?;
    Ok(Exit::Ok)
}

/// Confines this process permanently. The process may read the weights, the size of the memory and the number of
/// processors. It has no other file and no network. It can start no process or program, and leaves no core dump. Its
/// memory is limited later, when the size of the weights is known.
///
/// # Errors
/// When a restriction cannot be enforced. Then there is no local model. Systems other than Linux enforce none.
pub fn confine(weights: &Path) -> Result<(), Failure> {
    let paths = std::iter::once(weights).chain(READ_PATHS.iter().map(Path::new));
    // The code that loads the weights reports missing ones.
    let readable = paths.filter_map(|path| path.canonicalize().ok()).collect();
    let within = Confinement {
        readable,
        writable: Vec::new(),
        executable: Vec::new(),
        network: false,
        pretends: true,
        limits: Limits { cpu_s: UNLIMITED, file_size: 0, open_files: MAX_OPEN_FILES, ..Limits::default() },
    };
    sandbox::confine_self(&within).map_err(|error: SandboxError| {
        let message = format!("the local model cannot be confined on this machine: {error}");
        Failure::new(Exit::Failure, message).help(
            "`almoner doctor sandbox` says what is missing; a model on a server needs none of it: `-m openai:MODEL`",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn model_host_inherits_no_environment_variables() {
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
