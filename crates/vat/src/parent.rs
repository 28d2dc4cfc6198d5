//! The daemon's side of a process that hosts vats: orders are written, reports are read, and a process that is stuck is
//! ended.
//!
//! The process carries out one order after the other, so it is always known which one it is at. If that one takes longer
//! than its vat may, and a little more, the process is killed and the vat named as the culprit: its own deadline did not
//! stop it, so it is in native code that never looks up. The other vats in it are innocent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::frame::{self, FrameError, Order, Report, VatId};

/// How much longer than its vat's own deadline an order may take, in milliseconds.
pub const GRACE_MS: u64 = 60;
/// How long making or closing a vat may take, in milliseconds.
const HOUSEKEEPING_MS: u64 = 5_000;
/// The most bytes of a frame of a process that has no vats.
const MIN_FRAME: usize = 64 << 10;
/// The most reports that may wait to be read, and the most bytes of them. If the caller does not read, the process
/// waits with them.
const MAX_WAITING: usize = 4_096;
const MAX_WAITING_BYTES: usize = 32 << 20;

/// A clock that only goes forward, in milliseconds from anywhere; for more than one thread.
pub type SharedClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// An event of a host process.
#[derive(Debug)]
pub enum Event {
    /// It says something.
    Report(Report),
    /// It could make nothing of an order of this vat; nothing came of it.
    Refused {
        /// The vat.
        vat: Option<VatId>,
        /// The error, in one line.
        line: String,
    },
    /// A [`Waker`] asks the caller of [`Host::next`] to look around.
    Woken,
    /// It is gone, and so are all its vats. Nothing more comes.
    Ended(End),
}

/// A handle that ends the wait for the next event of a process.
#[derive(Clone)]
pub struct Waker(SyncSender<(Event, usize)>);

impl Waker {
    /// Lets [`Host::next`] give [`Event::Woken`]; nothing if it has enough to give already.
    pub fn wake(&self) {
        drop(self.0.try_send((Event::Woken, 0)));
    }
}

/// How a host process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The vat at whose order it was killed, because that took too long.
    pub culprit: Option<VatId>,
    /// The vat at whose order it was, if it ended by itself.
    pub suspect: Option<VatId>,
    /// All vats that were in it.
    pub vats: Vec<VatId>,
    /// The error of its last bytes, if they could not be read.
    pub broken: Option<String>,
}

/// Why a host process cannot be started or told anything.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// It did not start.
    #[error("the process for guest code did not start")]
    Start(#[source] std::io::Error),
    /// It is gone.
    #[error("the process for guest code is gone")]
    Ended,
    /// An order that cannot be written.
    #[error("an order for guest code cannot be written")]
    Frame(#[from] FrameError),
}

/// An order that the process has not finished.
struct Pending {
    vat: Option<VatId>,
    timeout_ms: u64,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Pending>,
    /// When the first of them must be done.
    deadline: Option<u64>,
    /// The vats that are there, each with its own patience.
    vats: BTreeMap<VatId, u64>,
    culprit: Option<VatId>,
    killed: bool,
    ended: bool,
    /// Until when the watchdog sleeps, if it sleeps until a time: it looks for itself whether that is still the one.
    watched_until: Option<u64>,
    /// Whether somebody waits until there is room for reports.
    is_full: bool,
    /// Bytes of the reports that wait to be read.
    waiting: usize,
    /// The most bytes that any of its vats has had reason to send in one frame.
    max_frame: usize,
    /// The order that is being handed over, by its vat. A process may say that it is done with it and still not have
    /// taken it.
    order_in_flight: Option<Option<VatId>>,
}

struct Inner {
    state: Mutex<State>,
    /// The watchdog must look: there is a deadline before the one that it sleeps for, or the process is gone.
    due: Condvar,
    /// There is room for reports again, or no thread needs it any more.
    room: Condvar,
    child: Mutex<Child>,
    clock: SharedClock,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the deadline of the order that the process is at. The watchdog is woken only for a deadline before the
    /// time until which it sleeps: one that slept too short looks again.
    fn set_deadline(&self, state: &mut State, deadline: Option<u64>) {
        state.deadline = deadline;
        if deadline.is_some_and(|deadline| state.watched_until.is_none_or(|until| deadline < until)) {
            self.due.notify_all();
        }
    }

    /// Wakes all waiting threads, so that they look again.
    fn wake_all(&self) {
        self.due.notify_all();
        self.room.notify_all();
    }

    fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is gone already cannot be killed; that is as well.
        drop(child.kill());
    }
}

