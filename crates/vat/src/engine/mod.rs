//! The engine of one vat: a runtime and a context, which carry out one order at a time.

mod loader;
mod memory;
mod meter;
mod shared;
mod vat;

pub use meter::Clock;
pub(crate) use meter::Meter;
pub(crate) use shared::VatState;
pub use vat::Vat;
