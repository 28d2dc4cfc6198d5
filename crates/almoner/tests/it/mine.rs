//! The real binary, driven as a user drives it.

mod approvals;

mod crash;
mod home;
mod journey;
