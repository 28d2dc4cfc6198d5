//! The number of tokens that a model may write in one reply.

use kernel::run::Run;
use model::ModelLimits;

use crate::driver_port::DriverPort;

/// The largest rest of a budget that is sent as a limit to a model whose own limit is unknown. Many servers refuse a
/// larger number than their model's limit, and keep to that limit without any number.
const MAX_UNSTATED: u64 = 32_768;

/// The smallest limit after a reply that was cut.
const MIN_AFTER_CUT: u64 = 1024;

/// Returns the token limit of the next reply, or `None` if only the model's own limit holds.
///
/// The limit is the one of the worker file, or else as much as the model allows, and at most the rest of the run's
/// budget. `last_cut` is the number of tokens of the last reply, if that reply was cut. `request` is the number of
/// tokens of the request, as estimated.
pub(crate) fn reply_limit(
    world: &dyn DriverPort,
    run: &Run,
    limits: ModelLimits,
    last_cut: Option<u64>,
    request: u64,
) -> Option<u32> {
    let rest = run.limits.tokens.saturating_sub(run.used.tokens()).min(affordable(world, run));
    let most = limit(run.limits.answer.map(u64::from), limits, last_cut, request, rest)?;
    u32::try_from(most).ok()
}

fn limit(
    own: Option<u64>,
    limits: ModelLimits,
    last_cut: Option<u64>,
    request: u64,
    rest: u64,
) -> Option<u64> {
    let rest = rest.max(1);
    // A server without a limit in the request has a default of its own, which may have been too small.
    let grown = last_cut.map(|tokens| tokens.saturating_mul(2).max(MIN_AFTER_CUT));
    let known = limits.output;
    let wanted = match (own, known) {
        (Some(own), known) => Some(known.map_or(own, |known| own.min(known))),
        (None, known) => known.or(grown),
    };
    let Some(wanted) = wanted else { return (rest < MAX_UNSTATED).then_some(rest) };
    // The estimate of the request may be too small.
    let beside = limits.context.map(|context| context.saturating_sub(request + request / 8));
    let room = beside.filter(|room| *room >= MIN_AFTER_CUT).unwrap_or(u64::MAX);
    let most = wanted.min(rest).min(room);
    // The model's own limit holds without being sent, unless a server's default cut the last reply.
    let is_own = own.is_none() && known == Some(most) && last_cut.is_none();
    (!is_own).then_some(most)
}

/// Returns the number of reply tokens that the run's remaining money pays for.
fn affordable(world: &dyn DriverPort, run: &Run) -> u64 {
    let price = world.price(&run.model).map(|price| price.long.map_or(price.output, |long| long.output));
    match (run.limits.usd_micros, price) {
        (Some(limit), Some(price)) if price > 0 => {
            let left = u128::from(limit.saturating_sub(run.used.usd_micros));
            u64::try_from(left * 1_000_000 / u128::from(price)).unwrap_or(u64::MAX)
        }
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_may_be_as_long_as_model_and_budget_allow() {
        let known = |context, output| ModelLimits { context, output };
        let unknown = ModelLimits::default();
        for (own, limits, last_cut, request, rest, expected) in [
            // An unknown server gets no limit, unless the budget is nearly used up.
            (None, unknown, None, 500, 200_000, None),
            (None, unknown, None, 500, 3000, Some(3000)),
            (None, unknown, None, 500, 0, Some(1)),
            // The model's own limit needs no number.
            (None, known(None, Some(16_384)), None, 500, 200_000, None),
            (None, known(None, Some(16_384)), None, 500, 9000, Some(9000)),
            (Some(4000), known(None, Some(16_384)), None, 500, 200_000, Some(4000)),
            (Some(40_000), known(None, Some(16_384)), None, 500, 200_000, Some(16_384)),
            (Some(40_000), unknown, None, 500, 200_000, Some(40_000)),
            // Blaizzy/nativ#12, umbraco/Umbraco.AI#414: a thinking model uses up a limit of 2048 before it answers.
            (None, unknown, Some(2048), 500, 200_000, Some(4096)),
            (None, unknown, Some(100), 500, 200_000, Some(1024)),
            (None, known(None, Some(16_384)), Some(4096), 500, 200_000, Some(16_384)),
            (None, unknown, Some(90_000), 500, 100_000, Some(100_000)),
            // Request and reply share the context.
            (None, known(Some(200_000), Some(64_000)), None, 160_000, 1_000_000, Some(20_000)),
        ] {
            let got = limit(own, limits, last_cut, request, rest);
            assert_eq!(got, expected, "{own:?} {limits:?} {last_cut:?} {rest}");
        }
    }
}
