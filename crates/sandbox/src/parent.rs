//! The side that asks for a program to be run.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::frame::{self, RunRequest};
use crate::spec::{End, Report, Spec};

/// How often it is looked whether a warden has gone.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);
/// The most of a program's standard error that is kept while it is talked to: as much as fits into a pipe with the rest.
const MAX_KEPT_BYTES: u64 = 16 << 10;
/// The time that a warden may take to end its processes.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How much longer than the program the warden may take before it is given up.
const GRACE_TIMEOUT: Duration = Duration::from_secs(20);
/// The most bytes that are kept of a warden's complaint.
const MAX_COMPLAINT_BYTES: u64 = 4096;

/// Why a program was not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This system has nothing that could hold a program.
    #[error("this system cannot confine programs: that takes Linux")]
    Unsupported,
    /// Something could not be held, or the program could not be started. Nothing ran.
    #[error("{0}")]
    Refused(String),
    /// The warden could not be started or talked to.
    #[error("the sandbox did not answer: {0}")]
    Warden(String),
}

/// How the warden is started: this binary, with the arguments that make it one.
#[derive(Clone, Debug)]
pub struct Helper {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Helper {
    /// Returns the program that this process runs, also when its file has been replaced meanwhile.
    pub fn own() -> Helper {
        Helper::at("/proc/self/exe")
    }

    /// Returns a helper that runs another build of the same program.
    pub fn at(program: impl Into<PathBuf>) -> Helper {
        Helper { program: program.into(), arguments: vec!["sandbox".to_owned()] }
    }

    /// Returns the warden as a process, with pipes to it.
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

    /// Returns where it lies.
    pub(crate) fn program(&self) -> &std::path::Path {
        &self.program
    }
}

/// Runs a program to its end, with `input` as its standard input. Blocks until it and all that it started are gone.
///
/// # Errors
/// When nothing ran, or nothing is known of how it ended.
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
    // It holds nothing that could be lost. All that it watches over ends with it.
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

/// A program that runs, and is talked to while it does. It ends with this value.
#[derive(Debug)]
pub struct Session {
    warden: Child,
    /// The pipe of the report, held open as long as the program is wanted. The warden ends the program once this pipe
    /// has no reader.
    report: Option<ChildStderr>,
    most: u64,
}

/// The standard input and the standard output of a program.
pub type ProgramPipes = (ChildStdin, ChildStdout);

/// Starts a program and returns the pipes of its input and output. Of its standard error the first 16 KiB are kept.
///
/// # Errors
/// When this system cannot confine it, or the warden cannot be started. [`Session::end`] reports every other reason
/// for which the program did not begin.
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
    /// Returns how the program ended, if it has by itself, or does within `patience`. Ends every process that is left
    /// of it.
    pub fn end(mut self, patience: Duration) -> Option<Report> {
        if !self.is_over_within(patience) {
            return None;
        }
        // The warden has gone: its report lies in the pipe.
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
        // The warden sees that its report has no reader, ends everything, and goes.
        self.report = None;
        if !self.is_over_within(END_TIMEOUT) {
            let _ = self.warden.kill();
            let _ = self.warden.wait();
        }
    }
}
