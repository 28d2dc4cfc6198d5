//! The main function of the daemon. It opens the store and listens for clients. It ends on a request, on a signal, or
//! after a long idle time.

use std::io::Write as _;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use model::Opener;
use passable::visible_line;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use store::{Options, Store};

use super::connections::Server;
use super::control_socket;
use super::service_manager::ServiceManager;
use super::services::Services;
use crate::home_backup;
use crate::maintenance::collector::Collector;
use crate::maintenance::notifier::PageAddress;
use crate::maintenance::timers::run_timers;
use crate::state::daemon::{HostDaemon, environment};
use crate::state::{log, vault};
use config::handover;
use config::network_source::NetworkSource;
use config::place::{self, Place};
use config::vendor_keys;
use control::exit::{Exit, ExitResult, Failure};

/// The time limit for runs to reach their next step when the daemon ends.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The time limit for the last holders of the store to drop it.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// The interval at which a service looks whether the daemon that a command started has ended.
const STORE_INTERVAL: Duration = Duration::from_millis(500);

/// The options with which the daemon was started.
#[derive(Clone, Copy, Debug)]
pub struct DaemonOptions {
    /// Whether a client started the daemon. It then reports a failed start as JSON on standard output.
    pub on_demand: bool,
    /// The idle time after which the daemon ends. `None` means never.
    pub idle: Option<Duration>,
}

/// Runs the daemon until it ends.
///
/// # Errors
/// When the store cannot be opened, or the socket cannot be created.
pub fn run(place: &Place, manner: DaemonOptions) -> ExitResult {
    vault::protect_memory();
    // The parent process may have left files open that the child processes of this daemon should not inherit. If
    // closing them fails, they are inherited, as in any program.
    let _ = sandbox::close_inherited_at_exec();
    raise_file_limit();
    // From here on, a signal ends the daemon in an orderly way, even while the store is being opened.
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|e| Failure::new(Exit::Failure, format!("signals: {e}")))?;
    let manager = ServiceManager::from_env().map(Arc::new);
    let (open_while_held, closed) = channel();
    let (server, listener) = loop {
        match (open(place, open_while_held.clone()), &manager) {
            (Ok(opened), _) => break opened,
            // A command may have started a daemon before the service manager started this one.
            (Err(failure), Some(manager)) if failure.exit == Exit::Conflict && !manner.on_demand => {
                manager.begin_round();
                manager.wait_for_store();
                ServiceManager::start_watchdog(manager);
                std::thread::sleep(STORE_INTERVAL);
                if signals.pending().next().is_some() {
                    return Ok(Exit::Ok);
                }
            }
            (Err(failure), _) => return Err(report_start_failure(manner, failure)),
        }
    };
    drop(open_while_held);
    // Threads that can outlive the daemon's work hold it weakly, so that dropping the last strong reference closes
    // the store.
    let daemon = server.services.daemon.shared();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            match daemon.upgrade() {
                Some(daemon) => daemon.stop(),
                None => return,
            }
        }
    });
    // Removes the leftovers of programs of a daemon that was killed. The leftovers of other running daemons are
    // locked, and stay.
    std::thread::spawn(caps::sweep_calls);
    if let Err(failure) = server.services.engine.recover() {
        // A damaged store can still be read, and no run goes on in it.
        if server.services.daemon.store.damage().is_none() {
            return Err(failure);
        }
        log::failure(&failure);
    }
    let notifier = crate::maintenance::notifier::start(&server.services.daemon, place, page_address(&server));
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
    // Clients of other builds, which this daemon cannot greet, read its build from a file.
    let _ = handover::record_daemon(place);
    if let Some(manager) = &manager {
        manager.ready(place);
        ServiceManager::start_watchdog(manager);
    }
    while !daemon.is_stopping() {
        if let Some(manager) = &manager {
            manager.begin_round();
        }
        daemon.news.wait_for_end(Duration::from_secs(1));
        let has_clients = server.has_had_clients(&mut seen)
            || endo.as_ref().is_some_and(crate::captp::EndoListener::has_clients)
            || web.has_viewer();
        // A client that waits for a timer's tick must get it on time, so the daemon is not idle.
        if has_clients || !engine.active_runs().is_empty() || daemon.alarms.is_awaited() {
            busy = Instant::now();
        }
        if manner.idle.is_some_and(|idle| busy.elapsed() >= idle) {
            daemon.stop();
        }
        if daemon.store.damage().is_some() {
            continue;
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
    }
    if let Some(manager) = &manager {
        manager.stopping();
    }
    let exit = if daemon.is_replaced() { Exit::Replaced } else { Exit::Ok };
    // No new client is accepted. A run at work ends at its next step, which its journal records.
    let _ = std::fs::remove_file(place.socket());
    drop(endo);
    crate::files::guest_files::flush(daemon);
    crate::state::grant_usage::flush(daemon);
    server.services.web.end();
    notifier.end();
    vats.end();
    close(server, &closed);
    Ok(exit)
}

