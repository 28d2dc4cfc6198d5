//! The last steps of a process before it becomes the program.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::files::SignalConfinement;
use super::{calls, doing, files, privileges, raw};
use crate::Spec;
use crate::loaders::{loaders, search};

/// The standard streams of the program.
pub(super) struct ProgramStreams {
    pub(super) stdin: PipeReader,
    pub(super) stdout: PipeWriter,
    pub(super) stderr: PipeWriter,
}

/// The settings of the process that are not a part of its spec.
pub(super) struct JailSettings {
    /// The mechanism that confines signals.
    pub(super) signals: SignalConfinement,
    /// The kernel's limit on the user's processes, or `None` if the kernel does not count them.
    pub(super) processes: Option<u64>,
}

/// Puts every restriction in force, and replaces the process with the program.
///
/// # Errors
/// When a step failed. The error names the step, and the program has not begun.
pub(super) fn enter(spec: &Spec, ends: ProgramStreams, setting: &JailSettings) -> io::Result<Infallible> {
    rustix::process::setsid().map_err(doing("begin a session"))?;
    rustix::stdio::dup2_stdin(&ends.stdin).map_err(doing("connect standard input"))?;
    rustix::stdio::dup2_stdout(&ends.stdout).map_err(doing("connect standard output"))?;
    rustix::stdio::dup2_stderr(&ends.stderr).map_err(doing("connect standard error"))?;
    raw::close_at_exec(3).map_err(|e| at("close what was inherited", &e))?;
    std::env::set_current_dir(&spec.directory)
        .map_err(|e| at(&format!("begin in {}", spec.directory.display()), &e))?;
    let shown = spec.program.display();
    let needs = loaders(&spec.program, &search()).map_err(|e| at(&format!("start {shown}"), &e))?;
    let mut program = File::open(&spec.program).map_err(|e| at(&format!("open {shown}"), &e))?;
    if let Some(expected) = &spec.digest {
        verify(&mut program, expected).map_err(|e| at(&format!("trust {shown}"), &e))?;
        for interpreter in &needs.interpreters {
            let name = interpreter.display();
            let expected = spec.interpreters.get(interpreter).map_or("", String::as_str);
            File::open(interpreter)
                .and_then(|mut file| verify(&mut file, expected))
                .map_err(|e| at(&format!("trust {name}, which reads {shown}"), &e))?;
        }
    }
    if !needs.interpreters.is_empty() {
        // The interpreter reads the script from the descriptor whose content was checked.
        raw::keep_at_exec(program.as_raw_fd()).map_err(|e| at("hand over the script", &e))?;
    }
    let mut starts = needs.files;
    starts.push(spec.program.clone());
    privileges::limit(&spec.within.limits, setting.processes)?;
    privileges::drop_all()?;
    files::confine(&spec.within, &starts, setting.signals)?;
    // This is the kernel's own path to the open file, so no other process can replace the file in the meantime.
    let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
    if let Some((name, arguments)) = spec.argv.split_first() {
        command.arg0(name).args(arguments);
    }
    command.env_clear().envs(&spec.environment);
    let allowed = if spec.within.executable.is_empty() {
        calls::AllowedStarts::Itself
    } else {
        calls::AllowedStarts::Others
    };
    calls::confine(&spec.within, allowed)?;
    let error = command.exec();
    Err(at(&format!("start {shown}"), &error))
}

/// Checks the digest of the file through the descriptor that is executed later.
fn verify(program: &mut File, expected: &str) -> io::Result<()> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match program.read(&mut buffer)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        };
    }
    if hasher.finalize().to_hex().as_str() == expected {
        return Ok(());
    }
    Err(io::Error::other("it is not the program that was endowed"))
}

fn at(doing: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("could not {doing}: {error}"))
}
