//! The thread that runs the code of one agent, in a process that no other agent shares.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use kernel::command::Act;
use kernel::formula::Formula;
use kernel::run::{RunOutcome, Trouble};
use kernel::table::{self, PromiseRow};
use kernel::{FormulaId, code};
use passable::Untrusted;
use switchboard::Ref;
use vat::{End, Event, Host, Order, Report, VatId, Waker};

use super::code_job;
use super::code_job::{CodeJob, QueuedCode};
use super::outcome::{failed, is_fault};
use super::process_losses::{LossCause, ProcessLosses};
use super::process_pool::ProcessPool;
use super::session::{Phase, Session, SessionContext, SessionError, SessionStatus};
use super::suspended_code::{SuspendedCode, WaitTarget};
use crate::objects::file_worker::TaskOutcome;
use crate::objects::object::Object;
use crate::state::code_host::{ObjectMessage, RESTART_MESSAGE};
use crate::state::confinement;
use crate::state::daemon;
use crate::state::daemon::Daemon;
use crate::state::daemon::WeakHostDaemon;
use crate::state::log;
use control::exit::Failure;

/// The time without work after which the thread and its process end.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum wait for a report of the process. After it, the thread checks whether the daemon ends.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The pause after a failure of the process or of the store, before the thread ends and its code is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The time without work after which the thread ends, if another agent waits for a thread.
const CROWDED_IDLE_TIMEOUT: Duration = Duration::from_secs(3);

/// The time for which code stays in memory while it waits for a promise or a person. Such a wait may take a week.
const SUSPEND_TIMEOUT: Duration = Duration::from_secs(2);

/// The error for a caller of an object whose code is gone, has failed, or was cancelled.
const CODE_GONE: &str = "the code that made this object is gone, has failed, or was cancelled";

/// The maximum number of heaps of finished code that are kept for messages.
const MAX_LIVE_HEAPS: usize = 200;

/// A job for an agent's thread.
pub enum ThreadJob {
    /// The queued code of this formula can run.
    Eval(FormulaId),
    /// A message to an object that this agent's code has made.
    Message(ObjectMessage),
    /// The answer to a call that the code in a heap has made.
    Answer { eval: FormulaId, heap: u64, reach: Object, answer: Ref, came: Box<Result<TaskOutcome, Failure>> },
    /// The cancellation of finished code.
    Cancel { eval: FormulaId, reason: String },
    /// The store has changed.
    News,
}

/// The part of an agent's thread that other threads may use while it runs.
#[derive(Default)]
pub struct ThreadMonitor {
    /// The waker that ends the wait for the next report of the process.
    waker: Mutex<Option<Waker>>,
    pins: Mutex<BTreeSet<FormulaId>>,
}

impl ThreadMonitor {
    fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
        what.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread, so that it looks at its jobs.
    pub fn wake(&self) {
        if let Some(waker) = &*ThreadMonitor::lock(&self.waker) {
            waker.wake();
        }
    }

    /// Returns the formulas that the agent's code refers to.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        ThreadMonitor::lock(&self.pins).clone()
    }
}

/// Everything that an agent's thread needs for its work.
pub struct AgentThread {
    pub shared: Weak<Daemon>,
    pub daemon: WeakHostDaemon,
    pub pool: Arc<ProcessPool>,
    pub suspended: Arc<SuspendedCode>,
    pub monitor: Arc<ThreadMonitor>,
    /// Whether other agents wait for a thread.
    pub is_crowded: Arc<AtomicBool>,
    pub sender: Sender<ThreadJob>,
    pub jobs: Receiver<ThreadJob>,
}

/// The state of a running thread.
struct ThreadState {
    thread: AgentThread,
    host: Option<Host>,
    next: VatId,
    sessions: BTreeMap<VatId, Session>,
    by_eval: BTreeMap<FormulaId, VatId>,
    losses: ProcessLosses,
    /// The pieces of code that wait only for promises and people. Each has the start of its wait, and the events that
    /// it waits for.
    suspend_candidates: BTreeMap<FormulaId, (Instant, BTreeSet<WaitTarget>)>,
    /// The heaps of finished code, ordered by their last use. The one that was used last is at the end.
    live: VecDeque<FormulaId>,
    /// Whether the formulas that the sessions refer to may differ from the published ones.
    is_moved: bool,
    /// The reason why the thread can do nothing now, if it is stuck.
    stuck: Option<String>,
    /// The reason why the last heap could not be made.
    refused: Option<String>,
}

