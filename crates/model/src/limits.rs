//! The limits of models: the number of tokens of a request and of a reply.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// The limits of a model, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelLimits {
    /// The maximum number of tokens of a request and its reply together.
    pub context: Option<u64>,
    /// The maximum number of tokens of a reply.
    pub output: Option<u64>,
}

impl ModelLimits {
    /// Returns these limits, with the unknown ones from `other`.
    #[must_use]
    pub fn or(self, other: ModelLimits) -> ModelLimits {
        ModelLimits { context: self.context.or(other.context), output: self.output.or(other.output) }
    }

    /// Returns the smaller of both limits of each kind. They hold for a request that either model may answer.
    #[must_use]
    pub fn smaller_of(self, other: ModelLimits) -> ModelLimits {
        let smaller = |own: Option<u64>, other: Option<u64>| match (own, other) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        ModelLimits {
            context: smaller(self.context, other.context),
            output: smaller(self.output, other.output),
        }
    }
}

/// The limits that servers have stated, by the model's reference. All of it may be lost: a server states them again.
#[derive(Debug, Default)]
pub(crate) struct LimitMemory {
    stated: Mutex<BTreeMap<String, ModelLimits>>,
    asked: Mutex<BTreeSet<String>>,
    /// The models whose servers have refused a request as too long, and named no limit.
    overflowed: Mutex<BTreeSet<String>>,
}

impl LimitMemory {
    /// Returns the limits that a model's server has stated.
    pub(crate) fn get(&self, model: &str) -> ModelLimits {
        let stated = self.stated.lock().unwrap_or_else(PoisonError::into_inner);
        stated.get(model).copied().unwrap_or_default()
    }

    /// Stores limits that a model's server has stated. They replace earlier ones.
    pub(crate) fn learn(&self, model: &str, limits: ModelLimits) {
        let mut stated = self.stated.lock().unwrap_or_else(PoisonError::into_inner);
        let known = stated.entry(model.to_owned()).or_default();
        *known = limits.or(*known);
    }

    /// Records that a model's server has refused a request as too long without naming a limit.
    pub(crate) fn note_overflow(&self, model: &str) {
        self.overflowed.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned());
    }

    /// Returns whether a model's server has refused a request as too long without naming a limit.
    pub(crate) fn has_overflowed(&self, model: &str) -> bool {
        self.overflowed.lock().unwrap_or_else(PoisonError::into_inner).contains(model)
    }

    /// Returns whether this is the first question for the limits of a model. Each server is asked once.
    pub(crate) fn is_first_question(&self, model: &str) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_combine_to_known_or_smaller_ones() {
        let of = |context, output| ModelLimits { context, output };
        assert_eq!(of(None, Some(2)).or(of(Some(9), Some(9))), of(Some(9), Some(2)));
        assert_eq!(of(Some(8), None).smaller_of(of(Some(9), Some(3))), of(Some(8), Some(3)));
        let memory = LimitMemory::default();
        memory.learn("m", of(Some(8), None));
        memory.learn("m", of(None, Some(2)));
        memory.learn("m", of(Some(4), None));
        assert_eq!((memory.get("m"), memory.get("other")), (of(Some(4), Some(2)), of(None, None)));
        assert!(memory.is_first_question("m") && !memory.is_first_question("m"));
    }
}
