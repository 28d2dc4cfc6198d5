//! The operator's own policies in Cedar: the calls that are forbidden, and those that need no question.
//!
//! A policy file becomes a [`Policies`]: parsed, checked against a schema made from the interfaces of all
//! capabilities ([`Vocabulary`]), and tried on its own examples. The policies in force for a run are an [`InForce`]:
//! the operator's file and, for its forbids, the project's. Nothing here touches a file, a clock or a process: texts
//! come in, opinions go out.
//!
//! A call that cannot be decided is refused. A policy that fails while it is evaluated denies; so does an argument
//! that a policy cannot see exactly.
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
