//! One piece of code in one heap: its sends go out, and the answers are recorded and told.
//!
//! A session begins with the entries of its journal. While any are left, the heap is told the same as before, and
//! every send is compared with the recorded one. Nothing goes out. Later sends are recorded before they go out, and
//! every answer before anything follows from it. So is every message that others send to its objects on the way. Once
//! the code has come to its end, others may still send messages to its objects. None of that is recorded, and all of
//! it ends with the heap.

mod again;
mod answers;
mod begin;
mod letters;
mod promises;
mod sends;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::code::{self, CodePromise, Entry, Of};
use kernel::command::{Act, CodeAct, Fault, Reply};
use kernel::run::RunOutcome;
use kernel::{BlobHash, FormulaId};
use passable::{Untrusted, Value};
use switchboard::{Party, Ref, Side, Switchboard};
use vat::{Host, HostError, Order, Outcome, Place, Report, Slot, VatId, Verb};

use super::lane::Job;
use super::outcome::{diverged, failed, fault, threw};
use super::parcel::Parcel;
use super::sleepers::Wait;
use super::slots::Slots;
use crate::objects::convert;
use crate::objects::file_worker::Task;
use crate::objects::object::{Object, Thing};
use crate::objects::perform;
use crate::objects::table::{Context, Courier, Errands, Home};
use crate::state::code_host;
use crate::state::code_host::{Letter, RESTARTED, Reply as Taker, restarted};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// The number of the answer to the order that evaluates.
const RESULT: u32 = 0;

/// The longest line about a send, in characters.
const LINE: usize = 160;

/// The parts of the daemon that a session needs.
pub struct Tools<'a> {
    pub daemon: &'a HostDaemon,
    pub jobs: &'a Sender<Job>,
    pub host: &'a mut Host,
}

/// Why a session cannot go on.
pub enum Broken {
    /// The process is gone.
    Host,
    /// The store failed: it is tried again later.
    Store(Failure),
    /// The code was cancelled, or has come to its end elsewhere.
    Gone,
    /// It was cancelled, and has been told: why it was.
    Over(String),
    /// The code itself is the reason: its outcome.
    Code(RunOutcome),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Broken {
        Broken::Store(failure)
    }
}

impl From<HostError> for Broken {
    fn from(error: HostError) -> Broken {
        match error {
            HostError::Frame(e) => {
                let what = format!("it cannot be told what to do: {e}");
                Broken::Code(failed("vat/large", what, "let it be given less"))
            }
            HostError::Gone | HostError::Start(_) => Broken::Host,
        }
    }
}

/// The phase of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// On the way to its end.
    Running,
    /// At its end before; it is made again as it was then.
    Reviving,
    /// At its end: its objects are there for others.
    Live,
    /// Cancelled: it hears of that, and then its heap goes.
    Ending,
}

/// How a session stands after something has happened.
#[derive(Debug)]
pub enum Stand {
    /// More is to come.
    On,
    /// It waits for these and for nothing else, but calls of others.
    Waits(BTreeSet<Wait>),
    /// It has come to its end: this came of it, and whether others may hold objects of it.
    Done(RunOutcome, bool),
}

/// A send that has left the heap and has not gone out.
struct Outgoing {
    send: u32,
    target: Slot,
    verb: Verb,
    args: Value<Slot>,
    question: Option<u32>,
    /// Whether an earlier heap has sent the same and the outcome is not known.
    again: bool,
    digest: BlobHash,
}

/// References that a heap has dropped: our numbers, each with how often the heap was told it, and answers.
struct Dropped {
    imports: Vec<(u32, u32)>,
    questions: Vec<u32>,
}

/// A send whose answer has not come yet.
#[derive(Clone, Copy)]
struct Asked {
    question: Option<u32>,
}