impl AgentThread {
    /// Works until no job is left, or the daemon ends. Unfinished code stays queued.
    pub fn run(self) {
        let work = ThreadState {
            thread: self,
            host: None,
            next: 0,
            sessions: BTreeMap::new(),
            by_eval: BTreeMap::new(),
            losses: ProcessLosses::default(),
            suspend_candidates: BTreeMap::new(),
            live: VecDeque::new(),
            is_moved: true,
            stuck: None,
            refused: None,
        };
        work.run();
    }
}

impl ThreadState {
    fn run(mut self) {
        let mut busy = Instant::now();
        loop {
            if self.thread.shared.upgrade().is_none_or(|shared| shared.is_stopping()) {
                break;
            }
            // One job at a time, so that running code goes on while more jobs arrive.
            let job = self.thread.jobs.try_recv().ok();
            let patience = if job.is_some() { Duration::ZERO } else { STOP_CHECK_INTERVAL };
            if let Some(job) = job {
                if !matches!(job, ThreadJob::News) {
                    busy = Instant::now();
                }
                self.handle_job(job);
            }
            if self.stuck.is_some() {
                break;
            }
            self.suspend_waiting_code();
            // The heap of finished code is made anew when a caller uses its objects, so the thread may end.
            let at_rest =
                busy.elapsed() >= CROWDED_IDLE_TIMEOUT && self.sessions.values().all(Session::is_at_rest);
            if at_rest && self.thread.is_crowded.swap(false, Ordering::SeqCst) {
                break;
            }
            self.publish_pins();
            let event = match &self.host {
                Some(host) if !self.sessions.is_empty() => host.next(patience),
                _ => match self.thread.jobs.recv_timeout(IDLE_TIMEOUT.saturating_sub(busy.elapsed())) {
                    Ok(job) => {
                        if !matches!(job, ThreadJob::News) {
                            busy = Instant::now();
                        }
                        self.handle_job(job);
                        continue;
                    }
                    Err(RecvTimeoutError::Timeout) if busy.elapsed() < IDLE_TIMEOUT => continue,
                    Err(_) => break,
                },
            };
            // A heap sends these reports while it carries out an order. The formulas are published after the order is
            // done.
            self.is_moved |= !matches!(
                event,
                None | Some(
                    Event::Woken
                        | Event::Report(
                            Report::Send { .. }
                                | Report::Answer { .. }
                                | Report::Guard { .. }
                                | Report::Dropped { .. }
                                | Report::Console { .. }
                        )
                )
            );
            match event {
                Some(Event::Report(report)) => {
                    busy = Instant::now();
                    self.report(report);
                }
                Some(Event::Ended(end)) => self.handle_process_loss(&end),
                Some(Event::Refused { vat, line }) => {
                    let eval = vat.and_then(|vat| self.sessions.get(&vat)).map(|session| session.job.eval);
                    if let Some(eval) = eval {
                        self.with_session(eval, |session, _| Err(session.order_error(line)));
                    }
                }
                Some(Event::Woken) | None => {}
            }
        }
        self.close();
    }

    /// Ends the thread's work, and answers all callers that wait for a heap.
    fn close(mut self) {
        *ThreadMonitor::lock(&self.thread.monitor.waker) = None;
        if let Some(why) = &self.stuck {
            log::line(&format!("guest code waits: {why}"));
        }
        if let Some(host) = &mut self.host {
            host.kill();
        }
        for (_, session) in std::mem::take(&mut self.sessions) {
            session.end(RESTART_MESSAGE);
        }
        while let Ok(job) = self.thread.jobs.try_recv() {
            if let ThreadJob::Message(letter) = job {
                letter.refuse(RESTART_MESSAGE);
            }
        }
        if self.stuck.is_some()
            && let Some(shared) = self.thread.shared.upgrade()
        {
            shared.news.wait_for_end(RETRY_INTERVAL);
        }
        // Messages that arrived in the meantime are dropped with the thread's receiver. Dropping a message answers
        // it.
    }

    /// Publishes the formulas that the sessions refer to, if they may have changed.
    fn publish_pins(&mut self) {
        if !std::mem::take(&mut self.is_moved) {
            return;
        }
        let pins = self.sessions.values().flat_map(Session::pins).collect();
        *ThreadMonitor::lock(&self.thread.monitor.pins) = pins;
    }

