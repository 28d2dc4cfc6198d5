//! The listener for Endo's clients. It speaks CapTP over a unix socket, at the path where Endo's clients look for
//! one.
//!
//! Each connection has two threads. One reads and carries out calls ([`connection`]). The other writes the output
//! that the socket did not take at once. One more thread tells all connections about changes in the store.
//!
//! The objects that clients see are in [`crate::objects`]: agents, directories, messages through `kernel::facet`,
//! promises that follow the store, and iterators over new items.

mod connection;
mod websocket;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kernel::{BlobHash, FormulaId, table};
use passable::visible_line;
use switchboard::Switchboard;

use crate::state::daemon::{HostDaemon, WeakHostDaemon};
use crate::state::log;
use config::place::{Claim, Place, SocketPath};
use config::private_dir::{check_shared, close_socket_to_others, private_dir, private_dir_among_others};
use connection::Connection;
use control::exit::{Exit, Failure};

/// The maximum number of clients that may be connected at a time.
const MAX_CLIENTS: usize = 512;

/// The time for which the news thread waits for a change in the store before it checks whether the daemon ends.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The listener for Endo's clients. Dropping it ends every connection.
pub struct EndoListener {
    shared: Arc<ListenerState>,
    /// The files that exist only while the daemon runs.
    temporary_files: Vec<PathBuf>,
}

/// The way by which a client connects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    /// The unix socket. Its client is the user, and gets the root of the store.
    Socket,
    /// The gateway. Its client must first show a token.
    Gateway,
}

/// The state that all connections share.
struct ListenerState {
    daemon: WeakHostDaemon,
    board: Mutex<Switchboard>,
    connections: Mutex<ConnectionTable>,
    /// The signal that a client has connected, or that the daemon ends.
    arrived: Condvar,
    ending: AtomicBool,
}

#[derive(Default)]
struct ConnectionTable {
    next: u64,
    open: BTreeMap<u64, Arc<Connection>>,
}

impl ListenerState {
    fn board(&self) -> MutexGuard<'_, Switchboard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_connections(&self) -> MutexGuard<'_, ConnectionTable> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the gateway's clients that have not shown a valid token yet.
    fn unauthenticated_clients(&self) -> usize {
        self.lock_connections().open.values().filter(|link| link.is_unauthenticated()).count()
    }
}

/// Starts the listener. Returns `None` if the daemon has neither a socket nor a gateway. The socket is missing if
/// another daemon already listens at Endo's default path, and the user has not asked for a path of its own.
///
/// # Errors
/// When the socket cannot be made, or the gateway cannot listen at the address in `ENDO_ADDR`.
pub fn start(daemon: &HostDaemon, place: &Place) -> Result<Option<EndoListener>, Failure> {
    let gateway = websocket::address()?;
    let shared = Arc::new(ListenerState {
        daemon: daemon.downgrade(),
        board: Mutex::new(Switchboard::new()),
        connections: Mutex::default(),
        arrived: Condvar::new(),
        ending: AtomicBool::new(false),
    });
    let traces = match place.endo.claim {
        Claim::Explicit => {
            let mut traces = write_discovery_files(daemon, place)?;
            traces.push(listen(&shared, place)?);
            traces
        }
        // The user has not asked for this socket, so the daemon works without it.
        Claim::Private => note_failure(listen(&shared, place)).into_iter().collect(),
        Claim::ClientDefault => {
            note_failure(listen_at_default(&shared, place)).flatten().into_iter().collect()
        }
    };
    if let Some(address) = gateway {
        daemon.gateway_tokens.set_gateway(websocket::start(&shared, address)?);
    } else if traces.is_empty() {
        return Ok(None);
    }
    let looking = Arc::downgrade(&shared);
    let looking = move || notify_connections(&looking);
    let thread = std::thread::Builder::new()
        .name("endo-news".to_owned())
        .stack_size(crate::state::thread_stack::STACK_SIZE);
    thread.spawn(looking).map_err(|e| Failure::new(Exit::Failure, format!("no thread: {e}")))?;
    Ok(Some(EndoListener { shared, temporary_files: traces }))
}

