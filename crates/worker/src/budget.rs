//! The limits of a run, which are checked before each step. If a limit is reached, the driver asks a person to raise
//! it.

use kernel::budget::{LimitKind, MAX_CARDS};
use kernel::run::{Parent, QuestionCount, Run, Shape, Trouble, WaitReason};
use passable::visible_line;
use resource::units;

use crate::definition::Bundle;
use crate::driver_port::DriverPort;
use crate::fold::Fold;
use crate::model_worker::model_worker;
use crate::trouble::trouble;

/// The help text for a limit that was reached and that no person has raised.
const LIMIT_HELP: &str = "raise it under `limits:` in the worker file, or give the worker less to do";

/// The kind of the next step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// A request to the model.
    Turn,
    /// A call.
    Call,
    /// The writing of a result that is already paid for, which costs no tokens.
    Write,
}

/// The reason why a run cannot continue.
pub(crate) enum Shortage {
    /// The run has reached this limit.
    LimitReached(LimitKind, Trouble),
    /// The run has a cost limit, but the price of its model is unknown.
    PriceUnknown(Trouble),
}

/// Returns an amount of money in words.
fn dollars(micros: u64) -> String {
    format!("${:.4}", micros as f64 / 1e6)
}

/// Returns the limit that does not allow the next step, or `None` if the step is allowed.
pub(crate) fn find_shortage(
    world: &dyn DriverPort,
    run: &Run,
    fold: &Fold,
    next: StepKind,
) -> Option<Shortage> {
    let (limits, used) = (run.limits, run.used);
    let out =
        |kind, code: &str, message| Some(Shortage::LimitReached(kind, trouble(code, message, LIMIT_HELP)));
    // In a conversation, the limit counts from the person's last message.
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
    if next != StepKind::Write && used.kept_bytes >= limits.kept {
        return Some(kept_shortage(run));
    }
    if next != StepKind::Write
        && let Some(out) = batch_shortage(world, run)
    {
        return Some(out);
    }
    if let Some(limit) = limits.usd_micros.filter(|_| next != StepKind::Write) {
        match world.price(&run.model) {
            None => {
                let message =
                    format!("there is a limit in money, and the price of {} is not known", run.model);
                let help =
                    "write its price into `config.toml` under `[models.prices]`, then `almoner resume`";
                return Some(Shortage::PriceUnknown(trouble("budget/price", message, help)));
            }
            Some(price) if !price.is_free() && used.usd_micros >= limit => {
                let message = format!("{} of {} are spent", dollars(used.usd_micros), dollars(limit));
                return out(LimitKind::Usd, "budget/usd", message);
            }
            Some(_) => {}
        }
    }
    (fold.ran_ms >= limits.wall_ms).then(|| time_shortage(run))
}

/// Returns the limit that a batch above a run has reached. While an item waits for a person, others may use up the
/// tokens and the money that all items share. A run that an item has called spends them as well.
fn batch_shortage(world: &dyn DriverPort, run: &Run) -> Option<Shortage> {
    let mut parent = run.parent;
    while let Some(Parent { run, place }) = parent {
        let above = world.run(run).ok()?;
        let is_batch = matches!(place, WaitReason::Item { .. });
        if let Some(shortage) = shared_shortage(&above).filter(|_| is_batch) {
            return Some(shortage);
        }
        parent = above.parent;
    }
    None
}

/// Returns whether the items of a batch have used up what they share.
pub(crate) fn is_batch_used_up(batch: &Run) -> bool {
    shared_shortage(batch).is_some()
}

/// Returns the limit that all items of a batch have reached together.
fn shared_shortage(batch: &Run) -> Option<Shortage> {
    let (used, limits) = (batch.used, batch.limits);
    if used.tokens() >= limits.tokens {
        let message = format!("{} of {} tokens of all items are used", used.tokens(), limits.tokens);
        return Some(Shortage::LimitReached(
            LimitKind::Tokens,
            trouble("budget/tokens", message, LIMIT_HELP),
        ));
    }
    if used.kept_bytes >= limits.kept {
        return Some(kept_shortage(batch));
    }
    let limit = limits.usd_micros.filter(|limit| used.usd_micros > 0 && used.usd_micros >= *limit)?;
    let message = format!("{} of {} are spent for all items", dollars(used.usd_micros), dollars(limit));
    Some(Shortage::LimitReached(LimitKind::Usd, trouble("budget/usd", message, LIMIT_HELP)))
}