    fn handle_job(&mut self, job: ThreadJob) {
        self.is_moved = true;
        match job {
            ThreadJob::Eval(eval) => self.begin(eval),
            ThreadJob::Message(letter) => self.deliver_message(letter),
            ThreadJob::Answer { eval, heap, reach, answer, came } => {
                self.with_session(eval, |session, tools| match session.heap() == heap {
                    true => session.receive_answer(tools, reach, answer, *came),
                    false => Ok(SessionStatus::Running),
                });
            }
            ThreadJob::Cancel { eval, reason } => {
                // A heap that is being made again is as new as one made after the cancellation, so it stays.
                let session = self.by_eval.get(&eval).and_then(|vat| self.sessions.get(vat));
                if session.is_some_and(|session| session.phase() == Phase::Live) {
                    self.cancel(eval, Some(reason));
                }
            }
            ThreadJob::News => {
                for eval in self.by_eval.keys().copied().collect::<Vec<_>>() {
                    self.with_session(eval, |session, tools| {
                        if session.phase() == Phase::Running && !is_queued(tools, &session.job.eval)? {
                            return Err(SessionError::Ended);
                        }
                        session.poll_store(tools)
                    });
                }
            }
        }
    }

    /// Begins queued code.
    fn begin(&mut self, eval: FormulaId) {
        if self.by_eval.contains_key(&eval) {
            return;
        }
        let Some(shared) = self.thread.shared.upgrade() else { return };
        match shared.read(|txn| code_job::load_queued(txn, &eval)) {
            Ok(QueuedCode::Ready(parcel)) => {
                drop(shared);
                self.open(parcel, Phase::Running);
            }
            Ok(QueuedCode::Broken(_, why)) => {
                let outcome = failed("vat/endowments", why, "give it something else");
                self.settle(&shared, eval, outcome);
            }
            // The code was cancelled in the meantime, or must wait again.
            Ok(QueuedCode::Waiting(_) | QueuedCode::Ended) => {}
            Err(failure) => self.stuck = Some(failure.message.raw().to_owned()),
        }
    }

    /// Makes a heap for code. Returns whether a session was made.
    fn open(&mut self, parcel: Box<CodeJob>, phase: Phase) -> bool {
        let eval = parcel.eval;
        let Some(shared) = self.thread.shared.upgrade() else { return false };
        let found =
            shared.read(|txn| Ok((code::journal(txn, &eval, 0)?, code::approved_engine(txn, &eval)?)));
        let (journal, remade_by) = match found {
            Ok(found) => found,
            Err(failure) => {
                self.stuck = Some(failure.message.raw().to_owned());
                return false;
            }
        };
        drop(shared);
        if self.host.is_none() {
            let taken = match self.losses.is_empty() {
                true => self.thread.pool.take(),
                false => self.thread.pool.start(),
            };
            match taken {
                Ok(host) => {
                    *ThreadMonitor::lock(&self.thread.monitor.waker) = Some(host.waker());
                    self.host = Some(host);
                }
                Err(why) => {
                    self.stuck = Some(why);
                    return false;
                }
            }
            // A new spare process is started, so that the next agent need not wait for one.
            self.thread.pool.fill();
        }
        let vat = self.next;
        self.next = self.next.wrapping_add(1);
        let mut heap = [0; 8];
        if daemon::random(&mut heap).is_err() {
            self.stuck = Some("this machine gives no randomness".to_owned());
            return false;
        }
        let heap = u64::from_le_bytes(heap);
        match Session::new(parcel, phase, journal, vat, heap, remade_by.as_deref()) {
            Ok(session) => {
                self.sessions.insert(vat, session);
                self.by_eval.insert(eval, vat);
                self.with_session(eval, |session, tools| {
                    session.open(tools).map(|()| SessionStatus::Running)
                });
                true
            }
            Err(broken) => {
                if let SessionError::Code(RunOutcome::Failed(trouble)) = &broken {
                    self.refused = Some(trouble.message.raw().to_owned());
                }
                self.handle_session_error(eval, phase, broken);
                false
            }
        }
    }

