//! The state of a run together with all its descendants, because a run may be waiting for one far below it.

use control::protocol::{Request, Response};
use kernel::run::{Phase, Run, State};
use kernel::{MessageNumber, RunNumber};
use maud::{Markup, html};

use crate::page::parts;
use crate::page_request::PageRequest;

/// The maximum number of descendants that are examined.
const MAX_ITEMS: usize = 200;

/// Returns the unfinished descendants of a run, at any depth, oldest first.
pub fn open_descendants(asked: &PageRequest, root: &Run) -> Vec<Run> {
    let mut found: Vec<Run> = Vec::new();
    let mut waiting: Vec<RunNumber> = root.open_children().collect();
    while let Some(number) = waiting.pop() {
        if found.len() >= MAX_ITEMS {
            break;
        }
        // A run that ends in the meantime is not waited for.
        if let Ok(Response::Run(run)) = asked.ask(Request::GetRun { run: number })
            && !run.is_finished()
        {
            waiting.extend(run.open_children().filter(|child| *child > number));
            found.push(*run);
        }
    }
    found.sort_by_key(|run| run.number);
    found
}

/// The descendants of a run that cannot go on without the user.
pub struct BlockedDescendants {
    /// The stalled runs.
    pub stalled: Vec<RunNumber>,
    /// The runs that ask the user, each with its message.
    pub asking: Vec<(RunNumber, MessageNumber)>,
}

impl BlockedDescendants {
    /// Returns the blocked descendants of a run.
    pub fn of(asked: &PageRequest, run: &Run) -> BlockedDescendants {
        let all = if run.is_finished() { vec![] } else { open_descendants(asked, run) };
        let is_stalled = |run: &&Run| matches!(run.state, State::Stalled { .. });
        let asking = all.iter().flat_map(|run| asks(run).into_iter().map(|message| (run.number, message)));
        BlockedDescendants {
            stalled: all.iter().filter(is_stalled).map(|run| run.number).collect(),
            asking: asking.collect(),
        }
    }

    /// Returns the blocked descendants in one line, to be shown after the state of the run itself.
    pub fn line(&self) -> Markup {
        html! {
            @if let Some(first) = self.stalled.first() {
                ", " strong { (first) } " is stalled" (and_more(self.stalled.len()))
            }
            @if let Some((run, message)) = self.asking.first() {
                ", " strong { (run) } " waits for you: message " (message) (and_more(self.asking.len()))
            }
        }
    }
}

fn and_more(of: usize) -> String {
    if of > 1 { format!(", and {} more", of - 1) } else { String::new() }
}

/// Returns the open messages in which a run asks the user, oldest first.
pub fn asks(run: &Run) -> Vec<MessageNumber> {
    let open = run.open.values().filter_map(|phase| match phase {
        Phase::AwaitingApproval { message } | Phase::Questioned { message, .. } => Some(*message),
        _ => None,
    });
    let mut all: Vec<MessageNumber> =
        open.chain(run.exhausted.as_ref().map(|exhausted| exhausted.message)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the state of a run in words, with its descendants.
pub fn state(asked: &PageRequest, run: &Run) -> Markup {
    html! { (parts::state(run)) (BlockedDescendants::of(asked, run).line()) }
}
