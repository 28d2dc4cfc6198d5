//! The objects that one client sees: objects of the store, promises that settle when the store changes, and
//! iterators.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kernel::facet::Live;
use kernel::run::Origin;
use kernel::txn::Owner;
use kernel::{BlobHash, FormulaId};
use passable::{Remote, Value};
use switchboard::{Action, Call, CallTarget, Key, LimitReached, Name, Ref, Side, SideOptions, Switchboard};

use super::batched_writes::PendingWrite;
use super::blob_upload::BlobUpload;
use super::convert;
use super::convert::Interfaces;
use super::file_worker::{TaskOutcome, WorkerTask};
use super::gateway_login::GatewayLogin;
use super::iterators::Feed;
use super::object::{Object, Part, RemoteObject, SettlementCause};
use super::object_messages;
use super::timers::Ticker;
use super::tree_upload::TreeUpload;
use crate::state::code_host;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// The daemon, the references and the task queue that a call needs.
pub struct Context<'a> {
    /// The daemon.
    pub daemon: &'a HostDaemon,
    /// The table of live references.
    pub board: &'a Mutex<Switchboard>,
    runner: &'a dyn TaskRunner,
}

/// A queue for work that must not block a connection, and the way back for answers.
pub trait TaskRunner {
    /// Queues a task to run where it blocks no connection. Returns `false` if too much waits already.
    fn run_later(&self, task: WorkerTask) -> bool;

    /// Returns the callback that delivers an answer from elsewhere.
    fn answer_sender(&self) -> AnswerSender;
}

/// A callback that delivers an answer from any thread: the object as it was reached, the promise to settle, and the
/// outcome.
pub type AnswerSender = Arc<dyn Fn(Object, Ref, Result<TaskOutcome, Failure>) + Send + Sync>;

impl<'a> Context<'a> {
    /// Returns the context of a call, with the queue for its slow work.
    pub fn new(
        daemon: &'a HostDaemon,
        board: &'a Mutex<Switchboard>,
        runner: &'a dyn TaskRunner,
    ) -> Context<'a> {
        Context { daemon, board, runner }
    }

    /// Queues a task to run where it blocks no connection. Returns `false` if too much waits already.
    pub fn run_later(&self, task: WorkerTask) -> bool {
        self.runner.run_later(task)
    }

    /// Returns the callback that delivers an answer from elsewhere.
    pub fn answer_sender(&self) -> AnswerSender {
        self.runner.answer_sender()
    }

    /// Returns the locked table of live references. The lock must not be held during access to the store.
    pub fn board(&self) -> MutexGuard<'_, Switchboard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The table of all objects that one client, or one heap of code, sees.
pub struct ObjectTable {
    pub(crate) side: Side,
    pub(crate) objects: HashMap<Key, (RemoteObject, Ref)>,
    keys: HashMap<RemoteObject, Key>,
    references: HashMap<Ref, Key>,
    next: Key,
    /// The promises that must be checked in the store.
    pub(crate) unchecked_promises: BTreeSet<Key>,
    /// Promises that have not settled, by the cause that settles them.
    pub(crate) waiting: HashMap<SettlementCause, BTreeSet<Key>>,
    /// The owners whose events tell of the promises, each with the last event that was read.
    pub(crate) cursors: HashMap<Owner, u64>,
    pub(crate) feeds: HashMap<Key, Feed>,
    pub(crate) uploads: HashMap<u64, BlobUpload>,
    /// The calls that wait for the disk, in the order of arrival.
    pub(crate) pending_writes: Vec<PendingWrite>,
    /// The calls that wait for a person.
    pub(crate) waiting_calls: Vec<super::waiting_calls::BlockedCall>,
    pub(crate) tree_uploads: HashMap<u64, TreeUpload>,
    pub(crate) tickers: HashMap<u64, Ticker>,
    /// The time of the next callback for a tick.
    pub(crate) next_call_ms: Option<i64>,
    pub(crate) last_upload: u64,
    pub(crate) ends_daemon: bool,
    /// The code that sees this table, or `None` for a client.
    pub(crate) code: Option<FormulaId>,
    /// The sends of that code that are under way, by the promise that each settles. Calls that the code makes for
    /// others are not included.
    pub(crate) origins: HashMap<Ref, Origin>,
    /// The login state, if the client came by the gateway.
    pub(crate) gateway_login: Option<GatewayLogin>,
    /// The number of references at which the next sweep for unused ones begins.
    sweep_threshold: usize,
}

