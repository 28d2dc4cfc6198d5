//! One connection.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use captp::netstring::{Decoder, LONGEST};
use captp::{Message, Options, Session};
use kernel::{BlobHash, FormulaId};
use passable::Value;
use store::Hold;
use switchboard::{Full, Ref, Switchboard};

use super::Shared;
use super::writer::Out;
use crate::objects::file_worker::{self, Came, DoneTask, PATIENCE, Queue, Task, TaskClient};
use crate::objects::object::Object;
use crate::objects::table::{Context, Courier, Errands, Home};
use crate::state::daemon::{HostDaemon, WeakHostDaemon};
use config::clock;
use control::exit::Failure;

/// How long a client that is disconnected gets to take the data that was sent to it.
const FAREWELL: Duration = Duration::from_millis(200);

/// How long a message may be from a client of the gateway that has shown no token, in bytes.
pub(crate) const OUTSIDE: usize = 8 << 10;

/// One connection: the session with the client, and the objects that the client sees.
pub struct Link {
    state: Mutex<State>,
    pub(crate) out: Out,
    /// The tasks that run on a thread of their own.
    pub(crate) queue: Queue,
    /// Returns whether it came by the gateway and has shown no good token yet.
    outside: AtomicBool,
    /// How many messages have been looked at, as long as it has shown none.
    taken: AtomicU64,
}

struct State {
    session: Session,
    home: Home,
    /// How many of the written bytes the session knows of.
    told: u64,
}

/// Runs the errands of one connection.
struct LinkErrands<'a> {
    link: &'a Arc<Link>,
    shared: &'a Arc<Shared>,
}

impl Errands for LinkErrands<'_> {
    fn later(&self, task: Task) -> bool {
        let client = LinkClient { link: Arc::clone(self.link), shared: Arc::downgrade(self.shared) };
        file_worker::push(Arc::new(client), task)
    }

    fn courier(&self) -> Courier {
        self.link.courier(self.shared)
    }
}

/// One connection, as the queue of its tasks sees it.
struct LinkClient {
    link: Arc<Link>,
    shared: Weak<Shared>,
}

impl TaskClient for LinkClient {
    fn queue(&self) -> &Queue {
        &self.link.queue
    }

    fn wait_for_room(&self) {
        self.link.out.wait_for_room();
    }

    fn daemon(&self) -> Option<WeakHostDaemon> {
        self.shared.upgrade().map(|shared| shared.daemon.clone())
    }

    fn finish(&self, done: DoneTask) -> bool {
        let Some(shared) = self.shared.upgrade() else { return false };
        self.link.came(&shared, done.reach, done.answer, done.came, done.hold.as_ref());
        true
    }
}

impl Link {
    /// Returns a connection whose root object is the store's, for its host.
    ///
    /// # Errors
    /// [`Full`].
    pub fn open(
        board: &mut Switchboard,
        stream: UnixStream,
        root: FormulaId,
        host: FormulaId,
    ) -> Result<Link, Full> {
        let (home, root) = Home::open(board, root, host)?;
        Link::of(board, stream, home, root)
    }

    /// Returns a connection whose root object takes tokens.
    ///
    /// # Errors
    /// [`Full`].
    pub fn behind_gateway(board: &mut Switchboard, stream: UnixStream) -> Result<Link, Full> {
        let (home, root) = Home::behind_gateway(board, Instant::now())?;
        let link = Link::of(board, stream, home, root)?;
        link.outside.store(true, Ordering::SeqCst);
        Ok(link)
    }

    fn of(board: &mut Switchboard, stream: UnixStream, home: Home, root: Value<Ref>) -> Result<Link, Full> {
        let session = Session::open(board, root, Options::default())?;
        Ok(Link {
            state: Mutex::new(State { session, home, told: 0 }),
            out: Out::new(stream),
            queue: Queue::default(),
            outside: AtomicBool::new(false),
            taken: AtomicU64::new(0),
        })
    }

    /// Returns whether it came by the gateway and has shown no good token yet.
    pub fn is_outside(&self) -> bool {
        self.outside.load(Ordering::SeqCst)
    }

