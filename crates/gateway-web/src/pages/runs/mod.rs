//! The pages of runs: their list, and the views and actions of each run.

pub mod act;
pub mod code;
pub mod descendants;
pub mod diff;
mod facts;
mod family;
pub mod figures;
mod items;
pub mod list;
pub mod page;
mod raw;
mod rows;
pub mod save;
pub mod started;
pub mod step;
mod timeline;
mod tree;
pub mod undo;
