//! The process that reads a PDF, a mail, or text that needs a decoder. Strangers write these, in formats that are old
//! and large. So the process confines itself before it reads a byte: no file, no network, no other process.
//!
//! Each document has a process of its own. A document that kills its process costs no other document. It cannot see
//! another one either, and its text never depends on the documents before it.

use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use document::{DocumentError, Limits, Text};
use framing::{FrameError, Frames};
use passable::visible_line;
use sandbox::{Confinement, End};
use serde::{Deserialize, Serialize};

use control::exit::{Exit, ExitResult, Failure};

/// The maximum number of open file descriptors.
const MAX_OPEN_FILES: u64 = 16;

/// The maximum number of documents that are read at the same time. It bounds the memory of all processes together.
const MAX_READERS: usize = 4;

/// The stack size of the reading thread, in bytes.
const STACK_SIZE: usize = 16 << 20;

/// The maximum size of a question without the document, in bytes.
const MAX_QUESTION: usize = 1 << 20;

/// The number of bytes of an answer beside its text and its notes.
const ANSWER_ROOM: usize = 1 << 20;

/// The number of bytes of the process's standard error that are read.
const MAX_COMPLAINT: u64 = 16 << 10;

const QUESTION_FRAMES: Frames = Frames::up_to(MAX_QUESTION);

/// Returns the frames of an answer. The notes stand in the text, too, and escapes at most double both.
fn answer_frames(limits: &Limits) -> Frames {
    Frames::up_to(limits.text.saturating_mul(4).saturating_add(ANSWER_ROOM))
}

/// The limits of one process. They hold whatever the document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// The maximum processor time, in seconds.
    pub cpu_s: u64,
    /// The maximum memory, in bytes.
    pub memory: u64,
    /// The maximum time from start to answer. It only matters for a process that sleeps.
    pub wall: Duration,
}

impl Default for ReaderLimits {
    /// Returns limits that suffice for the largest document within the limits of the crate `document`.
    fn default() -> ReaderLimits {
        ReaderLimits { cpu_s: 30, memory: 1 << 30, wall: Duration::from_secs(120) }
    }
}

/// A question to the process. The bytes of the document follow it.
#[derive(Serialize, Deserialize)]
struct Question {
    name: String,
    limits: Limits,
    length: u64,
}

/// The answer of the process.
#[derive(Serialize, Deserialize)]
enum Answer {
    /// The text of the document.
    Text(Text),
    /// The reason why the document has no text that can be read.
    Refused(DocumentError),
    /// The process could not confine itself, and read nothing.
    Unconfined(String),
    /// A parser panicked.
    Panicked,
}

/// The result of a conversation with the process.
enum Conversation {
    /// The process has answered.
    Answered(Box<Answer>),
    /// The process wrote something else than an answer.
    Garbled,
    /// The process ended, or closed its output, without an answer.
    Ended,
    /// The process took too long, and was killed.
    Late,
}

impl From<Result<Option<Answer>, FrameError>> for Conversation {
    fn from(read: Result<Option<Answer>, FrameError>) -> Self {
        match read {
            Ok(Some(answer)) => Self::Answered(Box::new(answer)),
            Ok(None) | Err(FrameError::Stream(_)) => Self::Ended,
            Err(_) => Self::Garbled,
        }
    }
}

/// The reason why a document was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The document breaks a rule.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The document ended the process that read it, or kept it at work for too long.
    #[error("it cannot be read: its reader {reason}")]
    Reader {
        /// The end of the process, as a verb with its object.
        reason: String,
    },
    /// There is no process that may read the document.
    #[error("it cannot be read: no reader can be confined on this machine: {reason}")]
    Unconfined {
        /// The missing restriction.
        reason: String,
    },
}

impl ReadError {
    /// Returns one line that tells the owner of the document how to solve the problem.
    pub fn help(&self) -> String {
        match self {
            Self::Document(error) => error.help(),
            Self::Reader { .. } => "print it to a new PDF, or save its text, and give that".to_owned(),
            Self::Unconfined { .. } => {
                "`almoner doctor sandbox` says what is missing; text in UTF-8 can be read without it"
                    .to_owned()
            }
        }
    }
}