    /// Passes a message to an object. If the object has no heap, its heap is made again first.
    fn deliver_message(&mut self, letter: ObjectMessage) {
        let eval = letter.target.eval;
        if !self.by_eval.contains_key(&eval) {
            if letter.target.heap.is_some() {
                return letter.refuse(RESTART_MESSAGE);
            }
            if let Err(why) = self.revive(eval) {
                return letter.refuse(&why);
            }
        }
        let Some(session) = self.by_eval.get(&eval).and_then(|vat| self.sessions.get(vat)) else {
            return letter.refuse(RESTART_MESSAGE);
        };
        self.live.retain(|other| *other != eval);
        if session.phase() != Phase::Running {
            self.live.push_back(eval);
        }
        self.with_session(eval, |session, tools| session.take_message(tools, letter));
    }

    /// Makes the heap of an object's code again, because a caller needs the object.
    fn revive(&mut self, eval: FormulaId) -> Result<(), String> {
        let gone = || CODE_GONE.to_owned();
        let shared = self.thread.shared.upgrade().ok_or_else(gone)?;
        if shared
            .read(|txn| table::eval(txn, &eval))
            .map_err(|failure| failure.message.raw().to_owned())?
            .is_some()
        {
            // The code has not finished, and is suspended. It continues here.
            drop(shared);
            self.thread.suspended.remove(&eval);
            self.begin(eval);
            return Ok(());
        }
        let found = shared.read(|txn| code_job::load_code(txn, &eval));
        drop(shared);
        let parcel = match found {
            Ok(Some(found)) => Box::new(found),
            Ok(None) => return Err(gone()),
            Err(failure) => return Err(failure.message.raw().to_owned()),
        };
        match self.open(parcel, Phase::Reviving) {
            true => Ok(()),
            false => Err(self.refused.take().unwrap_or_else(|| "the object cannot be made again".to_owned())),
        }
    }

