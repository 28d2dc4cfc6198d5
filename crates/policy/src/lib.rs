//! Gates and policy: they decide which calls are allowed, which ones a person is asked about, and which ones are
//! denied.
//!
//! The verdict on a proposal depends on the proposal, its grant and the *facts* that its capability has gathered
//! ([`Facts`]). Every gate runs and the strictest answer wins ([`judge()`]). Only [`ruling`] defines how answers are
//! combined. Nothing here does I/O, reads a clock or keeps state, so the same proposal and facts always get the same
//! verdict.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod egress;
pub mod facts;
#[cfg(test)]
mod fixture;
pub mod gates;
pub mod judge;
pub mod launchers;
pub mod places;
pub mod protected;
pub mod rules;
pub mod ruling;
pub mod secrets;
mod table;
pub mod trace;

pub use egress::WebGrant;
pub use facts::{
    CanonicalArgument, Context, Destination, Facts, KeySighting, Outlet, Overwrite, PathFact, ProgramFact,
    RunBudget, SecretFact, Subject, WrittenFile,
};
pub use judge::{Panel, judge, rules_hash};
pub use places::{ChangeScope, Location, Place, PlaceFact, PlaceMeaning, Places};
pub use rules::{MACHINE_RULES, Operator, Opinion, Rules, Stance};
pub use secrets::Secrets;
pub use trace::{Attribution, Reading, Sources, TextIndex, trace};
