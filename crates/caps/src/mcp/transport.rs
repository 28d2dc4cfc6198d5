//! The transport between a session and a server: lines over pipes, or requests over the web.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::time::Instant;

use passable::ExactJson;
use serde_json::Value as Json;

use super::mcp_error::McpError;

/// The maximum length of a message, in bytes.
pub(super) const MAX_LEN: usize = 8 << 20;
/// The maximum number of messages that a server may send between two messages of the client.
pub(super) const MAX_UNASKED: u32 = 10_000;
/// The maximum number of received messages in the queue. When the queue is full, the server waits.
const MAX_QUEUED: usize = 4;

/// The handle of a running server. Dropping it ends the server.
pub(super) struct ServerHandle {
    /// The function that ends the transport. It returns the reason why the transport had ended by itself, if it had.
    end: Option<Box<dyn FnOnce() -> Option<String> + Send>>,
}

impl ServerHandle {
    pub(super) fn new(end: impl FnOnce() -> Option<String> + Send + 'static) -> ServerHandle {
        ServerHandle { end: Some(Box::new(end)) }
    }

    /// Ends the server. Returns the reason why the server had ended by itself, if it had.
    pub(super) fn end(mut self) -> Option<String> {
        self.end.take().and_then(|end| end())
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end();
        }
    }
}

/// One thing that arrives from a server.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A message.
    Message(Json),
    /// The failure of the request with this identifier, or of all requests if it is `null`. No answer will arrive.
    Failure { id: Json, error: McpError },
}

/// The sender with which a transport passes on whatever arrives.
pub(super) type IncomingSender = SyncSender<Incoming>;

/// The session's side of a transport.
pub(super) struct Link {
    out: Option<Sender<Vec<u8>>>,
    incoming: Receiver<Incoming>,
}

impl Link {
    /// Returns a link, and the sender for what arrives.
    pub(super) fn new(out: Sender<Vec<u8>>) -> (Link, IncomingSender) {
        let (push, incoming) = sync_channel(MAX_QUEUED);
        (Link { out: Some(out), incoming }, push)
    }

    /// Sends a message to the server.
    ///
    /// # Errors
    /// When the server is gone.
    pub(super) fn send(&self, message: &Json) -> Result<(), McpError> {
        let gone = || McpError::Disconnected(String::new());
        let out = self.out.as_ref().ok_or_else(gone)?;
        out.send(ExactJson(message).to_string().into_bytes()).map_err(|_| gone())
    }

    /// Returns the next thing that arrives, or `None` if nothing arrives in time.
    ///
    /// # Errors
    /// When the server is gone.
    pub(super) fn receive(&self, until: Instant) -> Result<Option<Incoming>, McpError> {
        match self.incoming.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(incoming) => Ok(Some(incoming)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(McpError::Disconnected(String::new())),
        }
    }

    /// Closes the server's input, and stops receiving.
    pub(super) fn close(&mut self) {
        self.out = None;
        let (_, nothing) = sync_channel(1);
        self.incoming = nothing;
    }
}
