//! The process that reads proposed code. Code from strangers may be nested more deeply than any stack allows, and may
//! crash the process. The daemon then says nothing about the code. The process confines itself before it reads a
//! byte.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use analysis::Uses;
use framing::Frames;
use sandbox::{Confinement, Limits, SandboxError};
use serde::{Deserialize, Serialize};

use control::exit::{Exit, ExitResult, Failure};

/// The stack size of the reading thread, in bytes. It suffices for the longest text that can be proposed, even if all
/// of it is nested. The thread takes only as much memory as it uses.
const STACK_SIZE: usize = 1 << 30;

/// The maximum memory of the process, in bytes.
const MAX_MEMORY: u64 = 4 << 30;

/// The maximum time for reading. It suffices for the longest text on a slow machine.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// The maximum size of a question, in bytes. The longest text that can be proposed fits, however it is escaped.
const MAX_QUESTION: usize = 64 << 20;

/// The maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 16 << 20;

const QUESTION_FRAMES: Frames = Frames::up_to(MAX_QUESTION);
const ANSWER_FRAMES: Frames = Frames::up_to(MAX_ANSWER);

/// The maximum number of open file descriptors.
const MAX_OPEN_FILES: u64 = 16;

/// A question to the reader process.
#[derive(Serialize, Deserialize)]
struct Question {
    source: String,
    slots: Vec<String>,
}

/// Runs the reader process: confines it, reads one question and writes one answer.
///
/// # Errors
/// When the process cannot be confined, or its streams break.
pub fn serve() -> ExitResult {
    let fail = |error: &dyn std::fmt::Display| Failure::new(Exit::Failure, error.to_string());
    let within = Confinement {
        readable: Vec::new(),
        writable: Vec::new(),
        executable: Vec::new(),
        network: false,
        pretends: true,
        limits: Limits {
            cpu_s: READ_TIMEOUT.as_secs(),
            address_space: MAX_MEMORY,
            file_size: 0,
            open_files: MAX_OPEN_FILES,
            ..Limits::default()
        },
    };
    sandbox::confine_self(&within).map_err(|error: SandboxError| fail(&error))?;
    let asked = QUESTION_FRAMES.read(&mut std::io::stdin().lock()).map_err(|error| fail(&error))?;
    let Question { source, slots } = asked.ok_or_else(|| fail(&"nothing was asked"))?;
    let read = move || {
        let slots: Vec<&str> = slots.iter().map(String::as_str).collect();
        analysis::analyze(&source, &slots)
    };
    let reading = std::thread::Builder::new().name("reading".to_owned()).stack_size(STACK_SIZE);
    let uses = reading.spawn(read).map_err(|error| fail(&error))?.join();
    let uses = uses.map_err(|_| fail(&"the text could not be read"))?;
    ANSWER_FRAMES.write(&mut std::io::stdout().lock(), &uses).map_err(|error| fail(&error))?;
    Ok(Exit::Ok)
}

/// Returns the uses of these slots in the text of a program, or `None` if the process cannot read it. `program` is
/// the path of this executable.
fn read(program: &Path, source: &str, slots: &[&str]) -> Option<Uses> {
    let slots = slots.iter().map(|slot| (*slot).to_owned()).collect();
    let question = Question { source: source.to_owned(), slots };
    let mut command = Command::new(program);
    command.arg("code-reader").env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let answer = ask_child(&mut child, question);
    // A process that has not ended is killed.
    drop(child.kill());
    drop(child.wait());
    answer
}

/// Sends a question to the process, and waits for the answer up to the timeout.
fn ask_child(child: &mut Child, question: Question) -> Option<Uses> {
    let (mut asks, mut answers) = child.stdin.take().zip(child.stdout.take())?;
    let (done, answered) = channel();
    let talk = move || {
        let said = QUESTION_FRAMES.write(&mut asks, &question);
        drop(asks);
        let heard = said.and_then(|()| ANSWER_FRAMES.read(&mut answers));
        // A caller that has stopped waiting needs no answer.
        let _ = done.send(heard.ok().flatten());
    };
    std::thread::Builder::new().name("code reader".to_owned()).spawn(talk).ok()?;
    answered.recv_timeout(READ_TIMEOUT).unwrap_or_default()
}

/// The maximum number of texts whose results are remembered.
const MAX_REMEMBERED: usize = 32;

/// The reader of proposed code, which remembers its last results.
pub struct Reader {
    program: PathBuf,
    remembered: Mutex<VecDeque<(blake3::Hash, Option<Uses>)>>,
}

impl Reader {
    /// Returns a reader that remembers nothing yet. `program` is the path of this executable.
    pub fn new(program: PathBuf) -> Reader {
        Reader { program, remembered: Mutex::default() }
    }

    /// Returns the uses of these slots in a text, or `None` if the text could not be read.
    pub fn read(&self, source: &str, slots: &[&str]) -> Option<Uses> {
        let mut hasher = blake3::Hasher::new();
        for part in [source].iter().chain(slots) {
            hasher.update(&part.len().to_le_bytes()).update(part.as_bytes());
        }
        let key = hasher.finalize();
        let remembered = || self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, uses)) = remembered().iter().find(|(own, _)| *own == key) {
            return uses.clone();
        }
        let uses = read(&self.program, source, slots);
        let mut all = remembered();
        all.push_back((key, uses.clone()));
        if all.len() > MAX_REMEMBERED {
            all.pop_front();
        }
        uses
    }
}
