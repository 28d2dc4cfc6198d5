//! Graphs that the daemon draws. All positions are computed here, and the browser only shows the result.

pub mod draw;
pub mod layout;
mod order;
