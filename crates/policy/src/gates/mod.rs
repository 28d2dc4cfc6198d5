//! The built-in gates, one file each.

mod budget;
mod depth;
mod effects;
mod egress;
mod operator;
mod overwrite;
mod paths;
mod programs;
mod provenance;
mod scope;
mod secrets;
mod shape;

use crate::facts::Context;
use crate::ruling::Ruling;
pub(crate) use programs::commits;

/// Deterministic code that judges proposals.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Its name: the first part of its rules' names.
    pub name: &'static str,
    /// Raised whenever it begins to judge differently, so that a verdict says which gates judged.
    pub version: u32,
    /// The purpose of the gate, in one line.
    pub about: &'static str,
    /// The judgement itself.
    pub judge: fn(&Context<'_>) -> Ruling,
}

/// Every gate. All run on every proposal; their order is the order of the findings.
pub const GATES: &[Gate] = &[
    shape::GATE,
    scope::GATE,
    paths::GATE,
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
