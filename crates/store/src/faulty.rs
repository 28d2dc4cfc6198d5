//! A backend that fails where a test wants it to fail, and forgets the writes that a disk would forget.
//!
//! The backend keeps two images: the rows that the running program sees, and the rows that a power failure would
//! leave. With an honest disk, both are equal after every commit. A lying disk acknowledges commits without writing
//! them. A durability test that passes even on a lying disk proves nothing, so every such test should also show that
//! it fails there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::txn::{Owner, RawRow, ReadTxn, StoreFault, Table, Txn};

use crate::backend::Backend;
use crate::error::{ReadError, WriteError};
use crate::memory::{Key, MemTxn, Row, Rows, Snapshot};

/// A fault that happens once. Counting begins at 1, from the moment when the fault is armed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The nth row operation (get, range, put, delete) of writing closures fails.
    Operation {
        /// The number of the operation.
        nth: u64,
        /// The error of the operation.
        fault: StoreFault,
    },
    /// The nth commit fails. None of its closure's changes are kept.
    Commit {
        /// The number of the commit.
        nth: u64,
        /// The error of the commit.
        fault: StoreFault,
    },
    /// The power fails right before the nth commit is durable. Every call returns `Closed` until `reboot`.
    CrashBefore {
        /// The number of the commit.
        nth: u64,
    },
    /// The power fails right after the nth commit is durable, but before the caller gets the result.
    CrashAfter {
        /// The number of the commit.
        nth: u64,
    },
}

impl InjectedFault {
    /// Counts one operation or commit, and returns whether the fault happens now.
    fn due(&mut self, commit: bool) -> bool {
        let nth = match self {
            InjectedFault::Operation { nth, .. } if !commit => nth,
            InjectedFault::Commit { nth, .. }
            | InjectedFault::CrashBefore { nth }
            | InjectedFault::CrashAfter { nth }
                if commit =>
            {
                nth
            }
            _ => return false,
        };
        *nth = nth.saturating_sub(1);
        *nth == 0
    }
}

#[derive(Default)]
struct Disk {
    live: Arc<Rows>,
    durable: Rows,
    /// Changes of acknowledged commits that are not in `durable`, oldest first.
    unsynced: Vec<(Key, Option<Row>)>,
    commits: u64,
    lying: bool,
    dead: bool,
    armed: Vec<InjectedFault>,
}

impl Disk {
    fn due(&mut self, commit: bool) -> Option<InjectedFault> {
        let at = self.armed.iter_mut().position(|trouble| trouble.due(commit))?;
        Some(self.armed.swap_remove(at))
    }

    fn sync(&mut self) {
        for (key, row) in self.unsynced.drain(..) {
            self.durable.set(key, row);
        }
    }
}

/// A backend whose faults all come from [`FaultyStore::arm`]. Without them, it works like a
/// [`MemStore`](crate::memory::MemStore).
#[derive(Default)]
pub struct FaultyStore {
    disk: Mutex<Disk>,
}

impl FaultyStore {
    /// Returns a store with `rows`, all of them durable.
    pub fn with(rows: Rows) -> Self {
        let disk = Disk { live: Arc::new(rows.clone()), durable: rows, ..Disk::default() };
        FaultyStore { disk: Mutex::new(disk) }
    }

    /// Arms a fault, which happens later. Several faults can be armed. Each happens once.
    pub fn arm(&self, trouble: InjectedFault) {
        self.disk().armed.push(trouble);
    }

    /// Makes the disk lie about syncs from now on, or makes it honest again. An honest disk writes the changes that a
    /// lying one left out at its next commit.
    pub fn lie(&self, lying: bool) {
        self.disk().lying = lying;
    }

    /// Cuts the power, if it has not failed already, and restores it. Only durable rows are left, and no faults are
    /// armed.
    pub fn reboot(&self) {
        let mut disk = self.disk();
        disk.live = Arc::new(disk.durable.clone());
        disk.unsynced.clear();
        disk.dead = false;
        disk.armed.clear();
    }

    /// Returns whether the power is off.
    pub fn is_dead(&self) -> bool {
        self.disk().dead
    }

    /// Returns the number of commits, including commits that were made but not acknowledged.
    pub fn commits(&self) -> u64 {
        self.disk().commits
    }

