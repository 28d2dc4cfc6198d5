//! The numbers by which a heap and the daemon refer to each other's objects.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::FormulaId;
use kernel::code::{CodePromise, HeapReference, Reference, export_id, promise_id};
use passable::{Remote, Value};
use switchboard::{LimitReached, Ref, Side, Switchboard};
use vat::Slot;

use crate::objects::convert::rebuild;
use crate::objects::object_table::ObjectTable;

/// The bit that marks the tag of a watched promise. The tag of a send does not have it.
pub const PROMISE_TAG: u64 = 1 << 40;

/// The numbers of one heap, with the objects and promises behind them.
pub struct HeapReferences {
    eval: FormulaId,
    /// The identity of the heap, different from that of every other heap.
    pub heap: u64,
    side: Side,
    hosts: BTreeMap<u32, Ref>,
    numbers: HashMap<Ref, u32>,
    next: u32,
    /// The number of times that the heap was told each number.
    mention_counts: HashMap<u32, u64>,
    questions: HashMap<u32, Ref>,
    /// The objects of the heap that exist again when the code is run again from its journal.
    lasting: BTreeSet<u32>,
    /// The guards of the heap's objects that have no identity in the store yet.
    guards: BTreeMap<u32, kernel::Value>,
    /// The heap's objects that have an identity in the store.
    exported: BTreeMap<u32, FormulaId>,
    own: HashMap<FormulaId, u32>,
    /// The promises of the heap that are also promises of the store.
    promised: BTreeMap<CodePromise, FormulaId>,
    own_promises: HashMap<FormulaId, u32>,
    /// The promises that the heap was given and that have not settled.
    pub promises: BTreeSet<u32>,
    /// Whether the heap was given an object that could not be found again if the heap were made again.
    pub has_transient: bool,
}

/// The reason why a value cannot pass out of a heap.
#[derive(Debug)]
pub enum PassError {
    /// A limit on the number of references was reached.
    Full(LimitReached),
    /// The value holds something that cannot pass. The text is the reason.
    NotPassable(&'static str),
}

impl From<LimitReached> for PassError {
    fn from(full: LimitReached) -> PassError {
        PassError::Full(full)
    }
}

impl PassError {
    /// Returns a description of the reason.
    pub fn describe(&self) -> String {
        match self {
            PassError::Full(full) => full.to_string(),
            PassError::NotPassable(what) => (*what).to_owned(),
        }
    }
}

fn lock(board: &Mutex<Switchboard>) -> MutexGuard<'_, Switchboard> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HeapReferences {
    /// Returns an empty table for a heap.
    pub fn new(eval: FormulaId, heap: u64, side: Side) -> HeapReferences {
        HeapReferences {
            eval,
            heap,
            side,
            hosts: BTreeMap::new(),
            numbers: HashMap::new(),
            next: 0,
            mention_counts: HashMap::new(),
            questions: HashMap::new(),
            lasting: BTreeSet::new(),
            guards: BTreeMap::new(),
            exported: BTreeMap::new(),
            own: HashMap::new(),
            promised: BTreeMap::new(),
            own_promises: HashMap::new(),
            promises: BTreeSet::new(),
            has_transient: false,
        }
    }

    /// Notes the heap's objects in a value that will exist again whenever the code is run again from its journal.
    pub fn note_lasting(&mut self, value: &Value<Slot>) {
        for slot in value.references() {
            if let Slot::Vat(number) = slot {
                self.lasting.insert(*number);
                self.own.insert(export_id(&self.eval, *number), *number);
            }
        }
    }

    /// Notes the guard that the heap reports for one of its objects.
    pub fn record_guard(&mut self, number: u32, guard: &Value<Slot>) {
        let plain = guard.try_map_references(&mut |_| Err::<FormulaId, ()>(()));
        if let (Ok(guard), false) = (plain, self.exported.contains_key(&number)) {
            self.guards.insert(number, guard);
        }
    }

    /// Removes and returns the guard of an object that is about to get an identity.
    pub fn guard(&mut self, number: u32) -> Option<kernel::Value> {
        self.guards.remove(&number)
    }

    /// Returns the heap's objects in a value that need an identity and have none. Each has the interface name that it
    /// claims.
    pub fn objects_without_id(&self, value: &Value<Slot>) -> Vec<(u32, String)> {
        let mut found = BTreeMap::new();
        let mut look = |remote: &Remote<Slot>, is_promise: bool| {
            if let Slot::Vat(number) = remote.reference
                && !is_promise
                && self.lasting.contains(&number)
                && !self.exported.contains_key(&number)
            {
                let interface = remote.iface.as_ref().map(|iface| iface.to_str_lossy().into_owned());
                found.insert(number, interface.unwrap_or_else(|| "Remotable".to_owned()));
            }
            Ok::<_, std::convert::Infallible>(remote.clone())
        };
        let _ = rebuild(value, &mut look);
        found.into_iter().collect()
    }

