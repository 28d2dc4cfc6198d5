//! References in answers: formulas, and what is still to come and is no formula.
//!
//! A listed message says when its request has been answered and when it was dismissed, by promises. Neither promise is a
//! formula: nobody names it or hands it on, and nothing keeps it. Whoever speaks for an agent watches it instead, by
//! asking [`Live::becomes`] again whenever something has happened.

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
    /// Whether a promise was kept: `"fulfilled"` or `"rejected"`, and not with what.
    Settled(FormulaId),
    /// `undefined`, once the message is dismissed from the agent's mailbox.
    Dismissed {
        /// The agent.
        agent: FormulaId,
        /// The message's number there.
        number: MessageNumber,
    },
}

impl Live {
    /// What has become of something that was still to come; `None` while nothing has, and for formulas.
    ///
    /// # Errors
    /// When the store fails.
    pub fn becomes(&self, txn: &mut dyn ReadTxn) -> Result<Option<Value>, Refusal> {
        Ok(match self {
            Live::Formula(_) => None,
            Live::Settled(promise) => match table::promise(txn, promise)? {
                Some(PromiseRow::Pending) => None,
                Some(PromiseRow::Fulfilled { .. }) => Some(Value::string("fulfilled")),
                // What was collected was given up.
                Some(PromiseRow::Rejected { .. }) | None => Some(Value::string("rejected")),
            },
            Live::Dismissed { agent, number } => {
                let parts = table::formula(txn, agent)?.and_then(|row| row.formula.agent().copied());
                let mail = match parts {
                    Some(parts) => table::mail(txn, &agent.number, &parts.mailbox, *number)?,
                    None => None,
                };
                // Whoever is gone has dismissed everything.
                mail.is_none_or(|mail| mail.message.is_none()).then(Value::undefined)
            }
        })
    }
}
