//! The code of one agent, in a process that no other agent shares.

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

use super::outcome::{failed, is_fault};
use super::parcel;
use super::parcel::{Parcel, Parked};
use super::process::Reserve;
use super::session::{Broken, Phase, Session, Stand, Tools};
use super::sleepers::{Sleepers, Wait};
use crate::objects::file_worker::Came;
use crate::objects::object::Object;
use crate::state::code_host::{Letter, RESTARTED};
use crate::state::daemon;
use crate::state::daemon::Daemon;
use crate::state::daemon::WeakHostDaemon;
use crate::state::log;
use control::exit::Failure;

/// After how long without work the process goes.
const IDLE: Duration = Duration::from_secs(30);

/// How long the process may be silent at a time before somebody looks whether the daemon is to end.
const MOMENT: Duration = Duration::from_millis(200);

/// How often code is begun whose process goes while it is at work.
const ATTEMPTS: u32 = 4;

/// How often code is begun whose process ends under it, even if other code or none was at work.
const LOSSES: u32 = 50;

/// How long nothing is tried when no process can be started.
const PAUSE: Duration = Duration::from_secs(5);

/// After how long without work a lane makes room for another agent's.
const MAKES_ROOM: Duration = Duration::from_secs(3);

/// How long code stays in memory while it waits for something that may take a week.
const PATIENCE: Duration = Duration::from_secs(2);

/// The error for a caller of an object whose code is gone, or has not come to its end.
const FAILED: &str = "the code that made this object is gone, has failed, or was cancelled";

/// How many heaps of code that has come to its end are kept for messages.
const MOST_LIVE: usize = 200;

/// A job for an agent's thread.
pub enum Job {
    /// Parked code can run.
    Eval(FormulaId),
    /// An object of code of this agent is sent a message.
    Letter(Letter),
    /// An answer for a call that the code in a heap has made.
    Came { eval: FormulaId, heap: u64, reach: Object, answer: Ref, came: Box<Result<Came, Failure>> },
    /// Code that has come to its end was cancelled.
    Cancel { eval: FormulaId, reason: String },
    /// Something in the store is new.
    News,
}

/// The part of an agent's thread that other threads see while it works.
#[derive(Default)]
pub struct Window {
    /// Ends the wait for the next report of the process.
    waker: Mutex<Option<Waker>>,
    pins: Mutex<BTreeSet<FormulaId>>,
}

impl Window {
    fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
        what.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the lane look at its jobs.
    pub fn wake(&self) {
        if let Some(waker) = &*Window::lock(&self.waker) {
            waker.wake();
        }
    }

    /// Returns the formulas that the agent's code refers to.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        Window::lock(&self.pins).clone()
    }
}

/// The parts that an agent's thread works with.
pub struct Lane {
    pub shared: Weak<Daemon>,
    pub daemon: WeakHostDaemon,
    pub reserve: Arc<Reserve>,
    pub sleepers: Arc<Sleepers>,
    pub window: Arc<Window>,
    /// Whether others wait for a lane.
    pub crowded: Arc<AtomicBool>,
    pub sender: Sender<Job>,
    pub jobs: Receiver<Job>,
}

/// How often code has lost its process since it last got anywhere.
#[derive(Default)]
struct Losses {
    /// How long its journal was then.
    recorded: u64,
    /// How often it was at work.
    at_work: u32,
    /// How often in all.
    all: u32,
}

/// A lane at work.
struct Work {
    lane: Lane,
    host: Option<Host>,
    next: VatId,
    sessions: BTreeMap<VatId, Session>,
    by_eval: BTreeMap<FormulaId, VatId>,
    /// How often code has lost its process since it last got anywhere.
    losses: BTreeMap<FormulaId, Losses>,
    /// Since when code waits for nothing but promises and people.
    waits: BTreeMap<FormulaId, (Instant, BTreeSet<Wait>)>,
    /// Heaps of code that has come to its end, the one that was used last at the end.
    live: VecDeque<FormulaId>,
    /// Whether the formulas that the sessions refer to may differ from the shown ones.
    is_moved: bool,
    /// Nothing can be done now: why.
    stuck: Option<String>,
    /// Why the last heap could not be made.
    refused: Option<String>,
}

