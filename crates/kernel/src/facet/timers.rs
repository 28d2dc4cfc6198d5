//! Timers: their methods, and the subscribers to their ticks.

use super::args::Args;
use super::plan::{Need, Plan, Then};
use super::refusal::Refusal;
use crate::command::{Act, TimerAct};
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::name::NamePath;
use crate::name_lookup::View;
use crate::proposal::Value;
use crate::table;
use crate::timer::{self, MAX_INTERVAL_MS, MIN_INTERVAL_MS};
use crate::txn::ReadTxn;

/// A request that begins or ends the delivery of ticks to a caller's own object. The caller's connection delivers the
/// ticks while it is open, and the state has no record of the delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The timer, or a grant of it.
    pub timer: FormulaId,
    /// Whether the delivery begins. `false` means that it ends.
    pub begins: bool,
}

/// Returns the plan for `makeTimer`.
pub(super) fn make(actor: FormulaId, args: Args<'_>) -> Result<Plan, Refusal> {
    let name = args.text(0)?;
    let asked = args.get(1).and_then(Value::as_f64).unwrap_or(f64::NAN);
    // An argument that is no number became NaN, which lies in no range.
    if !(MIN_INTERVAL_MS as f64..=MAX_INTERVAL_MS as f64).contains(&asked) {
        let what =
            format!("the interval must be {MIN_INTERVAL_MS} to {MAX_INTERVAL_MS} milliseconds, not {asked}");
        return Err(Refusal::Argument(what));
    }
    let label = match args.get(2) {
        Some(_) => args.untrusted(2)?,
        None => passable::Untrusted::new(name.clone()),
    };
    let act = TimerAct::Make { path: NamePath::new([name])?, interval_ms: asked as u64, label };
    Ok(Plan::act(actor, Act::Timer(act), Then::Object { interface: "EndoTimer".into() }))
}

/// Returns the plan for a call of a timer; `None` for any other method.
pub(super) fn plan(
    txn: &mut dyn ReadTxn,
    view: &View,
    target: &FormulaId,
    formula: &Formula,
    method: &str,
    args: Args<'_>,
) -> Result<Option<Plan>, Refusal> {
    let Formula::Timer { interval_ms, label, .. } = formula else { return Ok(None) };
    let begins = match method {
        "getLabel" => return Ok(Some(Plan::Value(Value::string(label.raw().to_owned())))),
        "getInterval" => return Ok(Some(Plan::Value(Value::number(*interval_ms as f64)))),
        "subscribe" => true,
        "unsubscribe" => false,
        _ => return Ok(None),
    };
    if let (Err(silence), true) = (timer::timer(txn, target, view.now_ms)?, begins) {
        let what = format!("no more ticks come of this timer: {}", silence.reason());
        return Err(Refusal::Argument(what));
    }
    let Some(whom) = args.get(0).and_then(Value::as_reference) else { return Ok(None) };
    let Some(reached) = table::reach(txn, whom)? else {
        return Ok(Some(Plan::need(Need::Watch(Watch { timer: *target, begins }))));
    };
    match reached.formula {
        Formula::Handle { agent } if agent == view.agent => {
            let timer = *target;
            let act = match begins {
                true => TimerAct::Subscribe { timer },
                false => TimerAct::Unsubscribe { timer },
            };
            Ok(Some(Plan::act(view.agent, Act::Timer(act), Then::Nothing)))
        }
        // An agent must not fill the mailbox of another.
        _ => {
            let what = "a timer tells an object of your own, or your own mail address (`handle()`)";
            Err(Refusal::Argument(what.to_owned()))
        }
    }
}
