//! Vats: guest code that has only its endowments.
//!
//! A vat is a QuickJS realm with its own heap. It has no files, no network, no clock and no randomness, and its code
//! cannot turn text into code. It takes [`Order`]s and answers with [`Report`]s, which travel as [`frame`]s. The
//! values in them are [`passable`] values, as everywhere. [`serve`] is the loop of a process that hosts vats. It uses
//! only the two streams and the clock that it is given. So the caller chooses the kind of that process, and its
//! rights.
//!
//! Code is source text, or a program of [`Modules`], which can import only the modules that its own map names.
//! [`archive`] makes such a program from the bytes of an archive, on the host's side.
//!
//! - A turn is atomic. A vat's reports leave it when the order has been carried out. If a limit was exceeded, only
//!   the [`Report::Fault`] leaves the vat.
//! - A limit cannot be caught. Guest code may see an exception, but the fault remains and ends the code.
//! - The same orders give the same reports, byte for byte. Only time is outside the vat's control: it decides when a
//!   vat is ended, never the content of its reports.
//!
//! A full stack is a fault, with one exception. Within a single native function (JSON that nests too deep), it is an
//! ordinary `RangeError`, because no code of the realm was interrupted.
//!
//! Two guarantees do not hold inside one process. A native loop of the engine that makes no checks (reversing an
//! array-like of 2^53 elements) ends only when the process is killed. And vats that share a process wait for each
//! other.
//!
//! Guests can see the bits of a NaN, by writing it to a typed array. The bits depend on the processor, and are the
//! same on the same kind of machine.
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
