//! One CapTP connection of the daemon.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use captp::netstring::{Decoder, MAX_LEN};
use captp::{Message, Options, Session};
use kernel::{BlobHash, FormulaId};
use passable::Value;
use store::Hold;
use switchboard::{LimitReached, Ref, Switchboard};

use super::ListenerState;
use super::writer::OutputQueue;
use crate::objects::file_worker::{
    self, FinishedTask, STALL_TIMEOUT, TaskClient, TaskOutcome, TaskQueue, WorkerTask,
};
use crate::objects::object::Object;
use crate::objects::object_table::{AnswerSender, Context, ObjectTable, TaskRunner};
use crate::state::daemon::{HostDaemon, WeakHostDaemon};
use config::clock;
use control::exit::Failure;

/// The time limit for a disconnected client to read the data that was sent to it.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// The maximum size of a message from a client of the gateway that has shown no token, in bytes.
pub(crate) const MAX_UNAUTHENTICATED_MESSAGE: usize = 8 << 10;

/// One connection: the session with the client, and the objects that the client sees.
pub struct Connection {
    state: Mutex<ConnectionState>,
    pub(crate) out: OutputQueue,
    /// The tasks that run on a thread of their own.
    pub(crate) queue: TaskQueue,
    /// Whether the client came through the gateway and has not shown a valid token yet.
    is_unauthenticated: AtomicBool,
    /// The number of messages that were processed while the client had shown no valid token.
    processed_messages: AtomicU64,
}

struct ConnectionState {
    session: Session,
    table: ObjectTable,
    /// The number of written bytes that were reported to the session.
    reported_bytes: u64,
}

/// The task runner of one connection.
struct ConnectionTaskRunner<'a> {
    connection: &'a Arc<Connection>,
    shared: &'a Arc<ListenerState>,
}

impl TaskRunner for ConnectionTaskRunner<'_> {
    fn run_later(&self, task: WorkerTask) -> bool {
        let client =
            ConnectionClient { connection: Arc::clone(self.connection), shared: Arc::downgrade(self.shared) };
        file_worker::push(Arc::new(client), task)
    }

    fn answer_sender(&self) -> AnswerSender {
        self.connection.answer_sender(self.shared)
    }
}

/// One connection, as the queue of its tasks sees it.
struct ConnectionClient {
    connection: Arc<Connection>,
    shared: Weak<ListenerState>,
}

impl TaskClient for ConnectionClient {
    fn queue(&self) -> &TaskQueue {
        &self.connection.queue
    }

    fn wait_for_room(&self) {
        self.connection.out.wait_for_room();
    }

    fn daemon(&self) -> Option<WeakHostDaemon> {
        self.shared.upgrade().map(|shared| shared.daemon.clone())
    }

    fn finish(&self, done: FinishedTask) -> bool {
        let Some(shared) = self.shared.upgrade() else { return false };
        self.connection.complete_task(&shared, done.reach, done.answer, done.outcome, done.hold.as_ref());
        true
    }
}

impl Connection {
    /// Returns a connection whose root object is the formula `root`, for the host `host`.
    ///
    /// # Errors
    /// [`LimitReached`] when the switchboard cannot hold the objects of the connection.
    pub fn open(
        board: &mut Switchboard,
        stream: UnixStream,
        root: FormulaId,
        host: FormulaId,
    ) -> Result<Connection, LimitReached> {
        let (home, root) = ObjectTable::open(board, root, host)?;
        Connection::with_table(board, stream, home, root)
    }

    /// Returns a connection from the gateway, whose root object accepts tokens.
    ///
    /// # Errors
    /// [`LimitReached`] when the switchboard cannot hold the objects of the connection.
    pub fn behind_gateway(board: &mut Switchboard, stream: UnixStream) -> Result<Connection, LimitReached> {
        let (home, root) = ObjectTable::behind_gateway(board, Instant::now())?;
        let link = Connection::with_table(board, stream, home, root)?;
        link.is_unauthenticated.store(true, Ordering::SeqCst);
        Ok(link)
    }

    fn with_table(
        board: &mut Switchboard,
        stream: UnixStream,
        home: ObjectTable,
        root: Value<Ref>,
    ) -> Result<Connection, LimitReached> {
        let session = Session::open(board, root, Options::default())?;
        Ok(Connection {
            state: Mutex::new(ConnectionState { session, table: home, reported_bytes: 0 }),
            out: OutputQueue::new(stream),
            queue: TaskQueue::default(),
            is_unauthenticated: AtomicBool::new(false),
            processed_messages: AtomicU64::new(0),
        })
    }

    /// Returns whether the client came through the gateway and has not shown a valid token yet.
    pub fn is_unauthenticated(&self) -> bool {
        self.is_unauthenticated.load(Ordering::SeqCst)
    }

    /// Returns the number of messages that were processed while the client had shown no valid token. The message with
    /// the token is included.
    pub(crate) fn processed_messages(&self) -> u64 {
        self.processed_messages.load(Ordering::SeqCst)
    }

