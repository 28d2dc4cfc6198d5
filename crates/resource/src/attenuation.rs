//! The limits that a grant puts on its resource.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Rate;

/// The limits that a grant puts on its resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attenuation {
    /// The allowed endings of the names of files. An empty set allows any.
    #[serde(default)]
    pub suffixes: BTreeSet<String>,
    /// The maximum size in bytes of a file that is read or written.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// The maximum size in bytes of all files in a directory and below, after a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// The absolute path of the directory, if the grant reaches a staged copy of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged_from: Option<String>,
    /// Whether everything that is read through the grant is private. Only a model that may read private data gets it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// The maximum number of calls in a period. All holders of capabilities made from the grant share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl Attenuation {
    /// Returns the limits in words, or an empty list if there are none. The text is not made visible.
    pub fn limit_phrases(&self) -> Vec<String> {
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

    /// Returns, in words, the limits that `said` lacks or sets to another value. The text is not made visible.
    pub(crate) fn missing_limits(&self, said: &Attenuation) -> Vec<String> {
        let is_said = self.suffixes == said.suffixes;
        Attenuation {
            suffixes: if is_said { BTreeSet::new() } else { self.suffixes.clone() },
            max_bytes: self.max_bytes.filter(|_| self.max_bytes != said.max_bytes),
            total_bytes: self.total_bytes.filter(|_| self.total_bytes != said.total_bytes),
            staged_from: self.staged_from.clone().filter(|_| self.staged_from != said.staged_from),
            private: self.private && !said.private,
            rate: self.rate.filter(|_| self.rate != said.rate),
        }
        .limit_phrases()
    }

    /// Returns the limits that enforce both sets of limits.
    pub fn join(&self, other: &Attenuation) -> Attenuation {
        let suffixes = match (self.suffixes.is_empty(), other.suffixes.is_empty()) {
            (true, _) => other.suffixes.clone(),
            (_, true) => self.suffixes.clone(),
            // A name must end in a suffix of each set. A longer suffix that ends in a shorter one fulfils both.
            _ => {
                let both = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> Vec<String> {
                    a.iter().filter(|long| b.iter().any(|short| long.ends_with(short))).cloned().collect()
                };
                let mut all = both(&self.suffixes, &other.suffixes);
                all.extend(both(&other.suffixes, &self.suffixes));
                if all.is_empty() {
                    // No name can have a suffix of each set. No file name ends in `/`, so this allows none.
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