    /// Returns how many messages of a client that had shown no good token have been looked at, the one with a token
    /// included.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::SeqCst)
    }

    /// Lets go of a client that has shown no token in time.
    pub fn look_at_clock(self: &Arc<Self>, shared: &Arc<Shared>) {
        if self.is_outside() {
            let over = self.lock().home.is_over(Instant::now());
            if let Some(reason) = over {
                self.end(shared, reason);
            }
        }
        self.give_up_late(shared);
    }

    /// Gives up the trees that a client began to hand over and does not continue.
    fn give_up_late(self: &Arc<Self>, shared: &Arc<Shared>) {
        let Some(daemon) = shared.daemon.upgrade() else { return };
        let mut state = self.lock();
        let State { session, home, .. } = &mut *state;
        if session.over().is_some() || !home.gathers_any() {
            return;
        }
        let errands = LinkErrands { link: self, shared };
        let context = Context::new(&daemon, &shared.board, &errands);
        home.give_up_late(&context, patience());
        self.flush(shared, session);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes waiting output. Runs on a thread of its own.
    pub fn write(&self) {
        self.out.write();
    }

    /// Reads and handles calls until the client goes. Runs on a thread of its own.
    pub fn read(self: &Arc<Self>, shared: &Weak<Shared>, mut stream: UnixStream) {
        let mut decoder = Decoder::new(LONGEST);
        let mut buffer = vec![0; 64 << 10];
        let reason = loop {
            let count = match stream.read(&mut buffer) {
                Ok(0) => break "the client has gone".to_owned(),
                Ok(count) => count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => break e.to_string(),
            };
            decoder.push(buffer.get(..count).unwrap_or_default());
            // The store must be free to close while a client is silent.
            let Some(shared) = shared.upgrade() else { break "the daemon ends".to_owned() };
            let Some(daemon) = shared.daemon.upgrade() else { break "the daemon ends".to_owned() };
            if let Some(reason) = self.take_in(&shared, &daemon, &mut decoder) {
                break reason;
            }
        };
        if let Some(shared) = shared.upgrade() {
            self.end(&shared, &reason);
        } else {
            self.out.close(Duration::ZERO);
        }
    }

    /// Does all that has come; a reason when the connection is over.
    fn take_in(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        daemon: &HostDaemon,
        decoder: &mut Decoder,
    ) -> Option<String> {
        loop {
            if !self.out.wait_for_room() {
                return Some("the client takes nothing".to_owned());
            }
            let message = match decoder.next() {
                Ok(Some(bytes)) if self.is_outside() && bytes.len() > OUTSIDE => {
                    Some(Err("so long a message is taken from nobody who has shown no token".to_owned()))
                }
                Ok(Some(bytes)) => Some(Message::read(bytes).map_err(|violation| violation.to_string())),
                Ok(None) => None,
                Err(error) => Some(Err(error.to_string())),
            };
            let mut state = self.lock();
            let State { session, home, told } = &mut *state;
            let errands = LinkErrands { link: self, shared };
            let context = Context::new(daemon, &shared.board, &errands);
            let Some(message) = message else {
                // All that has come is under way: now it is waited for.
                home.work_through(&context);
                self.flush(shared, session);
                self.arm(shared, daemon, home);
                see_end(daemon, home);
                return None;
            };
            {
                let mut board = shared.board();
                let written = self.out.written();
                session.wrote(&mut board, written - std::mem::replace(told, written));
                match message {
                    // The session itself reports an error to the client.
                    Ok(message) => drop(session.receive(&mut board, message)),
                    Err(reason) => session.violated(&mut board, &reason),
                }
            }
            home.work(&context);
            self.flush(shared, session);
            self.arm(shared, daemon, home);
            see_end(daemon, home);
            if self.is_outside() {
                self.outside.store(home.is_outside(), Ordering::SeqCst);
                self.taken.fetch_add(1, Ordering::SeqCst);
                if let Some(reason) = home.is_over(Instant::now()) {
                    return Some(reason.to_owned());
                }
            }
            if let Some(reason) = session.over() {
                return Some(reason.to_owned());
            }
        }
    }

    fn flush(&self, shared: &Shared, session: &mut Session) {
        let messages = session.flush(&mut shared.board());
        let messages: Vec<String> = messages.iter().map(Message::to_json).collect();
        self.out.push(&messages);
    }

    /// Settles promises and feeds iterators after news in the store.
    pub fn look_around(self: &Arc<Self>, shared: &Arc<Shared>, daemon: &HostDaemon) {
        let mut state = self.lock();
        let State { session, home, .. } = &mut *state;
        if session.over().is_some() || !home.waits() {
            return;
        }
        let errands = LinkErrands { link: self, shared };
        let context = Context::new(daemon, &shared.board, &errands);
        home.look_around(&context);
        home.work_through(&context);
        self.flush(shared, session);
        see_end(daemon, home);
    }

    /// Delivers the outcome of a task that ran on a thread of its own.
    pub fn came(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        reach: Object,
        answer: Ref,
        came: Result<Came, Failure>,
        hold: Option<&Arc<Hold>>,
    ) {
        let Some(daemon) = shared.daemon.upgrade() else { return };
        let mut state = self.lock();
        let State { session, home, .. } = &mut *state;
        if session.over().is_some() {
            return;
        }
        let errands = LinkErrands { link: self, shared };
        let context = Context::new(&daemon, &shared.board, &errands);
        home.came(&context, reach, answer, came, hold);
        home.work_through(&context);
        self.flush(shared, session);
        see_end(&daemon, home);
    }

    /// Returns the callback that delivers answers from elsewhere to this connection.
    fn courier(self: &Arc<Self>, shared: &Arc<Shared>) -> Courier {
        let (link, shared) = (Arc::downgrade(self), Arc::downgrade(shared));
        Arc::new(move |reach, answer, came| {
            if let (Some(link), Some(shared)) = (link.upgrade(), shared.upgrade()) {
                link.came(&shared, reach, answer, came, None);
            }
        })
    }

    /// Schedules a call for the next tick that the client must be told of.
    fn arm(self: &Arc<Self>, shared: &Arc<Shared>, daemon: &HostDaemon, home: &mut Home) {
        if let Some(at_ms) = home.next_tick() {
            self.call_at(shared, daemon, at_ms, at_ms);
        }
    }

    fn call_at(self: &Arc<Self>, shared: &Arc<Shared>, daemon: &HostDaemon, at_ms: i64, armed_ms: i64) {
        let (link, shared) = (Arc::downgrade(self), Arc::downgrade(shared));
        let call = move || {
            if let (Some(link), Some(shared)) = (link.upgrade(), shared.upgrade()) {
                link.tick(&shared, armed_ms);
            }
        };
        daemon.alarms.at(at_ms, Box::new(call));
    }

    /// Tells of ticks that have come.
    fn tick(self: &Arc<Self>, shared: &Arc<Shared>, armed_ms: i64) {
        /// How long a connection that is busy is let alone.
        const BUSY_MS: i64 = 5;
        let Some(daemon) = shared.daemon.upgrade() else { return };
        // Other clients wait for their ticks as well, so this thread does not wait for this client's calls.
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let later_ms = clock::now_ms().saturating_add(BUSY_MS);
                return self.call_at(shared, &daemon, later_ms, armed_ms);
            }
        };
        let State { session, home, .. } = &mut *state;
        if session.over().is_some() {
            return;
        }
        let errands = LinkErrands { link: self, shared };
        let context = Context::new(&daemon, &shared.board, &errands);
        home.tick(&context, armed_ms);
        self.flush(shared, session);
        self.arm(shared, &daemon, home);
    }

    /// Returns the trees that the client refers to and no formula does.
    pub fn trees(&self) -> BTreeSet<BlobHash> {
        self.lock().home.trees()
    }

    /// Returns the formulas that the client refers to.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        self.lock().home.pins()
    }

    /// Ends the connection, and tells the client why if it still listens.
    pub fn end(&self, shared: &Shared, reason: &str) {
        self.queue.clear();
        let mut state = self.lock();
        let State { session, home, .. } = &mut *state;
        {
            let mut board = shared.board();
            session.disconnect(&mut board, reason);
            home.close(&mut board, reason);
        }
        self.flush(shared, session);
        drop(state);
        self.out.close(FAREWELL);
    }
}

/// Returns how long a client is waited for that hands something over and makes no progress. Tests do not wait for
/// minutes.
fn patience() -> Duration {
    #[cfg(feature = "failpoints")]
    if let Some(ms) = std::env::var("ALMONER_ENDO_PATIENCE_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    PATIENCE
}

/// Ends the daemon if the client has asked for that.
fn see_end(daemon: &HostDaemon, home: &Home) {
    if home.ends_daemon() {
        daemon.stop();
    }
}
