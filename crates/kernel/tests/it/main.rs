//! The state machine driven from outside, over a store that is a map.

mod approvals;
mod fingerprint;
mod map_store;
mod runs;
mod world;