/// A function that reads the text of a document: its bytes, its name, its limits.
pub type ReadText<'a> = &'a dyn Fn(&[u8], &str, &Limits) -> Result<Text, ReadError>;

/// The reader of documents. It starts a confined process for each document that needs a parser.
#[derive(Debug)]
pub struct DocumentReader {
    program: PathBuf,
    limits: ReaderLimits,
    at_work: Mutex<usize>,
    is_free: Condvar,
}

impl DocumentReader {
    /// Returns a reader with the usual limits. `program` is the path of this executable.
    pub fn new(program: PathBuf) -> DocumentReader {
        DocumentReader::with_limits(program, ReaderLimits::default())
    }

    /// Returns a reader that starts this process's own program, even if its file has been replaced.
    pub fn own() -> DocumentReader {
        DocumentReader::new(PathBuf::from("/proc/self/exe"))
    }

    /// Returns a reader with these limits.
    pub fn with_limits(program: PathBuf, limits: ReaderLimits) -> DocumentReader {
        DocumentReader { program, limits, at_work: Mutex::default(), is_free: Condvar::new() }
    }

    /// Reads the text of a document. Blocks until the process has ended.
    ///
    /// # Errors
    /// When the document has no text that can be read, or its process ended without an answer.
    pub fn read(&self, bytes: &[u8], name: &str, limits: &Limits) -> Result<Text, ReadError> {
        if let Some(text) = document::unparsed_text(bytes, name, limits)? {
            return Ok(text);
        }
        let _place = self.take_place();
        let question = Question { name: name.to_owned(), limits: limits.clone(), length: bytes.len() as u64 };
        match self.ask(&question, bytes)? {
            Answer::Text(text) => Ok(text),
            Answer::Refused(error) => Err(error.into()),
            Answer::Unconfined(reason) => Err(ReadError::Unconfined { reason }),
            Answer::Panicked => Err(reader("failed: a parser panicked".to_owned())),
        }
    }

    /// Waits until a further process may run. The place is free again when the guard is dropped.
    fn take_place(&self) -> ReaderPlace<'_> {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        while *at_work >= MAX_READERS {
            at_work = self.is_free.wait(at_work).unwrap_or_else(PoisonError::into_inner);
        }
        *at_work += 1;
        ReaderPlace(self)
    }

    /// Starts a process, asks it, and ends it.
    fn ask(&self, question: &Question, bytes: &[u8]) -> Result<Answer, ReadError> {
        let mut child = self.command().spawn().map_err(|error| reader(format!("did not start: {error}")))?;
        let conversation = self.converse(&mut child, question, bytes);
        // A process that has ended keeps the status with which it ended.
        drop(child.kill());
        let status = child.wait();
        match conversation {
            Conversation::Answered(answer) => return Ok(*answer),
            Conversation::Late => {
                return Err(reader(format!("took longer than {} s", self.limits.wall.as_secs())));
            }
            Conversation::Garbled => return Err(reader("gave an answer that means nothing".to_owned())),
            Conversation::Ended => {}
        }
        let mut complaint = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            // All writers have ended, so this cannot block.
            drop(stderr.take(MAX_COMPLAINT).read_to_end(&mut complaint));
        }
        let complaint = String::from_utf8_lossy(&complaint);
        Err(reader(match status {
            Ok(status) => self.end(status, &complaint),
            Err(error) => format!("was lost: {error}"),
        }))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        let ReaderLimits { cpu_s, memory, .. } = self.limits;
        command.args(["document-reader", &cpu_s.to_string(), &memory.to_string()]);
        command.env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Sends the question and the document, and waits for the answer.
    fn converse(&self, child: &mut Child, question: &Question, bytes: &[u8]) -> Conversation {
        let Some((mut asks, mut answers)) = child.stdin.take().zip(child.stdout.take()) else {
            return Conversation::Ended;
        };
        let (done, answered) = channel();
        std::thread::scope(|scope| {
            let talk = move || {
                // A process that refuses to read still says why.
                let asked = QUESTION_FRAMES.write(&mut asks, question);
                drop(asked.map_err(std::io::Error::from).and_then(|()| asks.write_all(bytes)));
                drop(asks);
                let answer = answer_frames(&question.limits).read::<Answer>(&mut answers);
                // The caller may have stopped waiting.
                let _ = done.send(answer.into());
            };
            let talking = std::thread::Builder::new().name("document reader".to_owned());
            if talking.spawn_scoped(scope, talk).is_err() {
                return Conversation::Ended;
            }
            match answered.recv_timeout(self.limits.wall) {
                Ok(conversation) => conversation,
                Err(_) => {
                    // The pipes end with the process, and so does the thread.
                    drop(child.kill());
                    Conversation::Late
                }
            }
        })
    }

    /// Returns the reason why a process ended without an answer. `complaint` is its standard error, in which the
    /// language's runtime names the cause of an abort.
    fn end(&self, status: ExitStatus, complaint: &str) -> String {
        const SIGXCPU: i32 = 24;
        let has = |words: &str| complaint.contains(words);
        if status.signal() == Some(SIGXCPU) {
            return format!("took more than {} s of processor time", self.limits.cpu_s);
        }
        if has("memory allocation of") {
            return format!("needed more than {} of memory", document::size(self.limits.memory));
        }
        if has("overflowed its stack") {
            return "failed: the document is nested too deeply".to_owned();
        }
        let end = match (status.code(), status.signal()) {
            (Some(status), _) => End::Exited { status },
            (None, signal) => End::Killed { signal: signal.unwrap_or_default() },
        };
        match complaint.lines().next().filter(|line| !line.trim().is_empty()) {
            Some(line) => format!("{} ({})", end.description(), visible_line(line)),
            None => end.description(),
        }
    }
}

