//! Slow work on disks: each connection has a thread that does its tasks one after the other.
//!
//! A directory may lie on a file system that hangs, and a snapshot may have many files. Neither blocks other
//! connections or other calls of the same one: the daemon locks the connection only when an answer is there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernel::code::Reference;
use kernel::facet::{AccessPath, Action, FileCall};
use kernel::formula::Tree;
use kernel::{BlobHash, Value};
use store::Hold;
use switchboard::Ref;

use super::object::StoredPart;
use super::object::{Object, Part};
use crate::files::guest_files::WaitingCall;
use crate::files::trees;
use crate::state::blobs;
use crate::state::daemon::{HostDaemon, WeakHostDaemon};
use control::exit::{Exit, Failure};

/// How many calls may wait at one connection.
const MAX_WAITING_TASKS: usize = 1000;

/// How many bytes may wait with them.
const MAX_WAITING_BYTES: usize = 512 << 20;

/// Something that is done later.
pub struct WorkerTask {
    /// Settles when it is done.
    pub answer: Ref,
    /// As whom, and through which grants, it was asked for.
    pub reach: Object,
    /// The work to do.
    pub work: TaskFn,
    /// How many bytes it keeps until then.
    pub bytes: usize,
    /// The hold on bytes that were stored for the task before, if there are any.
    pub hold: Option<Arc<Hold>>,
}

/// A task that was done.
pub struct FinishedTask {
    /// The promise that it settles.
    pub answer: Ref,
    /// As whom, and through which grants, it was asked for.
    pub reach: Object,
    /// The outcome of the work.
    pub outcome: Result<TaskOutcome, Failure>,
    /// The hold on bytes that were stored for the task, until a command names them.
    pub hold: Option<Arc<Hold>>,
}

impl WorkerTask {
    /// Does it, where nothing is locked.
    pub fn carry_out(self, daemon: WeakHostDaemon) -> FinishedTask {
        // Stored bytes stay until their command has named them, however long the work takes.
        let mut outside = TaskContext { daemon, hold: self.hold };
        if outside.hold.is_none() {
            let blobs = |daemon: HostDaemon| daemon.store.blobs().hold_within(STALL_TIMEOUT);
            outside.hold = outside.daemon().ok().map(blobs).map(Arc::new);
        }
        let mut came = (self.work)(&outside);
        // A command must not name bytes that are no longer kept.
        if came.as_ref().is_ok_and(TaskOutcome::names_blobs)
            && outside.hold.as_ref().is_some_and(|hold| !hold.moves())
        {
            came = Err(timeout_failure());
        }
        FinishedTask { answer: self.answer, reach: self.reach, outcome: came, hold: outside.hold }
    }
}

/// The work of a task. It runs while nothing is locked.
pub type TaskFn = Box<dyn FnOnce(&TaskContext) -> Result<TaskOutcome, Failure> + Send>;

/// The outcome of a task.
pub enum TaskOutcome {
    /// A value of the store's.
    Value(Value),
    /// Something that was looked up.
    Part(Part),
    /// Bytes that are handed out piece by piece.
    Bytes(Vec<u8>),
    /// The answer of an object that code has made.
    Answer(Result<passable::Value<Reference>, passable::Value<Reference>>),
    /// A kept part of a client's tree: the tag of the tree, and the part.
    PartStored(u64, StoredPart),
    /// Somebody is asked first, and this is the answer once it was made.
    Waiting(WaitingCall, Box<TaskOutcome>),
    /// A command must be applied, and its reply is the answer.
    Act(Box<Action>),
    /// A command to apply. A tree then fills the directory that the command made.
    Stage {
        /// The tree.
        tree: Tree,
        /// The command that makes the directory.
        make: Box<Action>,
    },
}

impl TaskOutcome {
    /// Returns whether a row is to name bytes that were put for it.
    fn names_blobs(&self) -> bool {
        match self {
            TaskOutcome::PartStored(..) | TaskOutcome::Act(_) | TaskOutcome::Stage { .. } => true,
            TaskOutcome::Part(part) => part.taken.is_some(),
            TaskOutcome::Value(_)
            | TaskOutcome::Bytes(_)
            | TaskOutcome::Answer(_)
            | TaskOutcome::Waiting(..) => false,
        }
    }
}

