//! The marks of blobs that a sweep must keep, beside the blobs that rows name.
//!
//! A blob is stored before a row names it, so at first it has no reference. A sweep keeps such a blob for some time,
//! and as long as a caller has an older hold. While a sweep looks for references, every row that is written is
//! searched too. So the sweep does not miss a reference that moves from a row ahead of it to a row behind it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::BlobHash;

/// The number of remembered hashes at which those that need no protection any more are forgotten.
const FORGET_THRESHOLD: usize = 4096;

/// The number of hashes that are marked under one lock. A text may consist of strings that look like hashes, so there
/// may be very many.
const BATCH: usize = 1024;

pub(crate) struct Marks {
    is_sweeping: AtomicBool,
    lease: Duration,
    state: Mutex<MarkState>,
}

#[derive(Default)]
struct MarkState {
    /// The time at which each blob was last stored.
    put: HashMap<BlobHash, Instant>,
    forget_at: usize,
    /// The holds of callers.
    holds: BTreeMap<u64, HoldState>,
    next: u64,
    /// The number of guards that forbid all removals.
    frozen: usize,
    /// The hashes to which the sweep has found no reference.
    unmarked: HashSet<BlobHash>,
    /// The hashes with a reference whose blobs the sweep has not searched yet.
    marked: Vec<BlobHash>,
}

/// The state of one hold.
struct HoldState {
    /// The time at which the hold was made.
    since: Instant,
    /// The time of the last sign of progress.
    moved: Instant,
    /// The maximum time without progress after which a sweep ignores the hold. `None` means that the hold always
    /// counts.
    patience: Option<Duration>,
    /// Whether a sweep has ignored the hold.
    lapsed: bool,
}

impl MarkState {
    /// Returns whether a blob that was stored at the time `put` may not have been named by a row yet.
    fn is_fresh(&self, put: Instant, lease: Duration) -> bool {
        put.elapsed() < lease || self.holds.values().any(|held| !held.lapsed && held.since <= put)
    }

    fn mark(&mut self, hash: &BlobHash) {
        if self.unmarked.remove(hash) {
            self.marked.push(*hash);
        }
    }
}

/// A guard that keeps every blob that is stored during its life, whether a row names the blob or not. A hold with a
/// patience ends when it reports no progress for that time.
pub struct Hold {
    marks: Arc<Marks>,
    number: u64,
}

impl Hold {
    /// Reports progress, so that the patience begins anew. Returns `false` if a sweep has already ignored the hold.
    pub fn moves(&self) -> bool {
        let mut state = self.marks.lock();
        let Some(held) = state.holds.get_mut(&self.number) else { return false };
        held.moved = Instant::now();
        !held.lapsed
    }

    /// Returns whether a sweep has ignored the hold. The bytes may be gone then, and must be stored again before a
    /// row names them.
    pub fn has_lapsed(&self) -> bool {
        self.marks.lock().holds.get(&self.number).is_none_or(|held| held.lapsed)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.marks.lock().holds.remove(&self.number);
    }
}

/// A guard that forbids all removals while it lives. A later sweep removes the garbage.
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

    /// Records that a caller stores these bytes, whether they are stored already or not.
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

    /// Begins a sweep of these blobs. Returns `false` if another sweep is under way.
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

    /// Marks every hash in these bytes.
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

    /// Returns a marked hash whose blob the sweep has not searched yet.
    pub(crate) fn next_marked(&self) -> Option<BlobHash> {
        self.lock().marked.pop()
    }

    /// Returns some of the hashes without references, at most `most`.
    pub(crate) fn garbage(&self, most: usize) -> Vec<BlobHash> {
        self.lock().unmarked.iter().take(most).copied().collect()
    }

    /// Removes a blob with `remove`, unless it has been stored again or named by a row in the meantime. Returns
    /// whether it was removed.
    pub(crate) fn remove<E>(
        &self,
        hash: &BlobHash,
        remove: impl FnOnce() -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut state = self.lock();
        if !state.unmarked.remove(hash) || state.frozen > 0 {
            return Ok(false);
        }
        // The lock makes other callers wait. The next caller that stores these bytes finds them gone, and writes them
        // again.
        remove().map(|()| true)
    }
}

/// Calls `found` for everything in these bytes that has the form of a hash. Of a longer run of digits, only the two
/// ends count, because no row has a hash in the middle of a run. Trying every position would make some texts very
/// slow.
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