fn reader(reason: String) -> ReadError {
    ReadError::Reader { reason }
}

/// The place of one process among those that run at the same time.
struct ReaderPlace<'a>(&'a DocumentReader);

impl Drop for ReaderPlace<'_> {
    fn drop(&mut self) {
        let mut at_work = self.0.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        *at_work = at_work.saturating_sub(1);
        self.0.is_free.notify_one();
    }
}

/// Runs the process: confines it, reads one document and writes one answer.
///
/// # Errors
/// When the streams break.
pub fn serve(limits: ReaderLimits) -> ExitResult {
    let fail = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Failure, format!("the document was not read: {error}"))
            .help("the daemon starts this process")
    };
    let mut output = std::io::stdout().lock();
    if let Err(reason) = confine(limits) {
        let answer = Answer::Unconfined(reason);
        QUESTION_FRAMES.write(&mut output, &answer).map_err(|error| fail(&error))?;
        return Ok(Exit::Failure);
    }
    let mut input = std::io::stdin().lock();
    let asked = QUESTION_FRAMES.read(&mut input).map_err(|error| fail(&error))?;
    let Question { name, limits, length } = asked.ok_or_else(|| fail(&"nothing was asked"))?;
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes).map_err(|error| fail(&error))?;
    if bytes.len() as u64 != length {
        return Err(fail(&"its bytes did not arrive"));
    }
    let frames = answer_frames(&limits);
    let read = move || {
        #[cfg(feature = "failpoints")]
        super::planted_fault::reach(&bytes);
        document::text(&bytes, &name, &limits)
    };
    let reading = std::thread::Builder::new().name("reading".to_owned()).stack_size(STACK_SIZE);
    let answer = match reading.spawn(read).map_err(|error| fail(&error))?.join() {
        Ok(Ok(text)) => Answer::Text(text),
        Ok(Err(error)) => Answer::Refused(error),
        Err(_) => Answer::Panicked,
    };
    frames.write(&mut output, &answer).map_err(|error| fail(&error))?;
    Ok(Exit::Ok)
}

