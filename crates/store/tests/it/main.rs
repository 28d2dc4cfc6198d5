//! The store's tests on real files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests start processes, damage files and may stop"
)]

mod backup;
mod blob;
mod child;
mod conformance;
mod crash;
mod damage;
mod group;
mod inline_blob;
mod latch;
mod medium;
mod migration;
mod other_builds;
mod ownership;
mod power;
mod sweep;

use kernel::txn::{NO_OWNER, ReadTxn, StoreFault, Table, Txn};
use store::{Options, Store, WriteError};

/// Opens a store. A process that another test is just starting has a copy of every lock until it has become itself, so
/// one that this process has given up is waited for.
fn open(dir: &std::path::Path) -> Store {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(2);
    loop {
        match Store::open(dir, Options::default()) {
            Err(store::OpenError::Owned { pid: Some(pid), .. })
                if pid == std::process::id() && std::time::Instant::now() < end =>
            {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            opened => return opened.unwrap(),
        }
    }
}

/// Stores `body` under `key`.
fn put(store: &Store, key: &str, body: &[u8]) -> Result<(), WriteError<StoreFault>> {
    let (key, body) = (key.to_owned(), body.to_vec());
    store.write(move |txn: &mut dyn Txn| txn.put(Table::Meta, &NO_OWNER, key.as_bytes(), &body, None))
}

fn get(store: &Store, key: &str) -> Option<Vec<u8>> {
    let read = |txn: &mut dyn ReadTxn| txn.get(Table::Meta, &NO_OWNER, key.as_bytes());
    store.read(read).unwrap()
}

/// Returns all keys of the table that `put` writes to, in order.
fn keys(store: &Store) -> Vec<String> {
    let all = |txn: &mut dyn ReadTxn| txn.range(Table::Meta, &NO_OWNER, b"", b"", usize::MAX, false);
    store.read(all).unwrap().into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect()
}