    /// Returns the heap's promises in a value that need an identity and have none.
    pub fn promises_without_id(&self, value: &Value<Slot>) -> Vec<CodePromise> {
        let mut found = BTreeSet::new();
        let mut look = |remote: &Remote<Slot>, is_promise: bool| {
            let which = match remote.reference {
                Slot::Vat(number) if is_promise && self.lasting.contains(&number) => {
                    CodePromise::Numbered(number)
                }
                Slot::Question(number) => CodePromise::Answer(number),
                _ => return Ok::<_, std::convert::Infallible>(remote.clone()),
            };
            if !self.promised.contains_key(&which) {
                found.insert(which);
            }
            Ok(remote.clone())
        };
        let _ = rebuild(value, &mut look);
        found.into_iter().collect()
    }

    /// Notes that a promise of the heap is now also a promise of the store.
    pub fn record_promise(&mut self, which: CodePromise) {
        let id = promise_id(&self.eval, which);
        self.promised.insert(which, id);
        // The heap may have dropped the promise for an answer, so that promise is not mapped back to a number. The
        // heap gets a new number for it.
        if let CodePromise::Numbered(number) = which {
            self.own_promises.insert(id, number);
        }
    }

    /// Returns whether a promise of the heap is also a promise of the store.
    pub fn is_promised(&self, which: CodePromise) -> bool {
        self.promised.contains_key(&which)
    }

    /// Returns the reference by which others know one of the heap's promises, if it is a promise of the store.
    fn promise_reference(&self, which: CodePromise) -> Option<Reference> {
        let id = *self.promised.get(&which)?;
        Some(Reference::Promise { id, agent: self.eval, through: vec![] })
    }

    /// Notes that an object of the heap has an identity, and returns the identity.
    pub fn assign_id(&mut self, number: u32) -> FormulaId {
        let id = export_id(&self.eval, number);
        self.exported.insert(number, id);
        self.own.insert(id, number);
        id
    }

    /// Returns the objects of the heap that exist again when the code is run again.
    pub fn lasting_objects(&self) -> impl Iterator<Item = u32> {
        self.lasting.iter().copied()
    }

    /// Returns whether others may hold objects or promises of the heap that exist again when the code is run again.
    pub fn has_exports(&self) -> bool {
        !self.exported.is_empty() || !self.own_promises.is_empty()
    }

    /// Returns whether others may call an object of the heap.
    pub fn can_be_called(&self) -> bool {
        !self.exported.is_empty()
    }

    /// Returns the heap's promises that the store may still wait for.
    pub fn promised_ids(&self) -> impl Iterator<Item = FormulaId> {
        self.promised.values().copied()
    }

