//! Files that were handed over, as agents use them without a run: over Endo's protocol, or from code.
//!
//! A client that acts as the host is the person's own hand. Whatever comes through a grant takes the one path that workers'
//! calls take as well: it is judged, proposed in the journal of the agent, begun, made and completed. What asks waits for
//! the host above the agent, whether or not whoever called is still there.

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
