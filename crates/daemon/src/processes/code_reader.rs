//! The process that reads proposed code. A text of a stranger can nest deeper than any stack, so the process may end, and
//! then nothing is said of the text. It shuts itself in before it has read a byte.

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

/// The stack of the thread that reads, in bytes: enough for the longest text that can be proposed if all of it nests.
/// The thread takes only as much as it uses.
const STACK_SIZE: usize = 1 << 30;

/// Memory that the process may take.
const MAX_MEMORY: u64 = 4 << 30;

/// How long reading may take: so long that the longest text is read on a slow machine.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// The most bytes of a question: the longest text that can be proposed, however it is escaped.
const MAX_QUESTION: usize = 64 << 20;

/// The most bytes of an answer.
const MAX_ANSWER: usize = 16 << 20;

const QUESTION_FRAMES: Frames = Frames::up_to(MAX_QUESTION);
const ANSWER_FRAMES: Frames = Frames::up_to(MAX_ANSWER);

/// Descriptors that are open at one time.
const MAX_OPEN_FILES: u64 = 16;

/// A question to the reader process.
#[derive(Serialize, Deserialize)]
struct Question {
    source: String,
    slots: Vec<String>,
}

/// Its whole life: one question, one answer.
///
/// # Errors
/// When it cannot be confined, or its streams break.
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

/// Returns what the text of a program does with these slots, or nothing if the process cannot read it. `program` is this
/// program.
fn read(program: &Path, source: &str, slots: &[&str]) -> Option<Uses> {
    let slots = slots.iter().map(|slot| (*slot).to_owned()).collect();
    let question = Question { source: source.to_owned(), slots };
    let mut command = Command::new(program);
    command.arg("code-reader").env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let answer = ask_child(&mut child, question);
    // One that is not done is not waited for.
    drop(child.kill());
    drop(child.wait());
    answer
}

/// Asks, and waits for the answer for as long as one may take.
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

/// How many texts are remembered.
const MAX_REMEMBERED: usize = 32;

/// Reads proposed code.
pub struct Reader {
    program: PathBuf,
    remembered: Mutex<VecDeque<(blake3::Hash, Option<Uses>)>>,
}

impl Reader {
    /// Returns one that remembers nothing yet. `program` is this program.
    pub fn new(program: PathBuf) -> Reader {
        Reader { program, remembered: Mutex::default() }
    }

    /// Returns the uses of these slots in a text, or `None` if it could not be read.
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
