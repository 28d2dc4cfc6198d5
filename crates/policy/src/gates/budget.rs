//! The gate for the limits of a run. It denies a call if the run has used up its tokens, money or time.

use kernel::proposal::Finding;
use passable::Quoting;

use super::Gate;
use crate::facts::Context;
use crate::ruling::Ruling;

pub(super) const GATE: Gate =
    Gate { name: "budget", version: 2, about: "the run has tokens, money and time left", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let spent = context.spent;
    let tokens = spent.used.input_tokens.saturating_add(spent.used.output_tokens);
    let over = |rule: &str, what: &str, used: u64, limit: u64| {
        (used >= limit).then(|| {
            Finding::new(
                format!("budget/{rule}"),
                Quoting::ours(format!("the run has used {used} of its {limit} {what}")),
            )
            .at(format!("limits.{rule}"))
            .counter_example(used.to_string())
            .allowed(Quoting::ours(format!(
                "nothing more in this run; a run started with a higher `limits.{rule}` could"
            )))
        })
    };
    let limits = &spent.limits;
    Ruling::deny_any(
        [
            over("tokens", "tokens", tokens, limits.tokens),
            over("wall", "milliseconds", spent.ran_ms, limits.wall_ms),
            // A run that costs nothing may have a limit of no money.
            (spent.used.usd_micros > 0)
                .then(|| over("usd", "millionths of a dollar", spent.used.usd_micros, limits.usd_micros?))
                .flatten(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    )
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Deny};

    use super::*;
    use crate::fixture::{Call, check};

    #[test]
    fn usd_limit_denies_once_money_is_used_up() {
        for (used, limit, rules) in [
            (0, None, &[][..]),
            (u64::MAX, None, &[]),
            (0, Some(0), &[]),
            (1, Some(0), &["budget/usd"]),
            (499_999, Some(500_000), &[]),
            (500_000, Some(500_000), &["budget/usd"]),
        ] {
            let call = Call::new("look").but(|c| {
                c.spent.used.usd_micros = used;
                c.spent.limits.usd_micros = limit;
            });
            let decision = if rules.is_empty() { Allow } else { Deny };
            check(&GATE, &call, (decision, decision), rules);
        }
    }

    #[test]
    fn token_and_time_limits_deny_once_used_up() {
        for (input, output, ran_ms, rules) in [
            (0, 0, 0, &[][..]),
            (100_000, 99_999, 3_599_999, &[]),
            (100_000, 100_000, 0, &["budget/tokens"]),
            (u64::MAX, u64::MAX, 0, &["budget/tokens"]),
            (0, 0, 3_600_000, &["budget/wall"]),
            (200_001, 0, u64::MAX, &["budget/tokens", "budget/wall"]),
        ] {
            let call = Call::new("look").but(|c| {
                c.spent.used.input_tokens = input;
                c.spent.used.output_tokens = output;
                c.spent.ran_ms = ran_ms;
            });
            let decision = if rules.is_empty() { Allow } else { Deny };
            check(&GATE, &call, (decision, decision), rules);
        }
    }
}