    /// Closes the connection of a client that has not shown a token in time. Also aborts stalled uploads.
    pub fn close_if_late(self: &Arc<Self>, shared: &Arc<ListenerState>) {
        if self.is_unauthenticated() {
            let over = self.lock().table.close_reason(Instant::now());
            if let Some(reason) = over {
                self.end(shared, reason);
            }
        }
        self.abandon_stalled_uploads(shared);
    }

    /// Aborts the uploads of directory trees that the client does not continue.
    fn abandon_stalled_uploads(self: &Arc<Self>, shared: &Arc<ListenerState>) {
        let Some(daemon) = shared.daemon.upgrade() else { return };
        let mut state = self.lock();
        let ConnectionState { session, table: home, .. } = &mut *state;
        if session.over().is_some() || !home.has_tree_uploads() {
            return;
        }
        let errands = ConnectionTaskRunner { connection: self, shared };
        let context = Context::new(&daemon, &shared.board, &errands);
        home.abandon_stalled_uploads(&context, upload_timeout());
        self.flush(shared, session);
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes waiting output. Runs on a thread of its own.
    pub fn write(&self) {
        self.out.write();
    }

    /// Reads and handles messages until the client goes. Runs on a thread of its own.
    pub fn read(self: &Arc<Self>, shared: &Weak<ListenerState>, mut stream: UnixStream) {
        let mut decoder = Decoder::new(MAX_LEN);
        let mut buffer = vec![0; 64 << 10];
        let reason = loop {
            let count = match stream.read(&mut buffer) {
                Ok(0) => break "the client has gone".to_owned(),
                Ok(count) => count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => break e.to_string(),
            };
            decoder.push(buffer.get(..count).unwrap_or_default());
            // The references to the daemon are taken only now, so that the store can close while a client is silent.
            let Some(shared) = shared.upgrade() else { break "the daemon ends".to_owned() };
            let Some(daemon) = shared.daemon.upgrade() else { break "the daemon ends".to_owned() };
            if let Some(reason) = self.process_input(&shared, &daemon, &mut decoder) {
                break reason;
            }
        };
        if let Some(shared) = shared.upgrade() {
            self.end(&shared, &reason);
        } else {
            self.out.close(Duration::ZERO);
        }
    }

    /// Handles all received messages. Returns a reason if the connection is over.
    fn process_input(
        self: &Arc<Self>,
        shared: &Arc<ListenerState>,
        daemon: &HostDaemon,
        decoder: &mut Decoder,
    ) -> Option<String> {
        loop {
            if !self.out.wait_for_room() {
                return Some("the client takes nothing".to_owned());
            }
            let message = match decoder.next() {
                Ok(Some(bytes)) if self.is_unauthenticated() && bytes.len() > MAX_UNAUTHENTICATED_MESSAGE => {
                    Some(Err("so long a message is taken from nobody who has shown no token".to_owned()))
                }
                Ok(Some(bytes)) => Some(Message::read(bytes).map_err(|violation| violation.to_string())),
                Ok(None) => None,
                Err(error) => Some(Err(error.to_string())),
            };
            let mut state = self.lock();
            let ConnectionState { session, table: home, reported_bytes: told } = &mut *state;
            let errands = ConnectionTaskRunner { connection: self, shared };
            let context = Context::new(daemon, &shared.board, &errands);
            let Some(message) = message else {
                // All received messages have been started, so their results are awaited now.
                home.drain(&context);
                self.flush(shared, session);
                self.schedule_tick(shared, daemon, home);
                stop_if_requested(daemon, home);
                return None;
            };
            {
                let mut board = shared.board();
                let written = self.out.written();
                session.record_sent_bytes(&mut board, written - std::mem::replace(told, written));
                match message {
                    // The session itself reports an error to the client.
                    Ok(message) => drop(session.receive(&mut board, message)),
                    Err(reason) => session.end_with_violation(&mut board, &reason),
                }
            }
            home.process_messages(&context);
            self.flush(shared, session);
            self.schedule_tick(shared, daemon, home);
            stop_if_requested(daemon, home);
            if self.is_unauthenticated() {
                self.is_unauthenticated.store(home.is_unauthenticated(), Ordering::SeqCst);
                self.processed_messages.fetch_add(1, Ordering::SeqCst);
                if let Some(reason) = home.close_reason(Instant::now()) {
                    return Some(reason.to_owned());
                }
            }
            if let Some(reason) = session.over() {
                return Some(reason.to_owned());
            }
        }
    }

    fn flush(&self, shared: &ListenerState, session: &mut Session) {
        let messages = session.flush(&mut shared.board());
        let messages: Vec<String> = messages.iter().map(Message::to_json).collect();
        self.out.push(&messages);
    }

    /// Settles promises and feeds iterators after changes in the store.
    pub fn poll_store(self: &Arc<Self>, shared: &Arc<ListenerState>, daemon: &HostDaemon) {
        let mut state = self.lock();
        let ConnectionState { session, table: home, .. } = &mut *state;
        if session.over().is_some() || !home.has_waiting() {
            return;
        }
        let errands = ConnectionTaskRunner { connection: self, shared };
        let context = Context::new(daemon, &shared.board, &errands);
        home.poll_store(&context);
        home.drain(&context);
        self.flush(shared, session);
        stop_if_requested(daemon, home);
    }

    /// Delivers the outcome of a task that ran on a thread of its own.
    pub fn complete_task(
        self: &Arc<Self>,
        shared: &Arc<ListenerState>,
        reach: Object,
        answer: Ref,
        came: Result<TaskOutcome, Failure>,
        hold: Option<&Arc<Hold>>,
    ) {
        let Some(daemon) = shared.daemon.upgrade() else { return };
        let mut state = self.lock();
        let ConnectionState { session, table: home, .. } = &mut *state;
        if session.over().is_some() {
            return;
        }
        let errands = ConnectionTaskRunner { connection: self, shared };
        let context = Context::new(&daemon, &shared.board, &errands);
        home.complete_task(&context, reach, answer, came, hold);
        home.drain(&context);
        self.flush(shared, session);
        stop_if_requested(&daemon, home);
    }

    /// Returns the callback that delivers answers from other threads to this connection.
    fn answer_sender(self: &Arc<Self>, shared: &Arc<ListenerState>) -> AnswerSender {
        let (link, shared) = (Arc::downgrade(self), Arc::downgrade(shared));
        Arc::new(move |reach, answer, came| {
            if let (Some(link), Some(shared)) = (link.upgrade(), shared.upgrade()) {
                link.complete_task(&shared, reach, answer, came, None);
            }
        })
    }

    /// Schedules a call at the next timer tick that the client must be told about.
    fn schedule_tick(
        self: &Arc<Self>,
        shared: &Arc<ListenerState>,
        daemon: &HostDaemon,
        home: &mut ObjectTable,
    ) {
        if let Some(at_ms) = home.next_tick() {
            self.schedule_call(shared, daemon, at_ms, at_ms);
        }
    }

    fn schedule_call(
        self: &Arc<Self>,
        shared: &Arc<ListenerState>,
        daemon: &HostDaemon,
        at_ms: i64,
        armed_ms: i64,
    ) {
        let (link, shared) = (Arc::downgrade(self), Arc::downgrade(shared));
        let call = move || {
            if let (Some(link), Some(shared)) = (link.upgrade(), shared.upgrade()) {
                link.tick(&shared, armed_ms);
            }
        };
        daemon.alarms.at(at_ms, Box::new(call));
    }

    /// Sends the timer ticks that are due.
    fn tick(self: &Arc<Self>, shared: &Arc<ListenerState>, armed_ms: i64) {
        /// The time after which a busy connection is tried again, in milliseconds.
        const BUSY_RETRY_INTERVAL_MS: i64 = 5;
        let Some(daemon) = shared.daemon.upgrade() else { return };
        // Other clients also wait for their ticks, so this thread does not wait for a busy connection.
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let later_ms = clock::now_ms().saturating_add(BUSY_RETRY_INTERVAL_MS);
                return self.schedule_call(shared, &daemon, later_ms, armed_ms);
            }
        };
        let ConnectionState { session, table: home, .. } = &mut *state;
        if session.over().is_some() {
            return;
        }
        let errands = ConnectionTaskRunner { connection: self, shared };
        let context = Context::new(&daemon, &shared.board, &errands);
        home.tick(&context, armed_ms);
        self.flush(shared, session);
        self.schedule_tick(shared, &daemon, home);
    }

    /// Returns the directory trees that the client refers to and that no formula refers to.
    pub fn trees(&self) -> BTreeSet<BlobHash> {
        self.lock().table.trees()
    }

    /// Returns the formulas that the client refers to.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        self.lock().table.pins()
    }

    /// Ends the connection. Tells the client the reason if the client still listens.
    pub fn end(&self, shared: &ListenerState, reason: &str) {
        self.queue.clear();
        let mut state = self.lock();
        let ConnectionState { session, table: home, .. } = &mut *state;
        {
            let mut board = shared.board();
            session.disconnect(&mut board, reason);
            home.close(&mut board, reason);
        }
        self.flush(shared, session);
        drop(state);
        self.out.close(CLOSE_TIMEOUT);
    }
}

/// Returns the time after which an upload without progress is aborted. Tests set a shorter time.
fn upload_timeout() -> Duration {
    #[cfg(feature = "failpoints")]
    if let Some(ms) = std::env::var("ALMONER_ENDO_PATIENCE_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    STALL_TIMEOUT
}

/// Stops the daemon if the client has requested it.
fn stop_if_requested(daemon: &HostDaemon, home: &ObjectTable) {
    if home.ends_daemon() {
        daemon.stop();
    }
}
