//! The limits of a run, and the amounts that a user adds when a limit is used up.

use serde::{Deserialize, Serialize};

use crate::id::MessageNumber;

use super::limits::Limits;
use super::run_outcome::Trouble;

/// A kind of limit of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// The number of times that the model may be asked.
    Turns,
    /// The number of calls that the run may make.
    Calls,
    /// The depth to which workers may call workers.
    Depth,
    /// The number of tokens that may be read and written.
    Tokens,
    /// The money that may be spent.
    Usd,
    /// The time that the run may be at work.
    Wall,
    /// The number of times that the user refuses calls of one method, or of one capability.
    Refusals,
    /// The number of calls about which the run asks the user.
    Cards,
    /// The bytes that are kept.
    Kept,
}

/// The number of refusals of calls of one method after which a run asks whether it shall go on.
pub const MAX_REFUSALS: u64 = 3;

/// The number of refusals of any calls of one capability after which the run asks whether it may go on.
pub const MAX_SLOT_REFUSALS: u64 = 2 * MAX_REFUSALS;

/// The maximum number of calls about which a run and the workers that it calls ask the user.
pub const MAX_CARDS: u64 = 50;

/// The amounts by which a user raises a run's limits. The usage so far still counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Raise {
    /// The number of further times that the model may be asked.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub turns: u64,
    /// The number of further calls that the run may make.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub calls: u64,
    /// The additional depth to which workers may call workers.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub depth: u64,
    /// The number of further tokens that may be read and written.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub tokens: u64,
    /// The additional money that may be spent, in millionths of a dollar.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub usd_micros: u64,
    /// The additional time that the run may be at work, in milliseconds.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub wall_ms: u64,
    /// The number of further refusals of one kind until the run asks again whether it shall go on.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub refusals: u64,
    /// The number of further messages with which the run may ask about calls.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub cards: u64,
    /// The number of further bytes that are kept.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub kept: u64,
}

impl Raise {
    /// Returns whether the raise adds nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Raise::default()
    }

    /// Returns a raise that doubles one kind of limit, and adds at least 1. The depth never rises above its maximum.
    pub fn double(kind: LimitKind, limits: Limits) -> Raise {
        let none = Raise::default();
        match kind {
            LimitKind::Turns => Raise { turns: u64::from(limits.turns).max(1), ..none },
            LimitKind::Calls => Raise { calls: u64::from(limits.calls).max(1), ..none },
            LimitKind::Depth => {
                let room = Limits::MAX_DEPTH.saturating_sub(limits.depth);
                Raise { depth: u64::from(limits.depth.max(1).min(room)), ..none }
            }
            LimitKind::Tokens => Raise { tokens: limits.tokens.max(1), ..none },
            LimitKind::Usd => Raise { usd_micros: limits.usd_micros.unwrap_or_default().max(1), ..none },
            LimitKind::Wall => Raise { wall_ms: limits.wall_ms.max(1), ..none },
            LimitKind::Refusals => Raise { refusals: MAX_REFUSALS, ..none },
            LimitKind::Cards => Raise { cards: MAX_CARDS, ..none },
            LimitKind::Kept => Raise { kept: limits.kept.max(1), ..none },
        }
    }

    /// Returns the part of the raise that also counts for the runs above, because they are charged a run's tokens,
    /// money and stored bytes as well.
    pub(crate) fn shared_part(self) -> Raise {
        Raise { turns: 0, calls: 0, depth: 0, wall_ms: 0, refusals: 0, cards: 0, ..self }
    }

    /// Returns whether the run asks if it shall go on although the user keeps refusing its calls.
    pub fn is_after_refusals(self) -> bool {
        self.refusals > 0
    }

    /// Returns the raise for a run that waits, with the parts that a user gives by any yes: a run that may go on can be
    /// refused, and can ask, as often again.
    pub(crate) fn with_counts_of(self, offer: Raise) -> Raise {
        Raise { refusals: offer.refusals, cards: self.cards.max(offer.cards), ..self }
    }
}

impl Limits {
    /// The maximum depth of workers that call workers. No setting raises it.
    pub const MAX_DEPTH: u32 = 32;

