//! Access to git repositories: reading them, and committing to them.
//!
//! The code reads foreign data with a C library. It therefore runs in a process of its own, confined to the directory
//! of one repository ([`serve`]). It receives an [`Order`] and sends back an [`Answer`] or a [`Refusal`].
//!
//! The library runs no programs, so no hook, filter, text conversion, signature or monitor of a repository is ever
//! started. Its network parts are not built in. A setting that leads outside of the directory is rejected with a
//! message before it is followed ([`open`]). If this check misses a case, the confinement still holds.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "looks at the files of a working tree")]

mod add;
mod blame;
mod branch;
mod commit;
mod diff;
mod key_search;
mod log;
mod open;
mod order;
mod part;
mod paths;
mod refusal;
mod serve;
mod show;
mod status;
mod switch;

pub use key_search::KeySearch;
pub use open::ENVIRONMENT;
pub use order::{Answer, Author, Call, DiffSides, Order, Reply, StatePin};
pub use part::MAX_PART_BYTES as MOST_TEXT;
pub use refusal::Refusal;
pub use serve::{MAX_REPLY, ORDERS, REPLIES, answer, serve};
