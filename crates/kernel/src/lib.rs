//! The capability kernel: a pure state machine over formulas, names, mail, grants and runs.
//!
//! No I/O, no clock, no randomness, no threads: see [`txn`] for how state is reached.
#![forbid(unsafe_code)]

pub mod begun;
pub mod formula;
pub mod grant;
pub mod id;
pub mod message;
pub mod proposal;
pub mod provenance;
pub mod run;
pub mod txn;
