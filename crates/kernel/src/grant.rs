//! Grants: the revocable references through which all use of a capability goes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::{FormulaId, MessageNumber};

/// What a grant takes away from the capability behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attenuation {
    /// Only files whose name ends in one of these; empty means any.
    #[serde(default)]
    pub suffixes: BTreeSet<String>,
    /// No file larger than this many bytes, read or written.
    #[serde(default)]
    pub max_bytes: Option<u64>,
}

/// A revocable reference that one holder has to one capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The grant's own formula.
    pub id: FormulaId,
    /// What it leads to.
    pub target: FormulaId,
    /// Who may use it: a worker.
    pub holder: FormulaId,
    /// The slot that it fills.
    pub slot: String,
    /// The methods that may be called.
    pub methods: BTreeSet<String>,
    /// What is taken away.
    #[serde(default)]
    pub attenuation: Attenuation,
    /// Methods that the person who endowed it wants not to be asked about.
    #[serde(default)]
    pub allow: BTreeSet<String>,
    /// Methods that the worker file wants to be asked about whatever else is set.
    #[serde(default)]
    pub ask: BTreeSet<String>,
    /// The message that caused it.
    pub source: MessageNumber,
    /// When it ends by itself, in milliseconds since 1970.
    #[serde(default)]
    pub expires_ms: Option<i64>,
    /// When it was revoked.
    #[serde(default)]
    pub revoked_ms: Option<i64>,
}

impl Grant {
    /// Why the grant cannot be used at `now_ms`, if it cannot.
    pub fn refusal(&self, method: &str, now_ms: i64) -> Option<crate::proposal::Finding> {
        use crate::proposal::Finding;
        if self.revoked_ms.is_some() {
            return Some(Finding::new("grant/revoked", format!("the grant of `{}` was revoked", self.slot)));
        }
        if self.expires_ms.is_some_and(|end| end <= now_ms) {
            return Some(Finding::new("grant/expired", format!("the grant of `{}` has expired", self.slot)));
        }
        if !self.methods.contains(method) {
            let held: Vec<_> = self.methods.iter().map(String::as_str).collect();
            return Some(
                Finding::new("grant/method", format!("`{}` was granted without this method", self.slot))
                    .at("method")
                    .counter_example(method)
                    .allowed(held.join(", ")),
            );
        }
        None
    }
}
