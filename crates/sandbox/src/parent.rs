//! The side that asks for a program to be run.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::frame::{self, Question};
use crate::spec::{End, Report, Spec};

/// How much longer than the program the warden may take before it is given up.
const GRACE: Duration = Duration::from_secs(20);
/// How much is kept of what a warden complains.
const LAST_WORDS: u64 = 4096;

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
    /// The program that this process runs, also when its file has been replaced meanwhile.
    pub fn own() -> Helper {
        Helper::at("/proc/self/exe")
    }

    /// Another build of the same program.
    pub fn at(program: impl Into<PathBuf>) -> Helper {
        Helper { program: program.into(), arguments: vec!["sandbox".to_owned()] }
    }

    /// Where it lies.
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
    let mut child = Command::new(&helper.program)
        .args(&helper.arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (Some(mut stdin), Some(mut stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(SandboxError::Warden("it has no pipes".to_owned()));
    };
    let question = Question { spec: spec.clone(), parent: std::process::id(), input: input.len() as u64 };
    let asked = frame::ask(&mut stdin, &question, input);
    drop(stdin);
    let most = spec.within.limits.output;
    let (send, receive) = channel();
    let reader = std::thread::Builder::new().name("sandbox-report".to_owned()).spawn(move || {
        // Whoever waits may have given up.
        let _ = send.send(frame::answered(&mut stdout, most));
    });
    let patience = Duration::from_millis(spec.within.limits.wall_ms).saturating_add(GRACE);
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
            let _ = stderr.take(LAST_WORDS).read_to_end(&mut words);
            let words = String::from_utf8_lossy(&words);
            let words = words.trim();
            Err(SandboxError::Warden(if words.is_empty() { why } else { format!("{why}: {words}") }))
        }
        Err(error) => Err(error),
    }
}
