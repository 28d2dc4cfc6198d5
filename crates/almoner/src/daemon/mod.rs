//! The daemon: owns the store, drives runs, answers on `control.sock`.

pub mod engine;
pub mod keys;
pub mod main_loop;
pub mod request;
pub mod serve;
pub mod start_run;
pub mod why;
pub mod world;
