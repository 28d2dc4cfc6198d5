//! The transport between the protocol and a server: lines over pipes, or requests over the web.

use std::io;
use std::sync::mpsc::Sender;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value as Json;
use tokio::sync::mpsc::{Receiver, Sender as Pushed, channel};

/// The maximum length of a message, in bytes.
pub(super) const MAX_LEN: usize = 8 << 20;
/// The maximum number of messages that a server may send between two messages of the client.
pub(super) const MAX_UNASKED: u32 = 10_000;
/// The error code for an answer that never came. A server that uses this code itself is treated as gone, too.
pub(super) const NO_ANSWER_CODE: i32 = -32_099;
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

/// The protocol's side of a transport to a server.
pub(super) struct ClientTransport {
    out: Option<Sender<Vec<u8>>>,
    heard: Receiver<RxJsonRpcMessage<RoleClient>>,
}

/// The sender with which the other side of the transport passes on received messages.
pub(super) type MessageSender = Pushed<RxJsonRpcMessage<RoleClient>>;

impl ClientTransport {
    /// Returns a transport, and the sender for its received messages.
    pub(super) fn new(out: Sender<Vec<u8>>) -> (ClientTransport, MessageSender) {
        let (push, heard) = channel(MAX_QUEUED);
        (ClientTransport { out: Some(out), heard }, push)
    }
}

impl Transport<RoleClient> for ClientTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let sent = serde_json::to_vec(&item).map_err(io::Error::from).and_then(|bytes| {
            let out = self.out.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
            out.send(bytes).map_err(|_| io::ErrorKind::BrokenPipe.into())
        });
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.heard.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.out = None;
        self.heard.close();
        Ok(())
    }
}

/// Forwards a message of the server. Returns `false` if reading on is pointless, because the receiver is gone, or an
/// answer is invalid.
pub(super) fn forward_message(bytes: &[u8], heard: &MessageSender) -> bool {
    // Some servers write other text between their messages. That text is skipped.
    let Ok(json) = serde_json::from_slice::<Json>(bytes) else { return true };
    let is_answer = json.get("id").is_some() && (json.get("result").is_some() || json.get("error").is_some());
    match serde_json::from_value(json) {
        Ok(message) => heard.blocking_send(message).is_ok(),
        Err(_) => !is_answer,
    }
}
