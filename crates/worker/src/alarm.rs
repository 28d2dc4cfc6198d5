//! Timers. A run that waits for a time uses no memory, and continues even if the daemon was restarted in the
//! meantime.

use kernel::command::Move;
use kernel::proposal::Finding;
use kernel::run::{Completion, Trouble};
use kernel::started_effect::StartedEffect;
use kernel::{Interface, Method, Param, Pattern, Value};
use passable::{Effect, Limit, Limits, visible_line};
use policy::Facts;

use crate::definition;
use crate::driver_port::DriverPort;
use crate::trouble::internal;

/// The maximum time that a run can wait, in milliseconds: one year.
const MAX_WAIT_MS: u64 = 366 * 24 * 60 * 60 * 1000;

/// Returns the interface of a timer slot: one method, `wait`.
pub(crate) fn interface() -> Interface {
    let text = Pattern::string_within(Limits::from_pairs([(Limit::StringLength, 40.0)]));
    let wait = Method::new("wait", Effect::Observe, "Waits, and says what time it is then.")
        .param(Param::required("how_long", text, "like `90s`, `10m`, `1h30m` or `2d`; a year at most"))
        .returns(Pattern::string());
    Interface::new("Timer", "waits for a time").with(wait)
}

fn how_long(args: &[Value]) -> Result<u64, Box<Finding>> {
    let text = args.first().and_then(Value::as_str).unwrap_or_default();
    definition::parse_duration_ms(text).filter(|ms| *ms <= MAX_WAIT_MS).ok_or_else(|| {
        let finding = Finding::new("timer/duration", "this is no time that can be waited")
            .at("how_long")
            .counter_example(visible_line(text).into_owned());
        Box::new(finding.allowed("`90s`, `10m`, `1h30m`, `2d`; a year at most"))
    })
}

/// Returns the facts about a call that the gates check before the call is made.
pub(crate) fn facts(args: &[Value]) -> Facts {
    let text = args.first().and_then(Value::as_str).unwrap_or_default();
    let line = format!("waits for {}", visible_line(text));
    Facts {
        line,
        problems: how_long(args).err().map(|problem| *problem).into_iter().collect(),
        ..Facts::default()
    }
}

/// Returns the run's next move for a call that has begun: it waits, or the call is refused.
pub(crate) fn wait_move(world: &dyn DriverPort, begun: &StartedEffect) -> Result<Move, Trouble> {
    let proposal = begun.step().step;
    Ok(match how_long(&begun.proposal().args) {
        Ok(ms) => {
            let ms = i64::try_from(ms).map_err(|_| internal("a time is too long"))?;
            Move::Wait { proposal, until_ms: world.now_ms().saturating_add(ms) }
        }
        Err(problem) => Move::Complete { proposal, completion: Completion::Refused(vec![*problem]) },
    })
}