    /// Returns a live value in the form that the heap is told. The numbers that are new in it are added to `bound`.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn build_to_heap(
        &mut self,
        home: &ObjectTable,
        board: &Mutex<Switchboard>,
        value: &Value<Ref>,
        bound: &mut Vec<HeapReference>,
    ) -> Result<Value<Slot>, LimitReached> {
        rebuild(value, &mut |remote: &Remote<Ref>, is_promise| {
            let to = home.reference(remote.reference).unwrap_or(Reference::Passing);
            let slot = match &to {
                Reference::Promise { id, .. } if self.own_promises.contains_key(id) => {
                    self.own_promises.get(id).copied().map(Slot::Vat)
                }
                Reference::Object { id, .. } if self.own.contains_key(id) => {
                    self.own.get(id).copied().map(Slot::Vat)
                }
                Reference::Live { eval, heap, number, .. } if (*eval, *heap) == (self.eval, self.heap) => {
                    Some(Slot::Vat(*number))
                }
                _ => None,
            };
            let reference = match slot {
                Some(slot) => slot,
                None => {
                    let (number, is_new) = self.number(board, remote.reference)?;
                    self.has_transient |= to == Reference::Passing;
                    if is_new {
                        bound.push(HeapReference { slot: number, to });
                    }
                    self.count_mention(board, number, remote.reference, is_promise);
                    Slot::Host(number)
                }
            };
            Ok(Remote { reference, iface: remote.iface.clone() })
        })
    }

    fn number(&mut self, board: &Mutex<Switchboard>, reference: Ref) -> Result<(u32, bool), LimitReached> {
        if let Some(number) = self.numbers.get(&reference) {
            return Ok((*number, false));
        }
        lock(board).hold(self.side, reference)?;
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.hosts.insert(number, reference);
        self.numbers.insert(reference, number);
        Ok((number, true))
    }

    fn count_mention(&mut self, board: &Mutex<Switchboard>, number: u32, reference: Ref, is_promise: bool) {
        let times = self.mention_counts.entry(number).or_default();
        *times += 1;
        if is_promise && *times == 1 {
            self.promises.insert(number);
            lock(board).watch(self.side, reference, PROMISE_TAG | u64::from(number));
        }
    }

    /// Binds the numbers of a recorded value again, and counts how often the value mentions each.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn bind(
        &mut self,
        home: &mut ObjectTable,
        board: &Mutex<Switchboard>,
        bound: &[HeapReference],
        value: &Value<Slot>,
    ) -> Result<(), LimitReached> {
        for HeapReference { slot, to } in bound {
            self.has_transient |= *to == Reference::Passing;
            let reference = {
                let mut board = lock(board);
                let reference = home.adopt(&mut board, to)?;
                board.hold(self.side, reference)?;
                reference
            };
            self.hosts.insert(*slot, reference);
            self.numbers.insert(reference, *slot);
            self.next = self.next.max(slot.wrapping_add(1));
        }
        let mut seen = Vec::new();
        let _ = rebuild(value, &mut |remote: &Remote<Slot>, is_promise| {
            if let Slot::Host(number) = remote.reference {
                seen.push((number, is_promise));
            }
            Ok::<_, std::convert::Infallible>(remote.clone())
        });
        for (number, is_promise) in seen {
            if let Some(reference) = self.hosts.get(&number).copied() {
                self.count_mention(board, number, reference, is_promise);
            }
        }
        Ok(())
    }

    /// Returns a value of the heap in the form that the switchboard uses. The objects in it that need an identity
    /// must have one already.
    ///
    /// # Errors
    /// [`PassError`].
    pub fn read_from_heap(
        &self,
        home: &mut ObjectTable,
        board: &Mutex<Switchboard>,
        value: &Value<Slot>,
    ) -> Result<Value<Ref>, PassError> {
        rebuild(value, &mut |remote: &Remote<Slot>, is_promise| {
            let reference = match remote.reference {
                Slot::Host(number) => {
                    self.hosts.get(&number).copied().ok_or(PassError::NotPassable("it is gone"))?
                }
                Slot::Question(number) => match self.promise_reference(CodePromise::Answer(number)) {
                    Some(promise) => home.adopt(&mut lock(board), &promise)?,
                    None => {
                        self.questions.get(&number).copied().ok_or(PassError::NotPassable("it is gone"))?
                    }
                },
                Slot::Vat(number) if is_promise => {
                    match self.promise_reference(CodePromise::Numbered(number)) {
                        Some(promise) => home.adopt(&mut lock(board), &promise)?,
                        None => {
                            let what = "a promise made by code that has come to its end cannot be passed on: wait for it first";
                            return Err(PassError::NotPassable(what));
                        }
                    }
                }
                Slot::Vat(number) => home.adopt(&mut lock(board), &self.object(number))?,
                Slot::Answer(_) => return Err(PassError::NotPassable("it is no object")),
            };
            Ok(Remote { reference, iface: remote.iface.clone() })
        })
    }

    /// Returns the reference by which others know one of the heap's objects.
    pub fn object(&self, number: u32) -> Reference {
        match self.exported.get(&number) {
            Some(id) => Reference::Object { id: *id, agent: self.eval, through: vec![] },
            None => Reference::Live { eval: self.eval, heap: self.heap, number, through: vec![] },
        }
    }

    /// Returns the live reference that is the target of a send of the heap.
    pub fn target(&self, slot: Slot) -> Option<Ref> {
        match slot {
            Slot::Host(number) => self.hosts.get(&number).copied(),
            Slot::Question(number) => self.questions.get(&number).copied(),
            Slot::Vat(_) | Slot::Answer(_) => None,
        }
    }

    /// Returns the live reference behind a number that the daemon has given out.
    pub fn host(&self, number: u32) -> Option<Ref> {
        self.hosts.get(&number).copied()
    }

    /// Notes the number by which the heap knows an answer. The number is kept until the heap drops the answer.
    pub fn ask(&mut self, question: u32, answer: Ref) {
        self.questions.insert(question, answer);
    }

    /// Releases references and answers that the heap has dropped. Each reference comes with the number of mentions
    /// that the heap has dropped.
    pub fn release(&mut self, board: &Mutex<Switchboard>, imports: &[(u32, u32)], questions: &[u32]) {
        let mut board = lock(board);
        for (number, times) in imports {
            let Some(told) = self.mention_counts.get_mut(number) else { continue };
            *told = told.saturating_sub(u64::from(*times));
            if *told == 0 && !self.promises.contains(number) {
                self.mention_counts.remove(number);
                if let Some(reference) = self.hosts.remove(number) {
                    self.numbers.remove(&reference);
                    board.release(self.side, reference);
                }
            }
        }
        for question in questions {
            // The store may still wait for this answer.
            if self.promised.contains_key(&CodePromise::Answer(*question)) {
                continue;
            }
            if let Some(answer) = self.questions.remove(question) {
                board.release(self.side, answer);
            }
        }
    }
}