/// The daemon, as it is reached from where nothing is locked. It is not kept: it may end meanwhile.
pub struct TaskContext {
    daemon: WeakHostDaemon,
    /// The hold on stored bytes until the command of the task has named them.
    hold: Option<Arc<Hold>>,
}

/// How long bytes are kept for somebody who makes no progress: a client that does not answer, or a disk that hangs. A
/// sweep does not wait any longer, and the call fails.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Returns the failure for a client whose bytes were given up after the timeout.
pub fn timeout_failure() -> Failure {
    let minutes = STALL_TIMEOUT.as_secs() / 60;
    Failure::new(Exit::Failure, format!("nothing moved for {minutes} minutes, so what had come was given up"))
        .help("try again")
}

impl TaskContext {
    /// Returns the daemon.
    ///
    /// # Errors
    /// When it ends.
    pub fn daemon(&self) -> Result<HostDaemon, Failure> {
        self.daemon.upgrade().ok_or_else(|| Failure::new(Exit::NoDaemon, "the daemon ends"))
    }

    /// Returns where a call is made, if it may be made now.
    ///
    /// # Errors
    /// When a grant on the way has ended.
    pub fn check_access(&self, call: &FileCall) -> Result<AccessPath, Failure> {
        let daemon = self.daemon()?;
        let now_ms = daemon.now_ms();
        let ground = daemon.read(|txn| Ok(kernel::facet::check_access(txn, now_ms, call)))?;
        ground.map_err(|refusal| Failure::from_error(Exit::Denied, refusal))
    }
}

impl trees::BlobSink for TaskContext {
    fn put(&self, bytes: &[u8]) -> Result<BlobHash, Failure> {
        // The bytes stored before may be gone already. Then it is pointless to go on.
        if self.hold.as_ref().is_some_and(|hold| !hold.moves()) {
            return Err(timeout_failure());
        }
        blobs::upload(&self.daemon()?, bytes)
    }
}

/// The tasks that wait at one connection.
#[derive(Default)]
pub struct TaskQueue(Mutex<QueuedTasks>);

#[derive(Default)]
struct QueuedTasks {
    tasks: VecDeque<WorkerTask>,
    bytes: usize,
    /// Whether a thread works on them.
    is_working: bool,
}

impl TaskQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedTasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the tasks that have not begun, because the client has gone.
    pub fn clear(&self) {
        let mut waiting = self.lock();
        waiting.tasks.clear();
        waiting.bytes = 0;
    }

    fn next(&self) -> Option<WorkerTask> {
        let mut waiting = self.lock();
        let task = waiting.tasks.pop_front();
        waiting.bytes -= task.as_ref().map_or(0, |task| task.bytes);
        waiting.is_working = task.is_some();
        task
    }
}

/// A client whose tasks wait in a queue.
pub trait TaskClient: Send + Sync {
    /// Returns the queue.
    fn queue(&self) -> &TaskQueue;

    /// Waits until the client takes what it asked for, so that nothing more is read for one that does not.
    fn wait_for_room(&self);

    /// Returns the daemon, or nothing once the client may do nothing more.
    fn daemon(&self) -> Option<WeakHostDaemon>;

    /// Takes the outcome of a task. Returns whether the client is still there.
    fn finish(&self, done: FinishedTask) -> bool;
}

/// Has a task of a client done on the client's own thread. Returns `false` if too much waits.
pub fn push(client: Arc<dyn TaskClient>, task: WorkerTask) -> bool {
    let queue = Arc::clone(&client);
    let mut waiting = queue.queue().lock();
    if waiting.tasks.len() >= MAX_WAITING_TASKS || waiting.bytes + task.bytes > MAX_WAITING_BYTES {
        return false;
    }
    waiting.bytes += task.bytes;
    waiting.tasks.push_back(task);
    if waiting.is_working {
        return true;
    }
    let thread = std::thread::Builder::new()
        .name("endo-files".to_owned())
        .stack_size(crate::state::thread_stack::STACK_SIZE);
    let work = move || {
        while let Some(task) = client.queue().next() {
            client.wait_for_room();
            let Some(daemon) = client.daemon() else { return };
            if !client.finish(task.carry_out(daemon)) {
                return;
            }
        }
    };
    waiting.is_working = thread.spawn(work).is_ok();
    waiting.is_working || {
        waiting.tasks.pop_back();
        waiting.bytes = 0;
        false
    }
}
