//! Why a vat ended before it was asked to.

use serde::{Deserialize, Serialize};

/// The limit that a vat exceeded, or another reason for its end. A vat with a fault is gone; nothing of the turn in
/// which it happened has left the vat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// It asked for more memory than it may have.
    Memory,
    /// It took more steps than one order may take.
    Fuel,
    /// It took longer than one order may take.
    Time,
    /// Its calls nested too deep.
    Stack,
    /// Too many of its sends wait for an answer.
    Sends,
    /// One of its messages was too large.
    Message,
    /// The engine failed in a way that has no other name.
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

    /// Returns one plain line for a person.
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
