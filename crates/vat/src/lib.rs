//! Vats: guest code that holds its endowments, and nothing else.
//!
//! A vat is a QuickJS realm with a heap of its own: no files, no network, no clock, no randomness, no code from text.
//! It takes [`Order`]s and answers in [`Report`]s, which travel as [`frame`]s; the values in them are [`passable`]'s,
//! as everywhere. [`serve`] is the loop of a process that hosts vats. It touches nothing but the two streams and the
//! clock that it is given. So the caller chooses the kind of that process, and its rights.
//!
//! Code is source text, or a program of [`Modules`], which can import the modules that its own map names. [`archive`]
//! makes such a program of the bytes of an archive, on the side of the host.
//!
//! - A turn is whole or nothing: a vat's reports leave it when an order is carried out. If a limit was passed
//!   meanwhile, nothing leaves but the [`Report::Fault`].
//! - A limit cannot be caught. Guest code may see an exception, but the fault sticks and ends it.
//! - The same orders give the same reports, byte for byte. Only time is not the vat's own: it decides when a vat is
//!   ended, never the content of its reports.
//!
//! A stack that runs out is a fault, with one exception. Within a single native function (JSON that nests too deep),
//! it is an ordinary `RangeError`: no code of the realm was cut short by it.
//!
//! Two things do not hold inside one process. Native loops of the engine that never look up (reversing an array-like
//! of 2^53 elements) end only when the process is killed. And vats that share a process wait for each other.
//!
//! Not hidden from guests: the bits of a NaN, by writing it to a typed array; they are the processor's, and the same
//! on the same kind of machine.
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
pub use modules::{Language, MAX_MODULES, MAX_SOURCE_BYTES, Module, ModuleName, Modules};
pub use parent::{End, Event, GRACE_MS, Host, HostError, SharedClock, Waker};
pub use realm::{GLOBALS, REALM_VERSION, engine_version};
pub use serve::{MAX_VATS, serve};
