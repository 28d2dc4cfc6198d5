//! The client's end of `control.sock`. Starts the daemon if none listens.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use config::file_view::file_view;
use config::place::{self, Place, SocketPath};
use config::place_lock::PlaceLock;
use config::vendor_keys;
use config::{build, handover};
use control::ask::unexpected;
use control::exit::{Exit, Failure};
use control::frame;
use control::problem::Problem;
use control::protocol::{Hello, OnBehalf, Request, Response};
use control::version::{SERVED, ServedVersion};

/// The maximum time from the start of a daemon to its first answer.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// The time between two looks for a daemon that was not started here.
const DAEMON_INTERVAL: Duration = Duration::from_millis(200);

/// The maximum time that an ending daemon takes.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that a service manager has to start a daemon again.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);

/// The warning of a damaged store that came with answers of the daemon.
static WARNING: Mutex<StoreWarning> = Mutex::new(StoreWarning { pending: None, told: None });

/// The warning of a damaged store. Each answer of a connection comes with the rows that all answers so far left out,
/// so that the last warning counts.
struct StoreWarning {
    /// The warning that the user has not seen.
    pending: Option<Failure>,
    /// The text of the last warning that the user has seen.
    told: Option<String>,
}

impl StoreWarning {
    /// Keeps a warning, unless the user has seen it, or another one that names the rows left out.
    fn keep(&mut self, warning: Failure) {
        const COUNTED: &str = "cannot read ";
        let text = warning.message.raw();
        let says_less =
            |other: &str| other == text || other.starts_with(COUNTED) && !text.starts_with(COUNTED);
        let pending = self.pending.as_ref().map(|pending| pending.message.raw());
        if !self.told.as_deref().into_iter().chain(pending).any(says_less) {
            self.pending = Some(warning);
        }
    }

    fn take(&mut self) -> Option<Failure> {
        let warning = self.pending.take()?;
        self.told = Some(warning.message.raw().to_owned());
        Some(warning)
    }
}

