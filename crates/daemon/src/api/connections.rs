//! The connections of clients: their acceptance, and one thread for each.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use zeroize::Zeroizing;

use super::follow::{Follower, follow};
use super::service_manager::ServiceManager;
use super::services::Services;
use super::{acts, dispatch};
use crate::queries::runs;
use crate::state::{damage, surface};
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};
use control::version::{SERVED, ServedVersion};
use control::{frame, frame_reading};
use framing::FrameError;
use kernel::event::Surface;
use store::LeftOut;

/// The connected clients, and the services for the store's own host.
pub struct Server {
    /// The services. Those of other hosts are derived from them.
    pub services: Services,
    /// The connected clients.
    clients: Mutex<Clients>,
}

#[derive(Default)]
struct Clients {
    next: u64,
    streams: BTreeMap<u64, UnixStream>,
}

impl Server {
    /// Returns a server that has no clients yet.
    pub fn new(services: Services) -> Server {
        Server { services, clients: Mutex::default() }
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a client is connected, or was connected since the last call. `seen` holds the state of the
    /// last call, and begins with 0.
    pub fn has_had_clients(&self, seen: &mut u64) -> bool {
        let clients = self.clients();
        let before = std::mem::replace(seen, clients.next);
        before != clients.next || !clients.streams.is_empty()
    }

    /// Shuts down every connection, for reading or for both directions.
    pub fn hang_up(&self, how: Shutdown) {
        for stream in self.clients().streams.values() {
            // An error means that the connection has already ended.
            let _ = stream.shutdown(how);
        }
    }

    /// Accepts connections until the listener fails or the server is dropped.
    pub fn accept(server: &Weak<Server>, listener: &UnixListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // No file can be opened at the moment. A retry without a pause would only increase the load.
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            let Some(server) = server.upgrade() else { return };
            let Ok(number) = server.add_client(&stream) else { continue };
            let thread = std::thread::Builder::new()
                .name("client".to_owned())
                .stack_size(crate::state::thread_stack::STACK_SIZE);
            let talking = Arc::clone(&server);
            let spawned = thread.spawn(move || {
                let _registered = Registration { server: &talking, number };
                // An error means that the client has gone, which needs no report.
                let _ = talking.serve_client(stream);
            });
            if spawned.is_err() {
                // If no thread can be started, the connection is closed, and the client sees its end.
                server.clients().streams.remove(&number);
            }
        }
    }

    /// Registers a client, and returns its number.
    fn add_client(&self, stream: &UnixStream) -> io::Result<u64> {
        let handle = stream.try_clone()?;
        let mut clients = self.clients();
        // The daemon sets the stop flag before it shuts down the registered connections. So a client that is not
        // registered by then must be refused.
        if self.services.daemon.is_stopping() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        clients.next += 1;
        let number = clients.next;
        clients.streams.insert(number, handle);
        Ok(number)
    }

    /// Sends the client the warning that the store is damaged, if it is. `left_out` has the rows that the answers to
    /// this client have left out so far.
    fn warn(
        &self,
        stream: &mut UnixStream,
        version: &ServedVersion,
        left_out: &mut LeftOut,
    ) -> io::Result<()> {
        left_out.add(store::take_left_out());
        match damage::warning(&self.services.daemon, left_out) {
            Some(warning) => write(stream, version, Response::Warning(warning)),
            None => Ok(()),
        }
    }

