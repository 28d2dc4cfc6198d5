//! What one client sees: the store's objects, promises that settle when the store says so, and iterators.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kernel::event::Change;
use kernel::facet::Live;
use kernel::formula::Formula;
use kernel::table::PromiseRow;
use kernel::txn::{Owner, ReadTxn, StoreFault};
use kernel::{FormulaId, MessageNumber, query, table};
use passable::{Remote, Value};
use switchboard::{Action, Call, Full, Key, Name, Outcome, Party, Ref, Side, Switchboard, To};

use super::convert::{self, Interfaces};
use super::follow::Feed;
use super::gateway::Entrance;
use super::upload::Upload;
use super::writes::Underway;
use crate::daemon::desk::Desk;

/// What doing something needs.
pub struct Context<'a> {
    /// The daemon.
    pub desk: &'a Desk,
    /// The table of live references.
    pub board: &'a Mutex<Switchboard>,
}

impl Context<'_> {
    /// The table of live references. Never kept while the store is asked.
    pub fn board(&self) -> MutexGuard<'_, Switchboard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the objects that a client can see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Thing {
    /// A formula.
    Object(Object),
    /// A promise of the store's.
    Promise {
        /// The promise.
        id: FormulaId,
        /// The agent on whose behalf it is waited for.
        agent: FormulaId,
    },
    /// Whether a promise of the store's was kept, in a word, once it settles.
    Settled {
        /// The promise.
        id: FormulaId,
    },
    /// That a message was dismissed, once it is.
    Dismissed {
        /// In whose mailbox.
        agent: FormulaId,
        /// Its number there.
        number: MessageNumber,
    },
    /// An iterator.
    Iterator,
    /// What a client of the gateway sees first.
    Entrance,
}

impl Thing {
    /// What settles it, if it is a promise.
    fn cause(&self) -> Option<Cause> {
        match self {
            Thing::Promise { id, .. } | Thing::Settled { id } => Some(Cause::Settled(*id)),
            Thing::Dismissed { agent, number } => Some(Cause::Dismissed(*agent, *number)),
            Thing::Object(_) | Thing::Iterator | Thing::Entrance => None,
        }
    }
}

/// What settles a promise here, as events tell it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Cause {
    Settled(FormulaId),
    Dismissed(FormulaId, MessageNumber),
}

/// A formula as somebody reaches it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// The formula.
    pub id: FormulaId,
    /// The agent on whose behalf it is called.
    pub agent: FormulaId,
    /// The grants through which it was found: it can be used as long as they last.
    pub through: Vec<FormulaId>,
}

/// All that one client sees.
pub struct Home {
    pub(super) side: Side,
    things: HashMap<Key, (Thing, Ref)>,
    keys: HashMap<Thing, Key>,
    references: HashMap<Ref, Key>,
    next: Key,
    /// Promises that must be looked at.
    fresh: BTreeSet<Key>,
    /// Promises that have not settled, by what settles them.
    waiting: HashMap<Cause, BTreeSet<Key>>,
    /// Under whom events about these are recorded, and up to which event they are known.
    cursors: HashMap<Owner, u64>,
    pub(super) feeds: HashMap<Key, Feed>,
    pub(super) uploads: HashMap<u64, Upload>,
    /// Calls that wait for the disk, in their order.
    pub(super) underway: Vec<Underway>,
    pub(super) last_upload: u64,
    pub(super) ends_daemon: bool,
    /// How far a client of the gateway has come.
    pub(super) entrance: Option<Entrance>,
    /// When so many references are known, those that nobody uses are looked for.
    sweep_at: usize,
}

/// When references are first swept.
const SWEEP: usize = 4096;

impl Home {
    /// A home whose first object is the root of the store; and that object.
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