    /// Returns the limits plus a raise. A limit that is not set stays unset.
    pub fn raised(self, by: Raise) -> Limits {
        let more = |limit: u32, by: u64| limit.saturating_add(u32::try_from(by).unwrap_or(u32::MAX));
        Limits {
            turns: more(self.turns, by.turns),
            calls: more(self.calls, by.calls),
            depth: more(self.depth, by.depth).min(Limits::MAX_DEPTH.max(self.depth)),
            tokens: self.tokens.saturating_add(by.tokens),
            wall_ms: self.wall_ms.saturating_add(by.wall_ms),
            usd_micros: self.usd_micros.map(|micros| micros.saturating_add(by.usd_micros)),
            kept: self.kept.saturating_add(by.kept),
            ..self
        }
    }
}

/// A run that has used up a limit, and waits for the user to raise the limit or to end the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exhausted {
    /// The message that asks the user.
    pub message: MessageNumber,
    /// The error with which the run ends if the user says no.
    pub trouble: Trouble,
    /// The kind of the limit that is used up.
    #[serde(default)]
    pub limit: Option<LimitKind>,
}

impl Exhausted {
    /// Returns whether the run continues without the raise if the user says no.
    pub(crate) fn can_do_without(&self) -> bool {
        self.limit == Some(LimitKind::Depth)
    }

    /// Returns whether a no stops the run, as the user's own act.
    pub(crate) fn is_after_refusals(&self) -> bool {
        self.limit == Some(LimitKind::Refusals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raise_changes_only_limited_amounts() {
        let limits = Limits { turns: 3, calls: 6, depth: 2, tokens: 10, wall_ms: 100, ..Limits::default() };
        let all = Raise {
            turns: 1,
            calls: 2,
            depth: 3,
            tokens: 5,
            usd_micros: 7,
            wall_ms: 50,
            refusals: 3,
            cards: 50,
            kept: 9,
        };
        let kept = limits.kept + 9;
        let raised = Limits { turns: 4, calls: 8, depth: 5, tokens: 15, wall_ms: 150, kept, ..limits };
        assert_eq!(limits.raised(all), raised);
        let paid = Limits { usd_micros: Some(1), ..limits };
        assert_eq!(paid.raised(all).usd_micros, Some(8));
        assert_eq!(paid.raised(all.shared_part()), Limits { tokens: 15, usd_micros: Some(8), kept, ..paid });
        let most = u64::MAX;
        let most = Raise {
            turns: most,
            calls: most,
            depth: most,
            tokens: most,
            usd_micros: most,
            wall_ms: most,
            kept: most,
            ..Raise::default()
        };
        let raised = paid.raised(most);
        assert_eq!((raised.turns, raised.calls, raised.depth), (u32::MAX, u32::MAX, Limits::MAX_DEPTH));
    }

    #[test]
    fn doubling_raise_of_a_zero_limit_is_one() {
        let limits = Limits {
            turns: 3,
            calls: 0,
            depth: 2,
            tokens: 0,
            wall_ms: 100,
            usd_micros: Some(5),
            answer: None,
            kept: 70,
        };
        for (kind, expected) in [
            (LimitKind::Turns, Raise { turns: 3, ..Raise::default() }),
            (LimitKind::Calls, Raise { calls: 1, ..Raise::default() }),
            (LimitKind::Depth, Raise { depth: 2, ..Raise::default() }),
            (LimitKind::Tokens, Raise { tokens: 1, ..Raise::default() }),
            (LimitKind::Usd, Raise { usd_micros: 5, ..Raise::default() }),
            (LimitKind::Wall, Raise { wall_ms: 100, ..Raise::default() }),
            (LimitKind::Refusals, Raise { refusals: 3, ..Raise::default() }),
            (LimitKind::Cards, Raise { cards: 50, ..Raise::default() }),
            (LimitKind::Kept, Raise { kept: 70, ..Raise::default() }),
        ] {
            assert_eq!(Raise::double(kind, limits), expected);
        }
        for (depth, more) in [(0, 1), (20, 12), (31, 1), (32, 0), (40, 0)] {
            let limits = Limits { depth, ..limits };
            assert_eq!(Raise::double(LimitKind::Depth, limits).depth, more, "{depth}");
        }
        assert!(Raise::default().is_nothing());
    }
}
