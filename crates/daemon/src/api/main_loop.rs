//! The daemon's main: opens the store, listens, ends when told, signalled or long idle.

use std::io::Write as _;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use model::Opener;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use store::{Options, Store};

use super::connections::{Server, bind};
use super::services::Services;
use crate::maintenance::collector::Collector;
use crate::maintenance::timers::run_timers;
use crate::state::daemon::{HostDaemon, environment};
use crate::state::vault;
use config::place::{self, Place};
use config::vendor_keys;
use control::exit::{Exit, ExitResult, Failure};

/// How long drivers get to reach their next step when the daemon ends.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the last who hold the store get to let go of it.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// How the daemon was asked to run.
#[derive(Clone, Copy, Debug)]
pub struct DaemonOptions {
    /// Started by a client: says why it cannot start as JSON on standard output, ends when idle.
    pub on_demand: bool,
    /// How long it may be idle; `None` means for ever.
    pub idle: Option<Duration>,
}

/// Runs the daemon until it ends.
///
/// # Errors
/// When the store cannot be opened or the socket not be made.
pub fn run(place: &Place, manner: DaemonOptions) -> ExitResult {
    vault::protect_memory();
    // The parent process may have had files open that are not for the model's process or for a command of the user's.
    // Where the daemon cannot close them to its children, they inherit them, as everywhere.
    let _ = sandbox::close_inherited_at_exec();
    raise_file_limit();
    // From here on a signal is an orderly end, also while the store is being opened.
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|e| Failure::new(Exit::Failure, format!("signals: {e}")))?;
    let (open_while_held, closed) = channel();
    let (server, listener) = match open(place, open_while_held) {
        Ok(opened) => opened,
        Err(failure) => return Err(report_start_failure(manner, failure)),
    };
    // Threads that outlive the work hold it weakly: the last to let go of the store closes it.
    let daemon = server.services.daemon.shared();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            match daemon.upgrade() {
                Some(daemon) => daemon.stop(),
                None => return,
            }
        }
    });
    // This removes the leftovers of the programs of a killed daemon. Those of other daemons that are at work are
    // locked.
    std::thread::spawn(caps::sweep_calls);
    server.services.engine.recover()?;
    let notifier = crate::maintenance::notifier::start(&server.services.daemon, place);
    let vats = crate::code::start(&server.services.daemon, own_program()?);
    let (alarms, timed) = (Arc::clone(&server.services.daemon.alarms), server.services.daemon.shared());
    std::thread::spawn(move || run_timers(&alarms, &timed));
    let endo = crate::captp::start(&server.services.daemon, place)
        .map_err(|failure| report_start_failure(manner, failure))?;
    server.services.web.resume(&server.services);
    let accepting = Arc::downgrade(&server);
    std::thread::spawn(move || Server::accept(&accepting, &listener));
    let mut busy = Instant::now();
    let mut gardener = Collector::new();
    let mut seen = 0;
    let Services { daemon, engine, web, .. } = &server.services;
    while !daemon.is_stopping() {
        daemon.news.wait_for_end(Duration::from_secs(1));
        let has_clients = server.has_had_clients(&mut seen)
            || endo.as_ref().is_some_and(crate::captp::EndoListener::has_clients)
            || web.has_viewer();
        // A client that waits for a tick wants it on time, and not with the next command.
        if has_clients || !engine.active_runs().is_empty() || daemon.alarms.is_awaited() {
            busy = Instant::now();
        }
        crate::files::guest_files::flush(daemon);
        crate::state::grant_usage::flush(daemon);
        gardener.collect_if_idle(
            daemon,
            &|| {
                let mut pins = endo.as_ref().map(crate::captp::EndoListener::pins).unwrap_or_default();
                pins.extend(daemon.code_host().map(|code| code.pins()).unwrap_or_default());
                pins
            },
            &|| {
                let mut kept = endo.as_ref().map(crate::captp::EndoListener::trees).unwrap_or_default();
                kept.extend(daemon.uploads().pins());
                kept
            },
        );
        if manner.idle.is_some_and(|idle| busy.elapsed() >= idle) {
            daemon.stop();
        }
    }
    // No new client is let in. A run that is at work ends at its next step, and its journal says where.
    let _ = std::fs::remove_file(place.socket());
    drop(endo);
    crate::files::guest_files::flush(daemon);
    crate::state::grant_usage::flush(daemon);
    server.services.web.end();
    notifier.end();
    vats.end();
    close(server, &closed);
    Ok(Exit::Ok)
}

