//! The built-in gates, one file each.

mod budget;
mod depth;
mod effects;
mod egress;
mod operator;
mod overwrite;
mod paths;
mod places;
mod programs;
mod provenance;
mod scope;
mod secrets;
mod shape;

use crate::facts::Context;
use crate::ruling::Ruling;
pub(crate) use programs::commits;

/// A deterministic function that judges proposals, with its name and version.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The name of the gate. The names of its rules begin with it.
    pub name: &'static str,
    /// The version, which is raised whenever the gate begins to judge differently. So a verdict can say which gates
    /// judged.
    pub version: u32,
    /// The purpose of the gate, in one line.
    pub about: &'static str,
    /// The function that judges a proposal.
    pub judge: fn(&Context<'_>) -> Ruling,
}

/// All gates. Every gate runs on every proposal, and the findings have the order of this list.
pub const GATES: &[Gate] = &[
    shape::GATE,
    scope::GATE,
    paths::GATE,
    places::GATE,
    programs::GATE,
    depth::GATE,
    budget::GATE,
    egress::GATE,
    secrets::GATE,
    provenance::GATE,
    effects::GATE,
    overwrite::GATE,
    operator::GATE,
];
