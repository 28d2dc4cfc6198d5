//! The output for a client. Output is written at once if the socket takes it. The rest waits for the connection's
//! writing thread.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use captp::netstring;
use rustix::net::SendFlags;

/// The number of waiting output bytes above which nothing more is read from the client.
const MAX_BACKLOG: usize = 4 << 20;

/// The bytes that wait for a client to take them.
pub struct OutputQueue {
    stream: UnixStream,
    state: Mutex<OutputState>,
    changed: Condvar,
    written: AtomicU64,
}

#[derive(Default)]
struct OutputState {
    waiting: Vec<u8>,
    /// The number of bytes that the writing thread is writing now.
    writing: usize,
    closed: bool,
}

impl OutputQueue {
    pub fn new(stream: UnixStream) -> OutputQueue {
        OutputQueue { stream, state: Mutex::default(), changed: Condvar::new(), written: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes messages, now or as soon as the client takes them.
    pub fn push(&self, messages: &[String]) {
        if messages.is_empty() {
            return;
        }
        let mut bytes = Vec::with_capacity(messages.iter().map(|message| message.len() + 12).sum());
        messages.iter().for_each(|message| netstring::write(message.as_bytes(), &mut bytes));
        let mut state = self.lock();
        if state.closed {
            return;
        }
        let mut rest = &bytes[..];
        if state.waiting.is_empty() && state.writing == 0 {
            // Most of the time the socket has room, and no thread needs to be woken.
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            while !rest.is_empty() {
                match rustix::net::send(&self.stream, rest, flags) {
                    Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                    Err(rustix::io::Errno::INTR) => {}
                    // The writing thread will meet any other error too, and handle it.
                    Err(_) => break,
                }
            }
            self.written.fetch_add((bytes.len() - rest.len()) as u64, Ordering::Relaxed);
        }
        if !rest.is_empty() {
            state.waiting.extend_from_slice(rest);
            self.changed.notify_all();
        }
    }

    /// Writes waiting output until the connection is closed. This runs on a thread of its own.
    pub fn write(&self) {
        loop {
            let bytes = {
                let mut state = self.lock();
                while state.waiting.is_empty() && !state.closed {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                if state.waiting.is_empty() {
                    return;
                }
                let bytes = std::mem::take(&mut state.waiting);
                state.writing = bytes.len();
                bytes
            };
            let done = (&self.stream).write_all(&bytes).is_ok();
            self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            let mut state = self.lock();
            state.writing = 0;
            self.changed.notify_all();
            if !done {
                state.closed = true;
                state.waiting = vec![];
                return;
            }
        }
    }

    /// Waits until little enough output is waiting that the client's next call may be read. Returns `false` if the
    /// connection is closed.
    pub fn wait_for_room(&self) -> bool {
        let mut state = self.lock();
        while !state.closed && state.waiting.len() + state.writing > MAX_BACKLOG {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.closed
    }

    /// Returns the number of bytes that were written to the client.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Closes the connection when the client has taken the waiting output, or after the timeout.
    pub fn close(&self, patience: Duration) {
        let end = Instant::now() + patience;
        let mut state = self.lock();
        while !state.closed && state.waiting.len() + state.writing > 0 {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                break;
            };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.closed = true;
        self.changed.notify_all();
        // An error means that the connection has ended already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