/// Writes the files that Endo's clients look for, before any client can connect. Returns the files to remove when the
/// daemon ends.
fn write_discovery_files(daemon: &HostDaemon, place: &Place) -> Result<Vec<PathBuf>, Failure> {
    let path = place.state.join("root");
    let root = format!("{}\n", daemon.host);
    // The content is the same each time. It is written only if it differs, so that a full disk does not prevent a
    // start.
    if std::fs::read_to_string(&path).ok().as_deref() != Some(&root) {
        std::fs::write(&path, root).map_err(|e| Failure::of_file("write", &path.to_string_lossy(), e))?;
    }
    config::place::private_dir(&place.ephemeral)?;
    let pid = place.ephemeral.join("endo.pid");
    let _ = std::fs::write(&pid, format!("{}\n", std::process::id()));
    Ok(vec![pid])
}

/// Writes a failure to listen to the log.
fn note_failure<T>(listened: Result<T, Failure>) -> Option<T> {
    let note = |failure: &Failure| {
        log::line(&format!("no listener for Endo's clients: {}", failure.message.visible_line()))
    };
    listened.inspect_err(note).ok()
}

/// Listens at Endo's default path, unless Endo's own daemon listens there.
///
/// # Errors
/// When the directory belongs to another user, or another user listens there.
fn listen_at_default(shared: &Arc<ListenerState>, place: &Place) -> Result<Option<PathBuf>, Failure> {
    let socket = &place.endo.socket;
    if let Some(dir) = place.endo.own_directory() {
        // The path lies among temporary files if there is no directory for this session.
        private_dir_among_others(dir)?;
    }
    match connected_user(socket) {
        Some(user) if user == rustix::process::getuid() => Ok(None),
        Some(_) => {
            let said = format!("{}: another user listens there", visible_line(&socket.to_string_lossy()));
            Err(Failure::new(Exit::Denied, said).help("set XDG_RUNTIME_DIR to a directory of yours"))
        }
        None => listen(shared, place).map(Some),
    }
}

/// Returns the user whose process listens on a socket, if one does.
fn connected_user(socket: &Path) -> Option<rustix::process::Uid> {
    let path = SocketPath::new(socket).ok()?;
    let stream = UnixStream::connect(path.as_path()).ok()?;
    Some(rustix::net::sockopt::socket_peercred(&stream).ok()?.uid)
}

/// Binds the socket and listens on it. A leftover socket without a listener is removed first. A live socket belongs
/// to another daemon, and is an error. So is a directory in which another user could replace the socket.
fn bind(socket: &Path) -> Result<UnixListener, Failure> {
    let shown = visible_line(&socket.to_string_lossy()).into_owned();
    if connected_user(socket).is_some() {
        let said = format!("cannot listen at {shown}: another daemon listens there");
        return Err(Failure::new(Exit::Conflict, said).help("end it, or set ENDO_SOCK_PATH to another path"));
    }
    let fail = |e: std::io::Error| Failure::new(Exit::Failure, format!("cannot listen at {shown}: {e}"));
    if let Some(dir) = socket.parent() {
        if !dir.exists() {
            private_dir(dir)?;
        }
        check_shared(dir).map_err(|why| {
            Failure::new(Exit::Denied, format!("cannot listen at {shown}: {why}"))
                .help("set ENDO_SOCK_PATH to a path in a directory of yours")
        })?;
    }
    match std::fs::remove_file(socket) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(fail(e)),
        _ => {}
    }
    let path = SocketPath::new(socket).map_err(fail)?;
    let listener = UnixListener::bind(path.as_path()).map_err(fail)?;
    // Until the next line, others might connect to the socket. That is harmless, because the user id of every client
    // is checked.
    close_socket_to_others(path.as_path()).map_err(fail)?;
    Ok(listener)
}

/// Listens on the unix socket, and accepts its clients on a new thread. Returns the path of the socket.
fn listen(shared: &Arc<ListenerState>, place: &Place) -> Result<PathBuf, Failure> {
    let socket = place.endo.socket.clone();
    let listener = bind(&socket)?;
    let accepting = Arc::downgrade(shared);
    std::thread::spawn(move || accept(&accepting, &listener));
    Ok(socket)
}

impl EndoListener {
    /// Returns whether any client is connected.
    pub fn has_clients(&self) -> bool {
        !self.shared.lock_connections().open.is_empty()
    }

