//! What one client sees: the store's objects, promises that settle when the store says so, and iterators.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::table::PromiseRow;
use kernel::{FormulaId, table};
use passable::{Remote, Value};
use switchboard::{Action, Call, Full, Key, Name, Outcome, Party, Ref, Side, Switchboard, To};

use super::convert::{self, Interfaces};
use super::follow::Feed;
use super::upload::Upload;
use crate::daemon::serve::Server;

/// What doing something needs.
pub struct Context<'a> {
    /// The daemon.
    pub server: &'a Server,
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
    /// An iterator.
    Iterator,
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
    /// Promises of the store's that had not settled when they were last looked at.
    pending: BTreeSet<Key>,
    pub(super) feeds: HashMap<Key, Feed>,
    pub(super) uploads: HashMap<u64, Upload>,
    pub(super) last_upload: u64,
    pub(super) ends_daemon: bool,
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
        let side = board.add(Party::default());
        let mut home = Home {
            side,
            things: HashMap::new(),
            keys: HashMap::new(),
            references: HashMap::new(),
            next: 0,
            pending: BTreeSet::new(),
            feeds: HashMap::new(),
            uploads: HashMap::new(),
            last_upload: 0,
            ends_daemon: false,
            sweep_at: SWEEP,
        };
        let object = Thing::Object(Object { id: root, agent: host, through: vec![] });
        let reference = home.intern(board, object)?;
        Ok((home, Value::remotable_alleged(reference, "Alleged: Endo")))
    }

    /// Whether the client has asked that the daemon ends.
    pub fn ends_daemon(&self) -> bool {
        self.ends_daemon
    }

    /// Whether anything here waits for news.
    pub fn waits(&self) -> bool {
        !self.pending.is_empty() || !self.feeds.is_empty()
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
                Thing::Iterator => {}
            }
        }
        pins
    }

    /// The client is gone.
    pub fn close(&mut self, board: &mut Switchboard, reason: &str) {
        board.end(self.side, Value::error("Error", reason));
        self.pending.clear();
        self.feeds.clear();
        self.uploads.clear();
    }

    /// The live reference of a thing: the same as long as the client has it.
    fn intern(&mut self, board: &mut Switchboard, thing: Thing) -> Result<Ref, Full> {
        if let Some((_, known)) = self.keys.get(&thing).and_then(|key| self.things.get(key))
            && board.knows(*known)
        {
            return Ok(*known);
        }
        let key = self.next;
        let new = match thing {
            Thing::Object(_) | Thing::Iterator => board.object(self.side, key)?,
            Thing::Promise { .. } | Thing::Settled { .. } => board.promise(self.side, Some(key))?,
        };
        self.next += 1;
        if let Thing::Promise { .. } | Thing::Settled { .. } = thing {
            self.pending.insert(key);
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
        if let Some((thing, reference)) = self.things.remove(&key) {
            self.references.remove(&reference);
            if self.keys.get(&thing) == Some(&key) {
                self.keys.remove(&thing);
            }
        }
        self.pending.remove(&key);
        self.feeds.remove(&key);
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
        value: &kernel::Value,
        interfaces: &Interfaces,
        reach: &Object,
    ) -> Result<Value<Ref>, Full> {
        convert::rebuild(value, &mut |remote: &Remote<FormulaId>, promise| {
            let id = remote.reference;
            if promise {
                let reference = self.intern(board, Thing::Promise { id, agent: reach.agent })?;
                return Ok(Remote { reference, iface: None });
            }
            let object = Object { id, agent: reach.agent, through: reach.through.clone() };
            let reference = self.intern(board, Thing::Object(object))?;
            let iface = remote
                .iface
                .clone()
                .or_else(|| interfaces.get(&id).map(|name| format!("Alleged: {name}").into()));
            Ok(Remote { reference, iface })
        })
    }

    /// A promise of whether a promise of the store's was kept.
    ///
    /// # Errors
    /// [`Full`].
    pub fn settled(&mut self, board: &mut Switchboard, id: FormulaId) -> Result<Value<Ref>, Full> {
        Ok(Value::promise(self.intern(board, Thing::Settled { id })?))
    }

    /// The formula that a live reference stands for; `None` if it is the client's own.
    pub fn formula(&self, reference: Ref) -> Option<FormulaId> {
        match &self.things.get(self.references.get(&reference)?)?.0 {
            Thing::Object(object) => Some(object.id),
            Thing::Promise { id, .. } => Some(*id),
            Thing::Settled { .. } | Thing::Iterator => None,
        }
    }

    /// Does everything that has come for this side.
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
        self.look_at_promises(context);
        self.feed_all(context);
    }

    /// Settles what the store says has settled.
    fn look_at_promises(&mut self, context: &Context<'_>) {
        let mut seen = BTreeSet::new();
        // A promise's value may be another promise, which is looked at as well.
        loop {
            let fresh: Vec<Key> = self.pending.iter().filter(|key| !seen.contains(*key)).copied().collect();
            if fresh.is_empty() {
                return;
            }
            for key in fresh {
                seen.insert(key);
                self.look_at_promise(context, key);
            }
        }
    }

    fn look_at_promise(&mut self, context: &Context<'_>, key: Key) {
        let Some((thing, reference)) = self.things.get(&key).cloned() else { return };
        let (Thing::Promise { id, .. } | Thing::Settled { id }) = &thing else { return };
        let found = context.server.daemon.read(|txn| {
            let row = table::promise(txn, id)?;
            let interfaces = match &row {
                Some(PromiseRow::Fulfilled { value }) => convert::interfaces(txn, value)?,
                _ => Interfaces::new(),
            };
            Ok((row, interfaces))
        });
        let mut board = context.board();
        let outcome: Outcome = match (found, &thing) {
            // What cannot be read now is read later.
            (Err(_) | Ok((Some(PromiseRow::Pending), _)), _) => return,
            (Ok((Some(PromiseRow::Fulfilled { .. }), _)), Thing::Settled { .. }) => {
                Ok(Value::string("fulfilled"))
            }
            (Ok((Some(PromiseRow::Rejected { .. }), _)), Thing::Settled { .. }) => {
                Ok(Value::string("rejected"))
            }
            (Ok((Some(PromiseRow::Fulfilled { value }), interfaces)), Thing::Promise { agent, .. }) => {
                let reach = Object { id: *id, agent: *agent, through: vec![] };
                match self.show(&mut board, &value, &interfaces, &reach) {
                    Ok(value) => Ok(value),
                    Err(full) => Err(Value::error("Error", full.to_string())),
                }
            }
            (Ok((Some(PromiseRow::Rejected { reason }), _)), _) => Err(Value::error("Error", reason)),
            (Ok(_), _) => Err(Value::error("Error", "the promise was collected")),
        };
        self.pending.remove(&key);
        board.resolve(self.side, reference, outcome);
    }
}

/// An error of the class that JavaScript has for wrong types.
pub fn type_error(message: String) -> Value<Ref> {
    Value::error("TypeError", message)
}