/// Confines this process permanently: no file, no network, no other process, no program and no core dump; memory and
/// processor time within the limits.
///
/// # Errors
/// When a restriction cannot be enforced. Then nothing is read. Systems other than Linux enforce none.
pub fn confine(limits: ReaderLimits) -> Result<(), String> {
    let within = Confinement {
        readable: Vec::new(),
        writable: Vec::new(),
        executable: Vec::new(),
        network: false,
        pretends: true,
        limits: sandbox::Limits {
            cpu_s: limits.cpu_s,
            address_space: limits.memory,
            file_size: 0,
            open_files: MAX_OPEN_FILES,
            ..sandbox::Limits::default()
        },
    };
    sandbox::confine_self(&within).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a reader whose process is a shell script.
    fn reader_of(dir: &std::path::Path, script: &str, wall: Duration) -> DocumentReader {
        use std::os::unix::fs::PermissionsExt as _;
        let program = dir.join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        DocumentReader::with_limits(program, ReaderLimits { wall, ..ReaderLimits::default() })
    }

    #[test]
    fn end_without_an_answer_is_an_error_with_its_reason() {
        let dir = tempfile::tempdir().unwrap();
        let long = Duration::from_secs(60);
        for (script, wall, reason) in [
            ("kill -24 $$", long, "took more than 30 s of processor time"),
            (
                "echo memory allocation of 9 bytes failed >&2; kill -6 $$",
                long,
                "needed more than 1 GiB of memory",
            ),
            (
                "echo thread has overflowed its stack >&2; kill -6 $$",
                long,
                "failed: the document is nested too deeply",
            ),
            ("kill -11 $$", long, "was ended by the signal SIGSEGV"),
            ("exit 3", long, "ended with status 3"),
            ("printf 'a\\033[2Kb\\n' >&2; exit 3", long, "ended with status 3 (a\\u{1B}[2Kb)"),
            ("exit 0", long, "ended with status 0"),
            // No frame, and a frame that says nothing.
            ("echo hello hello hello", long, "gave an answer that means nothing"),
            ("printf '\\002\\000\\000\\000{}'", long, "gave an answer that means nothing"),
            ("exec sleep 60", Duration::from_secs(1), "took longer than 1 s"),
        ] {
            let reader = reader_of(dir.path(), script, wall);
            let error = reader.read(b"From: a\n\nb", "a.eml", &Limits::default()).unwrap_err();
            assert_eq!(error.to_string(), format!("it cannot be read: its reader {reason}"), "{script}");
            assert_eq!(*reader.at_work.lock().unwrap(), 0, "{script}");
        }
        let reader = DocumentReader::new("/nowhere".into());
        let error = reader.read(b"From: a\n\nb", "a.eml", &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("its reader did not start"), "{error}");
    }

    #[test]
    fn text_without_a_parser_needs_no_process() {
        let reader = DocumentReader::new("/nowhere".into());
        let read = |bytes: &[u8], name: &str| reader.read(bytes, name, &Limits::default());
        assert_eq!(read("naïve\n".as_bytes(), "a.md").unwrap().text, "naïve\n");
        assert!(matches!(read(b"\x89PNG\r\n\x1a\n", "a.png"), Err(ReadError::Document(_))));
        // The control: these need one.
        for (bytes, name) in
            [(&b"\x1b[1mbold"[..], "a.txt"), (b"\xff\xfea\0", "a.txt"), (b"caf\xe9", "a.txt")]
        {
            assert!(matches!(read(bytes, name), Err(ReadError::Reader { .. })), "{name}");
        }
    }

    #[test]
    fn only_so_many_processes_run_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let count = dir.path().join("count");
        let script = format!("echo + >> {0}; sleep 0.3; echo - >> {0}", count.display());
        let reader = reader_of(dir.path(), &script, Duration::from_secs(60));
        std::thread::scope(|scope| {
            for _ in 0..3 * MAX_READERS {
                scope.spawn(|| reader.read(b"From: a\n\nb", "a.eml", &Limits::default()));
            }
        });
        let (mut now, mut most) = (0_usize, 0);
        for line in std::fs::read_to_string(count).unwrap().lines() {
            now = if line == "+" { now + 1 } else { now - 1 };
            most = most.max(now);
        }
        assert!(most > 1 && most <= MAX_READERS, "{most}");
    }
}
