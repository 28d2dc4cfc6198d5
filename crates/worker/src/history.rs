//! The older turns for which the conversation has no room, as a line for each call.

use kernel::run::{Completion, ConversationView, Run, Shape, Trouble};

use crate::driver_port::DriverPort;
use crate::fold::{CallOutcome, Fold};
use crate::slot_binding::CALL;
use crate::spill;
use crate::stored_reply::read_reply;

/// The maximum size of all lines, in bytes. The newest calls have a line, and the others are counted.
const MAX_LINES_BYTES: usize = 2048;

/// The maximum number of characters of one argument.
const MAX_ARGUMENT_CHARS: usize = 40;

/// The maximum number of characters of an earlier answer.
const MAX_ANSWER_CHARS: usize = 200;

/// Returns the lines for the turns that are left out, or `None` if all turns are shown.
pub(crate) fn lines(
    world: &dyn DriverPort,
    run: &Run,
    fold: &Fold,
    view: ConversationView,
) -> Result<Option<String>, Trouble> {
    let left_out =
        fold.turns.iter().filter(|turn| turn.prompted < view.turns_before && turn.replied.is_some());
    let (mut lines, mut bytes, mut others) = (Vec::new(), 0, 0);
    for turn in left_out.rev() {
        let mut of_turn: Vec<String> =
            turn.calls.values().rev().filter_map(|outcome| call_line(fold, outcome)).collect();
        // An answer in a conversation with a person is a part of what was said.
        if let (Shape::Chat, true, Some((_, hash))) = (run.shape, turn.calls.is_empty(), turn.replied)
            && bytes < MAX_LINES_BYTES
        {
            let answer = read_reply(world, &hash)?.text;
            of_turn.push(format!("- you answered: {}", shortened(&answer, MAX_ANSWER_CHARS)));
        }
        for line in of_turn {
            bytes += line.len();
            match bytes <= MAX_LINES_BYTES {
                true => lines.push(line),
                false => others += 1,
            }
        }
    }
    if lines.is_empty() && others == 0 {
        return Ok(None);
    }
    lines.reverse();
    let more = if others > 0 { format!(" ({others} more came before these)") } else { String::new() };
    let tool = spill::TOOL;
    Ok(Some(format!(
        "You have already done this in this run; it is left out here for lack of room{more}. `{tool}` reads a result \
         again, as in `{tool}(result: \"#9\")`:\n{}",
        lines.join("\n")
    )))
}

fn call_line(fold: &Fold, outcome: &CallOutcome) -> Option<String> {
    let CallOutcome::Proposed(step) = outcome else { return None };
    let call = fold.calls.get(step)?;
    let proposal = &call.proposal;
    let tool = match proposal.method.as_str() {
        CALL => proposal.slot.clone(),
        method => format!("{}_{method}", proposal.slot),
    };
    let arguments: Vec<String> =
        proposal.args.iter().map(|value| shortened(&spill::text(value), MAX_ARGUMENT_CHARS)).collect();
    let outcome = match call.completion.as_ref()? {
        Completion::Done { value, .. } => {
            let bytes = call.whole.map_or(spill::text(value).len() as u64, |whole| whole.bytes);
            format!("{bytes} bytes")
        }
        Completion::Refused(findings) => {
            format!("not done: {}", shortened(&findings.first()?.message, MAX_ANSWER_CHARS))
        }
        Completion::Failed(finding) => {
            format!("failed: {}", shortened(&finding.message, MAX_ANSWER_CHARS))
        }
    };
    Some(format!("- #{step} {tool}({}): {outcome}", arguments.join(", ")))
}

/// Returns a text in one line, cut to so many characters.
fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
