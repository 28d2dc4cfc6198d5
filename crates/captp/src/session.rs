//! A session: one connection between two ends, each with its table of references.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use passable::{ErrorData, Text, Value};
use switchboard::{
    Action, Call, CallTarget, Key, LimitReached, Name, Outcome, Ref, Side, SideOptions, Switchboard,
};

use crate::message::{Body, Message};
use crate::slot::{Kind, Slot};
use crate::tables::{Answers, CloseOutcome, Exports, Imports};
use crate::violation::Violation;

/// The options of a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of this end in the identifiers of errors.
    pub name: String,
    /// The limits of the peer's use of the switchboard.
    pub limits: switchboard::Limits,
    /// The maximum number of open questions of the peer. A further question is answered with an exception.
    pub questions: usize,
    /// The number of bytes that must be sent after an answer was given or last used, before the answer is forgotten.
    ///
    /// An object is kept eight times as long. A message that the peer sent before it read the answer may still name
    /// the question. After so many more bytes, the peer has read the answer.
    pub memory: u64,
    /// Whether the peer is told which references this end no longer uses.
    ///
    /// When JavaScript's CapTP sends a dropped value again, it gives the value no new name, and would not find it
    /// under the old one.
    pub drops: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: "Endo".to_owned(),
            limits: switchboard::Limits::default(),
            questions: 10_000,
            memory: 512 << 10,
            drops: false,
        }
    }
}

/// The maximum number of settled promises of the peer that are remembered although no side refers to them.
const MAX_SETTLED_IMPORTS: usize = 10_000;

/// The additional time for which an object is remembered as an answer, as a multiple of the time for data.
const OBJECT_MEMORY_FACTOR: u64 = 7;

/// The number after which the identifiers of errors begin.
const FIRST_ERROR_ID: u64 = 20_000;

/// One connection to a peer.
pub struct Session {
    side: Side,
    options: Options,
    exports: Exports,
    imports: Imports,
    answers: Answers,
    /// Our own questions: the promise for each answer by the number of the question, and the number by the promise.
    questions: HashMap<u64, Ref>,
    question_names: HashMap<Ref, u64>,
    last_question: u64,
    /// The numbers of the peer's promises that have settled, oldest first.
    settled_imports: VecDeque<u64>,
    root: Value<Ref>,
    out: Vec<Message>,
    sent: u64,
    errors: u64,
    /// The reason why the session is over, if it is.
    over: Option<String>,
}

/// The reason why this session watches a promise.
enum Tag {
    Return(u64),
    Resolve(u64),
}

impl Tag {
    fn to_number(&self) -> u64 {
        match self {
            Tag::Return(question) => question << 1,
            Tag::Resolve(promise) => promise << 1 | 1,
        }
    }

    fn of(number: u64) -> Tag {
        match number & 1 {
            0 => Tag::Return(number >> 1),
            _ => Tag::Resolve(number >> 1),
        }
    }
}

fn key(kind: Kind, number: u64) -> Key {
    number << 1 | u64::from(kind == Kind::Promise)
}

fn of_key(key: Key) -> (Kind, u64) {
    (if key & 1 == 1 { Kind::Promise } else { Kind::Object }, key >> 1)
}

impl Session {
    /// Opens a session with a peer, which gets `root` when it asks for the root object.
    ///
    /// # Errors
    /// [`LimitReached`] when the side cannot hold the references in `root`.
    pub fn open(
        board: &mut Switchboard,
        root: Value<Ref>,
        options: Options,
    ) -> Result<Session, LimitReached> {
        let side = board.add(SideOptions { limits: options.limits, pipelines: true });
        for reference in root.references() {
            board.hold(side, *reference)?;
        }
        Ok(Session {
            side,
            options,
            exports: Exports::default(),
            imports: Imports::default(),
            answers: Answers::default(),
            questions: HashMap::new(),
            question_names: HashMap::new(),
            last_question: 0,
            settled_imports: VecDeque::new(),
            root,
            out: vec![],
            sent: 0,
            errors: FIRST_ERROR_ID,
            over: None,
        })
    }

    /// Returns the side of the switchboard that stands for the peer.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Returns the reason why the session is over, if it is.
    pub fn over(&self) -> Option<&str> {
        self.over.as_deref()
    }

    /// Returns the numbers of the exports, imports, answers and questions that are remembered.
    pub fn sizes(&self) -> [usize; 4] {
        [self.exports.len(), self.imports.len(), self.answers.len(), self.questions.len()]
    }

