//! Backups of a whole home, and the way back from one.
//!
//! A backup is one file: a compressed tar archive. Its first entry says which program made it, and its last entry lists
//! all others with their digests. So an archive that was cut short or changed is recognised before anything counts.

mod archive_reader;
mod archive_writer;
mod authority;
pub mod backup;
mod config_texts;
mod manifest;
mod part;
mod plan;
pub mod restore;

pub use authority::RestoredAuthority;
pub use plan::{PlannedPath, RestorePlan, TextChange};
pub use restore::{Restore, RestoreScope, finish};
pub(crate) use restore::{finish_locked, lock_renames};