    fn serve_client(&self, mut stream: UnixStream) -> io::Result<()> {
        let peer = rustix::net::sockopt::socket_peercred(&stream)?;
        if peer.uid != rustix::process::getuid() {
            return Ok(());
        }
        let mut reader = BufReader::new(stream.try_clone()?);
        // A client whose hello is refused may send another one, of another version.
        let read_hello = |bytes: &[u8]| frame_reading::read_hello(bytes).map_err(name_process);
        let Some((hello, version)) = read(&mut reader, &mut stream, None, read_hello)? else {
            return Ok(());
        };
        self.services.daemon.keys.add_vendor_keys(&hello.keys);
        // If the store cannot be read, the requests that need it report the failure.
        let waiting = runs::waiting_count(&self.services.daemon).unwrap_or(0);
        let welcome = Response::Welcome {
            build: config::build::id(),
            waiting,
            files: config::file_view::file_view(),
            is_service: ServiceManager::is_named(),
        };
        write(&mut stream, version, welcome)?;
        // The rows that only the welcome left out do not count.
        let _ = store::take_left_out();
        let mut left_out = LeftOut::default();
        loop {
            let read_request = |bytes: &[u8]| frame_reading::read_request(bytes, version);
            let Some(asked) = read(&mut reader, &mut stream, Some(version), read_request)? else {
                return Ok(());
            };
            if let Request::Follow { after, text } = asked.request {
                let name = asked.agent.as_deref();
                let services = acts::agent(&self.services.daemon, name)
                    .and_then(|agent| self.services.for_agent(agent, name));
                self.warn(&mut stream, version, &mut left_out)?;
                match services {
                    Ok(services) => {
                        let mut follower = SocketFollower { stream: &mut stream, version };
                        return follow(&services.daemon, &mut follower, after, text);
                    }
                    Err(failure) => {
                        let failure = damage::unsure(&self.services.daemon, failure);
                        write(&mut stream, version, Response::Failed(failure))?;
                        continue;
                    }
                }
            }
            let replacement = match &asked.request {
                Request::Replace { build } => Some(build.clone()),
                _ => None,
            };
            let stop = asked.request == Request::Stop || replacement.is_some();
            let response =
                surface::over(Surface::Control, || dispatch::answer(&self.services, &hello.keys, asked));
            // A stop request that was refused does not stop the daemon.
            let stop = stop && response.is_ok();
            let response = response.unwrap_or_else(Response::Failed);
            self.warn(&mut stream, version, &mut left_out)?;
            let written = match write(&mut stream, version, response) {
                // In this case, no byte of the response has been sent.
                Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                    let failure = Failure::new(Exit::Failure, "the answer is too long to be sent");
                    write(&mut stream, version, Response::Failed(failure.help("ask for less at once")))
                }
                written => written,
            };
            if stop {
                if let Some(build) = replacement {
                    self.services.daemon.hand_over(&build);
                }
                self.services.daemon.stop();
                return written;
            }
            written?;
        }
    }
}

/// The entry of a client among those that are connected. It also ends if the client's thread panics: the entry holds
/// the connection, and the client would wait for an answer for ever.
struct Registration<'a> {
    server: &'a Server,
    number: u64,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.server.clients().streams.remove(&self.number);
    }
}

/// Reads the next frame that `parse` accepts. Returns `None` at the end of the connection. The client gets the failure
/// for each other frame, in the form of its version if that is known, and may then send the next one.
fn read<T>(
    reader: &mut impl Read,
    stream: &mut UnixStream,
    version: Option<&ServedVersion>,
    parse: impl Fn(&[u8]) -> Result<T, Failure>,
) -> io::Result<Option<T>> {
    // A client of unknown version gets the form of the newest one, which names the problem.
    let [newest, ..] = &SERVED;
    let version = version.unwrap_or(newest);
    loop {
        match frame::read_bytes(reader) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => match parse(&bytes) {
                Ok(frame) => return Ok(Some(frame)),
                Err(failure) => write(stream, version, Response::Failed(failure))?,
            },
            Err(FrameError::TooLarge { bytes, max_bytes }) => {
                // The failure comes before the rest of the frame, which may never come: the length of a frame that is
                // none, such as a line of HTTP, is a large number.
                let failure = frame_reading::too_long(bytes, max_bytes);
                write(stream, version, Response::Failed(failure))?;
                frame::skip(reader, bytes)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Adds the process of the daemon to the failure of a client of another version, which cannot ask the daemon to stop.
fn name_process(failure: Failure) -> Failure {
    match failure.exit {
        Exit::Conflict => {
            failure.help(format!("stop the daemon (process {}) and try again", std::process::id()))
        }
        _ => failure,
    }
}

/// Writes a response in the form of a version.
fn write(stream: &mut UnixStream, version: &ServedVersion, response: Response) -> io::Result<()> {
    frame::write(stream, &version.adapt(response))
}

/// A follower at the other end of a socket.
struct SocketFollower<'a> {
    stream: &'a mut UnixStream,
    version: &'static ServedVersion,
}

impl Follower for SocketFollower<'_> {
    fn send(&mut self, response: Response) -> io::Result<()> {
        if !self.version.shows(&response) {
            return Ok(());
        }
        write(self.stream, self.version, response)
    }

    fn send_all(&mut self, responses: Vec<Response>) -> io::Result<()> {
        // All responses are sent in one write, so that the follower wakes only once.
        let mut frames = Zeroizing::new(Vec::new());
        for response in responses.into_iter().filter(|response| self.version.shows(response)) {
            frame::write(&mut *frames, &self.version.adapt(response))?;
        }
        self.stream.write_all(&frames)
    }

    fn is_closed(&mut self) -> bool {
        is_closed(self.stream)
    }
}

/// Returns whether the client has closed its end. A follower sends nothing more, so data from it does not matter.
fn is_closed(stream: &UnixStream) -> bool {
    use rustix::net::RecvFlags;
    let mut byte = [0_u8; 1];
    match rustix::net::recv(stream, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, n)) => n == 0,
        Err(e) => e != rustix::io::Errno::AGAIN && e != rustix::io::Errno::INTR,
    }
}