    /// Asks the peer for its root object. Returns the promise for the object, which `asker` holds.
    ///
    /// # Errors
    /// [`LimitReached`] when the switchboard takes no further promise.
    pub fn ask_root(&mut self, board: &mut Switchboard, asker: Side) -> Result<Ref, LimitReached> {
        let promise = board.promise(self.side, None)?;
        board.hold(asker, promise)?;
        let question = self.ask(promise);
        self.out.push(Message::Bootstrap { question });
        Ok(promise)
    }

    fn ask(&mut self, promise: Ref) -> u64 {
        self.last_question += 1;
        self.questions.insert(self.last_question, promise);
        self.question_names.insert(promise, self.last_question);
        self.last_question
    }

    /// Handles a message from the peer.
    ///
    /// # Errors
    /// [`Violation`] when the peer breaks the protocol. The session is then over, and the next [`Session::flush`]
    /// returns a message that tells the peer the reason.
    pub fn receive(&mut self, board: &mut Switchboard, message: Message) -> Result<(), Violation> {
        if self.over.is_some() {
            return Ok(());
        }
        let done = self.handle_message(board, message);
        if let Err(violation) = &done {
            self.end_with_violation(board, violation);
        }
        done
    }

    /// Ends the session because the peer has broken the protocol, for example with bytes that are no message.
    pub fn end_with_violation(&mut self, board: &mut Switchboard, violation: &dyn std::fmt::Display) {
        let reason = violation.to_string();
        if self.over.is_none() {
            self.out.push(Message::disconnect(&reason));
            self.close(board, reason);
        }
    }

    /// Ends the session and tells the peer the reason.
    pub fn disconnect(&mut self, board: &mut Switchboard, reason: &str) {
        self.end_with_violation(board, &reason);
    }

    /// Ends the session because the connection is lost.
    pub fn lost(&mut self, board: &mut Switchboard, reason: &str) {
        self.close(board, reason.to_owned());
    }

    fn close(&mut self, board: &mut Switchboard, reason: String) {
        if self.over.is_none() {
            board.end(self.side, Value::error("Error", reason.clone()));
            self.over = Some(reason);
        }
    }

    fn handle_message(&mut self, board: &mut Switchboard, message: Message) -> Result<(), Violation> {
        match message {
            Message::Bootstrap { question } => {
                self.check_new(question)?;
                let promise = self.answer_at_once(board, question)?;
                board.resolve(self.side, promise, Ok(self.root.clone()));
                Ok(())
            }
            Message::Call { question, target, method, trap } => {
                self.call(board, question, target, &method, trap)
            }
            Message::Return { question, outcome } => {
                let promise = self
                    .questions
                    .get(&question)
                    .copied()
                    .ok_or(Violation::UnknownQuestion(Slot::theirs(Kind::Question, question)))?;
                self.settle(board, promise, &outcome)?;
                self.questions.remove(&question);
                self.question_names.remove(&promise);
                if self.options.drops {
                    // Later calls go to the outcome itself, so the answer is no longer needed.
                    let slot = Slot::theirs(Kind::Question, question);
                    self.out.push(Message::Drop { slot, references: 1 });
                }
                Ok(())
            }
            Message::Resolve { promise, outcome } => self.resolved(board, promise, &outcome),
            Message::Drop { slot, references } => self.dropped(board, slot, references),
            Message::Disconnect { reason } => {
                let words = match &reason {
                    Some(reason) => {
                        serde_json::from_str(reason.get()).unwrap_or_else(|_| reason.get().to_owned())
                    }
                    None => format!("{:?} connection closed", self.options.name),
                };
                // The disconnect is echoed only once, because a peer that has ended the session does not answer the
                // echo.
                self.out.push(Message::Disconnect { reason });
                self.close(board, words);
                Ok(())
            }
            Message::TrapIterate => Err(Violation::Trap),
        }
    }

    fn check_new(&self, question: u64) -> Result<(), Violation> {
        match self.answers.find(question) {
            None => Ok(()),
            Some(_) => Err(Violation::AskedTwice(Slot::theirs(Kind::Question, question))),
        }
    }

    /// Registers a question that this session answers itself. Returns the promise for the answer.
    fn answer_at_once(&mut self, board: &mut Switchboard, question: u64) -> Result<Ref, Violation> {
        let promise = board.promise(self.side, None)?;
        board.hold(self.side, promise)?;
        self.answers.add(question, promise);
        board.watch(self.side, promise, Tag::Return(question).to_number());
        Ok(promise)
    }

