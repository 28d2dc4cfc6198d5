//! The stack of threads that read bytes from outside.

/// The stack of every thread that reads bytes from outside, in bytes. Values and patterns may nest as deep as their
/// limits allow, also in a build without optimisation. The system only gives the pages that a thread touches.
pub const STACK_SIZE: usize = 16 << 20;
