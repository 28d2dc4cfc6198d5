//! A session runs one piece of code in one heap. It sends the code's messages, and records and delivers the answers.
//!
//! A session begins with the entries of the code's journal. While any are left, the heap is told the same as before.
//! Each send is compared with the recorded one, and is not sent again. Later sends are recorded before they go out.
//! Each answer, and each message that others send to the code's objects, is recorded before anything follows from it.
//!
//! After the code has ended, others may still send messages to its objects. These messages are not recorded, and
//! their effects end with the heap.

mod answers;
mod begin;
mod held_sends;
mod object_messages;
mod promises;
mod sends;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::code::{self, CodeEntry, CodePromise, OutcomeSubject};
use kernel::command::{Act, CodeAct, Fault, Reply};
use kernel::run::RunOutcome;
use kernel::{BlobHash, FormulaId};
use passable::{Untrusted, Value};
use switchboard::{Ref, Side, SideOptions, Switchboard};
use vat::{Host, HostError, Order, Outcome, Place, Report, Slot, VatId, Verb};

use super::agent_thread::ThreadJob;
use super::code_job::CodeJob;
use super::heap_references::HeapReferences;
use super::outcome::{divergence, exception, failed, fault};
use super::suspended_code::WaitTarget;
use crate::objects::convert;
use crate::objects::file_worker::WorkerTask;
use crate::objects::object::{Object, RemoteObject};
use crate::objects::object_table::{AnswerSender, Context, ObjectTable, TaskRunner};
use crate::objects::perform;
use crate::state::code_host;
use crate::state::code_host::{AnswerCallback as Taker, ObjectMessage, RESTART_MESSAGE, restart_error};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// The number of the answer to the order that runs the code.
const RESULT_NUMBER: u32 = 0;

/// The maximum length of a line that describes a send, in characters.
const MAX_LINE_LEN: usize = 160;

/// The parts of the daemon that a session needs.
pub struct SessionContext<'a> {
    pub daemon: &'a HostDaemon,
    pub jobs: &'a Sender<ThreadJob>,
    pub host: &'a mut Host,
}

/// The reason why a session cannot continue.
pub enum SessionError {
    /// The process is gone.
    ProcessExited,
    /// A failure of the store. The session is tried again later.
    Store(Failure),
    /// The code was cancelled, or its outcome was recorded elsewhere.
    Ended,
    /// The code was cancelled for this reason, and its heap has been told.
    Cancelled(String),
    /// A failure of the code itself, with its outcome.
    Code(RunOutcome),
}

impl From<Failure> for SessionError {
    fn from(failure: Failure) -> SessionError {
        SessionError::Store(failure)
    }
}

impl From<HostError> for SessionError {
    fn from(error: HostError) -> SessionError {
        match error {
            HostError::Frame(e) => {
                let what = format!("it cannot be told what to do: {e}");
                SessionError::Code(failed("vat/large", what, "let it be given less"))
            }
            HostError::Ended | HostError::Start(_) => SessionError::ProcessExited,
        }
    }
}

/// The phase of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The code is running and has not ended.
    Running,
    /// The code has ended before, and its heap is being made again from the journal.
    Reviving,
    /// The code has ended, and others may use its objects.
    Live,
    /// The code is cancelled. The heap is told so, and is then closed.
    Ending,
}

/// The status of a session after it has handled an event.
#[derive(Debug)]
pub enum SessionStatus {
    /// The session has more to do, or waits for events that keep its heap in memory.
    Running,
    /// The session waits only for these events. Others may still call its objects.
    Waiting(BTreeSet<WaitTarget>),
    /// The code has ended with this outcome. The flag tells whether others may hold its objects.
    Done(RunOutcome, bool),
}

/// A send that the heap has made and that has not gone out.
struct OutgoingSend {
    send: u32,
    target: Slot,
    verb: Verb,
    args: Value<Slot>,
    question: Option<u32>,
    /// Whether an earlier heap has already sent the same, and the outcome is not known.
    is_repeated: bool,
    digest: BlobHash,
}

/// The references that a heap has dropped: answers, and numbers of the daemon with the number of dropped mentions.
struct DroppedReferences {
    imports: Vec<(u32, u32)>,
    questions: Vec<u32>,
}

