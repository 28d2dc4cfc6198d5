//! The objects that one client sees: objects of the store, promises that settle when the store says so, and
//! iterators.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kernel::facet::Live;
use kernel::run::Origin;
use kernel::txn::Owner;
use kernel::{BlobHash, FormulaId};
use passable::{Remote, Value};
use switchboard::{Action, Call, Full, Key, Name, Party, Ref, Side, Switchboard, To};

use super::batched_writes::Underway;
use super::blob_upload::Upload;
use super::convert;
use super::convert::Interfaces;
use super::entrance::Entrance;
use super::file_worker::{Came, Task};
use super::iterators::Feed;
use super::messages;
use super::object::{Cause, Object, Part, Thing};
use super::timers::Ticker;
use super::tree_upload::Gather;
use crate::state::code_host;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;

/// The daemon, the references and the task queue that a call needs.
pub struct Context<'a> {
    /// The daemon.
    pub daemon: &'a HostDaemon,
    /// The table of live references.
    pub board: &'a Mutex<Switchboard>,
    errands: &'a dyn Errands,
}

/// A queue for work that must not block a connection, and the way back for answers.
pub trait Errands {
    /// Queues a task to run where it blocks no connection. Returns `false` if too much waits already.
    fn later(&self, task: Task) -> bool;

    /// Returns the callback that delivers an answer from elsewhere.
    fn courier(&self) -> Courier;
}

/// A callback that delivers an answer from any thread: the object as it was reached, the promise to settle, and the
/// outcome.
pub type Courier = Arc<dyn Fn(Object, Ref, Result<Came, Failure>) + Send + Sync>;

impl<'a> Context<'a> {
    /// Returns the context of a call, with the queue for its slow work.
    pub fn new(
        daemon: &'a HostDaemon,
        board: &'a Mutex<Switchboard>,
        errands: &'a dyn Errands,
    ) -> Context<'a> {
        Context { daemon, board, errands }
    }

    /// Queues a task to run where it blocks no connection. Returns `false` if too much waits already.
    pub fn later(&self, task: Task) -> bool {
        self.errands.later(task)
    }

    /// Returns the callback that delivers an answer from elsewhere.
    pub fn courier(&self) -> Courier {
        self.errands.courier()
    }

    /// Returns the table of live references. Never kept while the store is asked.
    pub fn board(&self) -> MutexGuard<'_, Switchboard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All that one client sees.
pub struct Home {
    pub(crate) side: Side,
    pub(crate) things: HashMap<Key, (Thing, Ref)>,
    keys: HashMap<Thing, Key>,
    references: HashMap<Ref, Key>,
    next: Key,
    /// Promises that must be looked at.
    pub(crate) fresh: BTreeSet<Key>,
    /// Promises that have not settled, by the cause that settles them.
    pub(crate) waiting: HashMap<Cause, BTreeSet<Key>>,
    /// Under whom events about these are recorded, and up to which event they are known.
    pub(crate) cursors: HashMap<Owner, u64>,
    pub(crate) feeds: HashMap<Key, Feed>,
    pub(crate) uploads: HashMap<u64, Upload>,
    /// Calls that wait for the disk, in their order.
    pub(crate) underway: Vec<Underway>,
    /// Calls that wait for a person.
    pub(crate) asked: Vec<super::waiting_calls::Waiting>,
    pub(crate) gathers: HashMap<u64, Gather>,
    pub(crate) tickers: HashMap<u64, Ticker>,
    /// When the connection is called next, because of a tick.
    pub(crate) armed_ms: Option<i64>,
    pub(crate) last_upload: u64,
    pub(crate) ends_daemon: bool,
    /// The code whose home it is, if it is no client's.
    pub(crate) code: Option<FormulaId>,
    /// The sends of that code that are under way, by the promise that each settles. Calls that others made it do are
    /// not among them.
    pub(crate) origins: HashMap<Ref, Origin>,
    /// How far a client of the gateway has come.
    pub(crate) entrance: Option<Entrance>,
    /// The number of references at which the next sweep for unused ones begins.
    sweep_at: usize,
}

/// When references are first swept.
const SWEEP: usize = 4096;

impl Home {
    /// Returns a home whose first object is the root of the store; and that object.
    ///
    /// # Errors
    /// [`Full`].
    pub fn open(
        board: &mut Switchboard,
        root: FormulaId,
        host: FormulaId,
    ) -> Result<(Home, Value<Ref>), Full> {
        let mut home = Home::empty(board);
        let object = Thing::Object(Object { id: root, agent: host, through: vec![] });
        let reference = home.intern(board, object)?;
        Ok((home, Value::remotable_alleged(reference, "Alleged: Endo")))
    }

    /// Returns a home whose first object takes tokens; and that object.
    ///
    /// # Errors
    /// [`Full`].
    pub fn behind_gateway(board: &mut Switchboard, now: Instant) -> Result<(Home, Value<Ref>), Full> {
        let mut home = Home { entrance: Some(Entrance::new(now)), ..Home::empty(board) };
        let reference = home.intern(board, Thing::Entrance)?;
        Ok((home, Value::remotable_alleged(reference, "Alleged: Gateway")))
    }

