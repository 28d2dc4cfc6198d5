//! The one way in: commands, queries and events over `control.sock`.

pub mod client;
pub mod frame;
pub mod protocol;
pub mod secret;
