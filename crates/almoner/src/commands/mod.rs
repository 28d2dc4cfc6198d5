//! The commands, one file each.

pub mod answer;
pub mod ask;
pub mod attend;
pub mod backup;
pub mod check;
pub mod daemon;
pub mod demo;
pub mod doctor;
pub mod inbox;
pub mod interrupt;
pub mod look;
pub mod models;
pub mod output;
pub mod resume;
pub mod run;
pub mod runs;
pub mod trace;
pub mod why;
