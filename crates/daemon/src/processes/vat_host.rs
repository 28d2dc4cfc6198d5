//! The process in which guest code runs. It gets programs that strangers or models have written, so it confines
//! itself before it reads a byte.

use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use sandbox::{Confinement, Limits, SandboxError, UNLIMITED};

use control::exit::{Exit, ExitResult, Failure};

/// The maximum number of open file descriptors: the streams, and some to spare.
const MAX_OPEN_FILES: u64 = 16;

/// Returns the command that starts a process for guest code. The process has an empty environment and no standard
/// error.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("vat-host").env_clear().current_dir("/").stderr(Stdio::null());
    command
}

/// Runs the process for guest code until its input ends.
///
/// # Errors
/// When the process cannot be confined, or its streams break.
pub fn serve() -> ExitResult {
    confine()?;
    std::thread::Builder::new()
        .name("end".to_owned())
        .stack_size(64 << 10)
        .spawn(exit_with_daemon)
        .map_err(|e| Failure::from_error(Exit::Failure, e))?;
    let begun = Instant::now();
    // The clock only measures durations, and guest code cannot read it.
    let clock: vat::Clock = Rc::new(move || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
    vat::serve(&mut std::io::stdin().lock(), &mut std::io::stdout().lock(), &clock)
        .map_err(|e| Failure::from_error(Exit::Failure, e))?;
    Ok(Exit::Ok)
}

/// Ends this process when the daemon has closed its standard input, even during work. Code that never returns would
/// otherwise keep the process alive.
#[expect(clippy::exit, reason = "the thread that is at work may be stuck, and nobody can be told to end")]
fn exit_with_daemon() {
    let orders = std::io::stdin();
    loop {
        let mut ends = [PollFd::new(&orders, PollFlags::empty())];
        match poll(&mut ends, None) {
            Ok(_) if ends.iter().any(|end| end.revents().intersects(PollFlags::HUP | PollFlags::ERR)) => {
                std::process::exit(Exit::Ok as i32);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => std::process::exit(Exit::Failure as i32),
        }
    }
}

/// Confines this process permanently: no file, no network, no other process, no program and no core dump.
///
/// # Errors
/// When a restriction cannot be enforced, as on every system but Linux. Then no guest code runs.
fn confine() -> Result<(), Failure> {
    let within = Confinement {
        readable: Vec::new(),
        writable: Vec::new(),
        executable: Vec::new(),
        network: false,
        pretends: true,
        limits: Limits { cpu_s: UNLIMITED, file_size: 0, open_files: MAX_OPEN_FILES, ..Limits::default() },
    };
    sandbox::confine_self(&within).map_err(|error: SandboxError| {
        Failure::new(Exit::Failure, format!("guest code cannot be confined on this machine: {error}"))
            .help("`almoner doctor` says what is missing")
    })
}