/// A send whose answer has not come yet.
#[derive(Clone, Copy)]
struct PendingAnswer {
    question: Option<u32>,
}

/// A session, which runs one piece of code in one heap.
pub struct Session {
    pub job: Box<CodeJob>,
    pub vat: VatId,
    phase: Phase,
    board: Mutex<Switchboard>,
    side: Side,
    table: ObjectTable,
    references: HeapReferences,
    /// The number of entries in the journal.
    recorded: u64,
    /// The entries that are still to be added to the journal.
    unrecorded: Vec<CodeEntry>,
    /// The recorded entries that must still be replayed to the heap.
    script: VecDeque<CodeEntry>,
    /// The digests of the recorded sends, by their numbers.
    recorded_sends: BTreeMap<u32, BlobHash>,
    /// The recorded sends whose answer is recorded.
    answered: BTreeSet<u32>,
    /// The number of recorded console lines that the heap has not repeated yet.
    lines: usize,
    /// The number of bytes in the answers that this heap was told.
    heard_bytes: usize,
    /// The number of bytes in the messages from others that this heap was told.
    called_bytes: usize,
    /// The number of sends that the heap has made.
    sent: u32,
    outgoing: Vec<OutgoingSend>,
    /// The references that the heap has dropped and that are not released yet. Earlier sends of the heap may still
    /// need them.
    drops: Vec<DroppedReferences>,
    pending_answers: BTreeMap<u32, PendingAnswer>,
    /// The number of orders that the heap has not carried out yet.
    orders: usize,
    result: Option<(Outcome, Option<Place>)>,
    /// The reason of the cancellation, if the code was cancelled.
    reason: String,
    /// Messages that wait until the heap has nothing else to do.
    messages: VecDeque<ObjectMessage>,
    /// The messages that the heap is answering. Each has the taker of the answer, and the sender.
    replies: BTreeMap<u32, (Taker, FormulaId)>,
    next_reply: u32,
    /// The outcomes of the heap's promises that the store does not know yet.
    resolved: BTreeMap<u32, Outcome>,
    /// The answers to the code's own sends for which the store waits.
    open_answers: BTreeSet<u32>,
    /// The number of the code's promises for which the store waits.
    unsettled: usize,
    /// The sends to answers that are not known yet, which are held back.
    held: Vec<held_sends::HeldSend>,
}

/// The queue of a heap's slow tasks, until its own thread carries them out.
struct HeapTaskRunner<'a> {
    tasks: RefCell<VecDeque<WorkerTask>>,
    answer_sender: &'a AnswerSender,
}

impl TaskRunner for HeapTaskRunner<'_> {
    fn run_later(&self, task: WorkerTask) -> bool {
        self.tasks.borrow_mut().push_back(task);
        true
    }

    fn answer_sender(&self) -> AnswerSender {
        Arc::clone(self.answer_sender)
    }
}

