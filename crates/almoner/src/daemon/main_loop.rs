//! The daemon's main: opens the store, listens, ends when told, signalled or long idle.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use model::Opener;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use store::{OpenError, Options, Store};
use worker::World as _;

use super::engine::Engine;
use super::gardener::Gardener;
use super::keys::Keys;
use super::serve::{Server, bind};
use super::world::{Daemon, environment};
use crate::exit::{Ended, Exit, Failure};
use crate::place::{self, Place};

/// How long drivers get to reach their next step when the daemon ends.
const GRACE: Duration = Duration::from_secs(2);

/// How long clients get to be let go of.
const FAREWELL: Duration = Duration::from_millis(500);

/// How the daemon was asked to run.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Started by a client: says why it cannot start as JSON on standard output, ends when idle.
    pub on_demand: bool,
    /// How long it may be idle; `None` means for ever.
    pub idle: Option<Duration>,
}

/// Runs the daemon until it ends.
///
/// # Errors
/// When the store cannot be opened or the socket not be made.
pub fn run(place: &Place, manner: Manner) -> Ended {
    let opened = open(place);
    let (server, listener) = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            if manner.on_demand {
                let said = serde_json::to_string(&failure).unwrap_or_default();
                // The client that started us reads this; if it has gone, nobody needs it.
                let _ = writeln!(std::io::stdout(), "{said}");
                return Err(Failure::silent(failure.exit));
            }
            return Err(failure);
        }
    };
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|e| Failure::new(Exit::Failure, format!("signals: {e}")))?;
    // Threads that outlive the work hold it weakly: the last to let go of the store closes it.
    let daemon = Arc::downgrade(&server.daemon);
    std::thread::spawn(move || {
        for _ in signals.forever() {
            match daemon.upgrade() {
                Some(daemon) => daemon.stop(),
                None => return,
            }
        }
    });
    server.engine.recover()?;
    let accepting = Arc::downgrade(&server);
    std::thread::spawn(move || Server::accept(&accepting, &listener));
    let mut busy = Instant::now();
    let mut gardener = Gardener::new();
    let mut tick = server.daemon.news.tick();
    while !server.daemon.is_stopping() {
        tick = server.daemon.news.wait(tick, Duration::from_secs(1)).tick;
        let clients = server.clients.load(Ordering::SeqCst);
        if clients > 0 || !server.engine.at_work().is_empty() {
            busy = Instant::now();
        }
        gardener.look_around(&server);
        if manner.idle.is_some_and(|idle| busy.elapsed() >= idle) {
            server.daemon.stop();
        }
    }
    // Nobody new is let in; what is at work ends at its next step, and its journal says where.
    let _ = std::fs::remove_file(place.socket());
    server.engine.settle(GRACE);
    // Clients that follow are let go, so that the store is closed here and need not be examined at the next start.
    let begun = Instant::now();
    while Arc::strong_count(&server) > 1 && begun.elapsed() < FAREWELL {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(Exit::Ok)
}

fn open(place: &Place) -> Result<(Arc<Server>, std::os::unix::net::UnixListener), Failure> {
    place::private_dir(&place.state)?;
    let store = Store::open(&place.state.join("store"), Options::default()).map_err(open_failure)?;
    let env = environment()?;
    let host = store.write(move |txn| kernel::genesis(txn, &env)).map_err(|e| {
        Failure::new(Exit::Failure, e.to_string()).help("`almoner doctor` examines the store")
    })?;
    let keys = Arc::new(Keys::default());
    let lookup = Arc::clone(&keys);
    let exe = std::env::current_exe()
        .map_err(|e| Failure::new(Exit::Failure, format!("this program cannot find itself: {e}")))?;
    let opener = Opener::new(move |name| lookup.get(name), place.weights()).with_launch(move |weights| {
        let mut command = std::process::Command::new(&exe);
        command.arg("model-host").arg(weights);
        command
    });
    let daemon = Arc::new(Daemon::new(store, host, opener, keys));
    let listener = bind(&place.socket())?;
    let engine = Engine::new(Arc::clone(&daemon));
    Ok((
        Arc::new(Server { daemon, engine, state: place.state.clone(), clients: AtomicUsize::new(0) }),
        listener,
    ))
}

fn open_failure(error: OpenError) -> Failure {
    let exit = match &error {
        OpenError::Owned { .. } => Exit::Conflict,
        _ => Exit::Failure,
    };
    Failure::new(exit, error.to_string()).help(error.help())
}