/// The number of references at which the first sweep begins.
const FIRST_SWEEP_SIZE: usize = 4096;

impl ObjectTable {
    /// Returns an object table, and its first object, the root of the store.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn open(
        board: &mut Switchboard,
        root: FormulaId,
        host: FormulaId,
    ) -> Result<(ObjectTable, Value<Ref>), LimitReached> {
        let mut home = ObjectTable::empty(board);
        let object = RemoteObject::Object(Object { id: root, agent: host, through: vec![] });
        let reference = home.intern(board, object)?;
        Ok((home, Value::remotable_alleged(reference, "Alleged: Endo")))
    }

    /// Returns an object table for a client of the gateway, and its first object, which takes tokens.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn behind_gateway(
        board: &mut Switchboard,
        now: Instant,
    ) -> Result<(ObjectTable, Value<Ref>), LimitReached> {
        let mut home =
            ObjectTable { gateway_login: Some(GatewayLogin::new(now)), ..ObjectTable::empty(board) };
        let reference = home.intern(board, RemoteObject::GatewayLogin)?;
        Ok((home, Value::remotable_alleged(reference, "Alleged: Gateway")))
    }

    /// Returns an object table for code, which sees only the objects that it is given.
    pub fn for_code(board: &mut Switchboard, eval: FormulaId) -> ObjectTable {
        ObjectTable { code: Some(eval), ..ObjectTable::empty(board) }
    }

    fn empty(board: &mut Switchboard) -> ObjectTable {
        ObjectTable {
            side: board.add(SideOptions::default()),
            objects: HashMap::new(),
            keys: HashMap::new(),
            references: HashMap::new(),
            next: 0,
            unchecked_promises: BTreeSet::new(),
            waiting: HashMap::new(),
            cursors: HashMap::new(),
            feeds: HashMap::new(),
            uploads: HashMap::new(),
            pending_writes: vec![],
            origins: HashMap::new(),
            waiting_calls: vec![],
            tree_uploads: HashMap::new(),
            tickers: HashMap::new(),
            next_call_ms: None,
            last_upload: 0,
            ends_daemon: false,
            code: None,
            gateway_login: None,
            sweep_threshold: FIRST_SWEEP_SIZE,
        }
    }

    /// Returns whether the client has asked that the daemon ends.
    pub fn ends_daemon(&self) -> bool {
        self.ends_daemon
    }

    /// Returns whether the client came by the gateway and has shown no valid token yet.
    pub fn is_unauthenticated(&self) -> bool {
        self.gateway_login.as_ref().is_some_and(GatewayLogin::is_unauthenticated)
    }

    /// Returns the reason to disconnect a client of the gateway, if there is one.
    pub fn close_reason(&self, now: Instant) -> Option<&'static str> {
        self.gateway_login.as_ref().and_then(|entrance| entrance.close_reason(now))
    }

    /// Returns whether an upload of a client's tree is under way.
    pub(crate) fn has_tree_uploads(&self) -> bool {
        !self.tree_uploads.is_empty()
    }

    /// Returns whether any promise, iterator or call here waits for a change in the store.
    pub fn has_waiting(&self) -> bool {
        !self.unchecked_promises.is_empty()
            || !self.waiting.is_empty()
            || !self.feeds.is_empty()
            || !self.waiting_calls.is_empty()
    }

    /// Returns the formulas that the client refers to.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        let mut pins = BTreeSet::new();
        for (thing, _) in self.objects.values() {
            match thing {
                RemoteObject::Object(object) => {
                    pins.insert(object.id);
                    pins.extend(&object.through);
                }
                RemoteObject::Promise { id, through, .. } => {
                    pins.insert(*id);
                    pins.extend(through);
                }
                RemoteObject::Settled { id } => drop(pins.insert(*id)),
                RemoteObject::Part(part) => {
                    pins.insert(part.root.id);
                    pins.extend(&part.root.through);
                }
                RemoteObject::Live(object) => {
                    pins.insert(object.eval);
                    pins.extend(&object.through);
                }
                RemoteObject::Dismissed { .. }
                | RemoteObject::Iterator
                | RemoteObject::GatewayLogin
                | RemoteObject::Ended => {}
            }
        }
        pins.extend(self.tickers.values().flat_map(Ticker::pins));
        pins
    }

    /// Returns the trees that the client refers to and that no formula refers to.
    pub fn trees(&self) -> BTreeSet<BlobHash> {
        let taken = self.objects.values().filter_map(|(thing, _)| match thing {
            RemoteObject::Part(part) => part.taken.as_ref(),
            _ => None,
        });
        taken.map(|tree| tree.hash).collect()
    }

    /// Clears the table after the client has gone.
    pub fn close(&mut self, board: &mut Switchboard, reason: &str) {
        board.end(self.side, Value::error("Error", reason));
        self.unchecked_promises.clear();
        self.waiting.clear();
        self.feeds.clear();
        self.uploads.clear();
        self.pending_writes.clear();
        self.origins.clear();
        self.waiting_calls.clear();
        self.tree_uploads.clear();
        self.tickers.clear();
    }

    /// Returns the live reference of an object. The reference stays the same as long as the client has it.
    pub(crate) fn intern(
        &mut self,
        board: &mut Switchboard,
        thing: RemoteObject,
    ) -> Result<Ref, LimitReached> {
        if let Some((_, known)) = self.keys.get(&thing).and_then(|key| self.objects.get(key))
            && board.knows(*known)
        {
            return Ok(*known);
        }
        let key = self.next;
        let new = match thing.cause() {
            Some(_) => board.promise(self.side, Some(key))?,
            None => board.object(self.side, key)?,
        };
        self.next += 1;
        if thing.cause().is_some() {
            self.unchecked_promises.insert(key);
        }
        self.references.insert(new, key);
        if thing != RemoteObject::Iterator {
            self.keys.insert(thing.clone(), key);
        }
        self.objects.insert(key, (thing, new));
        Ok(new)
    }

    /// Returns a new iterator.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn iterator(&mut self, board: &mut Switchboard, feed: Feed) -> Result<Value<Ref>, LimitReached> {
        let reference = self.intern(board, RemoteObject::Iterator)?;
        if let Some(key) = self.references.get(&reference) {
            self.feeds.insert(*key, feed);
        }
        Ok(Value::remotable_alleged(reference, "Alleged: AsyncIterator"))
    }

    /// Returns the live object for a part of a directory or tree that was looked up.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn part(&mut self, board: &mut Switchboard, part: Part) -> Result<Value<Ref>, LimitReached> {
        let interface = part.kind.interface();
        let reference = self.intern(board, RemoteObject::Part(Box::new(part)))?;
        Ok(Value::remotable_alleged(reference, format!("Alleged: {interface}")))
    }

    /// Returns the object behind a live reference, or `None` if it is the client's own.
    pub fn object(&self, reference: Ref) -> Option<&RemoteObject> {
        self.objects.get(self.references.get(&reference)?).map(|(thing, _)| thing)
    }

    fn forget(&mut self, key: Key) {
        self.unchecked_promises.remove(&key);
        self.feeds.remove(&key);
        let Some((thing, reference)) = self.objects.remove(&key) else { return };
        self.references.remove(&reference);
        if self.keys.get(&thing) == Some(&key) {
            self.keys.remove(&thing);
        }
        if let Some(cause) = thing.cause()
            && let Some(keys) = self.waiting.get_mut(&cause)
        {
            keys.remove(&key);
            if keys.is_empty() {
                self.waiting.remove(&cause);
            }
        }
    }

    /// Forgets references that are no longer used. A settled promise has no owner, so no client ever releases it.
    fn sweep(&mut self, board: &Switchboard) {
        if self.references.len() < self.sweep_threshold {
            return;
        }
        let unused = self.references.iter().filter(|(reference, _)| !board.knows(**reference));
        let unused: Vec<Key> = unused.map(|(_, key)| *key).collect();
        unused.into_iter().for_each(|key| self.forget(key));
        self.sweep_threshold = FIRST_SWEEP_SIZE.max(self.references.len() * 2);
    }

    /// Returns a value of the store in the form that the client gets.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn show(
        &mut self,
        board: &mut Switchboard,
        value: &Value<Live>,
        interfaces: &Interfaces,
        reach: &Object,
    ) -> Result<Value<Ref>, LimitReached> {
        convert::rebuild(value, &mut |remote: &Remote<Live>, promise| {
            let thing = match remote.reference {
                Live::Formula(id) if promise => {
                    RemoteObject::Promise { id, agent: reach.agent, through: reach.through.clone() }
                }
                Live::Formula(id) => {
                    let object = Object { id, agent: reach.agent, through: reach.through.clone() };
                    let reference = self.intern(board, RemoteObject::Object(object))?;
                    let unsaid = || interfaces.get(&id).map(|name| format!("Alleged: {name}").into());
                    return Ok(Remote { reference, iface: remote.iface.clone().or_else(unsaid) });
                }
                Live::Settled(id) => RemoteObject::Settled { id },
                Live::Dismissed { agent, number } => RemoteObject::Dismissed { agent, number },
            };
            Ok(Remote { reference: self.intern(board, thing)?, iface: None })
        })
    }

    /// Returns the formula that a live reference stands for, or `None` if the reference has no formula.
    pub fn formula(&self, reference: Ref) -> Option<FormulaId> {
        match self.object(reference)? {
            RemoteObject::Object(object) => Some(object.id),
            RemoteObject::Promise { id, .. } => Some(*id),
            _ => None,
        }
    }

    /// Handles everything that has arrived for this side, and waits until all of its writes are durable.
    pub fn drain(&mut self, context: &Context<'_>) {
        self.process_messages(context);
        while !self.pending_writes.is_empty() {
            self.settle(context);
            self.settle_promises(context);
            self.process_messages(context);
        }
    }

    /// Handles everything that has arrived for this side. Calls that wait for the disk may stay under way.
    pub fn process_messages(&mut self, context: &Context<'_>) {
        loop {
            let actions = context.board().take(self.side);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Deliver { to, call, answer } => self.deliver(context, to, &call, answer),
                    Action::Settled { tag, outcome } if self.tree_uploads.contains_key(&tag) => {
                        self.receive_tree_answer(context, tag, outcome);
                    }
                    Action::Settled { tag, .. } if self.tickers.contains_key(&tag) => {
                        self.finish_tick(context, tag);
                    }
                    Action::Settled { tag, outcome } => self.receive_piece(context, tag, outcome),
                    Action::Released { key } => self.forget(key),
                }
            }
            let mut board = context.board();
            board.give_back(self.side);
            self.sweep(&board);
        }
    }

    fn deliver(&mut self, context: &Context<'_>, to: CallTarget, call: &Call<Ref>, answer: Ref) {
        let thing = match to {
            CallTarget::Object(key) => self.objects.get(&key).map(|(thing, _)| (key, thing.clone())),
            CallTarget::Promise(_) => None,
        };
        let outcome = match (thing, call) {
            (Some((_, RemoteObject::Live(object))), call) => {
                let (verb, args) = object_messages::call_verb(call);
                self.send_live(context, object, verb, args, answer)
            }
            (Some((_, RemoteObject::Ended)), _) => Some(Err(code_host::restart_error())),
            (Some((_, RemoteObject::Object(object))), Call::Apply(args)) => {
                self.call_function(context, &object, args, answer)
            }
            (_, Call::Apply(_)) => Some(Err(type_error(
                "Cannot invoke target as a function; typeof target is \"object\"".to_owned(),
            ))),
            // The properties of an object are its methods, which cannot be passed.
            (_, Call::Get(_)) => Some(Ok(Value::undefined())),
            (Some((_, RemoteObject::Object(object))), Call::Method(Name::Text(name), args)) => {
                self.perform(context, &object, &name.to_str_lossy(), args, answer)
            }
            (Some((_, RemoteObject::Part(part))), Call::Method(Name::Text(name), args)) => {
                self.perform_part(context, &part, &name.to_str_lossy(), args, answer)
            }
            (Some((_, RemoteObject::GatewayLogin)), Call::Method(name, args)) => {
                Some(self.call_login(context, name, args))
            }
            (Some((key, RemoteObject::Iterator)), Call::Method(Name::Text(name), args)) => {
                // The calls before this one must be durable first, so that the iterator shows their effects.
                self.settle(context);
                self.iterate(context, key, &name.to_str_lossy(), args, answer)
            }
            (_, Call::Method(name, _)) => {
                Some(Err(type_error(format!("target has no method {}, has []", name.shown()))))
            }
        };
        if let Some(outcome) = outcome {
            self.origins.remove(&answer);
            context.board().resolve(self.side, answer, outcome);
        }
        self.settle_promises(context);
    }
}

/// Returns an error of JavaScript's class `TypeError`.
pub fn type_error(message: String) -> Value<Ref> {
    Value::error("TypeError", message)
}
