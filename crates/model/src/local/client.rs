//! The client of the local model's process.

use std::fmt;
use std::io::{BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::frame::{self, FromHost, ToHost};
use crate::error::ModelError;
use crate::limits::ModelLimits;
use crate::provider::{Progress, Provider};
use crate::reply::Reply;
use crate::request::{Cancel, Request};

/// A function that returns the command that starts a host for a weights file. The `main` of that program must end in
/// [`super::serve`] with that file, standard input and standard output.
pub type Launch = Arc<dyn Fn(&Path) -> Command + Send + Sync>;

/// The interval at which a call checks whether it was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum number of tries for one request. The second try is for a host that died, or that had just ended
/// because it was idle.
const MAX_TRIES: u32 = 2;
/// The maximum number of bytes of a dead host's error output that are kept.
const MAX_STDERR_LEN: usize = 2000;

/// A client of a local model. It starts the model's process at the first request, and again whenever the process has
/// died. Requests from several threads wait for each other.
pub struct Client {
    name: String,
    weights: PathBuf,
    launch: Launch,
    host: Mutex<Option<Host>>,
}

/// A running process of the model.
struct Host {
    child: Child,
    stdin: BufWriter<ChildStdin>,
    frames: Receiver<FromHost>,
    stderr: Option<JoinHandle<String>>,
    next_id: u64,
}

impl Client {
    /// Returns a client for the model in the file `weights`. `name` is the result of [`Provider::name`]. The process
    /// is not started yet.
    pub fn new(name: impl Into<String>, weights: impl Into<PathBuf>, launch: Launch) -> Self {
        Self { name: name.into(), weights: weights.into(), launch, host: Mutex::new(None) }
    }

    /// Returns the host's process id while it runs.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        let mut host = self.host.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let host = host.as_mut()?;
        matches!(host.child.try_wait(), Ok(None)).then(|| host.child.id())
    }

    /// Ends the host and frees its memory. The next request starts a new one.
    pub fn stop(&self) {
        *self.host.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    /// Returns the host's slot, as soon as no other request uses it.
    fn turn(&self, cancel: &Cancel) -> Result<MutexGuard<'_, Option<Host>>, ModelError> {
        loop {
            match self.host.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if cancel.is_canceled() => return Err(ModelError::Canceled),
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }
}

impl Provider for Client {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn limits(&self, _: usize) -> ModelLimits {
        ModelLimits { context: Some(super::CONTEXT as u64), output: None }
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        let begun = Instant::now();
        let mut slot = self.turn(&request.cancel)?;
        let mut last = String::new();
        for attempt in 0..MAX_TRIES {
            if attempt > 0 {
                progress(Progress::Restarted);
            }
            let mut host = match slot.take() {
                Some(host) => host,
                None => Host::start(&self.launch, &self.weights)?,
            };
            match host.ask(request, progress) {
                Ok(result) => {
                    *slot = Some(host);
                    let mut reply = result?;
                    reply.usage.seconds = begun.elapsed().as_secs_f64();
                    return Ok(reply);
                }
                Err(HostExited) => last = host.last_words(),
            }
        }
        Err(ModelError::HostDied { reason: last })
    }
}

/// The error that the host ended during a request.
struct HostExited;

impl Host {
    fn start(launch: &Launch, weights: &Path) -> Result<Self, ModelError> {
        let died = |reason: String| ModelError::HostDied { reason };
        let mut child = launch(weights)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| died(format!("cannot start it: {e}")))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(died("it has no pipes".to_owned()));
        };
        let (sender, frames) = sync_channel(64);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("model-frames")
            .spawn(move || {
                let mut stdout = BufReader::new(stdout);
                while let Ok(Some(frame)) = frame::read(&mut stdout) {
                    if sender.send(frame).is_err() {
                        break;
                    }
                }
            })
            .map_err(|e| died(e.to_string()))?;
        let stderr = thread("model-stderr")
            .spawn(move || {
                let mut reader = BufReader::new(stderr);
                let mut kept: Vec<u8> = Vec::new();
                let mut buffer = [0; 1024];
                while let Ok(n @ 1..) = reader.read(&mut buffer) {
                    kept.extend_from_slice(buffer.get(..n).unwrap_or_default());
                    let excess = kept.len().saturating_sub(MAX_STDERR_LEN);
                    kept.drain(..excess);
                }
                String::from_utf8_lossy(&kept).trim().to_owned()
            })
            .map_err(|e| died(e.to_string()))?;
        Ok(Self { child, stdin: BufWriter::new(stdin), frames, stderr: Some(stderr), next_id: 0 })
    }

    fn ask(
        &mut self,
        request: &Request,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Result<Reply, ModelError>, HostExited> {
        self.next_id += 1;
        let mine = self.next_id;
        let question = ToHost::Complete { id: mine, request: Box::new(request.clone()) };
        frame::write(&mut self.stdin, &question).map_err(|_| HostExited)?;
        loop {
            match self.frames.recv_timeout(POLL_INTERVAL) {
                Ok(FromHost::Done { id, result }) if id == mine => return Ok(result),
                Ok(FromHost::Progress { id, progress: news }) if id == mine => progress(news),
                // These frames belong to an earlier call that was cancelled.
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(HostExited),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if request.cancel.is_canceled() {
                frame::write(&mut self.stdin, &ToHost::Cancel { id: mine }).map_err(|_| HostExited)?;
                return Ok(Err(ModelError::Canceled));
            }
        }
    }

    /// Returns the exit status of the host and its last output.
    fn last_words(&mut self) -> String {
        // The host closed its output, so it is about to end, or is of no more use.
        let _ = self.child.kill();
        let status = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        let words = self.stderr.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        if words.is_empty() { status } else { format!("{status}: {words}") }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The host holds nothing that could be lost, so its end is not waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("name", &self.name)
            .field("weights", &self.weights)
            .finish_non_exhaustive()
    }
}
