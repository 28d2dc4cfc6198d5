//! Slow work on disks. Each connection has a thread that carries out its tasks one after another.
//!
//! A directory may be on a file system that hangs, and a snapshot may have many files. Neither blocks other
//! connections, or other calls of the same connection. The daemon locks the connection only when an answer is ready.

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

/// The maximum number of tasks that may wait at one connection.
const MAX_WAITING_TASKS: usize = 1000;

/// The maximum number of bytes that the waiting tasks of one connection may hold.
const MAX_WAITING_BYTES: usize = 512 << 20;

/// A piece of slow work, whose result answers a call.
pub struct WorkerTask {
    /// The promise that the task settles.
    pub answer: Ref,
    /// The called object, with the agent and the grants of the call.
    pub reach: Object,
    /// The work to do.
    pub work: TaskFn,
    /// The number of bytes that the task holds until it is done.
    pub bytes: usize,
    /// The hold on blobs that were stored for the task before, if there are any.
    pub hold: Option<Arc<Hold>>,
}

/// A task that has ended.
pub struct FinishedTask {
    /// The promise that the task settles.
    pub answer: Ref,
    /// The called object, with the agent and the grants of the call.
    pub reach: Object,
    /// The outcome of the work.
    pub outcome: Result<TaskOutcome, Failure>,
    /// The hold on blobs that were stored for the task, until a command names them.
    pub hold: Option<Arc<Hold>>,
}

impl WorkerTask {
    /// Carries out the task, without any lock.
    pub fn carry_out(self, daemon: WeakHostDaemon) -> FinishedTask {
        // Stored blobs are kept until the command of the task names them, as long as the work makes progress.
        let mut outside = TaskContext { daemon, hold: self.hold };
        if outside.hold.is_none() {
            let blobs = |daemon: HostDaemon| daemon.store.blobs().hold_within(STALL_TIMEOUT);
            outside.hold = outside.daemon().ok().map(blobs).map(Arc::new);
        }
        let mut came = (self.work)(&outside);
        // A command must not name blobs that may have been swept.
        if came.as_ref().is_ok_and(TaskOutcome::names_blobs)
            && outside.hold.as_ref().is_some_and(|hold| !hold.moves())
        {
            came = Err(timeout_failure());
        }
        FinishedTask { answer: self.answer, reach: self.reach, outcome: came, hold: outside.hold }
    }
}

/// The work of a task. It runs without any lock.
pub type TaskFn = Box<dyn FnOnce(&TaskContext) -> Result<TaskOutcome, Failure> + Send>;

/// The outcome of a task.
pub enum TaskOutcome {
    /// A value in the form of the store.
    Value(Value),
    /// A part of a directory or tree.
    Part(Part),
    /// Bytes that are handed out piece by piece.
    Bytes(Vec<u8>),
    /// The answer of an object that code has made.
    Answer(Result<passable::Value<Reference>, passable::Value<Reference>>),
    /// A stored part of a client's tree, with the tag of the tree's upload.
    PartStored(u64, StoredPart),
    /// A call that waits, for example for the user's answer. Once the call was made, its answer is this outcome.
    Waiting(WaitingCall, Box<TaskOutcome>),
    /// A command to apply, whose reply is the answer.
    Act(Box<Action>),
    /// A command to apply, which makes a directory. The tree is then copied into the directory.
    Stage {
        /// The tree to copy.
        tree: Tree,
        /// The command that makes the directory.
        make: Box<Action>,
    },
}

impl TaskOutcome {
    /// Returns whether the outcome refers to blobs that were stored for the task.
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

/// The access of a task to the daemon. It holds only a weak reference, because the daemon may end in the meantime.
pub struct TaskContext {
    daemon: WeakHostDaemon,
    /// The hold on stored blobs until the command of the task names them.
    hold: Option<Arc<Hold>>,
}

/// The time for which blobs are held for work without progress, such as a client that does not answer, or a disk that
/// hangs. Then a sweep no longer waits for the hold, and the call fails.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Returns the failure for a client whose blobs were given up after the timeout.
pub fn timeout_failure() -> Failure {
    let minutes = STALL_TIMEOUT.as_secs() / 60;
    Failure::new(Exit::Failure, format!("nothing moved for {minutes} minutes, so what had come was given up"))
        .help("try again")
}

impl TaskContext {
    /// Returns the daemon.
    ///
    /// # Errors
    /// When the daemon ends.
    pub fn daemon(&self) -> Result<HostDaemon, Failure> {
        self.daemon.upgrade().ok_or_else(|| Failure::new(Exit::NoDaemon, "the daemon ends"))
    }

    /// Returns the target of a call, if the call is allowed now.
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
        // Blobs that were stored before may have been swept. Then the call cannot succeed any more.
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
    /// Whether a thread works on the tasks.
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

    /// Waits until the client has taken enough of its output. So a client that takes no answers gets no more tasks
    /// done.
    fn wait_for_room(&self);

    /// Returns the daemon, or `None` if no more tasks of the client may run.
    fn daemon(&self) -> Option<WeakHostDaemon>;

    /// Takes the outcome of a task. Returns whether the client is still connected.
    fn finish(&self, done: FinishedTask) -> bool;
}

/// Queues a task of a client for the client's own thread, which is started if needed. Returns `false` if too much
/// waits already.
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
