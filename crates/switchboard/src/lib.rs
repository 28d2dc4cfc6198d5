//! The one table of live references.
//!
//! A *side* is whoever has objects, or uses those of others: a connection, the daemon's own objects, a heap of code.
//! Each side knows its objects by keys of its own; everybody else knows them by [`Ref`]. A side sends a [`Call`] to a
//! reference and gets a promise for the answer at once; calls to a promise wait until it is settled, or go on to the
//! side that decides it if that side can take them (*pipelining*). What a side must do comes to it as [`Action`]s.
//!
//! Everything here may be lost at any instant: nothing in the table is a truth of its own. When a side goes away, what
//! it had is gone, and all promises that it should have settled are broken, with a reason.
//!
//! # Who keeps what
//!
//! A reference lives while a side holds it, or while it is mentioned in a call or an outcome on its way. What a side
//! is handed with an action is kept for it until [`Switchboard::give_back`]; what it wants to keep longer it holds. A
//! side's own objects and promises are not held by being its own: when nobody else refers to one, it is forgotten, and
//! the side is told ([`Action::Released`]).
//!
//! There is no I/O, no clock and no thread here; whoever shares a table between threads puts it behind a lock.

#![forbid(unsafe_code)]

mod board;
mod call;
mod data;
mod entry;

pub use board::{Counts, Full, Limits, Party, Switchboard};
pub use call::{Action, Call, Key, Name, Outcome, Ref, Side, To};
