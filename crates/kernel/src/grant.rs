//! Grants: the revocable references through which all use of a capability goes.

use std::collections::BTreeSet;

use passable::quoting;
use serde::{Deserialize, Serialize};

use crate::id::{FormulaId, GrantNumber, MessageNumber, Number};
use crate::proposal::Finding;

/// What a grant takes away from the capability behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attenuation {
    /// Only files whose name ends in one of these; empty means any.
    #[serde(default)]
    pub suffixes: BTreeSet<String>,
    /// No file larger than this many bytes, read or written.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// No change after which everything in a directory and below would have more than this many bytes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// What it leads to is a staged copy of this directory: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged_from: Option<String>,
    /// What is read through it may only be read by those who may read what is private.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// No more calls than these in any such time, of whoever holds what was made of it, all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// So many calls in so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// How many calls: from 1 to [`Rate::MOST`].
    pub calls: u32,
    /// In any so many milliseconds.
    pub per_ms: u64,
}

impl Rate {
    /// The most calls that can be counted: when each of them was is kept.
    pub const MOST: u32 = 1_000;

    /// Which of two lets fewer calls through in the long run.
    fn least(self, other: Rate) -> Rate {
        let times = |a: Rate, b: Rate| u64::from(a.calls).saturating_mul(b.per_ms);
        if times(other, self) < times(self, other) { other } else { self }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} in ", self.calls, if self.calls == 1 { "call" } else { "calls" })?;
        match self.per_ms {
            3_600_000 => write!(f, "1 h"),
            60_000 => write!(f, "1 min"),
            86_400_000 => write!(f, "1 day"),
            ms => write!(f, "{} s", ms.div_ceil(1_000)),
        }
    }
}

impl Attenuation {
    /// What is left, in words: nothing if nothing is taken away. Not made visible.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if !self.suffixes.is_empty() {
            let suffixes: Vec<_> = self.suffixes.iter().map(String::as_str).collect();
            words.push(format!("only {}", suffixes.join(" ")));
        }
        words.extend(self.max_bytes.map(|bytes| format!("at most {bytes} bytes each")));
        if self.private {
            words.push("private".to_owned());
        }
        if self.staged_from.is_some() {
            words.push("changes are staged".to_owned());
        }
        words.extend(self.total_bytes.map(|bytes| format!("at most {bytes} bytes in all")));
        words.extend(self.rate.map(|rate| rate.to_string()));
        words
    }

    /// What is taken away by both together.
    pub fn join(&self, other: &Attenuation) -> Attenuation {
        let suffixes = match (self.suffixes.is_empty(), other.suffixes.is_empty()) {
            (true, _) => other.suffixes.clone(),
            (_, true) => self.suffixes.clone(),
            // A name must end in one of each. A longer suffix that ends in a shorter one says both.
            _ => {
                let both = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> Vec<String> {
                    a.iter().filter(|long| b.iter().any(|short| long.ends_with(short))).cloned().collect()
                };
                let mut all = both(&self.suffixes, &other.suffixes);
                all.extend(both(&other.suffixes, &self.suffixes));
                if all.is_empty() {
                    // Nothing can end in both: no file has such a name.
                    all.push("/".to_owned());
                }
                all.into_iter().collect()
            }
        };
        let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Attenuation {
            suffixes,
            max_bytes: least(self.max_bytes, other.max_bytes),
            total_bytes: least(self.total_bytes, other.total_bytes),
            staged_from: self.staged_from.clone().or_else(|| other.staged_from.clone()),
            private: self.private || other.private,
            rate: match (self.rate, other.rate) {
                (Some(a), Some(b)) => Some(a.least(b)),
                (a, b) => a.or(b),
            },
        }
    }
}

/// What stands in [`Grant::methods`] for every method that the capability has.
pub const EVERY_METHOD: &str = "*";

/// A revocable reference that one holder has to one capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The grant's own formula.
    pub id: FormulaId,
    /// Its number among those of the agent who gave it.
    pub number: GrantNumber,
    /// What it leads to: a capability, or another grant of it.
    pub target: FormulaId,
    /// What it leads to, in words that stay when it is gone.
    pub words: String,
    /// Who may use it: an agent, a worker, or endowed code.
    pub holder: FormulaId,
    /// The agent who gave it.
    pub owner: Number,
    /// The slot that it fills, or the name under which it was handed over.
    pub slot: String,
    /// The methods that may be called; [`EVERY_METHOD`] stands for all.
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
    /// The message that caused it, in the giver's mailbox.
    pub source: Option<MessageNumber>,
    /// When it was given, in milliseconds since 1970.
    pub given_ms: i64,
    /// When it ends by itself, in milliseconds since 1970.
    #[serde(default)]
    pub expires_ms: Option<i64>,
    /// When it was revoked.
    #[serde(default)]
    pub revoked_ms: Option<i64>,
    /// The message of the command that revoked it, in the giver's mailbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<MessageNumber>,
}

impl Grant {
    /// Whether the method is one that may be called.
    pub fn allows(&self, method: &str) -> bool {
        self.methods.contains(EVERY_METHOD) || self.methods.contains(method)
    }

    /// Why the grant cannot be used any more at `now_ms`, if it cannot.
    pub fn ended(&self, now_ms: i64) -> Option<Finding> {
        if self.revoked_ms.is_some() {
            return Some(Finding::new("grant/revoked", quoting!("the grant of `{}` was revoked", self.slot)));
        }
        if self.expires_ms.is_some_and(|end| end <= now_ms) {
            return Some(Finding::new("grant/expired", quoting!("the grant of `{}` has expired", self.slot)));
        }
        None
    }

    /// Why `method` cannot be called through the grant at `now_ms`, if it cannot.
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