    /// Returns the number of acknowledged row changes that a power failure would lose now. It is above zero only on a
    /// lying disk.
    pub fn unsynced(&self) -> usize {
        self.disk().unsynced.len()
    }

    /// Returns the rows that the running program sees.
    pub fn live(&self) -> Arc<Rows> {
        Arc::clone(&self.disk().live)
    }

    /// Returns the rows that a power failure would leave.
    pub fn durable(&self) -> Rows {
        self.disk().durable.clone()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for FaultyStore {
    fn write<T, E, F>(&self, closure: F) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
    {
        let mut guard = self.disk();
        let disk = &mut *guard;
        if disk.dead {
            return Err(WriteError::Store(StoreFault::Closed));
        }
        // The rows are moved out, so that the closure's operations can borrow the remaining fields.
        let mut live = std::mem::take(&mut disk.live);
        let outcome = attempt(disk, Arc::make_mut(&mut live), closure);
        disk.live = live;
        outcome
    }

    fn read<T, E, F>(&self, closure: F) -> Result<T, ReadError<E>>
    where
        F: FnOnce(&mut dyn ReadTxn) -> Result<T, E>,
    {
        let disk = self.disk();
        if disk.dead {
            return Err(ReadError::Store(StoreFault::Closed));
        }
        let mut snapshot = Snapshot(Arc::clone(&disk.live));
        drop(disk);
        closure(&mut snapshot).map_err(ReadError::Refused)
    }
}

/// Makes one write. Changes that are not kept are undone when the inner transaction is dropped.
fn attempt<T, E>(
    disk: &mut Disk,
    rows: &mut Rows,
    closure: impl FnOnce(&mut dyn Txn) -> Result<T, E>,
) -> Result<T, WriteError<E>> {
    let mut txn = MemTxn::new(rows);
    let mut faulty = FaultyTxn { txn: &mut txn, disk: &mut *disk, fault: None };
    let result = catch_unwind(AssertUnwindSafe(|| closure(&mut faulty)));
    if let Some(fault) = faulty.fault {
        return Err(WriteError::Store(fault));
    }
    let value = match result {
        Ok(Ok(value)) => value,
        Ok(Err(refusal)) => return Err(WriteError::Refused(refusal)),
        Err(payload) => return Err(WriteError::Panicked(crate::writer::message(&*payload))),
    };
    let changes = txn.changes();
    if changes.is_empty() {
        return Ok(value);
    }
    let trouble = disk.due(true);
    match trouble {
        Some(InjectedFault::Commit { fault, .. }) => return Err(WriteError::Store(fault)),
        Some(InjectedFault::CrashBefore { .. }) => {
            disk.dead = true;
            return Err(WriteError::Store(StoreFault::Closed));
        }
        _ => {}
    }
    txn.keep();
    disk.commits += 1;
    disk.unsynced.extend(changes);
    if !disk.lying {
        disk.sync();
    }
    if matches!(trouble, Some(InjectedFault::CrashAfter { .. })) {
        disk.dead = true;
        return Err(WriteError::Store(StoreFault::Closed));
    }
    Ok(value)
}

struct FaultyTxn<'a, 'b> {
    txn: &'a mut MemTxn<'b>,
    disk: &'a mut Disk,
    fault: Option<StoreFault>,
}

impl FaultyTxn<'_, '_> {
    fn operation(&mut self) -> Result<(), StoreFault> {
        if let Some(InjectedFault::Operation { fault, .. }) = self.disk.due(false) {
            self.fault.get_or_insert(fault);
        }
        // After a fault, every further operation of this transaction fails, as on a real disk.
        self.fault.clone().map_or(Ok(()), Err)
    }
}

impl ReadTxn for FaultyTxn<'_, '_> {
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        self.operation()?;
        self.txn.get(table, owner, key)
    }

    fn range(
        &mut self,
        table: Table,
        owner: &Owner,
        from: &[u8],
        to: &[u8],
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<RawRow>, StoreFault> {
        self.operation()?;
        self.txn.range(table, owner, from, to, limit, reverse)
    }
}

impl Txn for FaultyTxn<'_, '_> {
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault> {
        self.operation()?;
        self.txn.put(table, owner, key, row, provenance)
    }

    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault> {
        self.operation()?;
        self.txn.delete(table, owner, key)
    }
}