/// The number of files that the daemon can have open, where the machine lets it: each connection is one, and runs
/// open many more. The programs that it starts have a limit of their own.
const MAX_OPEN_FILES: u64 = 4096;

/// Has as many files open as it may want. Where it cannot be done, there are as many as there were.
fn raise_file_limit() {
    let had = getrlimit(Resource::Nofile);
    let wanted = had.maximum.map_or(MAX_OPEN_FILES, |most| most.min(MAX_OPEN_FILES));
    if had.current.is_some_and(|now| now < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..had });
    }
}

/// Returns the path of this program. The daemon starts it again for the work that it leaves to other processes.
fn own_program() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|e| Failure::new(Exit::Failure, format!("this program cannot find itself: {e}")))
}

/// Returns why it cannot start, told to the client that started it if there is one.
fn report_start_failure(manner: DaemonOptions, failure: Failure) -> Failure {
    if !manner.on_demand {
        return failure;
    }
    let said = serde_json::to_string(&failure).unwrap_or_default();
    // The client reads this. If the client has gone, the line is not needed.
    let _ = writeln!(std::io::stdout(), "{said}");
    Failure::silent(failure.exit)
}

/// Lets go of the store and waits until it is closed, so that the next start need not examine it. A client that holds
/// it for too long is left behind, and that loses nothing either.
fn close(server: Arc<Server>, closed: &Receiver<()>) {
    // A client that is being answered gets its answer; one that has asked nothing is let go of.
    server.hang_up(Shutdown::Read);
    server.services.engine.settle(STOP_TIMEOUT);
    let left = Arc::downgrade(&server);
    drop(server);
    if closed.recv_timeout(CLOSE_TIMEOUT) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    // These are clients that do not take the responses that are sent to them.
    if let Some(server) = left.upgrade() {
        server.hang_up(Shutdown::Both);
    }
    let _ = closed.recv_timeout(CLOSE_TIMEOUT);
}

fn open(
    place: &Place,
    open_while_held: Sender<()>,
) -> Result<(Arc<Server>, std::os::unix::net::UnixListener), Failure> {
    let options = Options { quota: Some(config::quota::blob_quota()?), ..Options::default() };
    // This comes before any change of a mode: a store that another build wrote is left as it is.
    place.inspect_store()?;
    place::private_dir(&place.state)?;
    let store = Store::open(&place.store(), options).map_err(place::open_failure)?;
    let env = environment()?;
    let host = store
        .write(move |txn| kernel::genesis(txn, &env))
        .map_err(|e| Failure::from_error(Exit::Failure, e).help("`almoner doctor` examines the store"))?;
    let exe = own_program()?;
    let opener = Opener::new(|_| None, place.weights())
        .with_launch(move |weights| crate::processes::model_host::command(&exe, weights));
    let daemon = HostDaemon::new(store, host, opener, place, own_program()?, open_while_held);
    daemon.follow_prices(config::settings::path(place));
    vault::open_at_start(&daemon);
    // The process that started the daemon is its first client: runs that go on at once have its key.
    daemon.keys.add_vendor_keys(&vendor_keys::from_env());
    let listener = bind(&place.socket())?;
    let services = Services::new(daemon);
    Ok((Arc::new(Server::new(services)), listener))
}
