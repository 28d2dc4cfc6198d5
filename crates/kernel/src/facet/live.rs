//! References in answers: formulas, and pending values that are no formulas.
//!
//! A listed message has two promises. One settles when its request is answered, the other when the message is
//! dismissed. Neither is a formula: no agent names it or hands it on, and nothing keeps it. The connection that acts
//! for an agent watches the promise instead, and asks [`Live::becomes`] again after every event.

use super::refusal::Refusal;
use crate::id::{FormulaId, MessageNumber};
use crate::proposal::Value;
use crate::table::{self, PromiseRow};
use crate::txn::ReadTxn;

/// A reference in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Live {
    /// A formula.
    Formula(FormulaId),
    /// The word that says whether a promise was kept, without its value: `"fulfilled"` or `"rejected"`.
    Settled(FormulaId),
    /// The value `undefined`, once a message is dismissed from the agent's mailbox.
    Dismissed {
        /// The agent.
        agent: FormulaId,
        /// The number of the message in the agent's mailbox.
        number: MessageNumber,
    },
}

impl Live {
    /// Returns the value of a pending reference once its event has happened. Before that, and for formulas, returns
    /// `None`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn becomes(&self, txn: &mut dyn ReadTxn) -> Result<Option<Value>, Refusal> {
        Ok(match self {
            Live::Formula(_) => None,
            Live::Settled(promise) => match table::promise(txn, promise)? {
                Some(PromiseRow::Pending) => None,
                Some(PromiseRow::Fulfilled { .. }) => Some(Value::string("fulfilled")),
                // A promise that was garbage-collected counts as rejected.
                Some(PromiseRow::Rejected { .. }) | None => Some(Value::string("rejected")),
            },
            Live::Dismissed { agent, number } => {
                let parts = table::formula(txn, agent)?.and_then(|row| row.formula.agent().copied());
                let mail = match parts {
                    Some(parts) => table::mail(txn, &agent.number, &parts.mailbox, *number)?,
                    None => None,
                };
                // An agent that no longer exists has dismissed all its messages.
                mail.is_none_or(|mail| mail.message.is_none()).then(Value::undefined)
            }
        })
    }
}
