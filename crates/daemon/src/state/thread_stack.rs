//! The stack size of threads that read foreign bytes.

/// The stack size of every thread that reads foreign bytes, in bytes. Values and patterns may nest as deep as their
/// limits allow, also in a build without optimization. The system only allocates the pages that a thread uses.
pub const STACK_SIZE: usize = 16 << 20;