impl Lane {
    /// Works until no job is left, or the daemon ends. Code that it leaves undone stays queued.
    pub fn work(self) {
        let work = Work {
            lane: self,
            host: None,
            next: 0,
            sessions: BTreeMap::new(),
            by_eval: BTreeMap::new(),
            losses: BTreeMap::new(),
            waits: BTreeMap::new(),
            live: VecDeque::new(),
            is_moved: true,
            stuck: None,
            refused: None,
        };
        work.go();
    }
}

impl Work {
    fn go(mut self) {
        let mut busy = Instant::now();
        loop {
            if self.lane.shared.upgrade().is_none_or(|shared| shared.is_stopping()) {
                break;
            }
            // One job at a time, so that running code goes on while more jobs arrive.
            let job = self.lane.jobs.try_recv().ok();
            let patience = if job.is_some() { Duration::ZERO } else { MOMENT };
            if let Some(job) = job {
                if !matches!(job, Job::News) {
                    busy = Instant::now();
                }
                self.take(job);
            }
            if self.stuck.is_some() {
                break;
            }
            self.put_to_sleep();
            // Heaps of code that has come to its end are made anew when somebody uses them.
            let at_rest = busy.elapsed() >= MAKES_ROOM && self.sessions.values().all(Session::is_at_rest);
            if at_rest && self.lane.crowded.swap(false, Ordering::SeqCst) {
                break;
            }
            self.show_pins();
            let event = match &self.host {
                Some(host) if !self.sessions.is_empty() => host.next(patience),
                _ => match self.lane.jobs.recv_timeout(IDLE.saturating_sub(busy.elapsed())) {
                    Ok(job) => {
                        if !matches!(job, Job::News) {
                            busy = Instant::now();
                        }
                        self.take(job);
                        continue;
                    }
                    Err(RecvTimeoutError::Timeout) if busy.elapsed() < IDLE => continue,
                    Err(_) => break,
                },
            };
            // These reports come on the way. The pins are compared when the heap has carried out its order.
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
                Some(Event::Ended(end)) => self.lost(&end),
                Some(Event::Refused { vat, line }) => {
                    let eval = vat.and_then(|vat| self.sessions.get(&vat)).map(|session| session.parcel.eval);
                    if let Some(eval) = eval {
                        self.with(eval, |session, _| Err(session.refused(line)));
                    }
                }
                Some(Event::Woken) | None => {}
            }
        }
        self.close();
    }

    /// Ends the work, and answers all callers that wait for a heap.
    fn close(mut self) {
        *Window::lock(&self.lane.window.waker) = None;
        if let Some(why) = &self.stuck {
            log::line(&format!("guest code waits: {why}"));
        }
        if let Some(host) = &mut self.host {
            host.kill();
        }
        for (_, session) in std::mem::take(&mut self.sessions) {
            session.end(RESTARTED);
        }
        while let Ok(job) = self.lane.jobs.try_recv() {
            if let Job::Letter(letter) = job {
                letter.refuse(RESTARTED);
            }
        }
        if self.stuck.is_some()
            && let Some(shared) = self.lane.shared.upgrade()
        {
            shared.news.rest(PAUSE);
        }
        // Messages that came meanwhile are let go of with the lane, which answers them.
    }

    /// Shows the formulas that the sessions refer to, if they may have changed.
    fn show_pins(&mut self) {
        if !std::mem::take(&mut self.is_moved) {
            return;
        }
        let pins = self.sessions.values().flat_map(Session::pins).collect();
        *Window::lock(&self.lane.window.pins) = pins;
    }

    fn take(&mut self, job: Job) {
        self.is_moved = true;
        match job {
            Job::Eval(eval) => self.begin(eval),
            Job::Letter(letter) => self.letter(letter),
            Job::Came { eval, heap, reach, answer, came } => {
                self.with(eval, |session, tools| match session.heap() == heap {
                    true => session.came(tools, reach, answer, *came),
                    false => Ok(Stand::On),
                });
            }
            Job::Cancel { eval, reason } => {
                // A heap that is just being made again is as new as one made after the cancellation, so it stays.
                let session = self.by_eval.get(&eval).and_then(|vat| self.sessions.get(vat));
                if session.is_some_and(|session| session.phase() == Phase::Live) {
                    self.cancel(eval, Some(reason));
                }
            }
            Job::News => {
                for eval in self.by_eval.keys().copied().collect::<Vec<_>>() {
                    self.with(eval, |session, tools| {
                        if session.phase() == Phase::Running && !is_parked(tools, &session.parcel.eval)? {
                            return Err(Broken::Gone);
                        }
                        session.look_around(tools)
                    });
                }
            }
        }
    }

    /// Begins parked code.
    fn begin(&mut self, eval: FormulaId) {
        if self.by_eval.contains_key(&eval) {
            return;
        }
        let Some(shared) = self.lane.shared.upgrade() else { return };
        match shared.read(|txn| parcel::of(txn, &eval)) {
            Ok(Parked::Ready(parcel)) => {
                drop(shared);
                self.open(parcel, Phase::Running);
            }
            Ok(Parked::Broken(_, why)) => {
                let outcome = failed("vat/endowments", why, "give it something else");
                self.settle(&shared, eval, outcome);
            }
            // It was cancelled meanwhile.
            Ok(Parked::Waits(_) | Parked::Gone) => {}
            Err(failure) => self.stuck = Some(failure.message.raw().to_owned()),
        }
    }

    /// Makes a heap for code.
    fn open(&mut self, parcel: Box<Parcel>, phase: Phase) -> bool {
        let eval = parcel.eval;
        let Some(shared) = self.lane.shared.upgrade() else { return false };
        let found = shared.read(|txn| Ok((code::journal(txn, &eval, 0)?, code::remade_by(txn, &eval)?)));
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
                true => self.lane.reserve.take(),
                false => self.lane.reserve.start(),
            };
            match taken {
                Ok(host) => {
                    *Window::lock(&self.lane.window.waker) = Some(host.waker());
                    self.host = Some(host);
                }
                Err(why) => {
                    self.stuck = Some(why);
                    return false;
                }
            }
            // The next agent need not wait for a process.
            self.lane.reserve.fill();
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
                self.with(eval, |session, tools| session.open(tools).map(|()| Stand::On));
                true
            }
            Err(broken) => {
                if let Broken::Code(RunOutcome::Failed(trouble)) = &broken {
                    self.refused = Some(trouble.message.raw().to_owned());
                }
                self.broke(eval, phase, broken);
                false
            }
        }
    }

    /// Passes a message to an object. Makes the object's heap anew if there is none.
    fn letter(&mut self, letter: Letter) {
        let eval = letter.target.eval;
        if !self.by_eval.contains_key(&eval) {
            if letter.target.heap.is_some() {
                return letter.refuse(RESTARTED);
            }
            if let Err(why) = self.revive(eval) {
                return letter.refuse(&why);
            }
        }
        let Some(session) = self.by_eval.get(&eval).and_then(|vat| self.sessions.get(vat)) else {
            return letter.refuse(RESTARTED);
        };
        self.live.retain(|other| *other != eval);
        if session.phase() != Phase::Running {
            self.live.push_back(eval);
        }
        self.with(eval, |session, tools| session.take_letter(tools, letter));
    }

    /// Makes the heap anew of code that others call.
    fn revive(&mut self, eval: FormulaId) -> Result<(), String> {
        let gone = || FAILED.to_owned();
        let shared = self.lane.shared.upgrade().ok_or_else(gone)?;
        if shared
            .read(|txn| table::eval(txn, &eval))
            .map_err(|failure| failure.message.raw().to_owned())?
            .is_some()
        {
            // It is on its way, and sleeps.
            drop(shared);
            self.lane.sleepers.wake(&eval);
            self.begin(eval);
            return Ok(());
        }
        let found = shared.read(|txn| parcel::again(txn, &eval));
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

    /// Lets a session do something.
    fn with(
        &mut self,
        eval: FormulaId,
        go: impl FnOnce(&mut Session, &mut Tools<'_>) -> Result<Stand, Broken>,
    ) {
        let Some(vat) = self.by_eval.get(&eval).copied() else { return };
        let (Some(daemon), Some(host)) = (self.lane.daemon.upgrade(), &mut self.host) else { return };
        let Some(session) = self.sessions.get_mut(&vat) else { return };
        let mut tools = Tools { daemon: &daemon, jobs: &self.lane.sender, host };
        let phase = session.phase();
        match go(session, &mut tools) {
            Ok(Stand::On) => drop(self.waits.remove(&eval)),
            Ok(Stand::Waits(promises)) => {
                let since = self.waits.get(&eval).map_or_else(Instant::now, |(since, _)| *since);
                self.waits.insert(eval, (since, promises));
            }
            Ok(Stand::Done(outcome, has_exports)) => self.done(eval, outcome, has_exports),
            Err(broken) => {
                drop(daemon);
                self.broke(eval, phase, broken);
            }
        }
    }

    fn report(&mut self, report: Report) {
        let Some(vat) = vat_of(&report) else {
            // It was asked nothing that has no heap.
            return;
        };
        let Some(eval) = self.sessions.get(&vat).map(|session| session.parcel.eval) else { return };
        self.with(eval, |session, tools| session.hear(tools, report));
    }

    /// Handles the end of code.
    fn done(&mut self, eval: FormulaId, outcome: RunOutcome, has_exports: bool) {
        let Some(shared) = self.lane.shared.upgrade() else { return };
        self.losses.remove(&eval);
        self.waits.remove(&eval);
        let has_failed = matches!(outcome, RunOutcome::Failed(_));
        if !self.settle(&shared, eval, outcome) || has_failed || !has_exports {
            return self.close_saying(eval, true, if has_failed { FAILED } else { RESTARTED });
        }
        let Some(vat) = self.by_eval.get(&eval).copied() else { return };
        let Some(session) = self.sessions.get_mut(&vat) else { return };
        session.live();
        let unread = session.unread();
        self.live.push_back(eval);
        unread.into_iter().for_each(|letter| self.letter(letter));
        // The least recently used heaps end. They are made anew when a caller needs them.
        while self.live.len() > MOST_LIVE {
            if let Some(oldest) = self.live.pop_front() {
                self.close_session(oldest, true);
            }
        }
    }

    /// Lets go of a heap.
    fn close_session(&mut self, eval: FormulaId, is_there: bool) {
        self.close_saying(eval, is_there, RESTARTED);
    }

    /// Closes a heap, and tells waiting callers why.
    fn close_saying(&mut self, eval: FormulaId, is_there: bool, why: &str) {
        self.waits.remove(&eval);
        self.live.retain(|other| *other != eval);
        let Some(vat) = self.by_eval.remove(&eval) else { return };
        if let Some(session) = self.sessions.remove(&vat) {
            session.end(why);
        }
        if is_there
            && let Some(host) = &mut self.host
            && host.order(&Order::Close { vat }).is_err()
        {
            self.host_is_gone();
        }
    }

    /// Handles a session that cannot go on.
    fn broke(&mut self, eval: FormulaId, phase: Phase, broken: Broken) {
        match broken {
            Broken::Host => self.host_is_gone(),
            Broken::Store(failure) => {
                self.stuck = Some(failure.message.raw().to_owned());
            }
            Broken::Gone if phase == Phase::Ending => {}
            Broken::Gone => self.cancel(eval, None),
            Broken::Over(why) => {
                let vat = self.by_eval.get(&eval).copied();
                let session = vat.and_then(|vat| self.sessions.get_mut(&vat));
                let unread = session.map(Session::unread).unwrap_or_default();
                self.close_saying(eval, true, &why);
                // Its objects are made anew when a caller uses them.
                unread.into_iter().for_each(|letter| self.letter(letter));
            }
            Broken::Code(outcome) => {
                let is_fault = matches!(&outcome, RunOutcome::Failed(trouble) if is_fault(&trouble.code));
                if phase == Phase::Running
                    && let Some(shared) = self.lane.shared.upgrade()
                {
                    self.settle(&shared, eval, outcome);
                } else {
                    let said = match &outcome {
                        RunOutcome::Failed(trouble) => trouble.message.raw().to_owned(),
                        RunOutcome::Done(_) => RESTARTED.to_owned(),
                    };
                    return self.close_saying(eval, !is_fault, &said);
                }
                // Of a heap that passed a limit nothing is left to close.
                self.close_session(eval, !is_fault);
            }
        }
    }

    /// Tells code that it was cancelled, for as long as it needs to hear of it.
    fn cancel(&mut self, eval: FormulaId, reason: Option<String>) {
        let said = self.lane.shared.upgrade().and_then(|shared| {
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
        self.waits.remove(&eval);
        self.with(eval, |session, tools| session.cancel(tools, &reason).map(|()| Stand::On));
    }

    /// Handles a process that ended without a report.
    fn host_is_gone(&mut self) {
        let end =
            End { culprit: None, suspect: None, vats: self.sessions.keys().copied().collect(), broken: None };
        self.lost(&end);
    }

    /// Handles the end of the process. Code that was running begins anew, unless it is to blame. Heaps are lost.
    fn lost(&mut self, end: &End) {
        self.host = None;
        *Window::lock(&self.lane.window.waker) = None;
        self.live.clear();
        self.by_eval.clear();
        let sessions = std::mem::take(&mut self.sessions);
        let Some(shared) = self.lane.shared.upgrade() else { return };
        let mut again = Vec::new();
        for (vat, mut session) in sessions {
            let eval = session.parcel.eval;
            if session.phase() != Phase::Running {
                session.end(RESTARTED);
                continue;
            }
            let letters = session.unread();
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
            let losses = self.losses.entry(eval).or_default();
            if session.recorded() > losses.recorded {
                *losses = Losses { recorded: session.recorded(), ..Losses::default() };
            }
            // Those beside the one that is to blame are innocent.
            if end.culprit.is_none() {
                losses.all += 1;
                losses.at_work += u32::from(end.suspect == Some(vat));
            }
            let (is_lost, times) = (losses.at_work >= ATTEMPTS || losses.all >= LOSSES, losses.all);
            session.end(RESTARTED);
            match outcome {
                Some(outcome) => {
                    self.settle(&shared, eval, outcome);
                }
                None if is_lost => {
                    let what = format!("its process ended by itself, {times} times");
                    let help = "`almoner doctor` says whether guest code can be confined here";
                    self.settle(&shared, eval, failed("vat/crashed", what, help));
                }
                None => again.push((eval, letters)),
            }
        }
        drop(shared);
        for (eval, letters) in again {
            self.begin(eval);
            letters.into_iter().for_each(|letter| self.letter(letter));
        }
    }

    /// Frees the memory of code that waits for something that may take a week.
    fn put_to_sleep(&mut self) {
        let long: Vec<FormulaId> = self
            .waits
            .iter()
            .filter(|(_, (since, _))| since.elapsed() >= PATIENCE)
            .map(|(eval, _)| *eval)
            .collect();
        for eval in long {
            let Some((_, waits)) = self.waits.remove(&eval) else { continue };
            let Some(shared) = self.lane.shared.upgrade() else { return };
            // From now on other threads see that it sleeps. Earlier events are checked here.
            self.lane.sleepers.sleep(eval, waits.clone());
            let open = waits.iter().map(|wait| shared.read(|txn| wait.is_open(txn)));
            match open.collect::<Result<Vec<bool>, _>>() {
                Ok(open) if open.iter().all(|open| *open) => {
                    drop(shared);
                    self.is_moved = true;
                    self.close_session(eval, true);
                }
                // It goes on here.
                _ => self.lane.sleepers.wake(&eval),
            }
        }
    }

    /// Records the outcome of code, or a failure if the outcome cannot be kept. Returns whether one of them was
    /// recorded.
    fn settle(&self, shared: &Daemon, eval: FormulaId, outcome: RunOutcome) -> bool {
        // A run may have waited for it, and goes on.
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

fn is_parked(tools: &Tools<'_>, eval: &FormulaId) -> Result<bool, Broken> {
    Ok(tools.daemon.read(|txn| table::eval(txn, eval))?.is_some())
}

fn vat_of(report: &Report) -> Option<VatId> {
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
