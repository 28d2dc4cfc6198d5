//! Standard input that a command reads although the user has not named it.
//!
//! A parent that starts a command, such as cron, a build server, ssh or an agent, often leaves standard input open and
//! writes nothing to it. So the command does not wait for ever: it says that it waits, and then goes on without.

use std::io::{IsTerminal as _, Read as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::output;
use control::exit::{Exit, Failure};

/// The time without a byte after which the user is told that standard input is waited for.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time after the notice in which the first byte must come.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(4);

/// The bytes that came on standard input.
#[derive(Debug)]
pub struct PipedInput {
    /// The bytes, up to the end of the input. Empty if nothing came in time.
    pub bytes: Vec<u8>,
    /// The bytes that come later, if nothing came in time.
    late: Option<Receiver<Vec<u8>>>,
}

impl PipedInput {
    /// Reads standard input to its end. If nothing comes within a few seconds, the user is told, and the input counts
    /// as empty. At most `limit` bytes are read, and one more.
    ///
    /// # Errors
    /// When standard input cannot be read.
    pub fn read(limit: u64) -> Result<PipedInput, Failure> {
        let (send, pieces) = channel();
        let (send_error, errors) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            let mut input = std::io::stdin().lock().take(limit.saturating_add(1));
            loop {
                match input.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) if send.send(buffer[..count].to_vec()).is_err() => return,
                    Ok(_) => {}
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(e) => return drop(send_error.send(e)),
                }
            }
        });
        let mut bytes = match first(&pieces) {
            FirstPiece::Bytes(bytes) => bytes,
            FirstPiece::End => Vec::new(),
            FirstPiece::Silence => return Ok(PipedInput { bytes: vec![], late: Some(pieces) }),
        };
        let mut is_told = false;
        loop {
            let waits = if is_told { Duration::MAX } else { NOTICE_TIMEOUT * 2 };
            match pieces.recv_timeout(waits) {
                Ok(piece) => bytes.extend(piece),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    output::note("standard input has begun and not ended: waiting for its end");
                    is_told = true;
                }
            }
        }
        match errors.try_recv() {
            Ok(e) => Err(Failure::new(Exit::Failure, format!("cannot read standard input: {e}"))),
            Err(_) => Ok(PipedInput { bytes, late: None }),
        }
    }

    /// Returns whether bytes have come after the wait for the first one was over.
    pub fn is_late(&self) -> bool {
        self.late.as_ref().is_some_and(|pieces| pieces.try_recv().is_ok())
    }
}

/// A note that standard input is waited for. It is printed after a moment, unless the guard is dropped before.
#[derive(Debug)]
pub struct WaitNotice {
    _done: Sender<()>,
}

impl WaitNotice {
    /// Begins to wait for standard input.
    pub fn begin() -> WaitNotice {
        let (send, done) = channel::<()>();
        std::thread::spawn(move || {
            if done.recv_timeout(NOTICE_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
                output::note("waiting for standard input to end");
            }
        });
        WaitNotice { _done: send }
    }
}

/// Tells the user that a command reads standard input, if its inputs name it. A person at a terminal reads how the text
/// ends. Otherwise the note is printed only if the text does not come at once, while the guard lives.
pub fn announce_stdin(inputs: &[String]) -> Option<WaitNotice> {
    if !inputs.iter().any(|input| input == "-") {
        return None;
    }
    if std::io::stdin().is_terminal() {
        output::note("standard input is read: type the text, then Ctrl-D");
        return None;
    }
    Some(WaitNotice::begin())
}

/// The result of waiting for the first bytes.
enum FirstPiece {
    Bytes(Vec<u8>),
    End,
    Silence,
}

fn first(pieces: &Receiver<Vec<u8>>) -> FirstPiece {
    for (wait, notice) in [
        (
            NOTICE_TIMEOUT,
            "standard input is open, and nothing has come yet: waiting 4 s (`-` as a document waits for it, \
             `< /dev/null` does not)",
        ),
        (FIRST_BYTE_TIMEOUT, "nothing came on standard input: asking without it"),
    ] {
        match pieces.recv_timeout(wait) {
            Ok(bytes) => return FirstPiece::Bytes(bytes),
            Err(RecvTimeoutError::Disconnected) => return FirstPiece::End,
            Err(RecvTimeoutError::Timeout) => output::note(notice),
        }
    }
    FirstPiece::Silence
}
