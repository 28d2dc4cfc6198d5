//! The end of an answer: its meaning, from the reason that the server gives.

use crate::error::ModelError;
use crate::formats::thinking;
use crate::reply::{Reply, Stop};
use crate::served::message::mend;

/// The meaning of a reason. A later one in this order outweighs an earlier one, wherever a server gives several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meaning {
    /// The answer is complete.
    Complete,
    /// The answer was cut at a limit.
    Length,
    /// The answer was withheld, or a part of it.
    Withheld,
    /// The server does not say that the answer is complete.
    Broken,
}

/// The reasons of all formats that mean a complete answer, in lower case.
const COMPLETE: [&str; 20] = [
    "stop",
    "end_turn",
    "end",
    "eos",
    "eos_token",
    "endoftext",
    "end_of_text",
    "stop_sequence",
    "stop_token",
    "complete",
    "completed",
    "done",
    "finished",
    "success",
    "tool_calls",
    "tool_call",
    "tool_use",
    "function_call",
    "function_calls",
    "calls",
];

/// The reasons that mean a limit.
const LENGTH: [&str; 10] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "max_length",
    "model_length",
    "context_length",
    "context_length_exceeded",
    "context_window_exceeded",
    "model_context_window_exceeded",
];

/// The reasons that mean that the provider, or the model, withheld the answer.
const WITHHELD: [&str; 17] = [
    "content_filter",
    "content_filtered",
    "content_policy",
    "error_toxic",
    "safety",
    "recitation",
    "blocklist",
    "blocked",
    "prohibited_content",
    "spii",
    "image_safety",
    "language",
    "refusal",
    "sensitive",
    "moderation",
    "guardrail_intervened",
    "model_armor",
];

impl Meaning {
    /// Returns the meaning of a reason, in any case. A reason that is unknown does not mean a complete answer.
    fn of(word: &str) -> Self {
        let word = word.to_ascii_lowercase().replace(['-', ' '], "_");
        let word = word.rsplit('.').next().unwrap_or_default();
        let word = word.strip_prefix("finish_reason_").unwrap_or(word);
        let listed = |list: &[&str]| list.contains(&word);
        match () {
            () if listed(&COMPLETE) => Self::Complete,
            () if listed(&LENGTH) => Self::Length,
            () if listed(&WITHHELD) => Self::Withheld,
            () => Self::Broken,
        }
    }
}

/// The end of an answer, as far as the server has told it.
#[derive(Debug, Default)]
pub(super) struct Ending {
    reason: Option<(Meaning, String)>,
    /// The server's own words about the end.
    pub(super) message: String,
    /// The words with which the model declines to answer.
    pub(super) refusal: String,
    /// The number of bytes of thinking that came beside the text.
    pub(super) thinking: u64,
}

impl Ending {
    /// Takes a reason. The graver one of two counts.
    pub(super) fn note(&mut self, word: Option<impl AsRef<str>>) {
        let Some(word) = word else { return };
        let word = word.as_ref();
        let meaning = Meaning::of(word);
        if self.reason.as_ref().is_none_or(|(known, _)| *known <= meaning) {
            self.reason = Some((meaning, word.to_owned()));
        }
    }

    /// Returns whether the server has given a reason.
    pub(super) fn has_reason(&self) -> bool {
        self.reason.is_some()
    }

    /// Returns the reason, as the server wrote it.
    pub(super) fn word(&self) -> Option<&str> {
        self.reason.as_ref().map(|(_, word)| word.as_str())
    }

    /// Returns the reply with the reason why it ended, and without the model's thinking.
    ///
    /// # Errors
    ///
    /// When the model declined, the provider withheld the answer, or the server does not say that it is complete.
    pub(super) fn close(self, mut reply: Reply) -> Result<Reply, ModelError> {
        let (meaning, word) = self.reason.unwrap_or((Meaning::Complete, String::new()));
        let server = String::new();
        if meaning == Meaning::Broken {
            return Err(ModelError::Incomplete { server, reason: word, message: self.message });
        }
        let refusal = mend(self.refusal);
        if !refusal.trim().is_empty() {
            return Err(ModelError::Declined { server, message: refusal.trim().to_owned() });
        }
        if meaning == Meaning::Withheld {
            let reason = if self.message.is_empty() { word } else { format!("{word}: {}", self.message) };
            return Err(ModelError::Filtered { server, reason });
        }
        let (text, thinking) = thinking::split(&reply.text);
        reply.text = mend(text.to_owned());
        reply.thinking_bytes = self.thinking.saturating_add(thinking);
        let has_calls = !reply.calls.is_empty() || !reply.malformed.is_empty();
        reply.stop = match meaning {
            Meaning::Length => Stop::Length,
            _ if has_calls => Stop::Calls,
            _ => Stop::End,
        };
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_one_meaning_in_any_spelling() {
        for (word, expected) in [
            ("stop", Meaning::Complete),
            ("STOP", Meaning::Complete),
            ("end_turn", Meaning::Complete),
            ("FINISH_REASON_STOP", Meaning::Complete),
            ("FinishReason.STOP", Meaning::Complete),
            ("tool-calls", Meaning::Complete),
            ("length", Meaning::Length),
            ("MAX_TOKENS", Meaning::Length),
            ("content_filter", Meaning::Withheld),
            ("SAFETY", Meaning::Withheld),
            ("error", Meaning::Broken),
            ("network_error", Meaning::Broken),
            ("abort", Meaning::Broken),
            ("cancelled", Meaning::Broken),
            ("insufficient_system_resource", Meaning::Broken),
            ("pause_turn", Meaning::Broken),
            ("OTHER", Meaning::Broken),
            ("load", Meaning::Broken),
            ("whatever comes next year", Meaning::Broken),
        ] {
            assert_eq!(Meaning::of(word), expected, "{word}");
        }
    }

    #[test]
    fn graver_reason_outweighs_a_later_stop() {
        for (words, expected) in [
            (["error", "stop"], "error"),
            (["stop", "error"], "error"),
            (["length", "stop"], "length"),
            (["content_filter", "stop"], "content_filter"),
        ] {
            let mut ending = Ending::default();
            words.iter().for_each(|word| ending.note(Some(word)));
            assert_eq!(ending.word(), Some(expected));
        }
    }
}