    /// Calls a function with the session of some code, and handles the status or the error that it returns.
    fn with_session(
        &mut self,
        eval: FormulaId,
        go: impl FnOnce(&mut Session, &mut SessionContext<'_>) -> Result<SessionStatus, SessionError>,
    ) {
        let Some(vat) = self.by_eval.get(&eval).copied() else { return };
        let (Some(daemon), Some(host)) = (self.thread.daemon.upgrade(), &mut self.host) else { return };
        let Some(session) = self.sessions.get_mut(&vat) else { return };
        let mut tools = SessionContext { daemon: &daemon, jobs: &self.thread.sender, host };
        let phase = session.phase();
        match go(session, &mut tools) {
            Ok(SessionStatus::Running) => drop(self.suspend_candidates.remove(&eval)),
            Ok(SessionStatus::Waiting(promises)) => {
                let since = self.suspend_candidates.get(&eval).map_or_else(Instant::now, |(since, _)| *since);
                self.suspend_candidates.insert(eval, (since, promises));
            }
            Ok(SessionStatus::Done(outcome, has_exports)) => self.complete_code(eval, outcome, has_exports),
            Err(broken) => {
                drop(daemon);
                self.handle_session_error(eval, phase, broken);
            }
        }
    }

    fn report(&mut self, report: Report) {
        let Some(vat) = report_vat(&report) else {
            // Reports without a heap answer orders that this thread never gives.
            return;
        };
        let Some(eval) = self.sessions.get(&vat).map(|session| session.job.eval) else { return };
        self.with_session(eval, |session, tools| session.handle_report(tools, report));
    }

    /// Handles the end of code: records its outcome, and keeps its heap if others may hold its objects.
    fn complete_code(&mut self, eval: FormulaId, outcome: RunOutcome, has_exports: bool) {
        let Some(shared) = self.thread.shared.upgrade() else { return };
        self.losses.remove(&eval);
        self.suspend_candidates.remove(&eval);
        let has_failed = matches!(outcome, RunOutcome::Failed(_));
        if !self.settle(&shared, eval, outcome) || has_failed || !has_exports {
            return self.close_session_with(eval, true, if has_failed { CODE_GONE } else { RESTART_MESSAGE });
        }
        let Some(vat) = self.by_eval.get(&eval).copied() else { return };
        let Some(session) = self.sessions.get_mut(&vat) else { return };
        session.set_live();
        let unread = session.take_unread();
        self.live.push_back(eval);
        unread.into_iter().for_each(|letter| self.deliver_message(letter));
        // The heaps that were used least recently are closed. They are made again when a caller needs them.
        while self.live.len() > MAX_LIVE_HEAPS {
            if let Some(oldest) = self.live.pop_front() {
                self.close_session(oldest, true);
            }
        }
    }

    /// Closes a heap. `is_there` tells whether the process still has the heap.
    fn close_session(&mut self, eval: FormulaId, is_there: bool) {
        self.close_session_with(eval, is_there, RESTART_MESSAGE);
    }

    /// Closes a heap, and answers waiting callers with the reason `why`.
    fn close_session_with(&mut self, eval: FormulaId, is_there: bool, why: &str) {
        self.suspend_candidates.remove(&eval);
        self.live.retain(|other| *other != eval);
        let Some(vat) = self.by_eval.remove(&eval) else { return };
        if let Some(session) = self.sessions.remove(&vat) {
            session.end(why);
        }
        if is_there
            && let Some(host) = &mut self.host
            && host.order(&Order::Close { vat }).is_err()
        {
            self.handle_process_exit();
        }
    }

    /// Handles an error after which a session cannot continue.
    fn handle_session_error(&mut self, eval: FormulaId, phase: Phase, broken: SessionError) {
        match broken {
            SessionError::ProcessExited => self.handle_process_exit(),
            SessionError::Store(failure) => {
                self.stuck = Some(failure.message.raw().to_owned());
            }
            SessionError::Ended if phase == Phase::Ending => {}
            SessionError::Ended => self.cancel(eval, None),
            SessionError::Cancelled(why) => {
                let vat = self.by_eval.get(&eval).copied();
                let session = vat.and_then(|vat| self.sessions.get_mut(&vat));
                let unread = session.map(Session::take_unread).unwrap_or_default();
                self.close_session_with(eval, true, &why);
                // The code's objects are made again when a caller uses them.
                unread.into_iter().for_each(|letter| self.deliver_message(letter));
            }
            SessionError::Code(outcome) => {
                let is_fault = matches!(&outcome, RunOutcome::Failed(trouble) if is_fault(&trouble.code));
                if phase == Phase::Running
                    && let Some(shared) = self.thread.shared.upgrade()
                {
                    self.settle(&shared, eval, outcome);
                } else {
                    let said = match &outcome {
                        RunOutcome::Failed(trouble) => trouble.message.raw().to_owned(),
                        RunOutcome::Done(_) => RESTART_MESSAGE.to_owned(),
                    };
                    return self.close_session_with(eval, !is_fault, &said);
                }
                // A heap that passed a limit is already gone from the process, and need not be closed.
                self.close_session(eval, !is_fault);
            }
        }
    }

    /// Tells code in a heap that it was cancelled. Without `reason`, the reason is read from the store.
    fn cancel(&mut self, eval: FormulaId, reason: Option<String>) {
        let said = self.thread.shared.upgrade().and_then(|shared| {
            let reason = shared.read(|txn| {
                let Some(Formula::Eval { result, .. }) = table::formula(txn, &eval)?.map(|row| row.formula)
                else {
                    return Ok(None);
                };
                table::promise(txn, &result)
            });
            match reason {
                Ok(Some(PromiseRow::Rejected { reason })) => Some(reason),
                _ => None,
            }
        });
        let reason = reason.or(said).unwrap_or_else(|| "it was cancelled".to_owned());
        self.suspend_candidates.remove(&eval);
        self.with_session(eval, |session, tools| {
            session.cancel(tools, &reason).map(|()| SessionStatus::Running)
        });
    }

    /// Handles a process that ended without a report.
    fn handle_process_exit(&mut self) {
        let end =
            End { culprit: None, suspect: None, vats: self.sessions.keys().copied().collect(), broken: None };
        self.handle_process_loss(&end);
    }

    /// Handles the end of the process. All its heaps are lost. Code that was running begins again, unless it caused
    /// the end.
    fn handle_process_loss(&mut self, end: &End) {
        self.host = None;
        *ThreadMonitor::lock(&self.thread.monitor.waker) = None;
        self.live.clear();
        self.by_eval.clear();
        let sessions = std::mem::take(&mut self.sessions);
        let Some(shared) = self.thread.shared.upgrade() else { return };
        let mut again = Vec::new();
        for (vat, mut session) in sessions {
            let eval = session.job.eval;
            if session.phase() != Phase::Running {
                session.end(RESTART_MESSAGE);
                continue;
            }
            let letters = session.take_unread();
            let help = "let it do less at a time";
            let outcome = match (&end.culprit, &end.broken) {
                (Some(culprit), _) if *culprit == vat => {
                    Some(failed("vat/stuck", "it was ended: it took too long in one piece", help))
                }
                (None, Some(what)) => {
                    Some(failed("vat/broken", format!("its process was ended: {what}"), help))
                }
                _ => None,
            };
            let cause = match end.culprit {
                Some(_) => LossCause::Culprit,
                None if end.suspect == Some(vat) => LossCause::AtWork,
                None => LossCause::Unknown,
            };
            let too_many = self.losses.record(eval, session.journal_len(), cause);
            session.end(RESTART_MESSAGE);
            match (outcome, too_many) {
                (Some(outcome), _) => {
                    self.settle(&shared, eval, outcome);
                }
                (None, Some(times)) => {
                    let what = match confinement::fault() {
                        Some(fault) => {
                            format!(
                                "this machine cannot confine guest code ({fault}): `almoner doctor sandbox`"
                            )
                        }
                        None => format!("its process ended by itself, {times} times"),
                    };
                    let help = "`almoner doctor` says whether guest code can be confined here";
                    self.settle(&shared, eval, failed("vat/crashed", what, help));
                }
                (None, None) => again.push((eval, letters)),
            }
        }
        drop(shared);
        for (eval, letters) in again {
            self.begin(eval);
            letters.into_iter().for_each(|letter| self.deliver_message(letter));
        }
    }

    /// Frees the memory of code that has waited for some time for promises or people. Such a wait may take a week.
    fn suspend_waiting_code(&mut self) {
        let long: Vec<FormulaId> = self
            .suspend_candidates
            .iter()
            .filter(|(_, (since, _))| since.elapsed() >= SUSPEND_TIMEOUT)
            .map(|(eval, _)| *eval)
            .collect();
        for eval in long {
            let Some((_, waits)) = self.suspend_candidates.remove(&eval) else { continue };
            let Some(shared) = self.thread.shared.upgrade() else { return };
            // From here on, other threads know that the code is suspended, and resume it after an event. Events that
            // happened before are checked below.
            self.thread.suspended.suspend(eval, waits.clone());
            let open = waits.iter().map(|wait| shared.read(|txn| wait.is_open(txn)));
            match open.collect::<Result<Vec<bool>, _>>() {
                Ok(open) if open.iter().all(|open| *open) => {
                    drop(shared);
                    self.is_moved = true;
                    self.close_session(eval, true);
                }
                // An event has already happened, so the code continues in its heap.
                _ => self.thread.suspended.remove(&eval),
            }
        }
    }

    /// Records the outcome of code, or a failure if the outcome cannot be kept. Returns whether one of them was
    /// recorded.
    fn settle(&self, shared: &Daemon, eval: FormulaId, outcome: RunOutcome) -> bool {
        // Recording the outcome also continues any run that waits for it.
        let record = |outcome| {
            shared.apply_as(shared.root, None, Act::Evaluated { eval, outcome })?;
            Ok::<_, Failure>(())
        };
        let was_done = matches!(outcome, RunOutcome::Done(_));
        let Err(failure) = record(outcome) else { return true };
        let said = failure.message.raw().to_owned();
        let kept = was_done && {
            let trouble = Trouble {
                code: "vat/result".to_owned(),
                message: Untrusted::new(format!("its result cannot be kept: {said}")),
                help: "let it return less".to_owned(),
            };
            record(RunOutcome::Failed(trouble)).is_ok()
        };
        if !kept {
            log::line(&format!("what came of code {} is not recorded: {said}", eval.short()));
        }
        kept
    }
}

fn is_queued(tools: &SessionContext<'_>, eval: &FormulaId) -> Result<bool, SessionError> {
    Ok(tools.daemon.read(|txn| table::eval(txn, eval))?.is_some())
}

fn report_vat(report: &Report) -> Option<VatId> {
    match report {
        Report::Ready { vat }
        | Report::Send { vat, .. }
        | Report::Answer { vat, .. }
        | Report::Resolve { vat, .. }
        | Report::Guard { vat, .. }
        | Report::Dropped { vat, .. }
        | Report::Console { vat, .. }
        | Report::Fault { vat, .. }
        | Report::Idle { vat, .. }
        | Report::Closed { vat } => Some(*vat),
        Report::Pong { .. } | Report::Refused { .. } => None,
    }
}
