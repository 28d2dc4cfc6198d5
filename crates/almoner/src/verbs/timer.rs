//! `almoner timer`.

use kernel::command::Reply;
use passable::{Untrusted, visible_line};
use worker::definition::parse_duration_ms;

use crate::cli::agents::TimerArgs;
use crate::session;
use crate::session::Session;
use crate::ui::output;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{AgentAct, Request, Response};

/// Runs `almoner timer`.
///
/// # Errors
/// When the timer cannot be made, or no timer has this name.
pub fn timer(acting: &Session<'_>, args: &TimerArgs) -> ExitResult {
    let path = session::parse_path(&args.name)?;
    if let Some(every) = &args.every {
        let interval_ms = parse_duration_ms(every).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{}` is no length of time", visible_line(every)))
                .help("write a number and a unit, like `30s`, `10m`, `1h30m` or `1d`")
        })?;
        let label = Untrusted::new(args.label.clone().unwrap_or_else(|| args.name.clone()));
        acting.act("timer", AgentAct::MakeTimer { path: path.clone(), interval_ms, label })?;
    }
    let ticks = AgentAct::Ticks { path, begin: !args.off };
    let response = match &args.every {
        // The first act has already put the command into the transcript.
        Some(_) => acting.ask(Request::Act { said: None, act: Box::new(ticks) })?,
        None => acting.act("timer", ticks)?,
    };
    if args.json.json {
        output::json(&response)?;
        return Ok(Exit::Ok);
    }
    let name = visible_line(&args.name);
    let changed = !matches!(response, Response::Reply(Reply::AlreadySettled));
    output::note(&match (args.off, changed) {
        (false, true) => {
            let off = acting.command(&format!("timer {name} --off"));
            format!("each tick of `{name}` is a message to you; {off} ends that")
        }
        (false, false) => format!("you are told of each tick of `{name}` already"),
        (true, true) => {
            format!("you are told no more of `{name}`")
        }
        (true, false) => format!("you are not told of `{name}`"),
    });
    Ok(Exit::Ok)
}
