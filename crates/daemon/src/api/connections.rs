//! The connections of clients: their acceptance, and one thread for each.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use zeroize::Zeroizing;

use super::follow::{Follower, follow};
use super::services::Services;
use super::{acts, dispatch};
use crate::queries::runs;
use crate::state::{damage, surface};
use control::exit::{Exit, Failure};
use control::frame;
use control::protocol::{Hello, OnBehalf, Request, Response, VERSION};
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
                // An error means that the client has gone, which needs no report.
                let _ = talking.serve_client(stream);
                talking.clients().streams.remove(&number);
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
    fn warn(&self, stream: &mut UnixStream, left_out: &mut LeftOut) -> io::Result<()> {
        left_out.add(store::take_left_out());
        match damage::warning(&self.services.daemon, left_out) {
            Some(warning) => frame::write(stream, &Response::Warning(warning)),
            None => Ok(()),
        }
    }

    fn serve_client(&self, mut stream: UnixStream) -> io::Result<()> {
        let peer = rustix::net::sockopt::socket_peercred(&stream)?;
        if peer.uid != rustix::process::getuid() {
            return Ok(());
        }
        let mut reader = BufReader::new(stream.try_clone()?);
        let Some(hello) = frame::read::<Hello>(&mut reader)? else { return Ok(()) };
        if hello.version != VERSION {
            let failure = Failure::new(
                Exit::Conflict,
                format!("the daemon speaks version {VERSION}, this client version {}", hello.version),
            );
            let help = format!("stop the daemon (process {}) and try again", std::process::id());
            return frame::write(&mut stream, &Response::Failed(failure.help(help)));
        }
        self.services.daemon.keys.add_vendor_keys(&hello.keys);
        // If the store cannot be read, the requests that need it report the failure.
        let waiting = runs::waiting_count(&self.services.daemon).unwrap_or(0);
        let welcome = Response::Welcome {
            build: control::BUILD.to_owned(),
            waiting,
            files: config::file_view::file_view(),
        };
        frame::write(&mut stream, &welcome)?;
        // The rows that only the welcome left out do not count.
        let _ = store::take_left_out();
        let mut left_out = LeftOut::default();
        loop {
            let asked = match frame::read::<OnBehalf>(&mut reader) {
                Ok(Some(asked)) => asked,
                Ok(None) => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                    let failure = Failure::new(Exit::Usage, format!("this is no request: {e}"));
                    return frame::write(&mut stream, &Response::Failed(failure));
                }
                Err(e) => return Err(e),
            };
            if let Request::Follow { after, text } = asked.request {
                let name = asked.agent.as_deref();
                let services = acts::agent(&self.services.daemon, name)
                    .and_then(|agent| self.services.for_agent(agent, name));
                self.warn(&mut stream, &mut left_out)?;
                return match services {
                    Ok(services) => follow(&services.daemon, &mut SocketFollower(&mut stream), after, text),
                    Err(failure) => {
                        let failure = damage::unsure(&self.services.daemon, failure);
                        frame::write(&mut stream, &Response::Failed(failure))
                    }
                };
            }
            let stop = asked.request == Request::Stop;
            let response =
                surface::over(Surface::Control, || dispatch::answer(&self.services, &hello.keys, asked));
            // A stop request that was refused does not stop the daemon.
            let stop = stop && response.is_ok();
            let response = response.unwrap_or_else(Response::Failed);
            self.warn(&mut stream, &mut left_out)?;
            let written = match frame::write(&mut stream, &response) {
                // In this case, no byte of the response has been sent.
                Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                    let failure = Failure::new(Exit::Failure, "the answer is too long to be sent");
                    frame::write(&mut stream, &Response::Failed(failure.help("ask for less at once")))
                }
                written => written,
            };
            if stop {
                self.services.daemon.stop();
                return written;
            }
            written?;
        }
    }
}

/// A follower at the other end of a socket.
struct SocketFollower<'a>(&'a mut UnixStream);

impl Follower for SocketFollower<'_> {
    fn send(&mut self, response: Response) -> io::Result<()> {
        frame::write(self.0, &response)
    }

    fn send_all(&mut self, responses: Vec<Response>) -> io::Result<()> {
        // All responses are sent in one write, so that the follower wakes only once.
        let mut frames = Zeroizing::new(Vec::new());
        for response in responses {
            frame::write(&mut *frames, &response)?;
        }
        self.0.write_all(&frames)
    }

    fn is_closed(&mut self) -> bool {
        is_closed(self.0)
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