    /// Returns an object table for code, which sees only the objects that it is given.
    pub fn of_code(board: &mut Switchboard, eval: FormulaId) -> Home {
        Home { code: Some(eval), ..Home::empty(board) }
    }

    fn empty(board: &mut Switchboard) -> Home {
        Home {
            side: board.add(Party::default()),
            things: HashMap::new(),
            keys: HashMap::new(),
            references: HashMap::new(),
            next: 0,
            fresh: BTreeSet::new(),
            waiting: HashMap::new(),
            cursors: HashMap::new(),
            feeds: HashMap::new(),
            uploads: HashMap::new(),
            underway: vec![],
            origins: HashMap::new(),
            asked: vec![],
            gathers: HashMap::new(),
            tickers: HashMap::new(),
            armed_ms: None,
            last_upload: 0,
            ends_daemon: false,
            code: None,
            entrance: None,
            sweep_at: SWEEP,
        }
    }

    /// Returns whether the client has asked that the daemon ends.
    pub fn ends_daemon(&self) -> bool {
        self.ends_daemon
    }

    /// Returns whether the client came by the gateway and has shown no good token yet.
    pub fn is_outside(&self) -> bool {
        self.entrance.as_ref().is_some_and(Entrance::is_outside)
    }

    /// Returns why a client of the gateway is let go of, if it is.
    pub fn is_over(&self, now: Instant) -> Option<&'static str> {
        self.entrance.as_ref().and_then(|entrance| entrance.is_over(now))
    }

    /// Returns whether the client hands anything over piece by piece.
    pub(crate) fn gathers_any(&self) -> bool {
        !self.gathers.is_empty()
    }

    /// Returns whether anything here waits for news.
    pub fn waits(&self) -> bool {
        !self.fresh.is_empty() || !self.waiting.is_empty() || !self.feeds.is_empty() || !self.asked.is_empty()
    }

    /// Returns the formulas that the client refers to.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        let mut pins = BTreeSet::new();
        for (thing, _) in self.things.values() {
            match thing {
                Thing::Object(object) => {
                    pins.insert(object.id);
                    pins.extend(&object.through);
                }
                Thing::Promise { id, through, .. } => {
                    pins.insert(*id);
                    pins.extend(through);
                }
                Thing::Settled { id } => drop(pins.insert(*id)),
                Thing::Part(part) => {
                    pins.insert(part.root.id);
                    pins.extend(&part.root.through);
                }
                Thing::Live(object) => {
                    pins.insert(object.eval);
                    pins.extend(&object.through);
                }
                Thing::Dismissed { .. } | Thing::Iterator | Thing::Entrance | Thing::Ended => {}
            }
        }
        pins.extend(self.tickers.values().flat_map(Ticker::pins));
        pins
    }

    /// Returns the trees that the client refers to and no formula does.
    pub fn trees(&self) -> BTreeSet<BlobHash> {
        let taken = self.things.values().filter_map(|(thing, _)| match thing {
            Thing::Part(part) => part.taken.as_ref(),
            _ => None,
        });
        taken.map(|tree| tree.hash).collect()
    }

    /// Clears the table after the client has gone.
    pub fn close(&mut self, board: &mut Switchboard, reason: &str) {
        board.end(self.side, Value::error("Error", reason));
        self.fresh.clear();
        self.waiting.clear();
        self.feeds.clear();
        self.uploads.clear();
        self.underway.clear();
        self.origins.clear();
        self.asked.clear();
        self.gathers.clear();
        self.tickers.clear();
    }

    /// Returns the live reference of a thing: the same as long as the client has it.
    pub(crate) fn intern(&mut self, board: &mut Switchboard, thing: Thing) -> Result<Ref, Full> {
        if let Some((_, known)) = self.keys.get(&thing).and_then(|key| self.things.get(key))
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
            self.fresh.insert(key);
        }
        self.references.insert(new, key);
        if thing != Thing::Iterator {
            self.keys.insert(thing.clone(), key);
        }
        self.things.insert(key, (thing, new));
        Ok(new)
    }

    /// Returns a new iterator.
    ///
    /// # Errors
    /// [`Full`].
    pub fn iterator(&mut self, board: &mut Switchboard, feed: Feed) -> Result<Value<Ref>, Full> {
        let reference = self.intern(board, Thing::Iterator)?;
        if let Some(key) = self.references.get(&reference) {
            self.feeds.insert(*key, feed);
        }
        Ok(Value::remotable_alleged(reference, "Alleged: AsyncIterator"))
    }

    /// Returns the live object for a part of a directory or tree that was looked up.
    ///
    /// # Errors
    /// [`Full`].
    pub fn part(&mut self, board: &mut Switchboard, part: Part) -> Result<Value<Ref>, Full> {
        let interface = part.kind.interface();
        let reference = self.intern(board, Thing::Part(Box::new(part)))?;
        Ok(Value::remotable_alleged(reference, format!("Alleged: {interface}")))
    }

    /// Returns the object behind a live reference, or `None` if it is the client's own.
    pub fn thing(&self, reference: Ref) -> Option<&Thing> {
        self.things.get(self.references.get(&reference)?).map(|(thing, _)| thing)
    }

    fn forget(&mut self, key: Key) {
        self.fresh.remove(&key);
        self.feeds.remove(&key);
        let Some((thing, reference)) = self.things.remove(&key) else { return };
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
        if self.references.len() < self.sweep_at {
            return;
        }
        let unused = self.references.iter().filter(|(reference, _)| !board.knows(**reference));
        let unused: Vec<Key> = unused.map(|(_, key)| *key).collect();
        unused.into_iter().for_each(|key| self.forget(key));
        self.sweep_at = SWEEP.max(self.references.len() * 2);
    }

    /// Returns a value of the store's as the client gets it.
    ///
    /// # Errors
    /// [`Full`].
    pub fn show(
        &mut self,
        board: &mut Switchboard,
        value: &Value<Live>,
        interfaces: &Interfaces,
        reach: &Object,
    ) -> Result<Value<Ref>, Full> {
        convert::rebuild(value, &mut |remote: &Remote<Live>, promise| {
            let thing = match remote.reference {
                Live::Formula(id) if promise => {
                    Thing::Promise { id, agent: reach.agent, through: reach.through.clone() }
                }
                Live::Formula(id) => {
                    let object = Object { id, agent: reach.agent, through: reach.through.clone() };
                    let reference = self.intern(board, Thing::Object(object))?;
                    let unsaid = || interfaces.get(&id).map(|name| format!("Alleged: {name}").into());
                    return Ok(Remote { reference, iface: remote.iface.clone().or_else(unsaid) });
                }
                Live::Settled(id) => Thing::Settled { id },
                Live::Dismissed { agent, number } => Thing::Dismissed { agent, number },
            };
            Ok(Remote { reference: self.intern(board, thing)?, iface: None })
        })
    }

    /// Returns the formula that a live reference stands for; `None` if it is the client's own.
    pub fn formula(&self, reference: Ref) -> Option<FormulaId> {
        match self.thing(reference)? {
            Thing::Object(object) => Some(object.id),
            Thing::Promise { id, .. } => Some(*id),
            _ => None,
        }
    }

    /// Does everything that has come for this side, until nothing of it waits for the disk any more.
    pub fn work_through(&mut self, context: &Context<'_>) {
        self.work(context);
        while !self.underway.is_empty() {
            self.settle(context);
            self.look_at_promises(context);
            self.work(context);
        }
    }

    /// Handles everything that has arrived for this side. Calls that wait for the disk may stay under way.
    pub fn work(&mut self, context: &Context<'_>) {
        loop {
            let actions = context.board().take(self.side);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Deliver { to, call, answer } => self.deliver(context, to, &call, answer),
                    Action::Settled { tag, outcome } if self.gathers.contains_key(&tag) => {
                        self.gathered(context, tag, outcome);
                    }
                    Action::Settled { tag, .. } if self.tickers.contains_key(&tag) => {
                        self.ticked(context, tag);
                    }
                    Action::Settled { tag, outcome } => self.uploaded(context, tag, outcome),
                    Action::Released { key } => self.forget(key),
                }
            }
            let mut board = context.board();
            board.give_back(self.side);
            self.sweep(&board);
        }
    }

    fn deliver(&mut self, context: &Context<'_>, to: To, call: &Call<Ref>, answer: Ref) {
        let thing = match to {
            To::Object(key) => self.things.get(&key).map(|(thing, _)| (key, thing.clone())),
            To::Promise(_) => None,
        };
        let outcome = match (thing, call) {
            (Some((_, Thing::Live(object))), call) => {
                let (verb, args) = messages::verb(call);
                self.send_live(context, object, verb, args, answer)
            }
            (Some((_, Thing::Ended)), _) => Some(Err(code_host::restarted())),
            (Some((_, Thing::Object(object))), Call::Apply(args)) => {
                self.apply(context, &object, args, answer)
            }
            (_, Call::Apply(_)) => Some(Err(type_error(
                "Cannot invoke target as a function; typeof target is \"object\"".to_owned(),
            ))),
            // The properties of an object are its methods, which cannot be passed.
            (_, Call::Get(_)) => Some(Ok(Value::undefined())),
            (Some((_, Thing::Object(object))), Call::Method(Name::Text(name), args)) => {
                self.perform(context, &object, &name.to_str_lossy(), args, answer)
            }
            (Some((_, Thing::Part(part))), Call::Method(Name::Text(name), args)) => {
                self.perform_part(context, &part, &name.to_str_lossy(), args, answer)
            }
            (Some((_, Thing::Entrance)), Call::Method(name, args)) => Some(self.enter(context, name, args)),
            (Some((key, Thing::Iterator)), Call::Method(Name::Text(name), args)) => {
                // An iterator shows the effects of the calls before it.
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
        self.look_at_promises(context);
    }
}

/// Returns an error of the class that JavaScript has for wrong types.
pub fn type_error(message: String) -> Value<Ref> {
    Value::error("TypeError", message)
}