/// Calls a function with an object table, and then carries out all actions and tasks that follow.
fn with_table(
    home: &mut ObjectTable,
    board: &Mutex<Switchboard>,
    daemon: &HostDaemon,
    courier: &AnswerSender,
    first: impl FnOnce(&mut ObjectTable, &Context<'_>),
) {
    let errands = HeapTaskRunner { tasks: RefCell::default(), answer_sender: courier };
    let context = Context::new(daemon, board, &errands);
    first(home, &context);
    loop {
        home.drain(&context);
        home.settle_promises(&context);
        // The task runs on this thread, because only this agent's code waits for it.
        let Some(task) = errands.tasks.borrow_mut().pop_front() else { return };
        let done = task.carry_out(daemon.downgrade());
        home.complete_task(&context, done.reach, done.answer, done.outcome, done.hold.as_ref());
    }
}

fn lock_board(board: &Mutex<Switchboard>) -> MutexGuard<'_, Switchboard> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Returns a session over the entries of the journal. `phase` tells whether the code has ended before.
    /// `remade_by` is the engine version that may make the code again, if that is not the version it began in.
    pub fn new(
        parcel: Box<CodeJob>,
        phase: Phase,
        journal: Vec<code::Record>,
        vat: VatId,
        heap: u64,
        remade_by: Option<&str>,
    ) -> Result<Session, SessionError> {
        let mut board = Switchboard::new();
        let side = board.add(SideOptions::default());
        let home = ObjectTable::for_code(&mut board, parcel.eval);
        let recorded = journal.len() as u64;
        let script: VecDeque<CodeEntry> = journal.into_iter().map(|record| record.entry).collect();
        let (mut known, mut answered, mut lines) = (BTreeMap::new(), BTreeSet::new(), 0);
        for entry in &script {
            match entry {
                CodeEntry::Began { engine: other, .. }
                    if *other != code_host::engine_version()
                        && remade_by != Some(code_host::engine_version().as_str()) =>
                {
                    let what = format!("it began in {other}, and this is {}", code_host::engine_version());
                    let help = match phase {
                        Phase::Running => "what it has done is done; run what is left as new code",
                        _ => {
                            "what it came to is as it was; `almoner remake NAME` makes its objects in this one"
                        }
                    };
                    let what = if phase == Phase::Running { what } else { format!("{what}: {help}") };
                    return Err(SessionError::Code(failed("vat/engine", what, help)));
                }
                CodeEntry::Began { .. } => {}
                CodeEntry::Sent { send, digest, .. } => drop(known.insert(*send, *digest)),
                CodeEntry::Heard { of: OutcomeSubject::Send(send), .. } => drop(answered.insert(*send)),
                CodeEntry::Heard { .. } | CodeEntry::Called { .. } => {}
                CodeEntry::Logged { .. } => lines += 1,
            }
        }
        let slots = HeapReferences::new(parcel.eval, heap, side);
        Ok(Session {
            job: parcel,
            vat,
            phase,
            board: Mutex::new(board),
            side,
            table: home,
            references: slots,
            recorded,
            unrecorded: vec![],
            script,
            recorded_sends: known,
            answered,
            lines,
            heard_bytes: 0,
            called_bytes: 0,
            sent: 0,
            outgoing: vec![],
            drops: vec![],
            pending_answers: BTreeMap::new(),
            orders: 0,
            result: None,
            reason: String::new(),
            messages: VecDeque::new(),
            replies: BTreeMap::new(),
            next_reply: RESULT_NUMBER,
            resolved: BTreeMap::new(),
            open_answers: BTreeSet::new(),
            unsettled: 0,
            held: vec![],
        })
    }

    /// Returns the phase of the code.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the identity of the heap, different from that of every other heap.
    pub fn heap(&self) -> u64 {
        self.references.heap
    }

    /// Returns whether the heap may go. The code has ended, and no message or answer is pending.
    pub fn is_at_rest(&self) -> bool {
        self.phase == Phase::Live
            && self.replies.is_empty()
            && self.messages.is_empty()
            && self.pending_answers.is_empty()
    }

    /// Returns the number of entries in the code's journal.
    pub fn journal_len(&self) -> u64 {
        self.recorded
    }

    /// Returns the formulas that the session refers to.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        let mut pins = self.table.pins();
        pins.insert(self.job.eval);
        pins.extend(self.references.promised_ids());
        pins
    }

    fn order(&mut self, tools: &mut SessionContext<'_>, order: &Order) -> Result<(), SessionError> {
        tools.host.order(order)?;
        self.orders += 1;
        Ok(())
    }

    fn answer_sender(&self, tools: &SessionContext<'_>) -> AnswerSender {
        let (eval, heap) = (self.job.eval, self.references.heap);
        let jobs = Mutex::new(tools.jobs.clone());
        let nudge = tools.host.waker();
        Arc::new(move |reach, answer, came| {
            let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            // If the thread is gone, the answer is not needed.
            drop(jobs.send(ThreadJob::Answer { eval, heap, reach, answer, came: Box::new(came) }));
            nudge.wake();
        })
    }

    /// Handles a report of the heap.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn handle_report(
        &mut self,
        tools: &mut SessionContext<'_>,
        report: Report,
    ) -> Result<SessionStatus, SessionError> {
        match report {
            // Cancelled code sends nothing more.
            Report::Send { .. } if self.phase == Phase::Ending => {}
            Report::Send { target, verb, args, question, .. } => {
                self.queue_send(target, verb, args, question)?
            }
            Report::Answer { answer: RESULT_NUMBER, outcome, place, .. } => {
                let (Outcome::Ok(value) | Outcome::Err(value)) = &outcome;
                self.references.note_lasting(value);
                self.result = Some((outcome, place));
            }
            Report::Answer { answer, outcome, .. } => self.answer_message(tools, answer, &outcome)?,
            Report::Guard { export, guard, .. } => self.references.record_guard(export, &guard),
            Report::Dropped { imports, questions, .. } => {
                self.drops.push(DroppedReferences { imports, questions });
            }
            Report::Console { level, text, .. } => self.log(level, text),
            Report::Fault { kind, line, .. } => return Err(SessionError::Code(fault(kind, &line))),
            Report::Ready { .. } | Report::Idle { .. } => {
                self.orders = self.orders.saturating_sub(1);
                return self.resume(tools);
            }
            Report::Resolve { promise, outcome, .. } => drop(self.resolved.insert(promise, outcome)),
            Report::Closed { .. } | Report::Pong { .. } | Report::Refused { .. } => {}
        }
        Ok(SessionStatus::Running)
    }

    fn log(&mut self, level: vat::Level, text: String) {
        if self.lines > 0 {
            // The journal already has this line.
            self.lines -= 1;
        } else if self.phase == Phase::Running {
            let level = format!("{level:?}").to_lowercase();
            self.unrecorded.push(CodeEntry::Logged { level, text: Untrusted::new(text) });
        }
    }

    /// Returns the error for an order that the heap could not understand.
    pub fn order_error(&mut self, line: String) -> SessionError {
        // One reason is a name that the language does not allow. None of the code has run.
        let help = "a name in code is a word of letters, digits, `_` and `$`";
        SessionError::Code(failed("vat/refused", line, help))
    }

    /// Continues the session after an event, and returns its status. Once the heap has carried out all orders, it is
    /// told the next entries, answers or messages.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn resume(&mut self, tools: &mut SessionContext<'_>) -> Result<SessionStatus, SessionError> {
        // The heap is told one thing after another, in an order that can be repeated.
        while self.orders == 0 {
            if self.phase == Phase::Ending {
                return Err(SessionError::Cancelled(std::mem::take(&mut self.reason)));
            }
            if let Some(entry) = self.script.pop_front() {
                self.replay_entry(tools, entry)?;
                continue;
            }
            if self.phase == Phase::Reviving {
                self.finish_revival(tools)?;
            }
            if self.phase == Phase::Running {
                self.expect_all_resent()?;
            }
            if !self.outgoing.is_empty() {
                self.send_all(tools)?;
            }
            self.settle_resolved(tools)?;
            for DroppedReferences { imports, questions } in std::mem::take(&mut self.drops) {
                self.references.release(&self.board, &imports, &questions);
            }
            self.release_held(tools)?;
            let told = self.deliver_settled(tools)?;
            self.settle_answers(tools)?;
            if told || self.orders > 0 {
                continue;
            }
            let is_done =
                self.phase == Phase::Running && self.result.is_some() && self.pending_answers.is_empty();
            match self.messages.pop_front() {
                Some(letter) if !is_done => self.open_message(tools, letter)?,
                waits => {
                    if let Some(letter) = waits {
                        self.messages.push_front(letter);
                    }
                    match self.phase {
                        Phase::Live => break,
                        _ => return self.status(tools),
                    }
                }
            }
        }
        Ok(SessionStatus::Running)
    }

    /// Makes the heap live. All recorded entries have been replayed, so the heap is as it was when the code ended.
    fn finish_revival(&mut self, tools: &SessionContext<'_>) -> Result<(), SessionError> {
        self.expect_all_resent()?;
        if !self.outgoing.is_empty() {
            return Err(SessionError::Code(divergence("it asks for more than the first time")));
        }
        let lasting: Vec<u32> = self.references.lasting_objects().collect();
        let eval = self.job.eval;
        let (named, promised) = tools.daemon.read(|txn| {
            let (mut named, mut promised) = (Vec::new(), Vec::new());
            for number in lasting {
                if kernel::table::formula(txn, &code::export_id(&eval, number))?.is_some() {
                    named.push(number);
                }
                let which = CodePromise::Numbered(number);
                if kernel::table::formula(txn, &code::promise_id(&eval, which))?.is_some() {
                    promised.push(which);
                }
            }
            Ok((named, promised))
        })?;
        for number in named {
            self.references.assign_id(number);
        }
        promised.into_iter().for_each(|which| self.references.record_promise(which));
        self.phase = Phase::Live;
        Ok(())
    }

    /// Checks that the code has made all recorded sends again.
    fn expect_all_resent(&self) -> Result<(), SessionError> {
        match self.recorded_sends.keys().find(|send| **send >= self.sent) {
            Some(_) => Err(SessionError::Code(divergence("it sends less"))),
            None => Ok(()),
        }
    }

    /// Records the new entries in the journal.
    fn record(&mut self, tools: &SessionContext<'_>) -> Result<(), SessionError> {
        if self.unrecorded.is_empty() || self.phase != Phase::Running {
            return Ok(());
        }
        let (eval, from) = (self.job.eval, self.recorded);
        let entries = std::mem::take(&mut self.unrecorded);
        let count = entries.len() as u64;
        match act(tools, CodeAct::Record { eval, from, entries })? {
            Reply::AlreadySettled => Err(SessionError::Ended),
            _ => {
                self.recorded += count;
                Ok(())
            }
        }
    }

    /// Returns the status of the session when the heap has nothing to do.
    fn status(&mut self, tools: &mut SessionContext<'_>) -> Result<SessionStatus, SessionError> {
        if !self.pending_answers.is_empty() {
            return Ok(self.wait_targets(tools)?.map_or(SessionStatus::Running, SessionStatus::Waiting));
        }
        let Some((outcome, place)) = self.result.take() else {
            // If others may call the code's objects, a call can still make the code continue.
            if self.references.promises.is_empty() && !self.references.can_be_called() {
                let what = "it waits for something that never comes";
                let help = "nothing can settle what it waits for";
                return Err(SessionError::Code(failed("vat/waits", what, help)));
            }
            return Ok(self.wait_targets(tools)?.map_or(SessionStatus::Running, SessionStatus::Waiting));
        };
        let outcome = match outcome {
            Outcome::Ok(value) => self.durable_result(tools, &value)?,
            Outcome::Err(value) => exception(&value, place.as_ref()),
        };
        self.record(tools)?;
        Ok(SessionStatus::Done(outcome, self.references.has_exports()))
    }

    /// Returns the store's promises and the calls awaiting approval that the heap waits for. Returns `None` if the
    /// heap waits for anything else. Everything that the heap was told is recorded first, so the heap may be closed.
    fn wait_targets(
        &mut self,
        tools: &SessionContext<'_>,
    ) -> Result<Option<BTreeSet<WaitTarget>>, SessionError> {
        // The heap must stay in memory if it holds an object that could not be found again. The same is true while a
        // caller waits for its answer, or a send is held.
        if self.references.has_transient || !self.replies.is_empty() || !self.held.is_empty() {
            return Ok(None);
        }
        let board = lock_board(&self.board);
        let promised = |promise: Ref| match self.table.object(promise) {
            Some(RemoteObject::Promise { id, .. }) => Some(WaitTarget::Promise(*id)),
            _ => None,
        };
        let given =
            self.references.promises.iter().map(|number| self.references.host(*number).and_then(promised));
        let asked = self.pending_answers.values().map(|asked| {
            let answer = self.references.target(Slot::Question(asked.question?))?;
            let call = || self.table.waiting_call(answer).map(|at| WaitTarget::Call(at.host, at.step));
            board.follows(answer).and_then(promised).or_else(call)
        });
        let all: Option<BTreeSet<WaitTarget>> = given.chain(asked).collect();
        drop(board);
        if all.is_some() {
            self.record(tools)?;
        }
        Ok(all)
    }

    /// Returns the outcome of code that returned a value, in the form that the store keeps.
    fn durable_result(
        &mut self,
        tools: &SessionContext<'_>,
        value: &Value<Slot>,
    ) -> Result<RunOutcome, SessionError> {
        self.identify_exports(tools, value)?;
        self.settle_resolved(tools)?;
        self.settle_answers(tools)?;
        let mapped = self.lasting_value(value);
        Ok(match mapped {
            Ok(value) => RunOutcome::Done(value),
            Err(()) => {
                let what = "its result has something in it that ends with it";
                failed("vat/not-durable", what, "let it return data, or objects of its own")
            }
        })
    }

    /// Marks the code as ended. Others may use its objects from now on.
    pub fn set_live(&mut self) {
        self.phase = Phase::Live;
        self.unrecorded.clear();
    }

    /// Cancels the code. The heap is told the reason, and is then closed.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn cancel(&mut self, tools: &mut SessionContext<'_>, reason: &str) -> Result<(), SessionError> {
        self.phase = Phase::Ending;
        self.reason = reason.to_owned();
        self.unrecorded.clear();
        self.outgoing.clear();
        let (vat, reason) = (self.vat, Value::error("Error", reason));
        self.order(tools, &Order::Cancel { vat, reason })
    }

    /// Passes on the answer to a call that was carried out elsewhere.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn receive_answer(
        &mut self,
        tools: &mut SessionContext<'_>,
        reach: Object,
        answer: Ref,
        came: Result<crate::objects::file_worker::TaskOutcome, Failure>,
    ) -> Result<SessionStatus, SessionError> {
        let courier = self.answer_sender(tools);
        with_table(&mut self.table, &self.board, tools.daemon, &courier, |home, context| {
            home.complete_task(context, reach, answer, came, None);
        });
        self.resume(tools)
    }

    /// Handles a change in the store.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn poll_store(&mut self, tools: &mut SessionContext<'_>) -> Result<SessionStatus, SessionError> {
        if !self.table.has_waiting() {
            return if self.phase == Phase::Running {
                self.resume(tools)
            } else {
                Ok(SessionStatus::Running)
            };
        }
        let courier = self.answer_sender(tools);
        with_table(&mut self.table, &self.board, tools.daemon, &courier, ObjectTable::poll_store);
        self.resume(tools)
    }

    /// Ends the session, and answers all callers that wait for the heap with the reason `why`.
    pub fn end(self, why: &str) {
        for (_, (reply, _)) in self.replies {
            reply.answer(Err(Value::error("Error", why)));
        }
        for letter in self.messages {
            letter.refuse(why);
        }
    }

    /// Returns the messages that the heap has not been told yet.
    pub fn take_unread(&mut self) -> VecDeque<ObjectMessage> {
        std::mem::take(&mut self.messages)
    }
}