/// One piece of code in one heap.
pub struct Session {
    pub parcel: Box<Parcel>,
    pub vat: VatId,
    phase: Phase,
    board: Mutex<Switchboard>,
    side: Side,
    home: Home,
    slots: Slots,
    /// How many entries the journal has.
    recorded: u64,
    /// The entries that are still to be added to the journal.
    fresh: Vec<Entry>,
    /// The recorded entries that the heap is still to be told again.
    script: VecDeque<Entry>,
    /// The recorded sends.
    known: BTreeMap<u32, BlobHash>,
    /// The recorded sends whose answer is recorded.
    answered: BTreeSet<u32>,
    /// How many lines of the console are recorded.
    lines: usize,
    /// How many bytes it was told, since this heap was made.
    heard: usize,
    /// How many bytes of that others told it.
    called: usize,
    /// How many sends have left the heap.
    sent: u32,
    outgoing: Vec<Outgoing>,
    /// The references that the heap has dropped. Sends that have left it may still need them.
    drops: Vec<Dropped>,
    asked: BTreeMap<u32, Asked>,
    /// How many orders the heap has not carried out.
    orders: usize,
    result: Option<(Outcome, Option<Place>)>,
    /// Why it was cancelled, if it was.
    reason: String,
    /// Messages that wait until the heap has nothing else to do.
    letters: VecDeque<Letter>,
    /// Those that are being answered, and who has sent each.
    replies: BTreeMap<u32, (Taker, FormulaId)>,
    next_reply: u32,
    /// The outcomes of the heap's promises that the store does not know yet.
    resolved: BTreeMap<u32, Outcome>,
    /// Answers to its own sends for which the store waits.
    open_answers: BTreeSet<u32>,
    /// For how many of its promises the store waits.
    unsettled: usize,
    /// Sends to answers that are not known yet.
    held: Vec<again::Held>,
}

/// Keeps the errands of a heap until its own thread does them.
struct HeapErrands<'a> {
    tasks: RefCell<VecDeque<Task>>,
    courier: &'a Courier,
}

impl Errands for HeapErrands<'_> {
    fn later(&self, task: Task) -> bool {
        self.tasks.borrow_mut().push_back(task);
        true
    }

    fn courier(&self) -> Courier {
        Arc::clone(self.courier)
    }
}

