//! The operator's own policies in Cedar: the calls that are forbidden, and those that need no question.
//!
//! A policy file becomes a [`Policies`]. It is parsed, checked against a schema made from the interfaces of all
//! capabilities ([`Vocabulary`]), and tried on its own examples. The policies in force for a run are an
//! [`ActivePolicies`]: those of the operator's file, and those of the project's file, which may only forbid. This
//! crate touches no file, clock or process: it turns texts into opinions.
//!
//! A call that cannot be decided is refused. A policy that fails while it is evaluated denies the call. So does an
//! argument that a policy cannot see exactly.
#![forbid(unsafe_code)]

mod active_policies;
mod call;
mod example;
mod policies;
mod policy_lines;
mod problem;
mod request;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use active_policies::ActivePolicies;
pub use call::{Argument, Call};
pub use example::{EXAMPLES, Expected};
pub use policies::{MAX_BYTES, Policies, Policy, PolicyDecision, PolicyOwner};
pub use problem::Problem;
pub use vocabulary::{Kind, Vocabulary};
