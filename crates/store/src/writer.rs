//! The thread that writes, with group commit.
//!
//! While one group is being synced, the next callers queue up and become the next group. So the number of syncs
//! follows the disk's speed, not the number of callers. A single caller never waits for others.

use std::any::Any;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use kernel::txn::{StoreFault, Txn};
use rusqlite::Connection;

use crate::damage::DamageLatch;
use crate::database;
use crate::error::WriteError;
use crate::failpoint;
use crate::fault;
use crate::marks::Marks;
use crate::overlay::{Overlay, OverlayTxn};
use crate::place::StoreDirectory;
use crate::sql::SqlTxn;
use crate::stats::{Counters, add};

/// A closure that the writer runs, with its result.
trait Job: Send {
    /// Runs the closure and stores its result. Returns `false` if the changes must be rolled back.
    fn run(&mut self, txn: &mut OverlayTxn<'_>) -> bool;
    /// Hands out the result, or the fault of the group if there is one.
    fn finish(self: Box<Self>, fault: Option<&StoreFault>);
}

struct Call<T, E, F, D> {
    closure: Option<F>,
    result: Option<Result<T, WriteError<E>>>,
    done: D,
}

impl<T, E, F, D> Job for Call<T, E, F, D>
where
    T: Send,
    E: Send,
    F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send,
    D: FnOnce(Result<T, WriteError<E>>) + Send,
{
    fn run(&mut self, txn: &mut OverlayTxn<'_>) -> bool {
        let Some(closure) = self.closure.take() else { return false };
        let result = match catch_unwind(AssertUnwindSafe(|| closure(txn))) {
            // A fault replaces the closure's result, because the closure may have ignored the fault.
            Ok(_) if txn.has_failed() => Err(WriteError::Store(StoreFault::Closed)),
            Ok(Ok(value)) => Ok(value),
            Ok(Err(refusal)) => Err(WriteError::Refused(refusal)),
            Err(payload) => Err(WriteError::Panicked(message(&*payload))),
        };
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn finish(self: Box<Self>, fault: Option<&StoreFault>) {
        let Call { result, done, .. } = *self;
        let result = match (fault, result) {
            (Some(fault), _) => Err(WriteError::Store(fault.clone())),
            (None, Some(result)) => result,
            (None, None) => Err(WriteError::Store(StoreFault::Closed)),
        };
        done(result);
    }
}

/// Returns the message of a panic.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

/// The writer's limits.
pub(crate) struct Limits {
    /// The maximum number of closures in one group.
    pub(crate) group: usize,
    /// The number of log pages after which the log is copied into the database file.
    pub(crate) checkpoint_pages: u64,
}

/// The time after which a group is committed even if more closures are waiting, so that slow closures do not delay
/// the others.
const TIMEOUT: Duration = Duration::from_millis(50);

/// The number of put bytes after which a group is committed. Until the commit, the group is in memory. If the disk is
/// full, the whole group fails, so small writes behind a large one should go into the next group.
const MAX_GROUP_BYTES: usize = 1 << 20;

/// The maximum time after the opening for which the first write waits for the examination of the file. A small store is
/// examined within milliseconds, so that no write goes into a damaged one. A large one is examined while it is in use.
const MAX_EXAMINATION_WAIT: Duration = Duration::from_secs(1);

/// The state that the writer shares with the rest of the store.
pub(crate) struct SharedState {
    pub(crate) counters: Arc<Counters>,
    pub(crate) marks: Arc<Marks>,
    pub(crate) latch: Arc<DamageLatch>,
}

/// The handle of the writer's thread. Dropping it finishes the queued writes and then ends the thread.
pub(crate) struct Writer {
    queue: Option<Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    id: ThreadId,
    scrub: Arc<AtomicBool>,
}

impl Writer {
    /// Starts the thread. The connection must be set up already, and the writer closes it.
    pub(crate) fn start(
        mut conn: Connection,
        place: &StoreDirectory,
        limits: Limits,
        shared: SharedState,
    ) -> Result<Writer, StoreFault> {
        let pages = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&pages);
        let hook = move |_: &mut rusqlite::hooks::Wal, n: std::ffi::c_int| {
            seen.store(u64::try_from(n).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        conn.wal_hook(Some(hook)).map_err(|e| fault::from_sqlite(&e))?;
        let (queue, jobs) = channel();
        let (dir, lock) = (place.dir.clone(), Arc::clone(&place.lock));
        let scrub = Arc::<AtomicBool>::default();
        let asked = Arc::clone(&scrub);
        let SharedState { counters, marks, latch } = shared;
        let state = WriterState {
            conn,
            dir,
            limits,
            counters,
            marks,
            latch,
            pages,
            scrub: asked,
            broken: None,
            _lock: lock,
        };
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || state.serve(&jobs))
            .map_err(|e| StoreFault::Io(format!("the writer could not be started: {e}")))?;
        let id = thread.thread().id();
        Ok(Writer { queue: Some(queue), thread: Some(thread), id, scrub })
    }

    /// Asks the writer to copy the log into the database file after the next group, and to empty the log.
    pub(crate) fn scrub(&self) {
        self.scrub.store(true, Ordering::SeqCst);
    }

    /// Queues a closure. `done` gets the result on the writer's thread, after COMMIT.
    pub(crate) fn submit<T, E, F, D>(&self, closure: F, done: D)
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
        D: FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    {
        let job: Box<dyn Job> = Box::new(Call { closure: Some(closure), result: None, done });
        match &self.queue {
            Some(queue) => {
                if let Err(unsent) = queue.send(job) {
                    unsent.0.finish(Some(&StoreFault::Closed));
                }
            }
            None => job.finish(Some(&StoreFault::Closed)),
        }
    }

    /// Returns whether the caller is the writer's thread, which must never wait for a write.
    pub(crate) fn is_me(&self) -> bool {
        thread::current().id() == self.id
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        let me = self.is_me();
        if let Some(thread) = self.thread.take().filter(|_| !me) {
            // The thread catches the panics of closures. If it has panicked all the same, nothing more can be done.
            let _ = thread.join();
        }
    }
}

struct WriterState {
    conn: Connection,
    dir: PathBuf,
    limits: Limits,
    counters: Arc<Counters>,
    marks: Arc<Marks>,
    /// The latch after which nothing is written.
    latch: Arc<DamageLatch>,
    /// The number of pages in the log after the last commit.
    pages: Arc<AtomicU64>,
    /// Whether the log is to be emptied after the next group.
    scrub: Arc<AtomicBool>,
    /// The fault after which the data on disk is uncertain. Every later write gets this fault.
    broken: Option<StoreFault>,
    /// The store's lock, kept until the connection has been closed.
    _lock: Arc<File>,
}

/// The outcome of running one closure.
enum JobOutcome {
    Accepted {
        wrote: bool,
    },
    RolledBack,
    /// The closure met a fault, and only its own changes were rolled back.
    Faulted(StoreFault),
    /// The whole transaction was rolled back.
    Lost(StoreFault),
}

type Group = Vec<(Box<dyn Job>, Option<StoreFault>)>;

impl WriterState {
    fn serve(mut self, jobs: &Receiver<Box<dyn Job>>) {
        while let Ok(first) = jobs.recv() {
            let mut group = Group::new();
            let outcome = self.transaction(first, jobs, &mut group);
            if let Err(fault) = &outcome {
                self.latch.note(fault);
            }
            if let Err(fault) = &outcome
                && !self.conn.is_autocommit()
                && let Err(error) = self.conn.execute_batch("ROLLBACK")
            {
                self.broken =
                    Some(StoreFault::Io(format!("rolling back failed: {error}; before that: {fault}")));
            }
            for (job, own) in group {
                let fault = outcome.as_ref().err().or(own.as_ref());
                // A callback that panics must not keep the other callers from their results.
                let _ = catch_unwind(AssertUnwindSafe(|| job.finish(fault)));
            }
            if self.scrub.swap(false, Ordering::SeqCst) {
                self.copy_log("PRAGMA wal_checkpoint(TRUNCATE)");
            } else if self.pages.load(Ordering::Relaxed) >= self.limits.checkpoint_pages {
                self.checkpoint();
            }
        }
        self.close();
    }

    /// Runs a group and commits its changes. Afterwards, `group` holds every job that was taken from the queue.
    fn transaction(
        &mut self,
        first: Box<dyn Job>,
        jobs: &Receiver<Box<dyn Job>>,
        group: &mut Group,
    ) -> Result<(), StoreFault> {
        let begun = Instant::now();
        self.latch.await_examination(MAX_EXAMINATION_WAIT);
        let ready = match self.broken.clone().or_else(|| self.latch.fault()) {
            Some(fault) => Err(fault),
            None => self.execute("BEGIN IMMEDIATE"),
        };
        if let Err(fault) = ready {
            group.push((first, None));
            return Err(fault);
        }
        let mut kept = 0;
        let mut overlay = Overlay::default();
        let mut next = Some(first);
        while let Some(mut job) = next.take() {
            let ran = self.run(&mut *job, &mut overlay);
            group.push((job, None));
            match ran {
                JobOutcome::Accepted { wrote } => kept += u64::from(wrote),
                JobOutcome::RolledBack => add(&self.counters.refused, 1),
                JobOutcome::Faulted(fault) => {
                    add(&self.counters.refused, 1);
                    if let Some(last) = group.last_mut() {
                        last.1 = Some(fault);
                    }
                }
                JobOutcome::Lost(fault) => return Err(fault),
            }
            let has_room = group.len() < self.limits.group && overlay.bytes() < MAX_GROUP_BYTES;
            if has_room && begun.elapsed() < TIMEOUT {
                next = jobs.try_recv().ok();
            }
        }
        if overlay.is_empty() {
            // Nothing has to be made durable, so there is no sync, and the fail points do not count this commit.
            return self.execute("COMMIT");
        }
        // A closure, a reader or the examination may have found damage meanwhile.
        if let Some(fault) = self.latch.fault() {
            return Err(fault);
        }
        overlay
            .write(&mut SqlTxn::with_marks(&self.conn, &self.marks))
            .map_err(|fault| fault::refine(&self.dir, fault))?;
        failpoint::reach("store.before_commit");
        self.commit()?;
        failpoint::reach("store.after_commit");
        add(&self.counters.commits, 1);
        add(&self.counters.writes, kept);
        self.counters.largest_group.fetch_max(kept, Ordering::Relaxed);
        Ok(())
    }

    fn run(&self, job: &mut dyn Job, overlay: &mut Overlay) -> JobOutcome {
        let mut txn = OverlayTxn::new(&self.conn, overlay);
        let keep = job.run(&mut txn);
        let (wrote, fault) = txn.end();
        let fault = fault.map(|fault| fault::refine(&self.dir, fault));
        if let Some(fault) = &fault {
            self.latch.note(fault);
        }
        if self.conn.is_autocommit() {
            // On some faults, such as a full disk, SQLite rolls back the whole transaction.
            return JobOutcome::Lost(
                fault.unwrap_or_else(|| StoreFault::Io("the transaction was lost".into())),
            );
        }
        if keep {
            overlay.keep();
            return JobOutcome::Accepted { wrote };
        }
        overlay.take_back();
        fault.map_or(JobOutcome::RolledBack, JobOutcome::Faulted)
    }

    fn commit(&mut self) -> Result<(), StoreFault> {
        self.prepared("COMMIT").map_err(|error| {
            let fault = fault::refine(&self.dir, fault::from_sqlite(&error));
            if fault::lost_sync(&error) {
                self.broken = Some(fault.clone());
            }
            fault
        })
    }

    fn execute(&self, sql: &str) -> Result<(), StoreFault> {
        self.prepared(sql).map_err(|e| fault::refine(&self.dir, fault::from_sqlite(&e)))
    }

    fn prepared(&self, sql: &str) -> Result<(), rusqlite::Error> {
        self.conn.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// Copies the log into the database file, between groups, so that no caller waits for it. If readers have kept
    /// the log from being reused for long, this waits for them.
    fn checkpoint(&self) {
        let patient = self.pages.load(Ordering::Relaxed) < 8 * self.limits.checkpoint_pages;
        let sql = if patient { "PRAGMA wal_checkpoint(PASSIVE)" } else { "PRAGMA wal_checkpoint(RESTART)" };
        self.copy_log(sql);
    }

    fn copy_log(&self, sql: &str) {
        // A damaged file stays as it is.
        if self.latch.is_closed() {
            return;
        }
        match self.conn.query_row(sql, [], |_| Ok(())) {
            Ok(()) => add(&self.counters.checkpoints, 1),
            // The rows are safe in the log, and a later checkpoint tries again.
            Err(_) => add(&self.counters.failed_checkpoints, 1),
        }
    }

    /// Closes the connection. The database file is then complete without its log, unless a fault made the data
    /// uncertain, or the file is damaged.
    fn close(self) {
        let WriterState { conn, broken, latch, _lock, .. } = self;
        match broken.is_some() || latch.is_closed() {
            false => database::close(conn),
            true => drop(conn),
        }
    }
}
