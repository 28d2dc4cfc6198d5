use kernel::txn::{Owner, RawRow, ReadTxn, StoreFault, Table, Txn};
use store::faulty::FaultyStore;
use store::memory::MemStore;
use store::{Backend, Options, ReadError, Store, WriteError, conformance};

fn check<B: Backend>(make: impl FnMut() -> B) {
    let failures = conformance::run(make);
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn sqlite() {
    let root = tempfile::tempdir().unwrap();
    let mut n = 0;
    check(|| {
        n += 1;
        Store::open(&root.path().join(n.to_string()), Options::default()).unwrap()
    });
}

#[test]
fn memory() {
    check(MemStore::default);
}

#[test]
fn faulty() {
    check(FaultyStore::default);
}

/// The defect of a backend in one table.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// Deleted rows stay.
    KeepsDeleted,
    /// Ranges always rise.
    NeverFalls,
    /// The rows of all owners are one heap.
    MixesOwners,
}

/// A backend that does something wrong with one table, and nothing with the others.
struct Lying {
    inner: MemStore,
    table: Table,
    lie: Lie,
}

struct LyingTxn<'t, T: ?Sized> {
    inner: &'t mut T,
    table: Table,
    lie: Lie,
}

impl<T: ?Sized> LyingTxn<'_, T> {
    fn owner(&self, table: Table, owner: &Owner) -> Owner {
        match self.lie {
            Lie::MixesOwners if table == self.table => [1; 32],
            _ => *owner,
        }
    }
}

impl<T: ReadTxn + ?Sized> ReadTxn for LyingTxn<'_, T> {
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault> {
        let owner = self.owner(table, owner);
        self.inner.get(table, &owner, key)
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
        let owner = self.owner(table, owner);
        let rises = matches!(self.lie, Lie::NeverFalls) && table == self.table;
        self.inner.range(table, &owner, from, to, limit, reverse && !rises)
    }
}

impl<T: Txn + ?Sized> Txn for LyingTxn<'_, T> {
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault> {
        let owner = self.owner(table, owner);
        self.inner.put(table, &owner, key, row, provenance)
    }

    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault> {
        if matches!(self.lie, Lie::KeepsDeleted) && table == self.table {
            return Ok(());
        }
        let owner = self.owner(table, owner);
        self.inner.delete(table, &owner, key)
    }
}

impl Backend for Lying {
    fn write<T, E, F>(&self, closure: F) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
    {
        let (table, lie) = (self.table, self.lie);
        self.inner.write(move |inner| closure(&mut LyingTxn { inner, table, lie }))
    }

    fn read<T, E, F>(&self, closure: F) -> Result<T, ReadError<E>>
    where
        F: FnOnce(&mut dyn ReadTxn) -> Result<T, E>,
    {
        let (table, lie) = (self.table, self.lie);
        self.inner.read(|inner| closure(&mut LyingTxn { inner, table, lie }))
    }
}

#[test]
fn defect_in_any_table_of_a_backend_is_found() {
    for table in Table::ALL {
        for lie in [Lie::KeepsDeleted, Lie::NeverFalls, Lie::MixesOwners] {
            let failures = conformance::run(|| Lying { inner: MemStore::default(), table, lie });
            let named = failures.iter().any(|failure| failure.contains(table.name()));
            assert!(named, "{lie:?} with `{}`: {failures:#?}", table.name());
        }
    }
}
