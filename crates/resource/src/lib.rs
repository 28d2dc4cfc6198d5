//! The resources that can fill a slot: one table of kinds, the typed texts, and the resolved and stored forms.
//!
//! [`Kind`] is a kind as worker files name it. [`Kind::row`] is its row of the table, with its syntax, methods,
//! limits and names. [`ResourceSpec`] is the text that a user has typed. [`Resource`] is the form that the daemon
//! resolves and the store keeps. [`describe`] turns either form into the one sentence that a user reads everywhere.
//!
//! CONTRIBUTING says how to add a kind.
#![forbid(unsafe_code)]

mod attenuation;
mod endowment;
mod hash;
#[doc(hidden)]
pub mod hex;
mod kinds;
mod quote;
mod rate;
#[cfg(feature = "schema")]
mod schema;
mod sentence;
mod surroundings;
pub mod units;
pub mod web;

pub use attenuation::Attenuation;
pub use endowment::Endowment;
pub use hash::{BadId, BlobHash};
pub use kinds::directory::staged_copy;
pub use kinds::*;
pub use rate::Rate;
pub use sentence::{describe, describe_spec};
pub use surroundings::{SpecError, Surroundings};
