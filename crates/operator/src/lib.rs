//! The operator's own policies: what is forbidden, and what need not be asked, in Cedar.
//!
//! A policy file becomes a [`Policies`]: parsed, checked against a schema made from the interfaces of all capabilities
//! ([`Vocabulary`]), and tried on its own examples. What is in force for a run is an [`InForce`]: the operator's file
//! and, for what it forbids, the project's. Nothing here touches a file, a clock or a process: texts come in, opinions
//! go out.
//!
//! Whatever cannot be decided refuses. A policy that fails while it is evaluated denies; so does an argument that a
//! policy could not have seen rightly.
#![forbid(unsafe_code)]

mod call;
mod example;
mod in_force;
mod place;
mod policies;
mod problem;
mod request;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use call::{Argument, Call};
pub use example::{EXAMPLES, Expected};
pub use in_force::InForce;
pub use policies::{MAX_BYTES, Policies, Policy, Said, Whose};
pub use problem::Problem;
pub use vocabulary::{Kind, Vocabulary};
