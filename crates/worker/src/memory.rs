//! The cache that drivers leave for later drivers. All of it may be lost, because programs can be read again and
//! journals folded again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::run::Entry;
use kernel::{BlobHash, HostRun};
use policy::TextIndex;

use crate::fold::Fold;
use crate::program::Program;

/// The maximum number of cached programs.
const MAX_PROGRAMS: usize = 64;

/// The maximum number of cached folds, of runs that wait for their children.
const MAX_FOLDS: usize = 8;

/// The maximum number of calls in a cached fold. A longer run is folded again, so that its results do not stay in
/// memory.
const MAX_FOLD_CALLS: usize = 256;

/// The maximum size of all cached indexes, in bytes.
const MAX_INDEX_BYTES: usize = 96 << 20;

/// The cache that drivers leave for later drivers.
#[derive(Default)]
pub struct Memory {
    programs: Mutex<VecDeque<(ProgramKey, Arc<Program>)>>,
    resting: Mutex<VecDeque<(HostRun, CachedFold)>>,
    indexes: Mutex<VecDeque<(IndexKey, Arc<TextIndex>)>>,
}

/// The key of a cached program: its name and the hashes of its parts.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ProgramKey {
    pub(crate) name: String,
    pub(crate) definition: BlobHash,
    pub(crate) includes: BTreeMap<String, BlobHash>,
}

/// The key of a cached index: the hash of the text, and whether the text is that of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexKey {
    pub(crate) hash: BlobHash,
    pub(crate) is_result: bool,
}

/// The fold of a journal up to some step.
#[derive(Default)]
pub(crate) struct CachedFold {
    pub(crate) fold: Fold,
    /// The number of the first step that was not read from the journal.
    pub(crate) recorded: u64,
    /// The predicted entries from that step on, which the fold already includes.
    pub(crate) entries: Vec<Entry>,
}

impl Memory {
    /// Clears the cache.
    pub fn forget(&self) {
        lock(&self.programs).clear();
        lock(&self.resting).clear();
        lock(&self.indexes).clear();
    }

    pub(crate) fn program(&self, source: &ProgramKey) -> Option<Arc<Program>> {
        let programs = lock(&self.programs);
        programs.iter().find(|(known, _)| known == source).map(|(_, program)| Arc::clone(program))
    }

    pub(crate) fn remember(&self, source: ProgramKey, program: &Arc<Program>) {
        let mut programs = lock(&self.programs);
        programs.push_front((source, Arc::clone(program)));
        programs.truncate(MAX_PROGRAMS);
    }

    /// Returns the cached index of a text, or makes it.
    pub(crate) fn index<E>(
        &self,
        key: IndexKey,
        make: impl FnOnce() -> Result<TextIndex, E>,
    ) -> Result<Arc<TextIndex>, E> {
        let known = {
            let mut indexes = lock(&self.indexes);
            let at = indexes.iter().position(|(known, _)| *known == key);
            at.and_then(|at| indexes.remove(at)).inspect(|found| indexes.push_front(found.clone()))
        };
        if let Some((_, index)) = known {
            return Ok(index);
        }
        // Other drivers go on while the index is made.
        let index = Arc::new(make()?);
        let mut indexes = lock(&self.indexes);
        indexes.push_front((key, Arc::clone(&index)));
        let mut bytes = 0;
        let fits = indexes.iter().take_while(|(_, index)| {
            bytes += index.bytes();
            bytes <= MAX_INDEX_BYTES
        });
        let kept = fits.count();
        indexes.truncate(kept);
        Ok(index)
    }

    /// Keeps the fold of a run that its children will wake soon.
    pub(crate) fn keep_fold(&self, run: HostRun, rest: CachedFold) {
        if rest.fold.calls.len() <= MAX_FOLD_CALLS {
            let mut resting = lock(&self.resting);
            resting.retain(|(other, _)| *other != run);
            resting.push_front((run, rest));
            resting.truncate(MAX_FOLDS);
        }
    }

    pub(crate) fn take_fold(&self, run: HostRun) -> Option<CachedFold> {
        let mut resting = lock(&self.resting);
        let at = resting.iter().position(|(other, _)| *other == run)?;
        resting.remove(at).map(|(_, rest)| rest)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
