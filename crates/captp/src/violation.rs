//! The violations of the protocol by which a peer ends its session.

use passable::DecodeError;
use switchboard::LimitReached;

use crate::slot::{BadSlot, Slot};

/// A violation of the protocol by the peer. It ends the session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Bytes that are not JSON, or not the JSON of a message.
    #[error("this is no message: {0}")]
    Json(String),
    /// An unknown kind of message.
    #[error("unknown message type {0:?}")]
    Type(String),
    /// A message without a part that its kind requires.
    #[error("a message must have {0}")]
    Missing(&'static str),
    /// A text that is no slot.
    #[error(transparent)]
    BadSlot(#[from] BadSlot),
    /// A slot of a kind that is not allowed at its position.
    #[error("{slot} cannot be a {name}")]
    Slot {
        /// The slot.
        slot: Slot,
        /// The position: the name of the field.
        name: &'static str,
    },
    /// A body that encodes no value.
    #[error("a body says no value: {0}")]
    Body(String),
    /// A body that encodes a value, but no call.
    #[error("a method must be [name], [null, arguments] or [name, arguments]")]
    Method,
    /// A name of a reference that this end has never sent.
    #[error("Unknown export {0}")]
    UnknownExport(Slot),
    /// An answer to a question that this end has never asked.
    #[error("Got an answer to a question we have not asked. (answerID = {0} )")]
    UnknownQuestion(Slot),
    /// A promise that the peer has never sent, or has already settled.
    #[error("Got a resolvement of a promise we have not imported. (promiseID = {0} )")]
    UnknownPromise(Slot),
    /// A question that is open, or whose answer is still remembered.
    #[error("the question {0} was asked before")]
    AskedTwice(Slot),
    /// A message of the synchronous protocol, which is not supported.
    #[error("CTP_TRAP_ITERATE is impossible without a trapHost")]
    Trap,
    /// The peer has reached one of its limits in the switchboard.
    #[error(transparent)]
    Full(#[from] LimitReached),
}

impl From<DecodeError> for Violation {
    fn from(error: DecodeError) -> Violation {
        Violation::Body(error.to_string())
    }
}