/// Does something with a home, and then all that follows from it.
fn attend(
    home: &mut Home,
    board: &Mutex<Switchboard>,
    daemon: &HostDaemon,
    courier: &Courier,
    first: impl FnOnce(&mut Home, &Context<'_>),
) {
    let errands = HeapErrands { tasks: RefCell::default(), courier };
    let context = Context::new(daemon, board, &errands);
    first(home, &context);
    loop {
        home.work_through(&context);
        home.look_at_promises(&context);
        // The task runs on this thread: only this agent's code waits for it.
        let Some(task) = errands.tasks.borrow_mut().pop_front() else { return };
        let done = task.carry_out(daemon.downgrade());
        home.came(&context, done.reach, done.answer, done.came, done.hold.as_ref());
    }
}

fn locked(board: &Mutex<Switchboard>) -> MutexGuard<'_, Switchboard> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Returns a session over the entries of the journal. `phase` tells whether the code has come to its end before.
    /// `remade_by` names the other engine that may make it again.
    pub fn new(
        parcel: Box<Parcel>,
        phase: Phase,
        journal: Vec<code::Record>,
        vat: VatId,
        heap: u64,
        remade_by: Option<&str>,
    ) -> Result<Session, Broken> {
        let mut board = Switchboard::new();
        let side = board.add(Party::default());
        let home = Home::of_code(&mut board, parcel.eval);
        let recorded = journal.len() as u64;
        let script: VecDeque<Entry> = journal.into_iter().map(|record| record.entry).collect();
        let (mut known, mut answered, mut lines) = (BTreeMap::new(), BTreeSet::new(), 0);
        for entry in &script {
            match entry {
                Entry::Began { engine: other, .. }
                    if *other != code_host::engine() && remade_by != Some(code_host::engine().as_str()) =>
                {
                    let what = format!("it began in {other}, and this is {}", code_host::engine());
                    let help = match phase {
                        Phase::Running => "what it has done is done; run what is left as new code",
                        _ => {
                            "what it came to is as it was; `almoner remake NAME` makes its objects in this one"
                        }
                    };
                    let what = if phase == Phase::Running { what } else { format!("{what}: {help}") };
                    return Err(Broken::Code(failed("vat/engine", what, help)));
                }
                Entry::Began { .. } => {}
                Entry::Sent { send, digest, .. } => drop(known.insert(*send, *digest)),
                Entry::Heard { of: Of::Send(send), .. } => drop(answered.insert(*send)),
                Entry::Heard { .. } | Entry::Called { .. } => {}
                Entry::Logged { .. } => lines += 1,
            }
        }
        let slots = Slots::new(parcel.eval, heap, side);
        Ok(Session {
            parcel,
            vat,
            phase,
            board: Mutex::new(board),
            side,
            home,
            slots,
            recorded,
            fresh: vec![],
            script,
            known,
            answered,
            lines,
            heard: 0,
            called: 0,
            sent: 0,
            outgoing: vec![],
            drops: vec![],
            asked: BTreeMap::new(),
            orders: 0,
            result: None,
            reason: String::new(),
            letters: VecDeque::new(),
            replies: BTreeMap::new(),
            next_reply: RESULT,
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

    /// Returns the heap, among all that there have been.
    pub fn heap(&self) -> u64 {
        self.slots.heap
    }

    /// Returns whether no caller waits for it: it has come to its end, and answers no message just now.
    pub fn is_at_rest(&self) -> bool {
        self.phase == Phase::Live
            && self.replies.is_empty()
            && self.letters.is_empty()
            && self.asked.is_empty()
    }

    /// Returns how many entries its journal has.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Returns the formulas that it refers to.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        let mut pins = self.home.pins();
        pins.insert(self.parcel.eval);
        pins.extend(self.slots.promised_ids());
        pins
    }

    fn order(&mut self, tools: &mut Tools<'_>, order: &Order) -> Result<(), Broken> {
        tools.host.order(order)?;
        self.orders += 1;
        Ok(())
    }

    fn courier(&self, tools: &Tools<'_>) -> Courier {
        let (eval, heap) = (self.parcel.eval, self.slots.heap);
        let jobs = Mutex::new(tools.jobs.clone());
        let nudge = tools.host.waker();
        Arc::new(move |reach, answer, came| {
            let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            // A lane that is gone needs no answer.
            drop(jobs.send(Job::Came { eval, heap, reach, answer, came: Box::new(came) }));
            nudge.wake();
        })
    }

    /// Returns the heap says something.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn hear(&mut self, tools: &mut Tools<'_>, report: Report) -> Result<Stand, Broken> {
        match report {
            // Nothing goes out any more.
            Report::Send { .. } if self.phase == Phase::Ending => {}
            Report::Send { target, verb, args, question, .. } => self.leaves(target, verb, args, question)?,
            Report::Answer { answer: RESULT, outcome, place, .. } => {
                let (Outcome::Ok(value) | Outcome::Err(value)) = &outcome;
                self.slots.note_lasting(value);
                self.result = Some((outcome, place));
            }
            Report::Answer { answer, outcome, .. } => self.answer_letter(tools, answer, &outcome)?,
            Report::Guard { export, guard, .. } => self.slots.guarded(export, &guard),
            Report::Dropped { imports, questions, .. } => {
                self.drops.push(Dropped { imports, questions });
            }
            Report::Console { level, text, .. } => self.log(level, text),
            Report::Fault { kind, line, .. } => return Err(Broken::Code(fault(kind, &line))),
            Report::Ready { .. } | Report::Idle { .. } => {
                self.orders = self.orders.saturating_sub(1);
                return self.go_on(tools);
            }
            Report::Resolve { promise, outcome, .. } => drop(self.resolved.insert(promise, outcome)),
            Report::Closed { .. } | Report::Pong { .. } | Report::Refused { .. } => {}
        }
        Ok(Stand::On)
    }

    fn log(&mut self, level: vat::Level, text: String) {
        if self.lines > 0 {
            // It is recorded.
            self.lines -= 1;
        } else if self.phase == Phase::Running {
            let level = format!("{level:?}").to_lowercase();
            self.fresh.push(Entry::Logged { level, text: Untrusted::new(text) });
        }
    }

    /// Returns the heap could make nothing of an order.
    pub fn refused(&mut self, line: String) -> Broken {
        // A name that is none in the language, say. Nothing of the code has run.
        let help = "a name in code is a word of letters, digits, `_` and `$`";
        Broken::Code(failed("vat/refused", line, help))
    }

    /// Continues after something has happened elsewhere, and passes the results on.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn go_on(&mut self, tools: &mut Tools<'_>) -> Result<Stand, Broken> {
        // The heap is told one thing after the other, in an order that can be repeated.
        while self.orders == 0 {
            if self.phase == Phase::Ending {
                return Err(Broken::Over(std::mem::take(&mut self.reason)));
            }
            if let Some(entry) = self.script.pop_front() {
                self.tell_again(tools, entry)?;
                continue;
            }
            if self.phase == Phase::Reviving {
                self.revived(tools)?;
            }
            if self.phase == Phase::Running {
                self.expect_same()?;
            }
            if !self.outgoing.is_empty() {
                self.send_all(tools)?;
            }
            self.settle_resolved(tools)?;
            for Dropped { imports, questions } in std::mem::take(&mut self.drops) {
                self.slots.dropped(&self.board, &imports, &questions);
            }
            self.release_held(tools)?;
            let told = self.tell_all(tools)?;
            self.settle_answers(tools)?;
            if told || self.orders > 0 {
                continue;
            }
            let is_done = self.phase == Phase::Running && self.result.is_some() && self.asked.is_empty();
            match self.letters.pop_front() {
                Some(letter) if !is_done => self.open_letter(tools, letter)?,
                waits => {
                    if let Some(letter) = waits {
                        self.letters.push_front(letter);
                    }
                    match self.phase {
                        Phase::Live => break,
                        _ => return self.stand(tools),
                    }
                }
            }
        }
        Ok(Stand::On)
    }

    /// Makes the heap live. All recorded entries have happened again, so it is as it was at its end.
    fn revived(&mut self, tools: &Tools<'_>) -> Result<(), Broken> {
        self.expect_same()?;
        if !self.outgoing.is_empty() {
            return Err(Broken::Code(diverged("it asks for more than the first time")));
        }
        let lasting: Vec<u32> = self.slots.lasting().collect();
        let eval = self.parcel.eval;
        let (named, promised) = tools.daemon.read(|txn| {
            let (mut named, mut promised) = (Vec::new(), Vec::new());
            for number in lasting {
                if kernel::table::formula(txn, &code::export_id(&eval, number))?.is_some() {
                    named.push(number);
                }
                let which = CodePromise::Own(number);
                if kernel::table::formula(txn, &code::promise_id(&eval, which))?.is_some() {
                    promised.push(which);
                }
            }
            Ok((named, promised))
        })?;
        for number in named {
            self.slots.named(number);
        }
        promised.into_iter().for_each(|which| self.slots.promise(which));
        self.phase = Phase::Live;
        Ok(())
    }

    /// Checks that the code has sent all recorded sends again.
    fn expect_same(&self) -> Result<(), Broken> {
        match self.known.keys().find(|send| **send >= self.sent) {
            Some(_) => Err(Broken::Code(diverged("it sends less"))),
            None => Ok(()),
        }
    }

    /// Records the new entries in the journal.
    fn record(&mut self, tools: &Tools<'_>) -> Result<(), Broken> {
        if self.fresh.is_empty() || self.phase != Phase::Running {
            return Ok(());
        }
        let (eval, from) = (self.parcel.eval, self.recorded);
        let entries = std::mem::take(&mut self.fresh);
        let count = entries.len() as u64;
        match act(tools, CodeAct::Record { eval, from, entries })? {
            Reply::AlreadySettled => Err(Broken::Gone),
            _ => {
                self.recorded += count;
                Ok(())
            }
        }
    }

    /// Returns how it stands when the heap has nothing to do.
    fn stand(&mut self, tools: &mut Tools<'_>) -> Result<Stand, Broken> {
        if !self.asked.is_empty() {
            return Ok(self.sleeps(tools)?.map_or(Stand::On, Stand::Waits));
        }
        let Some((outcome, place)) = self.result.take() else {
            // Others may still call its objects.
            if self.slots.promises.is_empty() && !self.slots.can_be_called() {
                let what = "it waits for something that never comes";
                let help = "nothing can settle what it waits for";
                return Err(Broken::Code(failed("vat/waits", what, help)));
            }
            return Ok(self.sleeps(tools)?.map_or(Stand::On, Stand::Waits));
        };
        let outcome = match outcome {
            Outcome::Ok(value) => self.came_to(tools, &value)?,
            Outcome::Err(value) => threw(&value, place.as_ref()),
        };
        self.record(tools)?;
        Ok(Stand::Done(outcome, self.slots.has_exports()))
    }

    /// Returns the promises of the store and the calls before the user that the heap waits for, if it waits for
    /// nothing else. The journal has all that the heap was told, so the heap may go.
    fn sleeps(&mut self, tools: &Tools<'_>) -> Result<Option<BTreeSet<Wait>>, Broken> {
        // An object that would not be found again keeps the heap, and so does a caller that waits for its answer.
        if self.slots.has_passing || !self.replies.is_empty() || !self.held.is_empty() {
            return Ok(None);
        }
        let board = locked(&self.board);
        let promised = |promise: Ref| match self.home.thing(promise) {
            Some(Thing::Promise { id, .. }) => Some(Wait::Promise(*id)),
            _ => None,
        };
        let given = self.slots.promises.iter().map(|number| self.slots.host(*number).and_then(promised));
        let asked = self.asked.values().map(|asked| {
            let answer = self.slots.target(Slot::Question(asked.question?))?;
            let call = || self.home.waits_for_person(answer).map(|at| Wait::Call(at.host, at.step));
            board.follows(answer).and_then(promised).or_else(call)
        });
        let all: Option<BTreeSet<Wait>> = given.chain(asked).collect();
        drop(board);
        if all.is_some() {
            self.record(tools)?;
        }
        Ok(all)
    }

    /// Returns the result as the store keeps it.
    fn came_to(&mut self, tools: &Tools<'_>, value: &Value<Slot>) -> Result<RunOutcome, Broken> {
        self.export(tools, value)?;
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

    /// Marks the code as ended: its objects are there for others.
    pub fn live(&mut self) {
        self.phase = Phase::Live;
        self.fresh.clear();
    }

    /// Cancels the code: the heap is told the reason, and then goes.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn cancel(&mut self, tools: &mut Tools<'_>, reason: &str) -> Result<(), Broken> {
        self.phase = Phase::Ending;
        self.reason = reason.to_owned();
        self.fresh.clear();
        self.outgoing.clear();
        let (vat, reason) = (self.vat, Value::error("Error", reason));
        self.order(tools, &Order::Cancel { vat, reason })
    }

    /// Returns an answer has come from elsewhere.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn came(
        &mut self,
        tools: &mut Tools<'_>,
        reach: Object,
        answer: Ref,
        came: Result<crate::objects::file_worker::Came, Failure>,
    ) -> Result<Stand, Broken> {
        let courier = self.courier(tools);
        attend(&mut self.home, &self.board, tools.daemon, &courier, |home, context| {
            home.came(context, reach, answer, came, None);
        });
        self.go_on(tools)
    }

    /// Returns something in the store is new.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn look_around(&mut self, tools: &mut Tools<'_>) -> Result<Stand, Broken> {
        if !self.home.waits() {
            return if self.phase == Phase::Running { self.go_on(tools) } else { Ok(Stand::On) };
        }
        let courier = self.courier(tools);
        attend(&mut self.home, &self.board, tools.daemon, &courier, Home::look_around);
        self.go_on(tools)
    }

    /// Ends the session, and tells all callers that wait for the heap why.
    pub fn end(self, why: &str) {
        for (_, (reply, _)) in self.replies {
            reply.answer(Err(Value::error("Error", why)));
        }
        for letter in self.letters {
            letter.refuse(why);
        }
    }

    /// Returns the messages that the heap has not been told yet.
    pub fn unread(&mut self) -> VecDeque<Letter> {
        std::mem::take(&mut self.letters)
    }
}

