//! Graphs, drawn by the daemon: where everything stands is decided here, and a browser only shows it.

pub mod draw;
pub mod layout;
mod order;
