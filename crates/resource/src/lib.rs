//! The resources that can fill a slot: one table of kinds, what a person types, and what is resolved and stored.
//!
//! [`Kind`] is a kind as worker files write it, and [`Kind::row`] its row of the table: how it is typed, which methods and
//! limits it has, and how it is called. [`ResourceSpec`] is what a person has typed, [`Resource`] what the daemon has made of
//! it and what the store keeps. [`describe`] turns either into the one sentence that a person reads, wherever it stands.
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
mod sentence;
mod surroundings;
pub mod units;
pub mod web;

pub use attenuation::Attenuation;
pub use endowment::Endowment;
pub use hash::{BadId, BlobHash};
pub use kinds::*;
pub use rate::Rate;
pub use sentence::{describe, describe_spec, staged_copy};
pub use surroundings::{SpecError, Surroundings};
