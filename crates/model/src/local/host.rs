//! The host: the child process that answers the requests to a local model.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use crate::error::ModelError;

/// The options of a host.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The GGUF file.
    pub weights: PathBuf,
    /// The time without a request after which the host ends.
    pub idle: Duration,
    /// The limit of writable memory, in bytes. `None` means the amount that loading is expected to need, and a
    /// margin.
    pub memory_limit: Option<u64>,
    /// The bytes of memory to assume as available, instead of asking the system.
    pub available_memory: Option<u64>,
    /// The number of tokens of a prompt that are read at once. From 32 on, some processors get yet another copy of
    /// the weights (370 MB), without a measurable gain in speed.
    pub chunk: usize,
    /// The maximum number of tokens of request and reply together. A token takes about 57 KB.
    pub context: usize,
}

impl HostOptions {
    /// Returns the usual options, with which the host ends after ten idle minutes.
    pub fn new(weights: impl Into<PathBuf>) -> Self {
        Self {
            weights: weights.into(),
            idle: Duration::from_secs(600),
            memory_limit: None,
            available_memory: None,
            chunk: 28,
            context: super::CONTEXT,
        }
    }
}

/// The files that a host reads beside its weights: the size of the memory and the number of processors.
pub const READ_PATHS: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory.stat",
];

/// The environment variables that a host reads, all of them about threads. It needs no others.
pub const VARIABLES: &[&str] =
    &["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS", "CANDLE_CPU_MASK", "CANDLE_CPU_AFFINITY"];

/// Answers requests that come as frames on `input` with frames on `output`, one at a time. Returns at the end of the
/// input, or after the idle time. Also returns if the weights could not be loaded, because the next host may find
/// them. The weights are loaded at the first request, and kept. This sets a limit on the memory of the *whole
/// process*, so the process must do nothing else.
///
/// # Errors
///
/// Only when the output breaks. Every other error goes to the client.
#[cfg(feature = "local")]
pub fn serve(
    options: &HostOptions,
    input: impl Read + Send + 'static,
    output: impl Write,
) -> Result<(), ModelError> {
    imp::serve(options, input, output)
}

/// Returns an error, because this build has no engine.
///
/// # Errors
///
/// [`ModelError::NotBuilt`].
#[cfg(not(feature = "local"))]
pub fn serve(
    options: &HostOptions,
    input: impl Read + Send + 'static,
    output: impl Write,
) -> Result<(), ModelError> {
    let _ = (options, input, output);
    Err(ModelError::NotBuilt)
}

#[cfg(feature = "local")]
mod imp {
    use std::collections::BTreeSet;
    use std::io::{BufReader, BufWriter, Read, Write};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::sync::{Arc, Mutex, PoisonError};

    use super::super::engine::Engine;
    use super::super::frame::{self, FromHost, ToHost};
    use super::HostOptions;
    use crate::error::ModelError;
    use crate::provider::Progress;
    use crate::request::{Cancel, Request};

    /// The number and the switch of the current request, and the numbers of later requests that were cancelled
    /// already. The reading thread stops requests through them.
    type Current = Arc<Mutex<(u64, Cancel, BTreeSet<u64>)>>;

    pub(super) fn serve(
        options: &HostOptions,
        input: impl Read + Send + 'static,
        output: impl Write,
    ) -> Result<(), ModelError> {
        let current = Current::default();
        let (sender, requests) = channel::<(u64, Request)>();
        let switch = Arc::clone(&current);
        std::thread::Builder::new()
            .name("model-input".into())
            .spawn(move || {
                let mut input = BufReader::new(input);
                while let Ok(Some(frame)) = frame::read(&mut input) {
                    match frame {
                        ToHost::Complete { id, request } => {
                            if sender.send((id, *request)).is_err() {
                                break;
                            }
                        }
                        ToHost::Cancel { id } => {
                            let mut current = switch.lock().unwrap_or_else(PoisonError::into_inner);
                            if current.0 == id {
                                current.1.cancel();
                            } else if id > current.0 {
                                current.2.insert(id);
                            }
                        }
                    }
                }
                // No client is left to hear the answer, so its writing stops at once.
                switch.lock().unwrap_or_else(PoisonError::into_inner).1.cancel();
            })
            .map_err(|e| ModelError::HostDied { reason: e.to_string() })?;

        let mut output = BufWriter::new(output);
        let mut engine = None;
        loop {
            let (id, mut request) = match requests.recv_timeout(options.idle) {
                Ok(next) => next,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
            };
            request.cancel = Cancel::default();
            {
                let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
                current.0 = id;
                current.1 = request.cancel.clone();
                if current.2.remove(&id) {
                    request.cancel.cancel();
                }
            }
            let mut broken = None;
            let mut tell = |progress: Progress| {
                if let Err(e) = frame::write(&mut output, &FromHost::Progress { id, progress }) {
                    broken = Some(e);
                }
            };
            let result = answer(options, &mut engine, &request, &mut tell);
            let sent = match broken {
                Some(e) => Err(e),
                None => frame::write(&mut output, &FromHost::Done { id, result }),
            };
            sent.map_err(|e| ModelError::HostDied { reason: e.to_string() })?;
            if engine.is_none() && !request.cancel.is_canceled() {
                return Ok(());
            }
        }
    }

    fn answer(
        options: &HostOptions,
        engine: &mut Option<Engine>,
        request: &Request,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<crate::reply::Reply, ModelError> {
        if request.cancel.is_canceled() {
            return Err(ModelError::Canceled);
        }
        let engine = match engine {
            Some(engine) => engine,
            None => {
                progress(Progress::Loading);
                engine.insert(Engine::load(options)?)
            }
        };
        engine.complete(request, progress)
    }
}
