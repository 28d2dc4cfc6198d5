//! Grants: the revocable references through which all use of a capability goes.

use std::collections::BTreeSet;

use passable::quoting;
use serde::{Deserialize, Serialize};

use crate::id::{FormulaId, GrantNumber, MessageNumber, Number};
use crate::proposal::Finding;

pub use resource::{Attenuation, Rate};

/// The entry in [`Grant::methods`] that stands for every method of the capability.
pub const EVERY_METHOD: &str = "*";

/// A revocable reference that one holder has to one capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grant {
    /// The grant's own formula.
    pub id: FormulaId,
    /// The grant's number among the grants of the agent that gave it.
    pub number: GrantNumber,
    /// The target: a capability, or another grant of it.
    pub target: FormulaId,
    /// A description of the capability that stays when the capability is gone.
    pub words: String,
    /// The agent, worker or endowed code that may use the grant.
    pub holder: FormulaId,
    /// The agent that gave the grant.
    pub owner: Number,
    /// The slot that the grant fills, or the name under which it was handed over.
    pub slot: String,
    /// The methods that may be called. [`EVERY_METHOD`] stands for all.
    pub methods: BTreeSet<String>,
    /// The restrictions of the grant.
    #[serde(default)]
    pub attenuation: Attenuation,
    /// The methods for which the person who endowed the grant does not want to be asked.
    #[serde(default)]
    pub allow: BTreeSet<String>,
    /// Methods that need an approval because the worker file says so, regardless of all other settings.
    #[serde(default)]
    pub ask: BTreeSet<String>,
    /// The message that caused the grant, in the giver's mailbox.
    pub source: Option<MessageNumber>,
    /// The time at which the grant was given, in milliseconds since 1970.
    pub given_ms: i64,
    /// The time at which the grant expires, in milliseconds since 1970.
    #[serde(default)]
    pub expires_ms: Option<i64>,
    /// The time at which the grant was revoked.
    #[serde(default)]
    pub revoked_ms: Option<i64>,
    /// The message of the command that revoked the grant, in the giver's mailbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<MessageNumber>,
}

impl Grant {
    /// Returns whether the grant allows calls of a method.
    pub fn allows(&self, method: &str) -> bool {
        self.methods.contains(EVERY_METHOD) || self.methods.contains(method)
    }

    /// Returns the reason why the grant can no longer be used at `now_ms`, if there is one.
    pub fn ended(&self, now_ms: i64) -> Option<Finding> {
        if self.revoked_ms.is_some() {
            return Some(Finding::new("grant/revoked", quoting!("the grant of `{}` was revoked", self.slot)));
        }
        if self.expires_ms.is_some_and(|end| end <= now_ms) {
            return Some(Finding::new("grant/expired", quoting!("the grant of `{}` has expired", self.slot)));
        }
        None
    }

    /// Returns the reason why `method` cannot be called through the grant at `now_ms`, if there is one.
    pub fn refusal(&self, method: &str, now_ms: i64) -> Option<Finding> {
        if let Some(finding) = self.ended(now_ms) {
            return Some(finding);
        }
        if !self.allows(method) {
            let held: Vec<_> = self.methods.iter().map(String::as_str).collect();
            return Some(
                Finding::new("grant/method", quoting!("`{}` was granted without this method", self.slot))
                    .at("method")
                    .counter_example(method)
                    .allowed(held.join(", ")),
            );
        }
        None
    }
}
