//! The limits of a run, and the share of them that it lends to a child.

use serde::{Deserialize, Serialize};

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The number of times that the model may be asked.
    pub turns: u32,
    /// The number of calls that the run may make, with or without success.
    #[serde(default = "default_calls")]
    pub calls: u32,
    /// The depth to which workers may call workers.
    pub depth: u32,
    /// The number of tokens that may be read and written, children included. A caller lends a child a share of its
    /// remaining tokens. The child gives back its unused tokens when it ends.
    pub tokens: u64,
    /// The time that the run may last, without the time in which it waits, in milliseconds.
    pub wall_ms: u64,
    /// The money that may be spent on models, children included, in millionths of a dollar. `None` means no limit. It
    /// is lent like tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_micros: Option<u64>,
    /// The number of tokens that the model may write in one reply. `None` means the model's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<u32>,
    /// The number of bytes that the store may keep for the run, children included: journal, requests, replies, and
    /// results beside the journal. It is lent like tokens.
    #[serde(default = "default_kept")]
    pub kept: u64,
}

/// Returns the default for the number of calls that a run may make.
fn default_calls() -> u32 {
    500
}

/// Returns the default for the number of bytes that are kept.
fn default_kept() -> u64 {
    64 << 20
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            turns: 20,
            calls: default_calls(),
            depth: 5,
            tokens: 200_000,
            wall_ms: 3_600_000,
            usd_micros: None,
            answer: None,
            kept: default_kept(),
        }
    }
}

/// The amounts that a run can lend to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The number of tokens.
    pub(crate) tokens: u64,
    /// The money, in millionths of a dollar. `None` means no limit.
    pub(crate) usd_micros: Option<u64>,
    /// The number of bytes that are kept.
    pub(crate) kept: u64,
}

impl Share {
    /// Returns one of `of` equal parts of the share.
    pub(crate) fn part(self, of: u64) -> Share {
        let of = of.max(1);
        let usd_micros = self.usd_micros.map(|micros| micros / of);
        Share { tokens: self.tokens / of, usd_micros, kept: self.kept / of }
    }
}

impl Limits {
    /// Returns the smaller of both limits of each kind, so that one side can only tighten the other.
    #[must_use]
    pub fn at_most(self, other: Limits) -> Limits {
        Limits {
            answer: self.answer.into_iter().chain(other.answer).min(),
            turns: self.turns.min(other.turns),
            calls: self.calls.min(other.calls),
            depth: self.depth.min(other.depth),
            tokens: self.tokens.min(other.tokens),
            wall_ms: self.wall_ms.min(other.wall_ms),
            kept: self.kept.min(other.kept),
            usd_micros: match (self.usd_micros, other.usd_micros) {
                (Some(own), Some(most)) => Some(own.min(most)),
                (own, most) => own.or(most),
            },
        }
    }

    /// Returns the limits, capped by a lent share.
    pub(crate) fn within(mut self, share: Share) -> Limits {
        self.tokens = self.tokens.min(share.tokens);
        self.kept = self.kept.min(share.kept);
        self.usd_micros = match (self.usd_micros, share.usd_micros) {
            (Some(own), Some(lent)) => Some(own.min(lent)),
            (own, lent) => own.or(lent),
        };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Usage;

    #[test]
    fn child_limits_never_exceed_the_lent_share() {
        let limits = |tokens, usd_micros| Limits { tokens, usd_micros, ..Limits::default() };
        for (own, lent, expected) in [
            ((100, None), (40, None), (40, None)),
            ((10, None), (40, Some(7)), (10, Some(7))),
            ((10, Some(5)), (40, None), (10, Some(5))),
            ((10, Some(5)), (40, Some(7)), (10, Some(5))),
            ((100, Some(9)), (40, Some(0)), (40, Some(0))),
        ] {
            let share = Share { tokens: lent.0, usd_micros: lent.1, kept: 1000 };
            let expected = Limits { kept: 1000, ..limits(expected.0, expected.1) };
            assert_eq!(limits(own.0, own.1).within(share), expected);
        }
        let share = Share { tokens: 10, usd_micros: Some(7), kept: 100 };
        assert_eq!(share.part(3), Share { tokens: 3, usd_micros: Some(2), kept: 33 });
        assert_eq!(share.part(0), share);
    }

    #[test]
    fn rows_from_before_the_money_limit_are_read() {
        let limits: Limits =
            serde_json::from_str(r#"{"turns": 1, "depth": 1, "tokens": 1, "wall_ms": 1}"#).unwrap();
        assert_eq!((limits.usd_micros, limits.kept), (None, default_kept()));
        assert!(!serde_json::to_string(&limits).unwrap().contains("usd"));
        let usage: Usage =
            serde_json::from_str(r#"{"input_tokens": 1, "output_tokens": 1, "model_ms": 1}"#).unwrap();
        assert_eq!(usage.usd_micros, 0);
        assert!(!serde_json::to_string(&usage).unwrap().contains("usd"));
    }
}
