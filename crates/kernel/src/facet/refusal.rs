//! The reason why a call is not answered.

use passable::Mismatch;

use super::locator::BadLocator;
use crate::command::Fault;
use crate::id::BadId;
use crate::name::NameError;
use crate::proposal::Value;
use crate::txn::StoreFault;

/// The reason why a call is not answered. The texts are upstream's where upstream has one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The command for the call cannot be applied, or a name leads nowhere.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// An argument does not match the method's guard.
    #[error(transparent)]
    Guard(#[from] Box<Mismatch>),
    /// There is no such method.
    #[error("target has no method {method:?}, has {known:?}")]
    NoMethod {
        /// The method that was called.
        method: String,
        /// The methods that exist.
        known: Vec<&'static str>,
    },
    /// The agent that may do nothing was asked to do something.
    #[error("not allowed")]
    LeastAuthority,
    /// An argument fits the guard and still makes no sense.
    #[error("{0}")]
    Argument(String),
    /// A text that is no locator.
    #[error(transparent)]
    Locator(#[from] BadLocator),
    /// The lookup found a promise that was rejected.
    #[error("{0}")]
    Rejected(String),
}

impl Refusal {
    /// Returns the name of the error's class on the wire.
    pub fn class(&self) -> &'static str {
        match self {
            Refusal::NoMethod { .. } => "TypeError",
            _ => "Error",
        }
    }

    /// Returns the error as a value.
    pub fn to_value(&self) -> Value {
        Value::error(self.class(), self.to_string())
    }
}

impl From<NameError> for Refusal {
    fn from(error: NameError) -> Refusal {
        Refusal::Fault(error.into())
    }
}

impl From<StoreFault> for Refusal {
    fn from(fault: StoreFault) -> Refusal {
        Refusal::Fault(fault.into())
    }
}

impl From<BadId> for Refusal {
    fn from(bad: BadId) -> Refusal {
        Refusal::Argument(bad.to_string())
    }
}
