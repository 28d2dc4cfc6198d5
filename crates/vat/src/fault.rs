//! The reasons why a vat ends before the host closes it.

use serde::{Deserialize, Serialize};

/// The limit that a vat exceeded, or another reason for its end. A vat with a fault is gone. Nothing of the turn with
/// the fault has left the vat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// The vat requested more memory than its limit.
    Memory,
    /// The vat took more steps than one order may take.
    Fuel,
    /// The vat took longer than one order may take.
    Time,
    /// The vat's calls nested too deep.
    Stack,
    /// Too many of the vat's sends wait for an answer.
    Sends,
    /// One of the vat's messages was too large.
    Message,
    /// The engine failed in any other way.
    Engine,
}

impl FaultKind {
    /// All kinds, for tables and tests.
    pub const ALL: [FaultKind; 7] = [
        FaultKind::Memory,
        FaultKind::Fuel,
        FaultKind::Time,
        FaultKind::Stack,
        FaultKind::Sends,
        FaultKind::Message,
        FaultKind::Engine,
    ];

    /// Returns a description of the fault for a person, in one line.
    pub fn line(self) -> &'static str {
        match self {
            FaultKind::Memory => "the code used more memory than it may have",
            FaultKind::Fuel => "the code took more steps than it may take",
            FaultKind::Time => "the code took longer than it may take",
            FaultKind::Stack => "the code's calls nested too deep",
            FaultKind::Sends => "the code sent more messages than may wait for an answer",
            FaultKind::Message => "the code sent a message that is larger than it may be",
            FaultKind::Engine => "the engine could not go on",
        }
    }
}