    fn refuse(
        &mut self,
        board: &mut Switchboard,
        question: u64,
        name: &str,
        message: String,
    ) -> Result<(), Violation> {
        let promise = self.answer_at_once(board, question)?;
        board.resolve(self.side, promise, Err(Value::error(name, message)));
        Ok(())
    }

    fn call(
        &mut self,
        board: &mut Switchboard,
        question: u64,
        target: Slot,
        method: &Body,
        trap: bool,
    ) -> Result<(), Violation> {
        self.check_new(question)?;
        let call = read_call(method)?;
        let mut seen = MessageImports::default();
        let target = match target {
            Slot { kind: Kind::Question, own: false, number } => match self.answers.use_at(number, self.sent)
            {
                Some(promise) => promise,
                None => {
                    let message = format!("the answer to {target} is not remembered");
                    return self.refuse(board, question, "Error", message);
                }
            },
            slot => self.import(board, slot, &mut seen)?,
        };
        let call = call.try_map_references(&mut |slot| self.import(board, *slot, &mut seen))?;
        if self.answers.open() >= self.options.questions {
            let message = format!("too many questions: {} can be open at a time", self.options.questions);
            self.refuse(board, question, "Error", message)?;
        } else if trap {
            let message = "Refused Trap because target was not registered with makeTrapHandler".to_owned();
            self.refuse(board, question, "Error", message)?;
        } else {
            let answer = board.send(self.side, target, call)?;
            self.answers.add(question, answer);
            board.watch(self.side, answer, Tag::Return(question).to_number());
        }
        seen.done(board);
        Ok(())
    }

    fn settle(
        &mut self,
        board: &mut Switchboard,
        promise: Ref,
        outcome: &Result<Body, Body>,
    ) -> Result<(), Violation> {
        let mut seen = MessageImports::default();
        let (Ok(value) | Err(value)) = outcome;
        let value = value.try_map_references(&mut |slot| self.import(board, *slot, &mut seen))?;
        board.resolve(self.side, promise, if outcome.is_ok() { Ok(value) } else { Err(value) });
        seen.done(board);
        Ok(())
    }

    fn resolved(
        &mut self,
        board: &mut Switchboard,
        promise: Slot,
        outcome: &Result<Body, Body>,
    ) -> Result<(), Violation> {
        // The slot is written in our terms: `-` means that the peer has chosen the number.
        let known = match promise {
            Slot { kind: Kind::Promise, own: false, number } => {
                let import = self.imports.find(Kind::Promise, number);
                import
                    .filter(|import| board.owner(import.reference).is_some_and(|(side, _)| side == self.side))
            }
            _ => None,
        };
        let import = known.ok_or(Violation::UnknownPromise(promise))?;
        self.settle(board, import.reference, outcome)?;
        self.settled_imports.push_back(promise.number);
        while self.settled_imports.len() > MAX_SETTLED_IMPORTS {
            let Some(oldest) = self.settled_imports.pop_front() else { break };
            if let Some(import) = self.imports.remove(Kind::Promise, oldest) {
                board.release(self.side, import.reference);
            }
        }
        Ok(())
    }

    fn dropped(&mut self, board: &mut Switchboard, slot: Slot, references: u64) -> Result<(), Violation> {
        let dropped = match slot {
            Slot { kind: Kind::Question, own: false, number } => self.answers.drop(number),
            Slot { kind: Kind::Object | Kind::Promise, own: false, number } => {
                self.exports.drop(slot.kind, number, references)
            }
            _ => return Err(Violation::Slot { slot, name: "slotID" }),
        };
        if let Some(dropped) = dropped {
            board.release(self.side, dropped);
        }
        Ok(())
    }

    /// Returns the reference for a slot in a message from the peer.
    fn import(
        &mut self,
        board: &mut Switchboard,
        slot: Slot,
        seen: &mut MessageImports,
    ) -> Result<Ref, Violation> {
        let Slot { kind, own, number } = slot;
        match (kind, own) {
            (Kind::Object | Kind::Promise, false) => {
                self.exports.find(kind, number).ok_or(Violation::UnknownExport(slot.flipped()))
            }
            (Kind::Object | Kind::Promise, true) => {
                let known = self.imports.find(kind, number).map(|import| import.reference);
                // The board may just have forgotten an object to which nothing refers.
                let alive = known.filter(|known| kind == Kind::Promise || board.owner(*known).is_some());
                let reference = match alive {
                    Some(reference) => reference,
                    None => {
                        let new = match kind {
                            Kind::Promise => board.promise(self.side, None)?,
                            _ => board.object(self.side, key(kind, number))?,
                        };
                        if kind == Kind::Promise {
                            // The peer may mention a settled promise again, but does not settle it again.
                            board.hold(self.side, new)?;
                        }
                        self.imports.put(kind, number, new);
                        new
                    }
                };
                if seen.slots.insert((kind, number)) {
                    self.imports.mention(kind, number);
                    seen.references.push(reference);
                }
                Ok(reference)
            }
            (Kind::Question | Kind::Trap, _) => Err(Violation::Slot { slot, name: "reference" }),
        }
    }

