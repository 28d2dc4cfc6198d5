//! The limits of a run, checked before it goes on. When one is used up, the driver asks a person for more.

use kernel::budget::LimitKind;
use kernel::run::{Run, Shape, Trouble};

use crate::definition::Bundle;
use crate::driver_port::DriverPort;
use crate::fold::Fold;
use crate::model_worker::model_worker;
use crate::trouble::trouble;

/// The help text for a limit that is reached and that no person raises.
const LIMIT_HELP: &str = "raise it under `limits:` in the worker file, or give the worker less to do";

/// The kind of the step that comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// The model is asked once more.
    Turn,
    /// Something is done.
    Call,
    /// A result that is paid for is written. This costs no tokens.
    Write,
}

/// Why a run does not go on.
pub(crate) enum Shortage {
    /// The run has used up this limit.
    LimitReached(LimitKind, Trouble),
    /// The run has a limit in money, and the price of its model is not known.
    PriceUnknown(Trouble),
}

/// Returns why the run's limits do not allow the next step, if they do not.
pub(crate) fn find_shortage(
    world: &dyn DriverPort,
    run: &Run,
    fold: &Fold,
    next: StepKind,
) -> Option<Shortage> {
    let (limits, used) = (run.limits, run.used);
    let out =
        |kind, code: &str, message| Some(Shortage::LimitReached(kind, trouble(code, message, LIMIT_HELP)));
    // In a conversation each answer has as many.
    let turns = if run.shape == Shape::Chat { fold.turns_since_said() } else { fold.turns.len() };
    if next == StepKind::Turn && turns >= limits.turns as usize {
        let message = format!("the limit of {} turns is reached", limits.turns);
        return out(LimitKind::Turns, "budget/turns", message);
    }
    if next == StepKind::Call && fold.calls_since_said() >= limits.calls as usize {
        let message = format!("the limit of {} calls is reached", limits.calls);
        return out(LimitKind::Calls, "budget/calls", message);
    }
    if next != StepKind::Write && used.tokens() >= limits.tokens {
        let message = format!("{} of {} tokens are used", used.tokens(), limits.tokens);
        return out(LimitKind::Tokens, "budget/tokens", message);
    }
    if let Some(limit) = limits.usd_micros.filter(|_| next != StepKind::Write) {
        let dollars = |micros: u64| micros as f64 / 1e6;
        match world.price(&run.model) {
            None => {
                let message =
                    format!("there is a limit in money, and the price of {} is not known", run.model);
                let help =
                    "write its price into `config.toml` under `[models.prices]`, then `almoner resume`";
                return Some(Shortage::PriceUnknown(trouble("budget/price", message, help)));
            }
            Some(price) if !price.is_free() && used.usd_micros >= limit => {
                let message = format!("${:.4} of ${:.4} are spent", dollars(used.usd_micros), dollars(limit));
                return out(LimitKind::Usd, "budget/usd", message);
            }
            Some(_) => {}
        }
    }
    (fold.ran_ms >= limits.wall_ms).then(|| time_shortage(run))
}

/// Returns why a request to a model in a slot is not sent: reading it alone would exceed the rest of the slot's
/// tokens or money. Parallel calls have a share each, and none of them may exceed its share.
pub(crate) fn too_large(world: &dyn DriverPort, run: &Run, bundle: &Bundle, bytes: usize) -> Option<Trouble> {
    if bundle.source != model_worker().source {
        return None;
    }
    // A token has some three or four bytes.
    let tokens = (bytes / 4) as u64;
    let left = run.limits.tokens.saturating_sub(run.used.tokens());
    let help = "ask for less at once, or hand over more: `-e SLOT=model:NAME?tokens=…`";
    if tokens > left {
        let message =
            format!("about {tokens} tokens would be read, and {left} are left of what was handed over");
        return Some(trouble("budget/tokens", message, help));
    }
    let (price, limit) = (world.price(&run.model)?, run.limits.usd_micros?);
    let cost = price.cost(&model::Usage { input_tokens: tokens, ..model::Usage::default() });
    let left = limit.saturating_sub(run.used.usd_micros);
    (cost > left).then(|| {
        let dollars = |micros: u64| micros as f64 / 1e6;
        let message =
            format!("reading it alone would cost ${:.4}, and ${:.4} are left", dollars(cost), dollars(left));
        trouble("budget/usd", message, help)
    })
}

/// Returns the shortage of a call that would start a worker deeper than the run may.
pub(crate) fn depth_shortage(run: &Run, slot: &str) -> Shortage {
    let (depth, limit) = (run.depth + 1, run.limits.depth);
    let message = format!("the call of `{slot}` would start a worker {depth} deep; the limit is {limit}");
    Shortage::LimitReached(LimitKind::Depth, trouble("depth/limit", message, LIMIT_HELP))
}

/// Returns the shortage of a run that has worked as long as it may.
pub(crate) fn time_shortage(run: &Run) -> Shortage {
    let message = format!("the limit of {} s of work is reached", run.limits.wall_ms / 1000);
    Shortage::LimitReached(LimitKind::Wall, trouble("budget/wall", message, LIMIT_HELP))
}
