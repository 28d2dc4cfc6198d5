//! The one way in: commands, queries and events over `control.sock`.

mod answered;
pub mod audited;
pub mod client;
mod copied;
pub mod endowment;
pub mod frame;
pub mod protocol;
mod run_request;
pub mod secret;
mod status;
pub mod tools;
pub mod undone;
pub mod view;
