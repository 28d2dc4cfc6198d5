//! The transfer of messages between a WebSocket and the client's end of a connection, a unix socket with netstrings.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use captp::netstring::{self, Decoder, MAX_LEN};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, WebSocket};
use tungstenite::{Error, Message};

use super::deadline::DeadlineStream;
use crate::captp::connection::Connection;

/// A WebSocket after its handshake.
pub(super) type Socket = WebSocket<DeadlineStream>;

/// The number of bytes waiting for the daemon at which the gateway stops reading from the client.
const MAX_BACKLOG: usize = 1 << 20;

/// The maximum time for a client to take the close frame of its connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// The time between two checks whether the daemon has handled the last message of a client without a token.
const TOKEN_POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// The timeout with which `poll` returns at once.
const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Moves messages until the client or the daemon ends the connection, and then closes both sides.
pub(super) fn run(mut socket: Socket, inner: &UnixStream, link: &Connection) {
    socket.get_mut().lift();
    let mut pump = Pump {
        socket,
        inner,
        connection: link,
        received_messages: 0,
        is_unauthenticated: true,
        incoming: vec![],
        has_unread_input: true,
        decoder: Decoder::new(MAX_LEN),
        has_pending_output: false,
    };
    let served = pump.serve();
    // Even after an error, the client gets the daemon's last messages, above all the reason for the end.
    let _ = pump.read_daemon();
    let code = match served {
        Ok(()) => CloseCode::Normal,
        Err(Error::Capacity(_)) => CloseCode::Size,
        Err(Error::Protocol(_) | Error::Utf8(_)) => CloseCode::Protocol,
        Err(_) => CloseCode::Away,
    };
    // Both ends learn that the connection is over.
    let _ = inner.shutdown(Shutdown::Both);
    pump.send_close(code);
}

struct Pump<'a> {
    socket: Socket,
    inner: &'a UnixStream,
    /// The connection, which says whether the client has shown a token.
    connection: &'a Connection,
    /// The number of messages that the client has sent.
    received_messages: u64,
    /// Whether the client has shown no valid token, as of the pump's last check.
    is_unauthenticated: bool,
    /// The bytes from the client that the daemon has not taken yet.
    incoming: Vec<u8>,
    /// Whether the WebSocket may hold bytes that were already read from the operating system. No poll event reports
    /// these bytes.
    has_unread_input: bool,
    /// The decoder for the daemon's messages to the client.
    decoder: Decoder,
    /// Whether some written output is still in the WebSocket's buffer.
    has_pending_output: bool,
}