/// Returns the reason why a request to a model in a slot is not sent, if there is one. The reason is that reading the
/// request would exceed the slot's remaining tokens or money. Parallel calls have a share each, and none of them may
/// exceed its share.
pub(crate) fn too_large(world: &dyn DriverPort, run: &Run, bundle: &Bundle, bytes: usize) -> Option<Trouble> {
    if bundle.source != model_worker().source {
        return None;
    }
    // A token has about four bytes.
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
        let (cost, left) = (dollars(cost), dollars(left));
        let message = format!("reading it alone would cost {cost}, and {left} are left");
        trouble("budget/usd", message, help)
    })
}

/// Returns the shortage for a call that would start a worker at a greater depth than the limit.
pub(crate) fn depth_shortage(run: &Run, slot: &str) -> Shortage {
    let (depth, limit) = (run.depth + 1, run.limits.depth);
    let message = format!("the call of `{slot}` would start a worker {depth} deep; the limit is {limit}");
    Shortage::LimitReached(LimitKind::Depth, trouble("depth/limit", message, LIMIT_HELP))
}

/// Returns the shortage for a run for which the store keeps as much as it may, or would with one more reply.
pub(crate) fn kept_shortage(run: &Run) -> Shortage {
    let used = run.used.kept_bytes;
    let (used, limit) = (units::rounded_bytes(used), units::rounded_bytes(run.limits.kept));
    let message = format!("{used} of {limit} are kept for it");
    Shortage::LimitReached(LimitKind::Kept, trouble("budget/kept", message, LIMIT_HELP))
}

/// Returns the shortage for a run that has reached its time limit.
pub(crate) fn time_shortage(run: &Run) -> Shortage {
    let message = format!("the limit of {} s of work is reached", run.limits.wall_ms / 1000);
    Shortage::LimitReached(LimitKind::Wall, trouble("budget/wall", message, LIMIT_HELP))
}

/// Returns the question of a run whose family keeps asking for calls that the person refuses.
///
/// # Errors
/// When a run above cannot be read.
pub(crate) fn refusal_shortage(world: &dyn DriverPort, run: &Run) -> Result<Option<Shortage>, Trouble> {
    let questions = questions(world, run)?;
    let Some(most) = questions.most_refused() else { return Ok(None) };
    let slot = visible_line(most.slot);
    let calls: Vec<String> =
        most.methods.iter().map(|method| format!("`{slot}.{}`", visible_line(method))).collect();
    let be = if calls.len() == 1 { "was" } else { "were" };
    let message = format!("{} {be} refused {} times", calls.join(", "), most.times);
    let help = "say in the worker file what it is to do instead";
    Ok(Some(Shortage::LimitReached(LimitKind::Refusals, trouble("budget/refusals", message, help))))
}

/// Returns the number of calls about which a run may still ask the person.
///
/// # Errors
/// When a run above cannot be read.
pub(crate) fn cards_left(world: &dyn DriverPort, run: &Run) -> Result<usize, Trouble> {
    Ok(usize::try_from(questions(world, run)?.cards_left()).unwrap_or(usize::MAX))
}

/// Returns the shortage for a call that would ask the person although the run has asked too often.
pub(crate) fn card_shortage() -> Shortage {
    let message = format!("the limit of {MAX_CARDS} questions about calls is reached");
    let help = "allow beforehand what the worker is to do (`--allow SLOT.METHOD`), or give it less to do";
    Shortage::LimitReached(LimitKind::Cards, trouble("budget/cards", message, help))
}

/// Returns the questions of a run's family to its person. The first run of the family counts them.
fn questions(world: &dyn DriverPort, run: &Run) -> Result<QuestionCount, Trouble> {
    let (mut head, mut parent) = (None, run.parent);
    while let Some(Parent { run, place: WaitReason::Call { .. } }) = parent {
        let above = world.run(run)?;
        parent = above.parent;
        head = Some(above);
    }
    Ok(head.map_or_else(|| run.questions.clone(), |head| head.questions))
}
