//! The failures that name the messages for which a run waits.

use std::collections::BTreeSet;

use kernel::{MessageNumber, RunNumber};

use super::question::Question;
use crate::session::Session;
use crate::session::message_list;
use control::exit::{Exit, Failure};

/// Returns the failure of a run that waits for a person who is not here.
pub fn needs_you(acting: &Session<'_>, run: RunNumber, pending: &[MessageNumber]) -> Failure {
    if pending.is_empty() {
        return Failure::new(Exit::NeedsYou, format!("{run} waits for you to say something"))
            .help(format!("{} goes on with it", acting.command(&format!("chat --continue {run}"))));
    }
    // Items of a batch are answered together. If the daemon is gone, the numbers are named one by one.
    if let Ok(Some(numbers)) = message_list::batch_numbers(acting, pending) {
        let what = format!("{run} waits for you: {} items ask, messages {numbers}", pending.len());
        return Failure::new(Exit::NeedsYou, what).help(format!(
            "{} shows them as one card; they wait as long as you like",
            acting.command(&format!("inbox {numbers}")),
        ));
    }
    let list: Vec<String> = pending.iter().map(ToString::to_string).collect();
    let first = list.first().cloned().unwrap_or_default();
    let how = pending.first().and_then(|number| Question::how_to_answer(acting, *number));
    Failure::new(Exit::NeedsYou, format!("{run} waits for you: message {}", list.join(", "))).help(format!(
        "{} shows it, {}; it waits as long as you like",
        acting.command(&format!("inbox {first}")),
        how.unwrap_or_else(|| "and how it is answered".to_owned())
    ))
}

/// Returns the failure for a user who has stopped following a run. It tells how the run goes on, and how to come
/// back.
pub(super) fn interrupted(
    acting: &Session<'_>,
    run: RunNumber,
    pending: &BTreeSet<MessageNumber>,
) -> Failure {
    let again = format!("{} follows it again", acting.command(&format!("resume {run}")));
    let Some(first) = pending.first() else {
        return Failure::new(Exit::Interrupted, format!("interrupted; {run} goes on")).help(again);
    };
    let list: Vec<String> = pending.iter().map(ToString::to_string).collect();
    let message = format!("interrupted; {run} waits for you: message {}", list.join(", "));
    let how = Question::how_to_answer(acting, *first)
        .unwrap_or_else(|| format!("{} shows how it is answered", acting.command(&format!("inbox {first}"))));
    Failure::new(Exit::Interrupted, message).help(format!("{how}, {again}"))
}
