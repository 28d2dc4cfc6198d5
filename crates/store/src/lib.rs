//! The durable store: rows in SQLite, bytes in files named by their content, and one process that owns both.
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
//! One thread writes. It runs the waiting closures one after the other, each on top of the changes of those before.
//! One transaction writes all their changes, and the closures are answered only after COMMIT has returned. So one
//! sync to disk is enough for all of them. Readers have their own connections and see the last committed state.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "the store owns its files, and times its own patience")]

mod backend;
mod backup;
mod backup_record;
mod blob;
mod check;
mod damage;
mod database;
mod error;
mod examiner;
pub mod failpoint;
mod fault;
mod header;
mod inline_blob;
mod left_out;
mod marks;
pub mod migration;
mod overlay;
mod place;
mod probe;
mod reader;
mod schema;
mod snapshot;
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

/// The first line of a list of other blobs, which holds their hashes in hexadecimal digits. A reference to such a
/// list keeps those blobs too.
pub const TREE: &[u8] = b"almoner tree 1\n";

/// The first lines of all blobs that name other blobs and keep them.
pub(crate) const LISTS: [&[u8]; 2] = [TREE, kernel::blob_list::REQUEST_LIST];

pub use backend::Backend;
pub use backup::BackupError;
pub use backup_record::{BackupRecord, restore_advice, unused_name};
pub use blob::{Blob, BlobError, Blobs};
pub use check::{Finding, Health};
pub use error::{OpenError, ReadError, WriteError};
pub use header::{check_path, inspect};
pub use inline_blob::InlineBlob;
pub use left_out::{LeftOut, take_left_out};
pub use marks::Hold;
pub use migration::MigrationReport;
pub use place::StoreLock;
pub use probe::fsync_rate;
pub use snapshot::{Snapshot, StoreFile};
pub use stats::Stats;
pub use store::{Options, Store};
pub use sweep::{Sweep, SweepReport};