impl Pump<'_> {
    /// Moves messages until the daemon or the client ends the connection.
    fn serve(&mut self) -> Result<(), Error> {
        self.socket.get_ref().stream().set_nonblocking(true)?;
        self.inner.set_nonblocking(true)?;
        loop {
            // No poll event reports bytes that were read ahead in the handshake, so the loop begins with reading.
            self.read_client()?;
            self.write_daemon()?;
            if !self.has_pending_output && !self.read_daemon()? {
                return Ok(());
            }
            self.flush()?;
            self.wait()?;
        }
    }

    fn wait(&self) -> io::Result<()> {
        let wanted = |reads: bool, writes: bool| {
            let reads = if reads { PollFlags::IN } else { PollFlags::empty() };
            reads | if writes { PollFlags::OUT } else { PollFlags::empty() }
        };
        let waits = self.is_waiting_for_token();
        let client = wanted(self.incoming.len() < MAX_BACKLOG && !waits, self.has_pending_output);
        let daemon = wanted(!self.has_pending_output, !self.incoming.is_empty());
        // `poll` reports the end of either side even if no event of that side is requested.
        let mut all = [PollFd::new(self.socket.get_ref().stream(), client), PollFd::new(self.inner, daemon)];
        let timeout = match (self.has_unread_input, waits) {
            (false, _) => None,
            (true, true) => Some(&TOKEN_POLL_INTERVAL),
            (true, false) => (self.incoming.len() < MAX_BACKLOG).then_some(&NO_WAIT),
        };
        match poll(&mut all, timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let over = PollFlags::HUP | PollFlags::ERR;
        let [client_says, daemon_says] = all.map(|one| one.revents());
        // A side that is not read at present may have ended. Without this check, its end would go unnoticed.
        let gone = (client.is_empty() && client_says.intersects(over))
            || (self.has_pending_output && daemon_says.intersects(over));
        match gone {
            true => Err(ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Returns whether reading must wait until the daemon has handled the client's last message. That message may be
    /// the token.
    fn is_waiting_for_token(&self) -> bool {
        // The connection counts messages only until the client has shown a valid token. So a message right behind a
        // valid token may never be counted, and the connection itself is asked as well.
        self.is_unauthenticated
            && self.connection.is_unauthenticated()
            && self.connection.processed_messages() < self.received_messages
    }

    /// Returns whether the next message may be read. Once the client has shown a valid token, also raises the limit
    /// on the size of a message.
    fn can_read(&mut self) -> bool {
        if self.is_waiting_for_token() {
            return false;
        }
        if self.is_unauthenticated && !self.connection.is_unauthenticated() {
            self.is_unauthenticated = false;
            self.socket.set_config(|config| {
                config.max_message_size = Some(MAX_LEN);
                config.max_frame_size = Some(MAX_LEN);
            });
        }
        true
    }

    fn take(&mut self, message: &[u8]) {
        self.received_messages += 1;
        netstring::write(message, &mut self.incoming);
    }

    fn read_client(&mut self) -> Result<(), Error> {
        self.has_unread_input = true;
        while self.incoming.len() < MAX_BACKLOG && self.can_read() {
            match self.socket.read() {
                Ok(Message::Binary(bytes)) => self.take(&bytes),
                Ok(Message::Text(text)) => self.take(text.as_bytes()),
                // The WebSocket library answers pings. After a close frame, the next read returns an error.
                Ok(_) => {}
                Err(Error::Io(error)) if is_would_block(&error) => {
                    self.has_unread_input = false;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_daemon(&mut self) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = self.incoming.get(done..).filter(|rest| !rest.is_empty()) {
            match self.inner.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_would_block(&error) => break,
                Err(error) => return Err(error),
            }
        }
        self.incoming.drain(..done);
        Ok(())
    }

    /// Passes the daemon's waiting messages to the client. Returns `false` if the daemon has ended the connection.
    fn read_daemon(&mut self) -> Result<bool, Error> {
        let mut buffer = [0; 32 << 10];
        while !self.has_pending_output {
            let count = match self.inner.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if is_would_block(&error) => return Ok(true),
                Err(error) => return Err(error.into()),
            };
            self.decoder.push(buffer.get(..count).unwrap_or_default());
            // Decoding cannot fail, because the daemon itself has framed the messages.
            while let Ok(Some(message)) = self.decoder.next() {
                let message = Message::Binary(message.to_vec().into());
                match self.socket.write(message) {
                    Ok(()) => {}
                    // The library has put the message into its buffer even so.
                    Err(Error::Io(error)) if is_would_block(&error) => self.has_pending_output = true,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        match self.socket.flush() {
            Ok(()) => self.has_pending_output = false,
            Err(Error::Io(error)) if is_would_block(&error) => self.has_pending_output = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn send_close(&mut self, code: CloseCode) {
        let stream = self.socket.get_ref().stream();
        let timely =
            stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(CLOSE_TIMEOUT)));
        if timely.is_ok() {
            // Errors are ignored, because the client may have gone already.
            let _ = self.socket.close(Some(CloseFrame { code, reason: "".into() }));
            let _ = self.socket.flush();
        }
        let _ = self.socket.get_ref().stream().shutdown(Shutdown::Both);
    }
}

fn is_would_block(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}
