//! The client's end of `control.sock`. Starts the daemon if none listens.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use config::file_view::file_view;
use config::place::{self, Place, SocketPath};
use config::vendor_keys;
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
    /// The files that the daemon sees, if it tells.
    files: String,
    /// The record of all frames, for tests.
    record: FrameRecord,
}

impl Client {
    /// Connects to the daemon, and starts a daemon if none listens.
    ///
    /// # Errors
    /// When the daemon cannot be started, ends with a failure, or does not answer.
    pub fn connect(place: &Place) -> Result<Client, Failure> {
        if let Some(client) = Client::connect_if_running(place)? {
            return Ok(client);
        }
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
        let [newest, older] = &SERVED;
        match Client::greet(place, newest) {
            Err(failure) if is_served(older, &failure) => match Client::greet(place, older) {
                Ok(Some(client)) => Ok(Some(client)),
                Ok(None) | Err(_) => Err(failure),
            },
            greeted => greeted,
        }
    }

    /// Connects to the daemon in a version of the protocol.
    fn greet(place: &Place, version: &'static ServedVersion) -> Result<Option<Client>, Failure> {
        let connected = SocketPath::new(&place.socket()).and_then(|path| UnixStream::connect(path.as_path()));
        let stream = match connected {
            Ok(stream) => stream,
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::ConnectionRefused
                ) =>
            {
                return Ok(None);
            }
            Err(e) => {
                return Err(Failure::new(Exit::NoDaemon, format!("{}: {e}", place.socket().display()))
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
        let (build, files, record) = (String::new(), String::new(), FrameRecord::begin());
        let mut client = Client { stream, reader, version, agent: None, build, files, record };
        let (number, build) = (version.number, control::BUILD.to_owned());
        let hello = Hello { version: number, build, keys: vendor_keys::from_env() };
        client.record.keep(&hello);
        // A daemon that is ending may hang up before it answers. That counts as no daemon.
        if frame::write(&mut client.stream, &hello).is_err() {
            return Ok(None);
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
            Ok(Some(Response::Welcome { build, files, .. })) => {
                client.build = build;
                client.files = files;
                Ok(Some(client))
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
            Ok(None) | Err(_) => Ok(None),
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
