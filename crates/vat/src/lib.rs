//! Vats: guest code that holds what it was endowed with, and nothing else.
//!
//! A vat is a QuickJS realm with a heap of its own: no files, no network, no clock, no randomness, no code from text.
//! It is spoken to in [`Order`]s and answers in [`Report`]s, which travel as [`frame`]s; the values in them are
//! [`passable`]'s, as everywhere. [`serve`] is the loop of a process that hosts vats; it touches nothing but the two
//! streams and the clock that it is given, so what kind of process that is, and what it may do, is the caller's choice.
//!
//! Code is source text, or a program of [`Modules`], which can import what its own map names; [`archive`] makes such a
//! program of the bytes of an archive, on the side of the host.
//!
//! - A turn is whole or nothing: what a vat says leaves it when an order is carried out, and if a limit was passed
//!   meanwhile, nothing leaves but the [`Report::Fault`].
//! - A limit cannot be caught. Guest code may see an exception, but the fault sticks and ends it.
//! - The same orders give the same reports, byte for byte. Only time is not the vat's own: it decides when a vat is
//!   ended, never what it says.
//!
//! A stack that runs out is a fault, but for one that runs out within a single native function (JSON that nests too
//! deep): that is an ordinary `RangeError`, since no code of the realm was cut short by it.
//!
//! What does not hold inside one process: native loops of the engine that never look up (reversing an array-like of
//! 2^53 elements) are ended by killing the process; and vats that share a process wait for each other.
//!
//! Not hidden from guests: the bits of a NaN, by writing it to a typed array; they are the processor's, and the same on
//! the same kind of machine.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod archive;
mod engine;
mod fault;
pub mod frame;
mod limits;
mod modules;
mod parent;
mod pass;
mod realm;
mod serve;
mod source;
mod source_map;

pub use engine::{Clock, Vat};
pub use fault::FaultKind;
pub use frame::{FrameError, Level, Name, Order, Outcome, Place, Report, Slot, VatId, Verb};
pub use limits::Limits;
pub use modules::{Language, MOST_MODULES, MOST_SOURCE, Module, ModuleName, Modules};
pub use parent::{End, Event, GRACE_MS, Host, HostError, SharedClock, Waker};
pub use realm::{GLOBALS, REALM_VERSION, engine_version};
pub use serve::{MOST_VATS, serve};
