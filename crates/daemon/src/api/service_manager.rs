//! The daemon's messages to a service manager, in the protocol of `sd_notify`.
//!
//! Each message is one datagram to the socket that the service manager names, so a library would save nothing.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use config::place::Place;

/// The service manager that has started the daemon.
#[derive(Debug)]
pub struct ServiceManager {
    socket: UnixDatagram,
    /// The interval at which the service manager expects a sign of life, if it watches.
    interval: Option<Duration>,
    /// The time of the main loop's last round.
    round: Mutex<Instant>,
    /// Passed once the thread that says that the daemon is alive runs.
    watchdog: Once,
    /// Passed once the service manager knows that the daemon waits for the store.
    wait: Once,
}

/// The maximum time of one round of the main loop. A collection of a large store takes minutes.
const MAX_ROUND: Duration = Duration::from_secs(600);

impl ServiceManager {
    /// Returns the service manager that the environment names, if there is one.
    pub fn from_env() -> Option<ServiceManager> {
        let name = std::env::var_os("NOTIFY_SOCKET")?;
        let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
        // The variables may be meant for the process that has started this one.
        let is_watched = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let interval =
            number("WATCHDOG_USEC").filter(|time| is_watched && *time > 0).map(Duration::from_micros);
        let address = match name.as_bytes().split_first()? {
            (b'@', abstract_name) => abstract_address(abstract_name),
            _ => SocketAddr::from_pathname(&name),
        };
        let socket = UnixDatagram::unbound().ok()?;
        socket.connect_addr(&address.ok()?).ok()?;
        // A service manager that reads nothing must not hold the daemon up.
        socket.set_nonblocking(true).ok()?;
        Some(ServiceManager {
            socket,
            interval,
            round: Mutex::new(Instant::now()),
            watchdog: Once::new(),
            wait: Once::new(),
        })
    }

    /// Returns whether the environment names a service manager.
    pub fn is_named() -> bool {
        std::env::var_os("NOTIFY_SOCKET").is_some()
    }

    /// Says that the daemon takes connections.
    pub fn ready(&self, place: &Place) {
        let store = place.store().display().to_string();
        self.send(&format!("READY=1\nSTATUS=serving {}", passable::visible_line(&store)));
    }

    /// Says, the first time, that the daemon waits for another one, which serves the store meanwhile. To the service manager
    /// it is ready: a start that never ends would be given up.
    pub fn wait_for_store(&self) {
        self.wait
            .call_once(|| self.send("READY=1\nSTATUS=waits until the daemon that a command started ends"));
    }

    /// Says that the daemon ends.
    pub fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=runs end at their next steps");
    }

    /// Notes that the main loop begins another round.
    pub fn begin_round(&self) {
        *self.round.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Starts the thread that says that the daemon is alive, if the service manager watches and the thread does not run
    /// yet. It falls silent if the main loop hangs.
    pub fn start_watchdog(manager: &Arc<ServiceManager>) {
        let Some(interval) = manager.interval else { return };
        let watched: Weak<ServiceManager> = Arc::downgrade(manager);
        let watch = move || {
            while let Some(manager) = watched.upgrade() {
                let round = *manager.round.lock().unwrap_or_else(PoisonError::into_inner);
                if round.elapsed() < MAX_ROUND {
                    manager.send("WATCHDOG=1");
                }
                drop(manager);
                std::thread::sleep(interval / 3);
            }
        };
        manager.watchdog.call_once(|| drop(std::thread::spawn(watch)));
    }

    fn send(&self, message: &str) {
        // A service manager that has gone needs no message.
        let _ = self.socket.send(message.as_bytes());
    }
}

/// Returns the address of a socket that has no file.
#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> std::io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name)
}

/// Returns an error: only Linux has sockets without files.
#[cfg(not(target_os = "linux"))]
fn abstract_address(_name: &[u8]) -> std::io::Result<SocketAddr> {
    Err(std::io::ErrorKind::Unsupported.into())
}
