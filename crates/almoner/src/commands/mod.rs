//! The commands, one file each.

pub mod acting;
pub mod agents;
pub mod answer;
pub mod ask;
pub mod attend;
pub mod cancel;
pub mod check;
pub mod daemon;
pub mod define;
pub mod demo;
pub mod doctor;
pub mod endow;
pub mod form;
pub mod grants;
pub mod inbox;
pub mod interrupt;
pub mod mail;
pub mod models;
pub mod names;
pub mod output;
pub mod prompt;
pub mod resume;
pub mod run;
pub mod runs;
pub mod trace;
pub mod why;
