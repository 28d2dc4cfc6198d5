//! The gateway for clients that cannot open a unix socket. It speaks CapTP over WebSockets, on this machine alone.
//!
//! The gateway is off unless `ENDO_ADDR` gives its address. A foreign web page must not reach the gateway. So a
//! client must name this machine in `Host`, and a page must come from this machine (`Origin`). The first object that
//! a client sees has one method, `fetch(token)`. The token must come from `almoner gateway`.
//!
//! Each message is a frame of its own. Endo's clients send binary frames, and text frames are taken as well. Behind
//! the frames, a connection is the same as one over the unix socket: [`pump`] moves messages between the two.

mod admission;
mod deadline;
mod pump;

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::protocol::WebSocketConfig;

use super::ListenerState;
use super::connection::{Connection, MAX_UNAUTHENTICATED_MESSAGE};
use control::exit::{Exit, Failure};
use deadline::DeadlineStream;

/// The environment variable with the address of the gateway.
const ADDRESS_VARIABLE: &str = "ENDO_ADDR";

/// The maximum time for the whole handshake, however slowly a client sends.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of connections that have not shown a valid token yet.
pub(crate) const MAX_UNAUTHENTICATED: usize = 64;

/// Returns the address for the gateway, or `None` if the gateway is off.
///
/// # Errors
/// When `ENDO_ADDR` is not an address of this machine.
pub fn address() -> Result<Option<SocketAddr>, Failure> {
    match std::env::var_os(ADDRESS_VARIABLE).filter(|said| !said.is_empty()) {
        None => Ok(None),
        Some(said) => parse_address(&said.to_string_lossy()).map(Some),
    }
}

fn parse_address(said: &str) -> Result<SocketAddr, Failure> {
    let wrong = |what: &str| {
        let said = passable::visible_line(said);
        Failure::new(Exit::Usage, format!("{ADDRESS_VARIABLE}={said}: {what}")).help(format!(
            "write an address and a port of this machine, like {ADDRESS_VARIABLE}=127.0.0.1:8920"
        ))
    };
    let numbers = said.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address: SocketAddr =
        numbers.as_deref().unwrap_or(said).parse().map_err(|_| wrong("this is no address with a port"))?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err(wrong("the gateway is for this machine alone")),
    }
}

/// Starts to listen at an address, and returns the address with the actual port.
///
/// # Errors
/// When the daemon cannot listen at the address.
pub fn start(shared: &Arc<ListenerState>, address: SocketAddr) -> Result<SocketAddr, Failure> {
    let fail = |e: std::io::Error| {
        Failure::new(Exit::Failure, format!("the gateway at {address}: {e}"))
            .help(format!("set {ADDRESS_VARIABLE} to another port, or leave it out"))
    };
    let listener = TcpListener::bind(address).map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    let accepting = Arc::downgrade(shared);
    std::thread::spawn(move || accept(&accepting, &listener, address));
    Ok(address)
}

/// Accepts connections until the listener fails or the daemon ends.
fn accept(shared: &Weak<ListenerState>, listener: &TcpListener, address: SocketAddr) {
    let shaking = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Some(shared) = shared.upgrade() else { return };
        let Ok(stream) = stream else {
            // The process cannot open a connection now, for example for want of file descriptors. A short pause
            // avoids a busy loop.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        if shaking.load(Ordering::SeqCst) + shared.unauthenticated_clients() >= MAX_UNAUTHENTICATED {
            reject_request(stream, "503 Service Unavailable", "too many clients have not shown a token yet");
            continue;
        }
        shaking.fetch_add(1, Ordering::SeqCst);
        let (done, weak) = (Arc::clone(&shaking), Arc::downgrade(&shared));
        let thread = std::thread::Builder::new().name("endo-gateway".to_owned()).stack_size(512 << 10);
        let spawned = thread.spawn(move || {
            let opened = handshake(stream, address).and_then(|socket| {
                weak.upgrade().and_then(|shared| open(&shared)).map(|opened| (socket, opened))
            });
            done.fetch_sub(1, Ordering::SeqCst);
            if let Some((socket, (inner, link))) = opened {
                pump::run(socket, &inner, &link);
            }
        });
        if spawned.is_err() {
            // Without a thread, the connection is dropped, and the client sees its end.
            shaking.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Opens a connection like those over the unix socket. Returns the client's end of its socket pair, and the
/// connection.
fn open(shared: &Arc<ListenerState>) -> Option<(UnixStream, Arc<Connection>)> {
    let (theirs, ours) = UnixStream::pair().ok()?;
    // A client that is refused sees only the end of its connection.
    let link = super::open_connection(shared, ours, super::Transport::Gateway).ok()??;
    Some((theirs, link))
}

fn handshake(stream: TcpStream, address: SocketAddr) -> Option<pump::Socket> {
    stream.set_nodelay(true).ok()?;
    let plain = stream.try_clone().ok()?;
    let stream = DeadlineStream::new(stream, HANDSHAKE_TIMEOUT);
    let admit = |request: &Request, response: Response| match admission::admit(request.headers(), address) {
        Ok(()) => Ok(response),
        Err(reason) => Err(forbidden(&reason)),
    };
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_UNAUTHENTICATED_MESSAGE))
        .max_frame_size(Some(MAX_UNAUTHENTICATED_MESSAGE))
        .read_buffer_size(16 << 10)
        .write_buffer_size(64 << 10);
    match tungstenite::accept_hdr_with_config(stream, admit, Some(config)) {
        Ok(socket) => Some(socket),
        // The handshake has already sent an answer.
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(_))) => None,
        Err(_) => {
            reject_request(plain, "400 Bad Request", "this is a gateway for WebSockets");
            None
        }
    }
}

fn forbidden(reason: &str) -> ErrorResponse {
    let mut response = ErrorResponse::new(Some(format!("{reason}\n")));
    *response.status_mut() = tungstenite::http::StatusCode::FORBIDDEN;
    response
}

/// Answers a request that does not become a WebSocket with an HTTP error.
fn reject_request(mut stream: TcpStream, status: &str, reason: &str) {
    let length = reason.len() + 1;
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n");
    // An error is ignored, because the client is dropped anyway.
    let _ = stream.write_all(format!("{head}connection: close\r\n\r\n{reason}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateway_accepts_only_loopback_addresses() {
        let check = |said: &str, expected: Result<&str, &str>| match (parse_address(said), expected) {
            (Ok(address), Ok(expected)) => assert_eq!(address.to_string(), expected),
            (Err(failure), Err(says)) => {
                assert_eq!(failure.exit, Exit::Usage, "{said}");
                assert!(failure.message.raw().contains(says), "{said}: {}", failure.message.raw());
                assert!(failure.help.contains("127.0.0.1:8920"));
            }
            (got, expected) => panic!("{said}: {got:?}, not {expected:?}"),
        };
        check("127.0.0.1:8920", Ok("127.0.0.1:8920"));
        check("127.9.8.7:1", Ok("127.9.8.7:1"));
        check("localhost:8920", Ok("127.0.0.1:8920"));
        check("[::1]:8920", Ok("[::1]:8920"));
        check("0.0.0.0:8920", Err("for this machine alone"));
        check("192.168.1.2:8920", Err("for this machine alone"));
        check("[::]:8920", Err("for this machine alone"));
        for rubbish in ["8920", "127.0.0.1", "127.0.0.1:99999", "localhost:", "example.org:80", "\u{202e}x"] {
            check(rubbish, Err("no address with a port"));
        }
    }
}
