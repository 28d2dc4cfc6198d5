//! The one table of live references.
//!
//! A *side* is a party that has objects, or uses those of others: a connection, the daemon's own objects, a heap of
//! code. Each side knows its objects by keys of its own; all others know them by [`Ref`]. A side sends a [`Call`] to
//! a reference and gets a promise for the answer at once. Calls to a promise wait until it is settled. They go on at
//! once to the side that decides it, if that side can take them (*pipelining*). A side receives its work as
//! [`Action`]s.
//!
//! The whole table may be lost at any instant: no fact lives only here. When a side goes away, its objects are gone.
//! All promises that it should have settled are broken, with a reason.
//!
//! # Lifetime of references
//!
//! A reference lives while a side holds it, or while it is mentioned in a call or an outcome on its way. The
//! references of an action are kept for its side until [`Switchboard::give_back`]; to keep one longer, the side holds
//! it. A side does not hold its own objects and promises by owning them. When no other side refers to one, it is
//! forgotten, and the side learns of it ([`Action::Released`]).
//!
//! There is no I/O, no clock and no thread here; threads that share a table put it behind a lock.

#![forbid(unsafe_code)]

mod board;
mod call;
mod data;
mod entry;

pub use board::{Counts, LimitReached, Limits, SideOptions, Switchboard};
pub use call::{Action, Call, CallTarget, Key, Name, Outcome, Ref, Side};