    /// A home whose first object takes tokens; and that object.
    ///
    /// # Errors
    /// [`Full`].
    pub fn behind_gateway(board: &mut Switchboard, now: Instant) -> Result<(Home, Value<Ref>), Full> {
        let mut home = Home { entrance: Some(Entrance::new(now)), ..Home::empty(board) };
        let reference = home.intern(board, Thing::Entrance)?;
        Ok((home, Value::remotable_alleged(reference, "Alleged: Gateway")))
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
            last_upload: 0,
            ends_daemon: false,
            entrance: None,
            sweep_at: SWEEP,
        }
    }

    /// Whether the client has asked that the daemon ends.
    pub fn ends_daemon(&self) -> bool {
        self.ends_daemon
    }

    /// Whether the client came by the gateway and has shown no good token yet.
    pub fn is_outside(&self) -> bool {
        self.entrance.as_ref().is_some_and(Entrance::is_outside)
    }

    /// Why a client of the gateway is let go of, if it is.
    pub fn is_over(&self, now: Instant) -> Option<&'static str> {
        self.entrance.as_ref().and_then(|entrance| entrance.is_over(now))
    }

    /// Whether anything here waits for news.
    pub fn waits(&self) -> bool {
        !self.fresh.is_empty() || !self.waiting.is_empty() || !self.feeds.is_empty()
    }

    /// What the client refers to in the store.
    pub fn pins(&self) -> BTreeSet<FormulaId> {
        let mut pins = BTreeSet::new();
        for (thing, _) in self.things.values() {
            match thing {
                Thing::Object(object) => {
                    pins.insert(object.id);
                    pins.extend(&object.through);
                }
                Thing::Promise { id, .. } | Thing::Settled { id } => drop(pins.insert(*id)),
                Thing::Dismissed { .. } | Thing::Iterator | Thing::Entrance => {}
            }
        }
        pins
    }

    /// The client is gone.
    pub fn close(&mut self, board: &mut Switchboard, reason: &str) {
        board.end(self.side, Value::error("Error", reason));
        self.fresh.clear();
        self.waiting.clear();
        self.feeds.clear();
        self.uploads.clear();
        self.underway.clear();
    }

    /// The live reference of a thing: the same as long as the client has it.
    fn intern(&mut self, board: &mut Switchboard, thing: Thing) -> Result<Ref, Full> {
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

    /// A new iterator.
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

    /// Promises that have settled are nobody's, so nobody says when they are no longer used.
    fn sweep(&mut self, board: &Switchboard) {
        if self.references.len() < self.sweep_at {
            return;
        }
        let unused = self.references.iter().filter(|(reference, _)| !board.knows(**reference));
        let unused: Vec<Key> = unused.map(|(_, key)| *key).collect();
        unused.into_iter().for_each(|key| self.forget(key));
        self.sweep_at = SWEEP.max(self.references.len() * 2);
    }

    /// A value of the store's as the client gets it.
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
                Live::Formula(id) if promise => Thing::Promise { id, agent: reach.agent },
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

    /// The formula that a live reference stands for; `None` if it is the client's own.
    pub fn formula(&self, reference: Ref) -> Option<FormulaId> {
        match &self.things.get(self.references.get(&reference)?)?.0 {
            Thing::Object(object) => Some(object.id),
            Thing::Promise { id, .. } => Some(*id),
            Thing::Settled { .. } | Thing::Dismissed { .. } | Thing::Iterator | Thing::Entrance => None,
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

    /// Does everything that has come for this side. What waits for the disk may stay under way.
    pub fn work(&mut self, context: &Context<'_>) {
        loop {
            let actions = context.board().take(self.side);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Deliver { to, call, answer } => self.deliver(context, to, &call, answer),
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
            (_, Call::Apply(_)) => Some(Err(type_error(
                "Cannot invoke target as a function; typeof target is \"object\"".to_owned(),
            ))),
            // The properties of an object are its methods, which cannot be passed.
            (_, Call::Get(_)) => Some(Ok(Value::undefined())),
            (Some((_, Thing::Object(object))), Call::Method(Name::Text(name), args)) => {
                self.perform(context, &object, &name.to_str_lossy(), args, answer)
            }
            (Some((_, Thing::Entrance)), Call::Method(name, args)) => Some(self.enter(context, name, args)),
            (Some((key, Thing::Iterator)), Call::Method(Name::Text(name), args)) => {
                self.iterate(context, key, &name.to_str_lossy(), args, answer)
            }
            (_, Call::Method(name, _)) => {
                Some(Err(type_error(format!("target has no method {}, has []", name.shown()))))
            }
        };
        if let Some(outcome) = outcome {
            context.board().resolve(self.side, answer, outcome);
        }
        self.look_at_promises(context);
    }

    /// Settles promises and feeds iterators.
    pub fn look_around(&mut self, context: &Context<'_>) {
        self.read_events(context);
        self.look_at_promises(context);
        self.feed_all(context);
    }

    /// Which promises have to be looked at again, by what the events since the last time say.
    fn read_events(&mut self, context: &Context<'_>) {
        if self.waiting.is_empty() {
            self.cursors.clear();
            return;
        }
        let (cursors, causes) = (&mut self.cursors, &mut Vec::new());
        // What cannot be read now is read at the next news.
        let _ = context.desk.daemon.read(|txn| {
            for (owner, seen) in cursors.iter_mut() {
                read_causes(txn, owner, seen, causes)?;
            }
            Ok(())
        });
        for cause in causes {
            self.fresh.extend(self.waiting.remove(cause).unwrap_or_default());
        }
    }

    /// Settles what the store says has settled.
    fn look_at_promises(&mut self, context: &Context<'_>) {
        // A promise's value may hold another promise, which is looked at as well.
        while !self.fresh.is_empty() {
            let keys = std::mem::take(&mut self.fresh);
            let looked: Vec<(Key, Thing, Ref)> = keys
                .into_iter()
                .filter_map(|key| self.things.get(&key).map(|(thing, found)| (key, thing.clone(), *found)))
                .collect();
            let found = context.desk.daemon.read(|txn| {
                looked.iter().map(|(_, thing, _)| look(txn, thing)).collect::<Result<Vec<_>, _>>()
            });
            match found {
                Ok(states) => {
                    for ((key, _, reference), state) in looked.into_iter().zip(states) {
                        self.learn(context, key, reference, state);
                    }
                }
                // What cannot be read now fails: nobody would look again.
                Err(failure) => {
                    let mut board = context.board();
                    for (_, _, reference) in looked {
                        let error = Value::error("Error", failure.message.raw().to_owned());
                        board.resolve(self.side, reference, Err(error));
                    }
                }
            }
        }
    }

    fn learn(&mut self, context: &Context<'_>, key: Key, reference: Ref, state: State) {
        let outcome: Outcome = match state {
            State::Pending { cause, owner, seen } => {
                self.waiting.entry(cause).or_default().insert(key);
                // Events that others have not seen yet are not passed over.
                self.cursors.entry(owner).or_insert(seen);
                return;
            }
            State::Word(word) => Ok(word.map_or(Value::undefined(), Value::string)),
            State::Broken(reason) => Err(Value::error("Error", reason)),
            State::Kept { value, interfaces, agent, id } => {
                let reach = Object { id, agent, through: vec![] };
                let shown = self.show(&mut context.board(), &convert::live(&value), &interfaces, &reach);
                shown.map_err(|full| Value::error("Error", full.to_string()))
            }
        };
        context.board().resolve(self.side, reference, outcome);
    }
}

/// What is known of a promise.
enum State {
    /// Nothing yet: what settles it, under whom that is recorded, and the last event before this was said.
    Pending { cause: Cause, owner: Owner, seen: u64 },
    /// A word, or nothing.
    Word(Option<&'static str>),
    /// It was broken.
    Broken(String),
    /// It has a value.
    Kept { value: kernel::Value, interfaces: Interfaces, agent: FormulaId, id: FormulaId },
}

fn look(txn: &mut dyn ReadTxn, thing: &Thing) -> Result<State, StoreFault> {
    let last = |txn: &mut dyn ReadTxn, owner: &Owner| {
        Ok::<_, StoreFault>(kernel::head::log_end(txn, owner)?.map_or(0, |end| end.seq))
    };
    Ok(match thing {
        Thing::Promise { id, .. } | Thing::Settled { id } => match table::promise(txn, id)? {
            Some(PromiseRow::Pending) => {
                let row = table::formula(txn, id)?;
                let Some(Formula::Promise { asker, .. }) = row.map(|row| row.formula) else {
                    return Ok(State::Broken("the promise was collected".to_owned()));
                };
                let seen = last(txn, &asker.0)?;
                State::Pending { cause: Cause::Settled(*id), owner: asker.0, seen }
            }
            Some(PromiseRow::Fulfilled { value }) => match thing {
                Thing::Promise { agent, .. } => {
                    let interfaces = convert::interfaces(txn, &convert::live(&value))?;
                    State::Kept { value, interfaces, agent: *agent, id: *id }
                }
                _ => State::Word(Some("fulfilled")),
            },
            Some(PromiseRow::Rejected { reason }) => match thing {
                Thing::Promise { .. } => State::Broken(reason),
                _ => State::Word(Some("rejected")),
            },
            None => State::Broken("the promise was collected".to_owned()),
        },
        Thing::Dismissed { agent, number } => {
            let letter = query::message(txn, agent, *number)?;
            match letter.is_some_and(|letter| letter.message.is_some()) {
                true => {
                    let cause = Cause::Dismissed(*agent, *number);
                    State::Pending { cause, owner: agent.number, seen: last(txn, &agent.number)? }
                }
                false => State::Word(None),
            }
        }
        Thing::Object(_) | Thing::Iterator | Thing::Entrance => State::Word(None),
    })
}

/// What the events of one agent since `seen` settle.
fn read_causes(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    seen: &mut u64,
    causes: &mut Vec<Cause>,
) -> Result<(), StoreFault> {
    /// How many events are read at a time.
    const BATCH: usize = 256;
    loop {
        let events = query::events(txn, owner, *seen, BATCH)?;
        let full = events.len() == BATCH;
        for event in events {
            *seen = event.seq;
            match event.change {
                Change::Settled { promise, .. } => causes.push(Cause::Settled(promise)),
                Change::Dismissed { number } => {
                    // All agents of a store are of one node.
                    if let Some(endo) = table::endo(txn)? {
                        let agent = FormulaId { number: *owner, node: endo.node };
                        causes.push(Cause::Dismissed(agent, number));
                    }
                }
                _ => {}
            }
        }
        if !full {
            return Ok(());
        }
    }
}

/// An error of the class that JavaScript has for wrong types.
pub fn type_error(message: String) -> Value<Ref> {
    Value::error("TypeError", message)
}
