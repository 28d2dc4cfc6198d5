//! The embedded model, in a child process.
//!
//! [`Client`] starts the child, asks it, and starts it again when it dies. [`serve`] is the child's whole life. It
//! loads the weights at the first request and keeps them. It answers one request at a time over its standard input
//! and output. It ends when the input closes or no request has come for a while. The process boundary has three
//! purposes. Memory (gigabytes) returns to the system, and a limit can be set on it. A fault in the engine is a
//! failed call instead of a dead daemon.
//!
//! A request with an output schema or tools holds the answer to a grammar while it is written. With tools, the model
//! chooses between a call of a tool and the answer. A request with neither gets free text. A grammar forces form, not
//! truth.

mod client;
#[cfg(feature = "local")]
mod engine;
mod frame;
#[cfg(feature = "local")]
mod generate;
#[cfg(feature = "local")]
mod grammar;
mod host;
mod memory;
#[cfg(feature = "local")]
mod prompt;
#[cfg(feature = "local")]
mod qwen2;
#[cfg(feature = "local")]
mod vocabulary;

/// The number of tokens of a request and its reply together, in the usual options of a host.
pub(crate) const CONTEXT: usize = 8192;

pub use client::{Client, Launch};
pub use host::{HostOptions, READ_PATHS, VARIABLES, serve};
pub use memory::available as available_memory;
