//! The bytes in use, which a sweep must leave alone beside those that rows name.
//!
//! Bytes are put before a row names them, so for a while no row does. Such bytes are left alone for some time, and
//! for as long as any caller that holds on to bytes has not let go. While a sweep looks for references, every row
//! that is written counts as looked at. So the sweep does not miss a reference that moves from a row ahead of it to
//! one behind it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::BlobHash;

/// How many hashes are remembered before those that have had their time are forgotten.
const FORGET_THRESHOLD: usize = 4096;

/// The number of hashes that are marked at a time: a text may consist of strings that look like hashes.
const BATCH: usize = 1024;

pub(crate) struct Marks {
    is_sweeping: AtomicBool,
    lease: Duration,
    state: Mutex<MarkState>,
}

#[derive(Default)]
struct MarkState {
    /// When each was put last.
    put: HashMap<BlobHash, Instant>,
    forget_at: usize,
    /// The holds on put bytes.
    holds: BTreeMap<u64, HoldState>,
    next: u64,
    /// How many want that nothing at all goes.
    frozen: usize,
    /// The hashes to which the sweep has found no reference.
    unmarked: HashSet<BlobHash>,
    /// The hashes with a reference that the sweep has not looked into.
    marked: Vec<BlobHash>,
}

/// The state of one hold on put bytes.
struct HoldState {
    /// Since when.
    since: Instant,
    /// When there was a sign of progress last.
    moved: Instant,
    /// How long it is waited for without any; `None` means for ever.
    patience: Option<Duration>,
    /// Whether a sweep did not wait for it any longer.
    lapsed: bool,
}

impl MarkState {
    /// Returns whether something that was put then may not have been named yet.
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
    /// Reports progress: a sweep waits for the hold anew. Returns `false` if that comes too late.
    pub fn moves(&self) -> bool {
        let mut state = self.marks.lock();
        let Some(held) = state.holds.get_mut(&self.number) else { return false };
        held.moved = Instant::now();
        !held.lapsed
    }

    /// Returns whether a sweep has not waited. The bytes may then be gone, and must not be named without being put
    /// again.
    pub fn has_lapsed(&self) -> bool {
        self.marks.lock().holds.get(&self.number).is_none_or(|held| held.lapsed)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.marks.lock().holds.remove(&self.number);
    }
}

/// A guard that keeps everything: nothing is removed while it lives. A later sweep removes the garbage.
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

    fn lock(&self) -> MutexGuard<'_, MarkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hold(self: &Arc<Self>, patience: Option<Duration>) -> Hold {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let now = Instant::now();
        state.holds.insert(number, HoldState { since: now, moved: now, patience, lapsed: false });
        Hold { marks: Arc::clone(self), number }
    }

    /// Records that a caller puts these bytes, whether they are there or not.
    pub(crate) fn put(&self, hash: &BlobHash) {
        let mut state = self.lock();
        state.put.insert(*hash, Instant::now());
        state.mark(hash);
        if state.put.len() >= state.forget_at.max(FORGET_THRESHOLD) {
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

    /// Marks the hashes in a row that is written while a sweep is under way.
    pub(crate) fn mark_row(&self, row: &[u8]) {
        if self.is_sweeping.load(Ordering::SeqCst) {
            self.mark_hashes(row);
        }
    }

    /// Marks everything that these bytes name.
    pub(crate) fn mark_hashes(&self, bytes: &[u8]) {
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

    /// Returns one that is marked, and was not looked into yet.
    pub(crate) fn next_marked(&self) -> Option<BlobHash> {
        self.lock().marked.pop()
    }

    /// Returns some of the hashes without references.
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
        // The lock keeps callers from putting bytes meanwhile: the next one finds them gone, and writes them anew.
        remove().map(|()| true)
    }
}

/// Calls `found` for everything in these bytes that has the form of a hash. Of longer runs of digits only the two
/// ends count: no row here has a hash in the middle of one. Looking everywhere would let a text cost any amount of
/// time.
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