    /// Returns the formulas that clients refer to. They must not be collected.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        let links: Vec<Arc<Connection>> = self.shared.lock_connections().open.values().cloned().collect();
        links.iter().flat_map(|link| link.pins()).collect()
    }

    /// Returns the trees that clients refer to and that no formula refers to. Their bytes must be kept.
    pub fn trees(&self) -> BTreeSet<BlobHash> {
        let links: Vec<Arc<Connection>> = self.shared.lock_connections().open.values().cloned().collect();
        links.iter().flat_map(|link| link.trees()).collect()
    }
}

impl Drop for EndoListener {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::SeqCst);
        self.shared.arrived.notify_all();
        for trace in &self.temporary_files {
            let _ = std::fs::remove_file(trace);
        }
        let links: Vec<Arc<Connection>> = self.shared.lock_connections().open.values().cloned().collect();
        for link in links {
            link.end(&self.shared, "the daemon ends");
        }
    }
}

/// Accepts connections until the listener fails or the daemon ends.
fn accept(shared: &Weak<ListenerState>, listener: &UnixListener) {
    for stream in listener.incoming() {
        let Some(shared) = shared.upgrade() else { return };
        let Ok(stream) = stream else {
            // The process cannot open a connection now, for example for want of file descriptors. A short pause
            // avoids a busy loop.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        // If no connection can be opened, the stream is dropped, and the client sees its end.
        let _ = open_connection(&shared, stream, Transport::Socket);
    }
}

/// Opens a connection if the client is the daemon's own user and there is room.
fn open_connection(
    shared: &Arc<ListenerState>,
    stream: UnixStream,
    way: Transport,
) -> std::io::Result<Option<Arc<Connection>>> {
    let peer = rustix::net::sockopt::socket_peercred(&stream)?;
    if peer.uid != rustix::process::getuid() {
        return Ok(None);
    }
    let Some(daemon) = shared.daemon.upgrade() else { return Ok(None) };
    let mut links = shared.lock_connections();
    if shared.ending.load(Ordering::SeqCst) || daemon.is_stopping() || links.open.len() >= MAX_CLIENTS {
        return Ok(None);
    }
    let Ok(Some(root)) = daemon.read(|txn| table::endo(txn)) else { return Ok(None) };
    let host = daemon.host;
    let opened = match way {
        Transport::Socket => Connection::open(&mut shared.board(), stream.try_clone()?, root, host),
        Transport::Gateway => Connection::behind_gateway(&mut shared.board(), stream.try_clone()?),
    };
    let link = Arc::new(opened.map_err(std::io::Error::other)?);
    links.next += 1;
    let number = links.next;
    links.open.insert(number, Arc::clone(&link));
    shared.arrived.notify_all();
    drop(links);
    let (reading, writing) = (Arc::clone(&link), Arc::clone(&link));
    let (sharing, forgetting) = (Arc::clone(shared), Arc::downgrade(shared));
    let writer = std::thread::Builder::new().name("endo-writer".to_owned()).stack_size(256 << 10);
    let reader = std::thread::Builder::new()
        .name("endo-client".to_owned())
        .stack_size(crate::state::thread_stack::STACK_SIZE);
    let spawned = writer.spawn(move || writing.write()).and_then(|_| {
        reader.spawn(move || {
            reading.read(&forgetting, stream);
            if let Some(shared) = forgetting.upgrade() {
                shared.lock_connections().open.remove(&number);
            }
        })
    });
    if spawned.is_err() {
        link.end(&sharing, "no thread to be had");
        sharing.lock_connections().open.remove(&number);
    }
    Ok(Some(link))
}

/// Tells all connections about changes in the store, until the daemon ends.
fn notify_connections(shared: &Weak<ListenerState>) {
    let mut tick = 0;
    loop {
        let Some(shared) = shared.upgrade() else { return };
        // Without connections there is no client to tell.
        let links = shared.lock_connections();
        if links.open.is_empty() && !shared.ending.load(Ordering::SeqCst) {
            drop(shared.arrived.wait_timeout(links, POLL_INTERVAL));
            continue;
        }
        drop(links);
        let Some(daemon) = shared.daemon.upgrade() else { return };
        if daemon.is_stopping() {
            return;
        }
        tick = daemon.news.wait(&daemon.host, tick, POLL_INTERVAL).tick;
        let links: Vec<Arc<Connection>> = shared.lock_connections().open.values().cloned().collect();
        for link in links {
            link.poll_store(&shared, &daemon);
            link.close_if_late(&shared);
        }
    }
}
