//! The embedded model, in a child process.
//!
//! [`Client`] starts the child, asks it, and starts it again when it dies. [`serve`] is the child's whole life. It loads
//! the weights at the first request and keeps them. It answers one request at a time over its standard input and
//! output. It ends when the input closes or no request has come for a while. The process boundary has three purposes.
//! Memory (gigabytes) returns to the system, and a limit can be set on it. A fault in the engine is a failed call
//! instead of a dead daemon.
//!
//! Every answer is held to a grammar while it is written: the JSON Schema of [`crate::Request::output`], or a choice
//! between calling one of the tools and answering. A grammar forces form, not truth.

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

pub use client::{Client, Launch};
pub use host::{HostOptions, READ_PATHS, VARIABLES, serve};
pub use memory::available as available_memory;
