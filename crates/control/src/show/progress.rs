//! The lines on standard error about the progress of a run.

use kernel::event::Change;
use passable::visible_line;

/// Returns the line for a change, or `None` for a change that is not reported.
pub fn line(change: &Change) -> Option<String> {
    Some(match change {
        Change::RunStarted { run, name, parent } => match parent {
            Some(parent) => format!("{run} `{}` for {parent}", visible_line(name)),
            None => format!("{run} `{}`", visible_line(name)),
        },
        Change::Step { run, step, entry, line, .. } => match entry.as_str() {
            "effect_started" | "answered" | "spawned" | "yielded" | "resumed" => return None,
            _ => format!("  {run}#{step} {entry} {}", line.visible_line()),
        },
        _ => return None,
    })
}