/// A process that hosts vats.
pub struct Host {
    inner: Arc<Inner>,
    orders: Option<ChildStdin>,
    events: Receiver<(Event, usize)>,
    waker: Waker,
}

impl Host {
    /// Starts a process that runs [`crate::serve`] over its standard input and output. The caller chooses the rights
    /// of the process: the command is taken as it is, but for those two streams.
    ///
    /// # Errors
    /// [`HostError::Start`].
    pub fn start(mut command: Command, clock: SharedClock) -> Result<Host, HostError> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(HostError::Start)?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let inner = Arc::new(Inner {
            state: Mutex::default(),
            due: Condvar::new(),
            room: Condvar::new(),
            child: Mutex::new(child),
            clock,
        });
        let Some((orders, reports)) = streams else {
            inner.kill();
            return Err(HostError::Ended);
        };
        let (sender, events) = sync_channel(MAX_WAITING);
        let waker = Waker(sender.clone());
        let started = Arc::clone(&inner);
        thread::Builder::new()
            .name("vat reports".to_owned())
            .spawn(move || read(&started, &mut BufReader::new(reports), &sender))
            .map_err(HostError::Start)?;
        let watched = Arc::clone(&inner);
        let watch = thread::Builder::new().name("vat watchdog".to_owned()).spawn(move || watch(&watched));
        if let Err(error) = watch {
            inner.kill();
            return Err(HostError::Start(error));
        }
        Ok(Host { inner, orders: Some(orders), events, waker })
    }

    /// Gives an order. Its time begins when all before it are done.
    ///
    /// # Errors
    /// [`HostError::Ended`] and [`HostError::Frame`].
    pub fn order(&mut self, order: &Order) -> Result<(), HostError> {
        let bytes = frame::encode(order)?;
        {
            let mut state = self.inner.state();
            if state.ended || state.killed {
                return Err(HostError::Ended);
            }
            let (vat, patience_ms) = match order {
                Order::Open { vat, limits } => {
                    state.vats.insert(*vat, limits.wall_ms.saturating_add(GRACE_MS));
                    state.max_frame = state.max_frame.max(limits.frame());
                    (Some(*vat), HOUSEKEEPING_MS)
                }
                Order::Close { vat } => (Some(*vat), HOUSEKEEPING_MS),
                Order::Ping { .. } => (None, HOUSEKEEPING_MS),
                Order::Evaluate { vat, .. }
                | Order::Make { vat, .. }
                | Order::Deliver { vat, .. }
                | Order::Settle { vat, .. }
                | Order::Drop { vat, .. }
                | Order::Cancel { vat, .. } => {
                    (Some(*vat), state.vats.get(vat).copied().unwrap_or(HOUSEKEEPING_MS))
                }
            };
            state.order_in_flight = Some(vat);
            state.pending.push_back(Pending { vat, timeout_ms: patience_ms });
            if state.pending.len() == 1 {
                let deadline = (self.inner.clock)().saturating_add(patience_ms);
                self.inner.set_deadline(&mut state, Some(deadline));
            }
        }
        let orders = self.orders.as_mut().ok_or(HostError::Ended)?;
        let handed = orders.write_all(&bytes).and_then(|()| orders.flush());
        let mut state = self.inner.state();
        state.order_in_flight = None;
        if state.pending.is_empty() {
            state.deadline = None;
        }
        drop(state);
        handed.map_err(|_| HostError::Ended)
    }

    /// Ends the wait for the next event, from any thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Returns the next event, or `None` if there is none within the time. After [`Event::Ended`] there are none.
    ///
    /// The caller must keep asking: a process that cannot get rid of its reports is taken for one that is stuck.
    pub fn next(&self, within: Duration) -> Option<Event> {
        let (event, bytes) = self.events.recv_timeout(within).ok()?;
        if bytes > 0 {
            let mut state = self.inner.state();
            state.waiting = state.waiting.saturating_sub(bytes);
            if state.is_full {
                self.inner.room.notify_all();
            }
        }
        Some(event)
    }

    /// Ends the process at once, with all that is in it.
    pub fn kill(&mut self) {
        self.orders = None;
        self.inner.state().killed = true;
        self.inner.wake_all();
        self.inner.kill();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The progress of the process, as a report shows it.
enum Progress {
    /// It is at an order, of this vat.
    At(VatId),
    /// It is done with an order; of this vat, where the report says which.
    Done(Option<VatId>),
}

fn progress(report: &Report) -> Progress {
    match report {
        Report::Ready { vat }
        | Report::Fault { vat, .. }
        | Report::Idle { vat, .. }
        | Report::Closed { vat } => Progress::Done(Some(*vat)),
        Report::Pong { .. } | Report::Refused { .. } => Progress::Done(None),
        Report::Send { vat, .. }
        | Report::Answer { vat, .. }
        | Report::Resolve { vat, .. }
        | Report::Guard { vat, .. }
        | Report::Dropped { vat, .. }
        | Report::Console { vat, .. } => Progress::At(*vat),
    }
}

fn read(inner: &Inner, reports: &mut impl std::io::Read, sender: &SyncSender<(Event, usize)>) {
    let broken = loop {
        match frame::read_sized::<Report>(reports, || inner.state().max_frame.max(MIN_FRAME)) {
            Ok(Some((report, bytes))) => {
                let at = inner.state().pending.front().and_then(|pending| pending.vat);
                if !record_progress(inner, &report) {
                    break Some("it spoke of what it was not asked".to_owned());
                }
                let event = match report {
                    Report::Refused { line } => Event::Refused { vat: at, line },
                    report => Event::Report(report),
                };
                if !wait_for_room(inner, bytes) || sender.send((event, bytes)).is_err() {
                    break None;
                }
            }
            Ok(None) => break None,
            // After a kill the stream ends inside of a frame.
            Err(FrameError::Stream(_)) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    // A process that cannot be understood is not kept.
    inner.kill();
    drop(inner.child.lock().unwrap_or_else(PoisonError::into_inner).wait());
    let end = {
        let mut state = inner.state();
        state.ended = true;
        state.deadline = None;
        let suspect = state.pending.front().and_then(|pending| pending.vat);
        let vats: BTreeSet<VatId> = std::mem::take(&mut state.vats).into_keys().collect();
        let culprit = state.culprit;
        let suspect = suspect.filter(|_| culprit.is_none() && !state.killed);
        End { culprit, suspect, vats: vats.into_iter().collect(), broken }
    };
    inner.wake_all();
    // The receiver may be gone.
    drop(sender.send((Event::Ended(end), 0)));
}

/// Waits until so many bytes more may wait to be read. False if the process was killed meanwhile.
fn wait_for_room(inner: &Inner, bytes: usize) -> bool {
    let mut state = inner.state();
    while state.waiting > MAX_WAITING_BYTES && !state.killed {
        state.is_full = true;
        state = inner.room.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.is_full = false;
    state.waiting = state.waiting.saturating_add(bytes);
    !state.killed
}

/// Records the progress of the process. Returns whether the report fits it: a process that was taken over could speak
/// for a vat of another agent, or shake off the watchdog.
fn record_progress(inner: &Inner, report: &Report) -> bool {
    let mut state = inner.state();
    let Some(at) = state.pending.front().map(|pending| pending.vat) else { return false };
    match progress(report) {
        Progress::At(vat) => return at == Some(vat),
        Progress::Done(Some(vat)) if at != Some(vat) => return false,
        Progress::Done(_) => {}
    }
    if let Report::Fault { vat, .. } | Report::Closed { vat } = report {
        state.vats.remove(vat);
    }
    state.pending.pop_front();
    // A process that is done with an order must also have taken it, so the write has a deadline too.
    let handing = state.order_in_flight.map(|_| HOUSEKEEPING_MS);
    let next = state.pending.front().map(|pending| pending.timeout_ms).or(handing);
    let deadline = next.map(|patience| (inner.clock)().saturating_add(patience));
    inner.set_deadline(&mut state, deadline);
    true
}

fn watch(inner: &Inner) {
    let mut state = inner.state();
    while !state.ended {
        let now = (inner.clock)();
        match state.deadline {
            Some(deadline) if deadline <= now => {
                if !state.killed {
                    state.culprit = match state.pending.front() {
                        Some(pending) => pending.vat,
                        None => state.order_in_flight.flatten(),
                    };
                    state.killed = true;
                }
                state.deadline = None;
                drop(state);
                inner.room.notify_all();
                inner.kill();
                state = inner.state();
            }
            Some(deadline) => {
                let left = Duration::from_millis(deadline.saturating_sub(now).max(1));
                state.watched_until = Some(deadline);
                let waited = inner.due.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                state.watched_until = None;
            }
            None => state = inner.due.wait(state).unwrap_or_else(PoisonError::into_inner),
        }
    }
}