    /// Returns the messages to send, in order.
    ///
    /// The caller must call this function whenever the switchboard says that the side is ready, and after every
    /// received message.
    pub fn flush(&mut self, board: &mut Switchboard) -> Vec<Message> {
        while self.over.is_none() {
            let actions = board.take(self.side);
            if actions.is_empty() {
                break;
            }
            for action in actions {
                if let Err(full) = self.act(board, action) {
                    self.end_with_violation(board, &full);
                    break;
                }
            }
            board.give_back(self.side);
        }
        std::mem::take(&mut self.out)
    }

    /// Counts bytes that were sent to the peer since the last call. Forgets the answers that the peer must have read
    /// by now.
    pub fn record_sent_bytes(&mut self, board: &mut Switchboard, bytes: u64) {
        self.sent += bytes;
        let Some(before) = self.sent.checked_sub(self.options.memory) else { return };
        while let Some(forgotten) = self.answers.pop_before(before) {
            board.release(self.side, forgotten);
        }
    }

    fn act(&mut self, board: &mut Switchboard, action: Action) -> Result<(), LimitReached> {
        match action {
            Action::Deliver { to, call, answer } => {
                let target = match to {
                    CallTarget::Object(key) => {
                        let (kind, number) = of_key(key);
                        Slot::theirs(kind, number)
                    }
                    // The promise has settled meanwhile, and its outcome may not belong to the peer.
                    CallTarget::Promise(promise) if !board.is_pending(promise) => {
                        board.forward(self.side, promise, call, answer);
                        return Ok(());
                    }
                    CallTarget::Promise(promise) => match self.question_names.get(&promise) {
                        Some(question) => Slot::theirs(Kind::Question, *question),
                        None => match self.imports.name(promise) {
                            Some(slot) => slot,
                            None => {
                                board.forward(self.side, promise, call, answer);
                                return Ok(());
                            }
                        },
                    },
                };
                let method = self.export_call(board, &call)?;
                let question = self.ask(answer);
                self.out.push(Message::Call { question, target, method, trap: false });
            }
            Action::Settled { tag, outcome } => match Tag::of(tag) {
                Tag::Return(question) => {
                    // An object is remembered longer than data, because the peer can call it.
                    let longer =
                        if matches!(outcome, Ok(Value::Remotable(_))) { OBJECT_MEMORY_FACTOR } else { 0 };
                    match self
                        .answers
                        .close(question, self.sent.saturating_add(self.options.memory.saturating_mul(longer)))
                    {
                        CloseOutcome::Answered => {}
                        CloseOutcome::Dropped(promise) => board.release(self.side, promise),
                        CloseOutcome::Unknown => return Ok(()),
                    }
                    let outcome = self.export_outcome(board, &outcome)?;
                    self.out.push(Message::Return { question, outcome });
                }
                Tag::Resolve(number) => {
                    if self.exports.find(Kind::Promise, number).is_some() {
                        let promise = Slot::theirs(Kind::Promise, number);
                        let outcome = self.export_outcome(board, &outcome)?;
                        self.out.push(Message::Resolve { promise, outcome });
                    }
                }
            },
            Action::Released { key } => {
                let (kind, number) = of_key(key);
                let import = self.imports.find(kind, number);
                // The peer may have mentioned the object again since.
                if let Some(import) = import.filter(|import| board.owner(import.reference).is_none()) {
                    self.imports.remove(kind, number);
                    if self.options.drops {
                        let slot = Slot::theirs(kind, number);
                        self.out.push(Message::Drop { slot, references: import.mentions });
                    }
                }
            }
        }
        Ok(())
    }

