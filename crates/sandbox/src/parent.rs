//! The side of the sandbox that requests the run of a program.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::frame::{self, RunRequest};
use crate::spec::{End, Report, Spec};

/// The interval at which the code checks whether a warden has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);
/// The maximum number of bytes of a live program's standard error that are kept. They must fit into a pipe together
/// with the rest of the report.
const MAX_KEPT_BYTES: u64 = 16 << 10;
/// The maximum time for a warden to end its processes.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// The additional time, after the program's time limit, before the warden is given up.
const GRACE_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum number of bytes that are kept of a warden's error message.
const MAX_COMPLAINT_BYTES: u64 = 4096;

/// The reason why a program was not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// A system that cannot confine programs.
    #[error("this system cannot confine programs: that takes Linux")]
    Unsupported,
    /// A restriction that cannot be enforced, or a program that cannot be started. Nothing ran.
    #[error("{0}")]
    Refused(String),
    /// A warden that could not be started, or did not answer.
    #[error("the sandbox did not answer: {0}")]
    Warden(String),
}

/// The command that starts the warden: this binary, with the arguments for a warden.
#[derive(Clone, Debug)]
pub struct Helper {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Helper {
    /// Returns the helper for this process's own program, even if its file has been replaced in the meantime.
    pub fn own() -> Helper {
        Helper::at("/proc/self/exe")
    }

    /// Returns a helper that runs another build of the same program.
    pub fn at(program: impl Into<PathBuf>) -> Helper {
        Helper { program: program.into(), arguments: vec!["sandbox".to_owned()] }
    }

    /// Starts the warden and returns its process, with pipes to it.
    fn spawn(&self) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }

    /// Returns the path of the helper's program.
    pub(crate) fn program(&self) -> &std::path::Path {
        &self.program
    }
}

/// Runs a program to its end, with `input` as its standard input. Blocks until the program and all its descendants
/// have ended.
///
/// # Errors
/// When nothing ran, or the end of the program is unknown.
pub fn run(helper: &Helper, spec: &Spec, input: &[u8]) -> Result<Report, SandboxError> {
    if !cfg!(target_os = "linux") {
        return Err(SandboxError::Unsupported);
    }
    let failed = |e: io::Error| SandboxError::Warden(e.to_string());
    let mut child = helper.spawn().map_err(failed)?;
    let (Some(mut stdin), Some(mut stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(SandboxError::Warden("it has no pipes".to_owned()));
    };
    let question =
        RunRequest { spec: spec.clone(), parent: std::process::id(), input: input.len() as u64, live: false };
    let asked = frame::write_request(&mut stdin, &question, input);
    drop(stdin);
    let most = spec.within.limits.output;
    let (send, receive) = channel();
    let reader = std::thread::Builder::new().name("sandbox-report".to_owned()).spawn(move || {
        // The caller may have given up waiting.
        let _ = send.send(frame::read_report(&mut stdout, most));
    });
    let patience = Duration::from_millis(spec.within.limits.wall_ms).saturating_add(GRACE_TIMEOUT);
    let answer = reader
        .map_err(failed)
        .and_then(|_| {
            receive.recv_timeout(patience).map_err(|_| SandboxError::Warden("it took too long".to_owned()))
        })
        .and_then(|answer| asked.and(answer).map_err(failed));
    // The warden holds nothing that could be lost. All processes under the warden end with it.
    let _ = child.kill();
    let _ = child.wait();
    match answer {
        Ok(Report { end: End::Refused { why }, .. }) => Err(SandboxError::Refused(why)),
        Ok(report) => Ok(report),
        Err(SandboxError::Warden(why)) => {
            let mut words = Vec::new();
            let _ = stderr.take(MAX_COMPLAINT_BYTES).read_to_end(&mut words);
            let words = String::from_utf8_lossy(&words);
            let words = words.trim();
            Err(SandboxError::Warden(if words.is_empty() { why } else { format!("{why}: {words}") }))
        }
        Err(error) => Err(error),
    }
}

/// A running program that exchanges data with this process. The program is ended when this value is dropped.
#[derive(Debug)]
pub struct Session {
    warden: Child,
    /// The pipe of the report, which stays open as long as the program shall run. The warden ends the program when
    /// this pipe has no reader any more.
    report: Option<ChildStderr>,
    most: u64,
}

/// The standard input and the standard output of a program.
pub type ProgramPipes = (ChildStdin, ChildStdout);

/// Starts a program, and returns the pipes of its input and output. The first 16 KiB of its standard error are kept.
///
/// # Errors
/// When this system cannot confine the program, or the warden cannot be started. [`Session::end`] reports every other
/// reason why the program did not begin.
pub fn open(helper: &Helper, spec: &Spec) -> Result<(Session, ProgramPipes), SandboxError> {
    if !cfg!(target_os = "linux") {
        return Err(SandboxError::Unsupported);
    }
    let failed = |e: io::Error| SandboxError::Warden(e.to_string());
    let mut warden = helper.spawn().map_err(failed)?;
    let (Some(mut stdin), Some(stdout), report @ Some(_)) =
        (warden.stdin.take(), warden.stdout.take(), warden.stderr.take())
    else {
        return Err(SandboxError::Warden("it has no pipes".to_owned()));
    };
    let mut spec = spec.clone();
    spec.within.limits.output = spec.within.limits.output.min(MAX_KEPT_BYTES);
    let session = Session { warden, report, most: spec.within.limits.output };
    let question = RunRequest { spec, parent: std::process::id(), input: 0, live: true };
    match frame::write_request(&mut stdin, &question, &[]) {
        Ok(()) => Ok((session, (stdin, stdout))),
        Err(error) => Err(failed(error)),
    }
}

impl Session {
    /// Returns the report if the program has ended by itself, or ends within `patience`. Ends all remaining processes
    /// of the program.
    pub fn end(mut self, patience: Duration) -> Option<Report> {
        if !self.is_over_within(patience) {
            return None;
        }
        // The warden has ended, so its report is in the pipe.
        frame::read_report(self.report.as_mut()?, self.most).ok()
    }

    fn is_over_within(&mut self, patience: Duration) -> bool {
        let begun = Instant::now();
        loop {
            match self.warden.try_wait() {
                Ok(None) if begun.elapsed() < patience => std::thread::sleep(CHECK_INTERVAL),
                Ok(None) => return false,
                _ => return true,
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The warden notices that its report has no reader, ends all processes, and then ends itself.
        self.report = None;
        if !self.is_over_within(END_TIMEOUT) {
            let _ = self.warden.kill();
            let _ = self.warden.wait();
        }
    }
}
