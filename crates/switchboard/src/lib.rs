//! The one table of live references.
//!
//! A *side* is a party that has objects, or uses those of others: a connection, the daemon's own objects, a heap of
//! code. Each side knows its own objects by keys that it chooses. All other sides know them by [`Ref`]. A side sends
//! a [`Call`] to a reference and gets a promise for the answer at once. Calls to a promise wait until the promise is
//! settled. They are delivered at once to the side that owns the promise, if that side can take them (*pipelining*).
//! A side receives its work as [`Action`]s.
//!
//! The whole table may be lost at any instant, so no fact is kept only here. When a side is removed, its objects are
//! gone. All promises that it should have settled are broken, with a reason.
//!
//! # Lifetime of references
//!
//! A reference lives as long as a side holds it, or a call or an outcome under way mentions it. The references of an
//! action are kept for its side until [`Switchboard::give_back`]. To keep one longer, the side holds it. Owning an
//! object or promise is not holding it. When no other side refers to one, the table forgets it, and the side learns
//! of it ([`Action::Released`]).
//!
//! The crate uses no I/O, no clock and no threads. Threads that share a table put it behind a lock.

#![forbid(unsafe_code)]

mod board;
mod call;
mod data;
mod entry;

pub use board::{Counts, LimitReached, Limits, SideOptions, Switchboard};
pub use call::{Action, Call, CallTarget, Key, Name, Outcome, Ref, Side};