    fn export_call(&mut self, board: &mut Switchboard, call: &Call<Ref>) -> Result<Body, LimitReached> {
        let mut mentioned = BTreeSet::new();
        let name = |name: &Name| match name {
            Name::Text(text) => Value::string(text.clone()),
            Name::Symbol(symbol) => Value::Symbol(symbol.clone()),
        };
        let mut args = |args: &[Value<Ref>]| {
            let all = args.iter().map(|value| self.export(board, value, &mut mentioned));
            Ok::<_, LimitReached>(Value::array(all.collect::<Result<Vec<_>, LimitReached>>()?))
        };
        let method = match call {
            Call::Get(property) => Value::array([name(property)]),
            Call::Apply(all) => Value::array([Value::null(), args(all)?]),
            Call::Method(method, all) => Value::array([name(method), args(all)?]),
        };
        self.mention(&mentioned);
        Ok(method)
    }

    fn export_outcome(
        &mut self,
        board: &mut Switchboard,
        outcome: &Outcome,
    ) -> Result<Result<Body, Body>, LimitReached> {
        let mut mentioned = BTreeSet::new();
        let exported = match outcome {
            Ok(value) => Ok(self.export(board, value, &mut mentioned)?),
            Err(error) => Err(match self.export(board, error, &mut mentioned)? {
                Value::Error(error) => self.with_error_id(&error),
                other => other,
            }),
        };
        self.mention(&mentioned);
        Ok(exported)
    }

    /// Returns the error with an identifier. Endo's implementation also gives one to each error that it sends.
    fn with_error_id(&mut self, error: &ErrorData) -> Body {
        self.errors += 1;
        let id = Text::from(format!("error:captp:{}#{}", self.options.name, self.errors));
        Value::Error(Arc::new(ErrorData { id: Some(id), ..error.clone() }))
    }

    fn mention(&mut self, mentioned: &BTreeSet<Ref>) {
        for each in mentioned {
            self.exports.mention(*each);
        }
    }

    /// Returns a value in the form that the peer reads. A reference that is new to the peer gets a name.
    fn export(
        &mut self,
        board: &mut Switchboard,
        value: &Value<Ref>,
        mentioned: &mut BTreeSet<Ref>,
    ) -> Result<Body, LimitReached> {
        let promises = promises(value);
        value.try_map_references(&mut |reference| {
            let reference = *reference;
            if let Some(theirs) = self.imports.name(reference) {
                return Ok(theirs);
            }
            mentioned.insert(reference);
            if let Some(known) = self.exports.name(reference) {
                return Ok(known);
            }
            board.hold(self.side, reference)?;
            let kind = if promises.contains(&reference) { Kind::Promise } else { Kind::Object };
            let slot = self.exports.add(reference, kind);
            if kind == Kind::Promise {
                board.watch(self.side, reference, Tag::Resolve(slot.number).to_number());
            }
            Ok(slot)
        })
    }
}

/// The peer's slots that one message has mentioned.
#[derive(Default)]
struct MessageImports {
    slots: HashSet<(Kind, u64)>,
    references: Vec<Ref>,
}

impl MessageImports {
    /// Forgets the new references that no side holds.
    fn done(self, board: &mut Switchboard) {
        for reference in self.references {
            board.release_unheld(reference);
        }
    }
}

fn promises(value: &Value<Ref>) -> HashSet<Ref> {
    fn collect(value: &Value<Ref>, found: &mut HashSet<Ref>) {
        match value {
            Value::Promise(remote) => drop(found.insert(remote.reference)),
            Value::Array(array) => array.iter().for_each(|value| collect(value, found)),
            Value::Record(record) => record.iter().for_each(|(_, value)| collect(value, found)),
            Value::Tagged(tagged) => collect(tagged.payload(), found),
            _ => {}
        }
    }
    let mut found = HashSet::new();
    collect(value, &mut found);
    found
}

fn read_call(method: &Body) -> Result<Call<Slot>, Violation> {
    let (name, args) = match method.as_array() {
        Some([name]) => (name, None),
        Some([name, args]) => (name, Some(args)),
        _ => return Err(Violation::Method),
    };
    let name = match name {
        Value::String(text) => Some(Name::Text(text.clone())),
        Value::Symbol(symbol) => Some(Name::Symbol(symbol.clone())),
        Value::Number(number) => Some(Name::Text(Text::from(number.to_string()))),
        Value::Null | Value::Undefined => None,
        _ => return Err(Violation::Method),
    };
    let args = match args {
        None | Some(Value::Undefined | Value::Null) => None,
        Some(Value::Array(args)) => Some(args.as_slice().to_vec()),
        Some(_) => return Err(Violation::Method),
    };
    match (name, args) {
        (Some(name), Some(args)) => Ok(Call::Method(name, args)),
        (Some(name), None) => Ok(Call::Get(name)),
        (None, Some(args)) => Ok(Call::Apply(args)),
        (None, None) => Err(Violation::Method),
    }
}
