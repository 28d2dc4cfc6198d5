//! The interface of every backend, so that one conformance suite and one simulation run on all of them.

use std::sync::Arc;

use kernel::txn::{ReadTxn, Txn};

use crate::error::{ReadError, WriteError};

/// A store that runs transactions. [`Store`](crate::Store) is the one for production.
pub trait Backend: Send + Sync {
    /// Runs a closure in a transaction, and returns when the changes are durable. If the closure returns `Err`,
    /// nothing is recorded.
    ///
    /// The closure runs on another thread, in a group with other closures. It must not call the store again.
    fn write<T, E, F>(&self, closure: F) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static;

    /// Runs a closure that reads, on one consistent committed state.
    fn read<T, E, F>(&self, closure: F) -> Result<T, ReadError<E>>
    where
        F: FnOnce(&mut dyn ReadTxn) -> Result<T, E>;
}

impl<B: Backend> Backend for Arc<B> {
    fn write<T, E, F>(&self, closure: F) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
    {
        (**self).write(closure)
    }

    fn read<T, E, F>(&self, closure: F) -> Result<T, ReadError<E>>
    where
        F: FnOnce(&mut dyn ReadTxn) -> Result<T, E>,
    {
        (**self).read(closure)
    }
}
