//! The one durable place: rows in SQLite, bytes in files named by their content, and one process that owns both.
//!
//! A [`Store`] is a directory (0700) with
//!
//! ```text
//! lock              held with flock by the owner; its pid inside
//! almoner.sqlite    the rows: WAL, synchronous=FULL, one table per `kernel::txn::Table`
//! blobs/ab/cdef…    bytes, named by their BLAKE3 hash; small ones may be rows
//! tmp/              half-written blobs; emptied when the store opens
//! ```
//!
//! One thread writes. Closures that wait for it are run one after the other over what those before them have changed;
//! what they leave is written in one transaction, and they are answered only after COMMIT has returned: one sync to
//! disk pays for all of them.
//! Readers have connections of their own and see the last committed state.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "the store owns its files, and times its own patience")]

mod backend;
mod backup;
mod blob;
mod check;
mod database;
mod error;
pub mod failpoint;
mod fault;
mod header;
mod marks;
mod overlay;
mod place;
mod probe;
mod reader;
mod schema;
mod small;
mod sql;
mod stats;
mod store;
mod sweep;
mod writer;

#[cfg(feature = "testing")]
pub mod conformance;
#[cfg(feature = "testing")]
pub mod faulty;
#[cfg(feature = "testing")]
pub mod memory;

/// How bytes begin that list, in hexadecimal digits, the hashes of other bytes: what keeps such a list keeps those too.
pub const TREE: &[u8] = b"almoner tree 1\n";

pub use backend::Backend;
pub use backup::BackupError;
pub use blob::{Blob, BlobError, Blobs};
pub use check::{Finding, Health};
pub use error::{OpenError, ReadError, WriteError};
pub use header::inspect;
pub use marks::Hold;
pub use probe::fsync_rate;
pub use small::Kept;
pub use stats::Stats;
pub use store::{Options, Store};
pub use sweep::{Sweep, Swept};
