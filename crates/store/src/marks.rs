//! Which bytes are in use: what a sweep must leave alone, whatever it has found in rows.
//!
//! Bytes are put before a row names them, so for a while no row does. What was put is left alone for some time, and as
//! long as anybody who holds on to bytes has not let go. While a sweep looks for references, every row that is
//! written counts as looked at: a reference that moves from where it has not looked yet to where it already has is not
//! missed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::BlobHash;

/// How many hashes are remembered before those that have had their time are forgotten.
const MANY: usize = 4096;

/// How many hashes are marked at a time: a text may consist of what looks like them.
const BATCH: usize = 1024;

pub(crate) struct Marks {
    is_sweeping: AtomicBool,
    lease: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When each was put last.
    put: HashMap<BlobHash, Instant>,
    forget_at: usize,
    /// Who holds on to what is put.
    holds: BTreeMap<u64, Held>,
    next: u64,
    /// How many want that nothing at all goes.
    frozen: usize,
    /// What the sweep has found no reference to.
    unmarked: HashSet<BlobHash>,
    /// What it has found one to, and has not looked into.
    marked: Vec<BlobHash>,
}

/// Somebody who holds on to what is put.
struct Held {
    /// Since when.
    since: Instant,
    /// When there was a sign of progress last.
    moved: Instant,
    /// How long it is waited for without any; `None` means for ever.
    patience: Option<Duration>,
    /// Whether a sweep did not wait for it any longer.
    lapsed: bool,
}

impl State {
    /// Whether something that was put then may not have been named yet.
    fn is_fresh(&self, put: Instant, lease: Duration) -> bool {
        put.elapsed() < lease || self.holds.values().any(|held| !held.lapsed && held.since <= put)
    }

    fn mark(&mut self, hash: &BlobHash) {
        if self.unmarked.remove(hash) {
            self.marked.push(*hash);
        }
    }
}

/// As long as this is there, nothing that was put since is removed, whether a row names it or not: unless it was asked
/// for with a patience, and nothing has moved for longer.
pub struct Hold {
    marks: Arc<Marks>,
    number: u64,
}

impl Hold {
    /// There is progress: it is waited for anew. `false` if that comes too late.
    pub fn moves(&self) -> bool {
        let mut state = self.marks.lock();
        let Some(held) = state.holds.get_mut(&self.number) else { return false };
        held.moved = Instant::now();
        !held.lapsed
    }

    /// Whether a sweep has not waited: what was put may be gone, and must not be named without being put again.
    pub fn has_lapsed(&self) -> bool {
        self.marks.lock().holds.get(&self.number).is_none_or(|held| held.lapsed)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.marks.lock().holds.remove(&self.number);
    }
}

/// As long as this is there, nothing is removed. What a sweep would have removed, a later one does.
pub(crate) struct Freeze(Arc<Marks>);

impl Drop for Freeze {
    fn drop(&mut self) {
        self.0.lock().frozen -= 1;
    }
}

impl Marks {
    pub(crate) fn freeze(self: &Arc<Self>) -> Freeze {
        self.lock().frozen += 1;
        Freeze(Arc::clone(self))
    }

    pub(crate) fn new(lease: Duration) -> Marks {
        Marks { is_sweeping: AtomicBool::new(false), lease, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hold(self: &Arc<Self>, patience: Option<Duration>) -> Hold {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let now = Instant::now();
        state.holds.insert(number, Held { since: now, moved: now, patience, lapsed: false });
        Hold { marks: Arc::clone(self), number }
    }

    /// Somebody puts these bytes, there or not.
    pub(crate) fn put(&self, hash: &BlobHash) {
        let mut state = self.lock();
        state.put.insert(*hash, Instant::now());
        state.mark(hash);
        if state.put.len() >= state.forget_at.max(MANY) {
            let fresh: Vec<(BlobHash, Instant)> = state.put.drain().collect();
            let fresh: HashMap<_, _> =
                fresh.into_iter().filter(|(_, put)| state.is_fresh(*put, self.lease)).collect();
            state.forget_at = fresh.len() * 2;
            state.put = fresh;
        }
    }

    /// Begins a sweep of these; `false` if one is under way.
    pub(crate) fn begin(&self, all: Vec<BlobHash>) -> bool {
        let mut state = self.lock();
        if self.is_sweeping.swap(true, Ordering::SeqCst) {
            return false;
        }
        state.unmarked = all.into_iter().collect();
        for held in state.holds.values_mut() {
            held.lapsed |= held.patience.is_some_and(|patience| held.moved.elapsed() >= patience);
        }
        let fresh: Vec<BlobHash> = state
            .put
            .iter()
            .filter(|(_, put)| state.is_fresh(**put, self.lease))
            .map(|(hash, _)| *hash)
            .collect();
        fresh.iter().for_each(|hash| state.mark(hash));
        true
    }

    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.unmarked = HashSet::new();
        state.marked = Vec::new();
        self.is_sweeping.store(false, Ordering::SeqCst);
    }

    /// A row is written: what it names is named.
    pub(crate) fn written(&self, row: &[u8]) {
        if self.is_sweeping.load(Ordering::SeqCst) {
            self.look_at(row);
        }
    }

    /// Marks everything that these bytes name.
    pub(crate) fn look_at(&self, bytes: &[u8]) {
        let mut named = Vec::with_capacity(BATCH);
        hashes(bytes, &mut |hash| {
            named.push(hash);
            if named.len() >= BATCH {
                self.mark(&mut named);
            }
        });
        self.mark(&mut named);
    }

    fn mark(&self, named: &mut Vec<BlobHash>) {
        if !named.is_empty() {
            let mut state = self.lock();
            named.drain(..).for_each(|hash| state.mark(&hash));
        }
    }

    /// One that is marked, and was not looked into yet.
    pub(crate) fn next_marked(&self) -> Option<BlobHash> {
        self.lock().marked.pop()
    }

    /// Some of what nothing refers to.
    pub(crate) fn garbage(&self, most: usize) -> Vec<BlobHash> {
        self.lock().unmarked.iter().take(most).copied().collect()
    }

    /// Removes bytes, unless somebody has put them or a row has named them in the last moment.
    pub(crate) fn remove<E>(
        &self,
        hash: &BlobHash,
        remove: impl FnOnce() -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut state = self.lock();
        if !state.unmarked.remove(hash) || state.frozen > 0 {
            return Ok(false);
        }
        // Nobody puts anything meanwhile: whoever wants to finds it gone, and writes it anew.
        remove().map(|()| true)
    }
}

/// Everything in these bytes that has the form of a hash. Of longer runs of digits only their two ends: nothing that is
/// written here has a hash in the middle of one, and looking everywhere would let a text cost as much as it likes.
fn hashes(bytes: &[u8], found: &mut dyn FnMut(BlobHash)) {
    const DIGITS: usize = 64;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    for run in bytes.split(|byte| !is_digit(byte)).filter(|run| run.len() >= DIGITS) {
        let ends = [run.first_chunk::<DIGITS>(), run.last_chunk::<DIGITS>().filter(|_| run.len() > DIGITS)];
        for end in ends.into_iter().flatten() {
            if let Ok(hash) = std::str::from_utf8(end).unwrap_or_default().parse() {
                found(hash);
            }
        }
    }
}