/// Returns the function with which notifications find the addresses of pages. It does not keep the daemon alive.
fn page_address(server: &Arc<Server>) -> PageAddress {
    let server = Arc::downgrade(server);
    Box::new(move |path| {
        let server = server.upgrade().ok_or_else(|| Failure::new(Exit::NoDaemon, "the daemon ends"))?;
        server.services.web.address(&server.services, path)
    })
}

/// The limit for open files of the daemon, as far as the machine permits. Each connection uses one file, and runs use
/// many more. The programs that the daemon starts have a limit of their own.
const MAX_OPEN_FILES: u64 = 4096;

/// Raises the limit for open files of this process. If that fails, the present limit stays.
fn raise_file_limit() {
    let had = getrlimit(Resource::Nofile);
    let wanted = had.maximum.map_or(MAX_OPEN_FILES, |most| most.min(MAX_OPEN_FILES));
    if had.current.is_some_and(|now| now < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..had });
    }
}

/// Returns the path of this program, which the daemon also starts for work in other processes.
fn own_program() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|e| Failure::new(Exit::Failure, format!("this program cannot find itself: {e}")))
}

/// Returns the failure of a start. If a client started the daemon, the failure is first written to standard output
/// for it.
fn report_start_failure(manner: DaemonOptions, failure: Failure) -> Failure {
    if !manner.on_demand {
        return failure;
    }
    let said = serde_json::to_string(&failure).unwrap_or_default();
    // If the client has gone, the line is not needed.
    let _ = writeln!(std::io::stdout(), "{said}");
    Failure::silent(failure.exit)
}

/// Drops the store and waits until it is closed, so that the next start need not check it. A client that holds the
/// store for too long is abandoned, which loses no data.
fn close(server: Arc<Server>, closed: &Receiver<()>) {
    // A client whose request is being processed still gets its response. All others are disconnected.
    server.hang_up(Shutdown::Read);
    server.services.engine.settle(STOP_TIMEOUT);
    let left = Arc::downgrade(&server);
    drop(server);
    if closed.recv_timeout(CLOSE_TIMEOUT) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    // The remaining clients do not read the responses that are sent to them.
    if let Some(server) = left.upgrade() {
        server.hang_up(Shutdown::Both);
    }
    let _ = closed.recv_timeout(CLOSE_TIMEOUT);
}

/// Returns the host of a store that is damaged, if it can be read.
fn known_host(store: &Store) -> Option<kernel::FormulaId> {
    store.damage().and_then(|_| store.read(|txn| kernel::table::host(txn)).ok().flatten())
}

fn open(
    place: &Place,
    open_while_held: Sender<()>,
) -> Result<(Arc<Server>, std::os::unix::net::UnixListener), Failure> {
    let quota = Some(config::quota::blob_quota()?);
    let options = Options { quota, has_json_rows: true, ..Options::default() };
    // This check comes before any change of permissions, so that a store of another build is left unchanged.
    place.inspect_store()?;
    place::private_dir(&place.state)?;
    // A restore that moves the present store aside must not find an empty one in its place.
    let lock = home_backup::lock_renames(place)?;
    home_backup::finish_locked(place)?;
    caps::set_write_step(|| store::failpoint::reach("write.step"));
    let store = Store::open(&place.store(), options).map_err(place::open_failure)?;
    drop(lock);
    if let Some(migration) = store.migration() {
        log::line(&format!(
            "the store was migrated from version {} to version {}; {} holds its rows as they were",
            migration.from,
            migration.to,
            visible_line(&migration.copy.to_string_lossy())
        ));
    }
    let host = match store.read(|txn| kernel::table::host(txn)) {
        // A damaged store takes no writes, and its host is known.
        Ok(Some(host)) if store.damage().is_some() => host,
        _ => {
            let env = environment()?;
            let made = store.write(move |txn| kernel::genesis(txn, &env));
            made.or_else(|error| known_host(&store).ok_or(error)).map_err(|e| {
                let help = store::restore_advice(store.dir());
                Failure::from_error(Exit::Failure, e).help(help)
            })?
        }
    };
    let exe = own_program()?;
    // The environment counts in which the daemon was started.
    let network = NetworkSource::new(place);
    let opener = Opener::new(|_| None, place.weights())
        .with_network(move || network.current())
        .with_pace(config::settings::pace_source(place))
        .with_launch(move |weights| crate::processes::model_host::command(&exe, weights));
    let daemon = HostDaemon::new(store, host, opener, place, own_program()?, open_while_held);
    daemon.follow_prices(config::settings::path(place));
    let news = daemon.shared();
    daemon.store.watch_damage(move |damage| {
        log::line(&format!("the store is damaged, and takes no more writes: {damage}"));
        if let Some(daemon) = news.upgrade() {
            daemon.news.wake();
        }
    });
    vault::open_at_start(&daemon);
    // The process that started the daemon counts as its first client, so that runs that resume at once have its keys.
    daemon.keys.add_vendor_keys(&vendor_keys::from_env());
    let listener = control_socket::bind(place)?;
    let services = Services::new(daemon);
    Ok((Arc::new(Server::new(services)), listener))
}
