//! The daemon's side of a process that hosts vats. It writes orders, reads reports, and ends a process that hangs.
//!
//! The process carries out one order after the other, so its current order is always known. If that order takes
//! longer than its vat may, and a little more, the process is killed, and the vat is named as the culprit. The vat's
//! own deadline did not stop it, so it is in native code that makes no checks. The other vats in the process are
//! innocent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::frame::{self, FrameError, Order, Report, VatId};

/// The time that an order may take beyond its vat's own deadline, in milliseconds.
pub const GRACE_MS: u64 = 60;
/// The time that making or closing a vat may take, in milliseconds.
const HOUSEKEEPING_MS: u64 = 5_000;
/// The maximum frame size for a process without vats, in bytes.
const MIN_FRAME: usize = 64 << 10;
/// The maximum number of reports that wait to be read. The next constant is the maximum of their bytes. If the caller
/// does not read, the process waits.
const MAX_WAITING: usize = 4_096;
const MAX_WAITING_BYTES: usize = 32 << 20;

/// A monotonic clock for several threads, in milliseconds since any fixed time.
pub type SharedClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// An event of a host process.
#[derive(Debug)]
pub enum Event {
    /// The process has sent a report.
    Report(Report),
    /// The process refused an order, which had no effect.
    Refused {
        /// The vat of the order.
        vat: Option<VatId>,
        /// The error, in one line.
        line: String,
    },
    /// A [`Waker`] has ended the wait, so that the caller of [`Host::next`] checks for other work.
    Woken,
    /// The process is gone, and so are all its vats. No more events come.
    Ended(End),
}

/// A handle that ends the wait for the next event of a process.
#[derive(Clone)]
pub struct Waker(SyncSender<(Event, usize)>);

impl Waker {
    /// Makes [`Host::next`] return [`Event::Woken`]. Does nothing if the queue of events is full.
    pub fn wake(&self) {
        drop(self.0.try_send((Event::Woken, 0)));
    }
}

/// The end of a host process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The vat whose order took too long, so that the process was killed.
    pub culprit: Option<VatId>,
    /// The vat whose order the process was carrying out, if the process ended by itself.
    pub suspect: Option<VatId>,
    /// All vats that were in the process.
    pub vats: Vec<VatId>,
    /// The error of the last report, if it was unreadable or not allowed.
    pub broken: Option<String>,
}

/// The reason why a host process cannot be started or given an order.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The process did not start.
    #[error("the process for guest code did not start")]
    Start(#[source] std::io::Error),
    /// The process is gone.
    #[error("the process for guest code is gone")]
    Ended,
    /// The order cannot be written as a frame.
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
    /// The time by which the first pending order must be done.
    deadline: Option<u64>,
    /// The vats in the process, each with the maximum time of an order.
    vats: BTreeMap<VatId, u64>,
    culprit: Option<VatId>,
    killed: bool,
    ended: bool,
    /// The time until which the watchdog sleeps, if it sleeps until a time. When it wakes, it compares this time with
    /// the deadline.
    watched_until: Option<u64>,
    /// Whether a thread waits until there is room for reports.
    is_full: bool,
    /// The number of bytes in the reports that wait to be read.
    waiting: usize,
    /// The maximum number of bytes in one frame, from the limits of all vats so far.
    max_frame: usize,
    /// The order that is being written, by its vat. A process may report that it has finished an order that it has
    /// not read yet.
    order_in_flight: Option<Option<VatId>>,
}

struct Inner {
    state: Mutex<State>,
    /// Wakes the watchdog: there is an earlier deadline than the time until which it sleeps, or the process is gone.
    due: Condvar,
    /// Wakes the reading thread: there is room for reports again, or no thread needs it any more.
    room: Condvar,
    child: Mutex<Child>,
    clock: SharedClock,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the deadline of the current order. The watchdog is woken only for a deadline before the time until which
    /// it sleeps. If it wakes too early, it checks the deadline and sleeps again.
    fn set_deadline(&self, state: &mut State, deadline: Option<u64>) {
        state.deadline = deadline;
        if deadline.is_some_and(|deadline| state.watched_until.is_none_or(|until| deadline < until)) {
            self.due.notify_all();
        }
    }

    /// Wakes all waiting threads, so that they check the state again.
    fn wake_all(&self) {
        self.due.notify_all();
        self.room.notify_all();
    }

    fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // A process that has ended already cannot be killed, and that is no problem.
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
    /// Starts a process that runs [`crate::serve`] with its standard input and output. The caller chooses the rights
    /// of the process. Apart from those two streams, the command is not changed.
    ///
    /// # Errors
    /// [`HostError::Start`] and [`HostError::Ended`].
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

    /// Gives the process an order. The time of an order begins when all orders before it are done.
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

    /// Returns a handle that can end the wait for the next event from any thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Returns the next event, or `None` if there is none within the time. After [`Event::Ended`] there are no more
    /// events.
    ///
    /// The caller must keep calling. If the reports of a process are not read, the process is taken for one that
    /// hangs.
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

    /// Kills the process, with all vats in it.
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

/// The progress of the process that a report shows.
enum Progress {
    /// The process is carrying out an order of this vat.
    At(VatId),
    /// The process has finished an order. The vat is given if the report names it.
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
            // If the process was killed, the stream may end in the middle of a frame.
            Err(FrameError::Stream(_)) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    // A process that sends invalid reports is ended.
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
    // This fails if the receiver has been dropped, and then nobody waits for the event.
    drop(sender.send((Event::Ended(end), 0)));
}

/// Waits until there is room for a report, and counts its bytes. Returns `false` if the process was killed in the
/// meantime.
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

/// Records the progress of the process. Returns whether the report fits the current order. Otherwise, a hijacked
/// process could speak for another agent's vat, or stop the watchdog.
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
    // A process that has finished an order must also have read it, so the write has a deadline too.
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