/// Has the kernel apply an act. If the kernel refuses the act, the code fails.
fn act(tools: &SessionContext<'_>, act: CodeAct) -> Result<Reply, SessionError> {
    let shared = &tools.daemon;
    match shared.attempt(shared.root, None, Act::Code(act))? {
        Ok(outcome) => Ok(outcome.reply),
        // The code is gone, or is being removed.
        Err(Fault::Dangling(_)) => Err(SessionError::Ended),
        Err(fault) => Err(SessionError::Code(failed("vat/journal", fault.to_string(), "let it do less"))),
    }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, SessionError> {
    serde_json::from_str(text)
        .map_err(|e| SessionError::Code(divergence(&format!("its journal cannot be read: {e}"))))
}

fn write<T: serde::Serialize>(value: &T) -> Result<String, SessionError> {
    serde_json::to_string(value).map_err(|e| {
        SessionError::Code(failed("vat/journal", format!("it cannot be recorded: {e}"), "let it do less"))
    })
}

fn full_error(full: switchboard::LimitReached) -> SessionError {
    SessionError::Code(failed("vat/references", full.to_string(), "let it hold less at a time"))
}

fn error_text(value: &Value<Ref>) -> String {
    match value {
        Value::Error(error) => error.message.to_str_lossy().into_owned(),
        _ => RESTART_MESSAGE.to_owned(),
    }
}