/// Has the kernel carry out an act. A refusal becomes the outcome of the code.
fn act(tools: &Tools<'_>, act: CodeAct) -> Result<Reply, Broken> {
    let shared = &tools.daemon;
    match shared.attempt(shared.root, None, Act::Code(act))? {
        Ok(outcome) => Ok(outcome.reply),
        // It is gone, or goes.
        Err(Fault::Dangling(_)) => Err(Broken::Gone),
        Err(fault) => Err(Broken::Code(failed("vat/journal", fault.to_string(), "let it do less"))),
    }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Broken> {
    serde_json::from_str(text)
        .map_err(|e| Broken::Code(diverged(&format!("its journal cannot be read: {e}"))))
}

fn write<T: serde::Serialize>(value: &T) -> Result<String, Broken> {
    serde_json::to_string(value).map_err(|e| {
        Broken::Code(failed("vat/journal", format!("it cannot be recorded: {e}"), "let it do less"))
    })
}

fn too_full(full: switchboard::Full) -> Broken {
    Broken::Code(failed("vat/references", full.to_string(), "let it hold less at a time"))
}

fn said(value: &Value<Ref>) -> String {
    match value {
        Value::Error(error) => error.message.to_str_lossy().into_owned(),
        _ => RESTARTED.to_owned(),
    }
}
