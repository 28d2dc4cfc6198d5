//! The behaviour of a follower when a run needs a person.

use crate::cli::OnAsk;
use crate::ui::output;

/// The behaviour of a follower when a run needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskMode {
    /// The person at this terminal is asked.
    Prompt,
    /// Somebody answers from elsewhere.
    Wait,
    /// The follower denies each approval and declines each question. A card that asks about an outcome is left
    /// waiting.
    Deny,
    /// No person is asked, and the run is left waiting.
    LeaveWaiting,
}

impl From<OnAsk> for AskMode {
    fn from(on_ask: OnAsk) -> AskMode {
        match on_ask {
            OnAsk::Prompt if output::can_ask() => AskMode::Prompt,
            OnAsk::Prompt => AskMode::LeaveWaiting,
            OnAsk::Wait => AskMode::Wait,
            OnAsk::Deny => AskMode::Deny,
        }
    }
}
