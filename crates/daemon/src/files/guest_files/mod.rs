//! Access of agents to granted files without a run: over Endo's protocol, or from code.
//!
//! A client that acts as the host acts for the user directly. A call through a grant takes the same path as a
//! worker's call. The daemon judges it, proposes it in the agent's journal, begins it, makes it and completes it. A
//! call that asks waits for the host above the agent, even if its caller has left.

mod call;
mod drive;
mod gates;
mod ground;
mod hand;
mod journal;

pub use call::{Call, Outcome, make};
pub use drive::drive;
pub use gates::Gates;
pub use ground::{Own, Reached};
pub use journal::{Asked, flush};
