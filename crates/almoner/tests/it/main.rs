//! The real binary, driven as a user drives it.

mod approvals;
mod bad_input;
mod crash;
mod home;
mod journey;