/// Returns the warning of a damaged store that the user has not seen, if one came with an answer of the daemon.
pub fn take_warning() -> Option<Failure> {
    WARNING.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Returns whether an answer of the daemon came with the warning that the store is damaged.
pub fn is_store_damaged() -> bool {
    let warning = WARNING.lock().unwrap_or_else(PoisonError::into_inner);
    warning.pending.is_some() || warning.told.is_some()
}

/// A connection to the daemon.
pub struct Client {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    /// The version of the protocol that both sides speak.
    version: &'static ServedVersion,
    /// The agent on whose behalf the client asks. `None` means the store's own host.
    agent: Option<String>,
    /// The daemon's build.
    pub build: String,
    /// Whether a service manager has started the daemon.
    is_service: bool,
    /// The files that the daemon sees, if it tells.
    files: String,
    /// The record of all frames, for tests.
    record: FrameRecord,
}

impl Client {
    /// Connects to the daemon, and starts a daemon if none listens. A daemon of another build ends first, unless it has
    /// to stay ([`config::handover`]).
    ///
    /// # Errors
    /// When the daemon cannot be started, ends with a failure, or does not answer.
    pub fn connect(place: &Place) -> Result<Client, Failure> {
        match Client::greet(place)? {
            Greeting::Absent => return Client::start(place),
            Greeting::Welcome(client) if client.build == build::id() => return Ok(client),
            Greeting::Welcome(_) | Greeting::Refused(_) => {}
        }
        // Another client may be replacing this daemon. A request to it would be lost when it ends.
        // After this time the handover goes on without the lock.
        let turn = PlaceLock::Handover.take(place, END_TIMEOUT + SERVICE_TIMEOUT);
        let client = match Client::greet(place)? {
            Greeting::Absent => None,
            Greeting::Welcome(client) => client.or_replacement(place)?,
            Greeting::Refused(refusal) => refusal.end_daemon(place).map(|()| None)?,
        };
        drop(turn);
        client.map_or_else(|| Client::start(place), Ok)
    }

    /// Starts a daemon and connects to it.
    fn start(place: &Place) -> Result<Client, Failure> {
        // The daemon would report the same failure, but only after it has created its log and the directory of its
        // socket.
        place.inspect_store()?;
        let begun = Instant::now();
        let mut daemon = start(place)?;
        // The failure of a daemon that found the store in use. It is reported if no daemon can be reached in time.
        let mut owned = None;
        let mut pause = Duration::from_millis(20);
        loop {
            if let Some(client) = Client::connect_if_running(place)? {
                // A thread waits for the daemon, so that no zombie process is left if the daemon ends before this
                // process.
                std::thread::spawn(move || daemon.wait());
                return Ok(client);
            }
            let ended = daemon.try_wait().ok().flatten();
            if begun.elapsed() > START_TIMEOUT {
                return Err(match ended {
                    Some(status) => why_it_ended(&mut daemon, status),
                    None => owned.unwrap_or_else(|| {
                        Failure::new(Exit::NoDaemon, "the daemon does not answer").help(format!(
                            "see {}, or run `almoner daemon` to watch it",
                            place.log().display()
                        ))
                    }),
                });
            }
            match ended {
                // Another daemon has the store. That daemon is either starting and will listen soon, or ending and
                // will release the store.
                Some(status) if status.code() == Some(Exit::Conflict as i32) => {
                    owned = Some(why_it_ended(&mut daemon, status));
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(640));
                    if Client::connect_if_running(place)?.is_none() {
                        daemon = start(place)?;
                    }
                }
                Some(status) => return Err(why_it_ended(&mut daemon, status)),
                None => std::thread::sleep(Duration::from_millis(3)),
            }
        }
    }

    /// Connects to the daemon, or returns `None` if no daemon listens. A daemon of the version before is asked in that
    /// version.
    ///
    /// # Errors
    /// When a daemon listens, but the client cannot talk to it.
    pub fn connect_if_running(place: &Place) -> Result<Option<Client>, Failure> {
        match Client::greet(place)? {
            Greeting::Absent => Ok(None),
            Greeting::Welcome(client) => Ok(Some(client)),
            Greeting::Refused(refusal) => Err(refusal.failure),
        }
    }

    /// Greets the daemon. A daemon that refuses this version of the protocol is greeted in the version before.
    fn greet(place: &Place) -> Result<Greeting, Failure> {
        let [newest, older] = &SERVED;
        match Client::greet_in(place, newest)? {
            Greeting::Refused(refusal) if is_served(older, &refusal.failure) => {
                match Client::greet_in(place, older) {
                    Ok(Greeting::Welcome(client)) => Ok(Greeting::Welcome(client)),
                    Ok(Greeting::Absent | Greeting::Refused(_)) | Err(_) => Ok(Greeting::Refused(refusal)),
                }
            }
            greeting => Ok(greeting),
        }
    }

    /// Greets the daemon in a version of the protocol.
    fn greet_in(place: &Place, version: &'static ServedVersion) -> Result<Greeting, Failure> {
        let connected = SocketPath::new(&place.socket()).and_then(|path| UnixStream::connect(path.as_path()));
        let stream = match connected {
            Ok(stream) => stream,
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::ConnectionRefused
                ) =>
            {
                return Ok(Greeting::Absent);
            }
            Err(e) => {
                let message = format!("cannot reach the daemon at {}: {e}", place.socket().display());
                return Err(Failure::new(Exit::NoDaemon, message)
                    .help("the socket must belong to you; remove it if no daemon runs"));
            }
        };
        // Keys are sent over this socket, so the client talks only to a daemon of the same user.
        let listener = rustix::net::sockopt::socket_peercred(&stream).map_err(|e| disconnected(&e.into()))?;
        if listener.uid != rustix::process::getuid() {
            let message = format!("{} belongs to another user", place.socket().display());
            return Err(
                Failure::new(Exit::NoDaemon, message).help("set ALMONER_HOME to a directory of yours")
            );
        }
        let reader = BufReader::new(stream.try_clone().map_err(|e| disconnected(&e))?);
        let mut client = Client {
            stream,
            reader,
            version,
            agent: None,
            build: String::new(),
            is_service: false,
            files: String::new(),
            record: FrameRecord::begin(),
        };
        let hello = Hello { version: version.number, build: build::id(), keys: vendor_keys::from_env() };
        client.record.keep(&hello);
        // A daemon that is ending may hang up before it answers. That counts as no daemon.
        if frame::write(&mut client.stream, &hello).is_err() {
            return Ok(Greeting::Absent);
        }
        // A daemon can answer the greeting at once. A daemon that stays silent is stuck, and the user should not wait
        // for it.
        client.stream.set_read_timeout(Some(START_TIMEOUT)).map_err(|e| disconnected(&e))?;
        let answer = frame::read(&mut client.reader);
        client.stream.set_read_timeout(None).map_err(|e| disconnected(&e))?;
        if let Ok(Some(answer)) = &answer {
            client.record.keep(answer);
        }
        match answer {
            Ok(Some(Response::Welcome { build, files, is_service, .. })) => {
                client.build = build;
                client.files = files;
                client.is_service = is_service;
                Ok(Greeting::Welcome(client))
            }
            // The two speak no common version of the protocol.
            Ok(Some(Response::Failed(failure))) if failure.exit == Exit::Conflict => {
                Ok(Greeting::Refused(Refusal { failure, pid: listener.pid }))
            }
            Ok(Some(Response::Failed(failure))) => Err(failure),
            Ok(Some(other)) => Err(unexpected(&other)),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Err(Failure::new(Exit::NoDaemon, "the daemon does not answer").help(format!(
                    "see {}; to `kill -9` it loses nothing, and the next command starts it again",
                    place.log().display()
                )))
            }
            // The daemon has ended meanwhile, or the process that listens is no daemon and does not own the store.
            Ok(None) | Err(_) => Ok(Greeting::Absent),
        }
    }

    /// Waits for a daemon that listens, and connects to it. A user may have stopped the daemon on purpose, so that none
    /// is started.
    ///
    /// # Errors
    /// When a daemon listens, but the client cannot talk to it. When the deadline comes first.
    pub fn await_daemon(place: &Place, deadline: Option<Instant>) -> Result<Client, Failure> {
        loop {
            if let Some(client) = Client::connect_if_running(place)? {
                return Ok(client);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Failure::new(Exit::TimedOut, "the time is over, and no daemon runs"));
            }
            std::thread::sleep(left.map_or(DAEMON_INTERVAL, |left| left.min(DAEMON_INTERVAL)));
        }
    }

    /// Returns the client, if its daemon is of this build or has to stay. Otherwise the daemon ends at its next step, and
    /// this returns a client of the daemon that a service manager starts in its place, or `None` if there is none.
    fn or_replacement(mut self, place: &Place) -> Result<Option<Client>, Failure> {
        // A store that this build cannot open would be left without any daemon. If no handover can be recorded, nothing
        // would end a fight of two builds.
        let has_to_stay = self.build == build::id()
            || place.inspect_store().is_err()
            || !handover::begin(place, &self.build).unwrap_or(false);
        if has_to_stay {
            return Ok(Some(self));
        }
        let is_service = self.is_service;
        let end = if is_service { Request::Replace { build: build::id() } } else { Request::Stop };
        let pid = match self.ask(Request::Status) {
            Ok(Response::Status(status)) => Some(status.pid),
            Ok(other) => return Err(unexpected(&other)),
            // The daemon has ended for another reason.
            Err(failure) if failure.exit == Exit::NoDaemon => None,
            Err(failure) => return Err(failure),
        };
        if let Some(pid) = pid {
            match self.ask(end) {
                Err(failure) if failure.exit != Exit::NoDaemon => return Err(failure),
                _ => {}
            }
            drop(self);
            wait_for_end(place, pid)?;
        }
        let begun = Instant::now();
        while is_service && begun.elapsed() < SERVICE_TIMEOUT {
            if let Some(client) = Client::connect_if_running(place)? {
                return Ok(Some(client));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(None)
    }

    /// Returns the same connection. From now on, its requests are made on behalf of the agent.
    #[must_use]
    pub fn on_behalf_of(self, agent: Option<&str>) -> Client {
        Client { agent: agent.map(str::to_owned), ..self }
    }

    /// Returns whether a path means the same file for the daemon and for this process. A container, a `chroot` or
    /// another group can make a difference.
    pub fn shares_files(&self) -> bool {
        self.files.is_empty() || self.files == file_view()
    }

    /// Returns whether the daemon still keeps the connection open.
    pub fn is_open(&self) -> bool {
        let mut ends = [PollFd::new(&self.stream, PollFlags::IN)];
        // The daemon sends nothing between two requests, so a stream that can be read has ended.
        matches!(rustix::event::poll(&mut ends, Some(&Timespec::default())), Ok(0))
    }

    /// Returns the number of the last event. Events that the client asks for from here on happen after it.
    ///
    /// # Errors
    /// When the agent is not a host, or the daemon is gone.
    pub fn last_event(&mut self) -> Result<u64, Failure> {
        match self.ask(Request::LastEvent)? {
            Response::LastEvent(number) => Ok(number),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// When the daemon refuses the request, or is gone.
    pub fn ask(&mut self, request: Request) -> Result<Response, Failure> {
        self.send(request)?;
        self.read()
    }

    /// Sends a request without waiting for the answer.
    ///
    /// # Errors
    /// When the daemon is gone, or is older than the request.
    pub fn send(&mut self, request: Request) -> Result<(), Failure> {
        self.version.check_request(&request)?;
        let asked = OnBehalf { agent: self.agent.clone(), request };
        self.record.keep(&asked);
        frame::write(&mut self.stream, &asked).map_err(|e| disconnected(&e))
    }

    /// Returns the next answer, or `None` if the daemon is gone. Unlike [`Client::read`], it also returns a failure
    /// as an answer.
    pub fn receive(&mut self) -> Option<Response> {
        self.next_frame().ok().flatten()
    }

    /// Returns the next frame that is no warning. A warning is kept for [`take_warning`].
    fn next_frame(&mut self) -> io::Result<Option<Response>> {
        loop {
            let frame = frame::read(&mut self.reader)?;
            if let Some(frame) = &frame {
                self.record.keep(frame);
            }
            match frame {
                Some(Response::Warning(warning)) => {
                    WARNING.lock().unwrap_or_else(PoisonError::into_inner).keep(warning);
                }
                frame => return Ok(frame),
            }
        }
    }

    /// Returns the next answer.
    ///
    /// # Errors
    /// When the daemon answers with a failure, or is gone.
    pub fn read(&mut self) -> Result<Response, Failure> {
        match self.next_frame() {
            Ok(Some(Response::Failed(failure))) => Err(failure),
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err(disconnected(&io::ErrorKind::UnexpectedEof.into())),
            Err(e) => Err(disconnected(&e)),
        }
    }
}

/// Returns whether a daemon that refused a hello may serve a version. Before version 17, daemons did not name the
/// versions that they serve.
fn is_served(version: &ServedVersion, failure: &Failure) -> bool {
    failure.exit == Exit::Conflict
        && match failure.problem.as_deref() {
            Some(Problem::Version { served, .. }) => served.contains(&version.number),
            Some(_) => false,
            None => true,
        }
}

/// The result of greeting the daemon.
enum Greeting {
    /// No daemon listens.
    Absent,
    /// The daemon has accepted the client.
    Welcome(Client),
    /// The daemon does not speak the client's version of the protocol.
    Refused(Refusal),
}

/// The refusal of a daemon that does not speak the client's version of the protocol.
struct Refusal {
    failure: Failure,
    /// The process of the daemon.
    pid: rustix::process::Pid,
}

impl Refusal {
    /// Ends the daemon by a signal, as it takes no request.
    ///
    /// # Errors
    /// When the daemon has to stay, or does not end.
    fn end_daemon(self, place: &Place) -> Result<(), Failure> {
        // If a later build wrote the store, this says so.
        place.inspect_store()?;
        if !self.is_of_daemon(place) {
            return Err(self.failure);
        }
        if !handover::begin(place, &handover::recorded_daemon(place))? {
            return Err(self.failure.help(
                "another build has taken the place of this one; use that build, or `almoner stop` and try again",
            ));
        }
        self.signal(place)
    }

    /// Returns whether the process that refused is the one that holds the store. Any other gets no signal.
    fn is_of_daemon(&self, place: &Place) -> bool {
        owner(place) == Some(self.pid.as_raw_nonzero().get().unsigned_abs())
    }

    fn signal(self, place: &Place) -> Result<(), Failure> {
        // The daemon may have ended meanwhile. It may also be one of another container, which is no process here.
        let sent = rustix::process::kill_process(self.pid, rustix::process::Signal::TERM);
        sent.map_err(|_| self.failure)?;
        wait_for_end(place, self.pid.as_raw_nonzero().get().unsigned_abs())
    }
}

/// Ends a daemon that speaks no version of this client's protocol. Returns `false` if no such daemon runs.
///
/// # Errors
/// When the daemon cannot be reached, or does not end.
pub fn end_foreign_daemon(place: &Place) -> Result<bool, Failure> {
    match Client::greet(place)? {
        Greeting::Refused(refusal) if refusal.is_of_daemon(place) => refusal.signal(place).map(|()| true),
        Greeting::Absent | Greeting::Refused(_) | Greeting::Welcome(_) => Ok(false),
    }
}

/// Waits until a daemon has released its store. The process number alone would not tell: an ended process keeps its number
/// until its parent waits for it, which in a container may never happen.
///
/// # Errors
/// When the daemon does not end.
pub fn wait_for_end(place: &Place, pid: u32) -> Result<(), Failure> {
    let begun = Instant::now();
    while owner(place) == Some(pid) {
        if begun.elapsed() > END_TIMEOUT {
            return Err(Failure::new(Exit::Failure, format!("the daemon (process {pid}) does not end"))
                .help(format!("`kill {pid}` loses nothing")));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Returns the process that holds the store, by the number that it has written.
fn owner(place: &Place) -> Option<u32> {
    use rustix::fs::{FlockOperation, flock};
    let lock = std::fs::File::open(place.store().join("lock")).ok()?;
    // The lock is held only for this line. If a daemon starts at this moment and fails, its client starts it again.
    flock(&lock, FlockOperation::NonBlockingLockShared).err()?;
    let mut pid = String::new();
    io::Read::read_to_string(&mut io::Read::take(lock, 32), &mut pid).ok()?;
    pid.trim().parse().ok()
}

fn disconnected(e: &io::Error) -> Failure {
    Failure::new(Exit::NoDaemon, format!("the daemon has gone: {e}"))
        .help("the next command starts it again; runs go on where they were")
}

fn start(place: &Place) -> Result<std::process::Child, Failure> {
    place::private_dir(&place.state)?;
    let fail = |e: io::Error| {
        Failure::new(Exit::NoDaemon, format!("the daemon cannot be started: {e}"))
            .help(format!("is {} writable?", place.state.display()))
    };
    let exe = std::env::current_exe().map_err(fail)?;
    use std::os::unix::fs::OpenOptionsExt;
    use std::os::unix::process::CommandExt;
    let log =
        std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(place.log()).map_err(fail)?;
    let mut command = Command::new(exe);
    command.args(["daemon", "--on-demand"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    // The daemon gets a process group of its own, so that Ctrl-C in this terminal does not reach it. Its current
    // directory is the root, so that it keeps no other directory in use.
    command.process_group(0).current_dir("/");
    command.envs(place.as_env());
    command.spawn().map_err(fail)
}

/// Returns the failure of a daemon that could not start. The daemon writes the failure to its standard output as
/// JSON.
fn why_it_ended(daemon: &mut std::process::Child, status: std::process::ExitStatus) -> Failure {
    let mut said = String::new();
    if let Some(mut out) = daemon.stdout.take() {
        let _ = io::Read::read_to_string(&mut out, &mut said);
    }
    serde_json::from_str(&said).unwrap_or_else(|_| {
        Failure::new(Exit::NoDaemon, format!("the daemon ended at once ({status})"))
            .help("run `almoner daemon` to see why")
    })
}

/// The record of the frames of one connection, as lines of JSON. Only builds for tests keep one, in a new file of the
/// directory that `ALMONER_TEST_FRAMES` names.
struct FrameRecord {
    #[cfg(feature = "failpoints")]
    file: Option<std::fs::File>,
}

#[cfg(feature = "failpoints")]
impl FrameRecord {
    fn begin() -> FrameRecord {
        static CONNECTIONS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let create = |dir| {
            let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos();
            let number = CONNECTIONS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let name = format!("{nanos:020}-{}-{number}.jsonl", std::process::id());
            std::fs::File::create_new(std::path::Path::new(&dir).join(name)).ok()
        };
        FrameRecord { file: std::env::var_os("ALMONER_TEST_FRAMES").and_then(create) }
    }

    fn keep(&mut self, frame: &impl serde::Serialize) {
        if let Some(file) = &mut self.file {
            let mut line = serde_json::to_vec(frame).unwrap_or_default();
            line.push(b'\n');
            // A record that is cut off has too few frames, and so its test fails.
            let _ = io::Write::write_all(file, &line);
        }
    }
}

#[cfg(not(feature = "failpoints"))]
impl FrameRecord {
    fn begin() -> FrameRecord {
        FrameRecord {}
    }

    fn keep(&mut self, _: &impl serde::Serialize) {}
}
