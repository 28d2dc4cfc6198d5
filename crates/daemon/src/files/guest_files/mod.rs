//! The access of agents to granted files outside of runs: over Endo's protocol, or from code.
//!
//! A client that acts as the host acts for the user directly. A call through a grant takes the same path as a
//! worker's call. The daemon judges it, proposes it in the agent's journal, begins it, makes it and completes it. If
//! the call needs an approval, it waits for the agent's host, even if its caller has left.

mod access;
mod call;
mod drive;
mod gates;
mod in_flight;
mod journal;

pub use access::{DirectoryAccess, HostAccess};
pub use call::{CallOutcome, GuestCall, make_call};
pub use drive::drive;
pub use gates::Gates;
pub use journal::{WaitingCall, flush};
