//! The answers that a server means to give, and the outcomes that a client owes for them.

use model::{ModelError, Reply, Stop};
use serde_json::{Value, json};

use super::chance::Chance;

/// The way in which an answer ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    Complete,
    /// A limit of tokens.
    Length,
    /// The provider withheld it, for a reason.
    Withheld,
    /// The model declined, in these words.
    Declined(String),
    /// The server ended it for a reason that means no success.
    Broken,
    /// The server reports a failure within the answer, in these words.
    Reported(String),
    /// The connection ends too early.
    Cut,
}

/// An answer as it was meant.
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    pub(crate) thinking: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) end: End,
}

const WORDS: [&str; 20] = [
    "yes",
    "no",
    "Grüß",
    "Gott",
    "世界",
    "😀",
    "👩\u{200d}👧",
    "{\"a\": 1}",
    "data: x",
    "[DONE]",
    "\n\n",
    "\r\n",
    "\\ud83d",
    "\"",
    "`</think>`",
    "<b>",
    "null",
    "error",
    "café",
    "Ω≈ç",
];
const TOOLS: [&str; 3] = ["docs_read", "docs_list", "now"];
const FAILURES: [&str; 5] = [
    "the cluster is on fire",
    "Überlastet, bitte später",
    "CUDA out of memory",
    "upstream connect error or disconnect",
    "no healthy upstream",
];

fn text(chance: &mut Chance) -> String {
    let count = 1 + chance.below(12);
    let words: Vec<&str> = (0..count).map(|_| chance.pick(&WORDS)).collect();
    // The first word is plain, so that the text begins with no tag and no blank.
    format!("{} {}.", chance.pick(&["Answer", "Ответ", "答え"]), words.join(" "))
}

impl Intent {
    pub(crate) fn draw(chance: &mut Chance) -> Self {
        let end = match chance.below(20) {
            0..=9 => End::Complete,
            10 | 11 => End::Length,
            12 => End::Withheld,
            13 => End::Declined(format!("I cannot help with {}.", chance.pick(&["that", "dies", "これ"]))),
            14 | 15 => End::Broken,
            16 | 17 => End::Reported(chance.pick(&FAILURES).to_owned()),
            _ => End::Cut,
        };
        let wants_calls = matches!(end, End::Complete | End::Cut | End::Broken) && chance.percent(40);
        let calls = if wants_calls { 1 + chance.below(3) } else { 0 };
        let calls = (0..calls).map(|_| {
            let arguments = match chance.below(4) {
                0 => json!({}),
                1 => json!({"path": text(chance)}),
                2 => json!({"path": "a/b.txt", "lines": [1, {"to": 2}]}),
                _ => json!({"n": chance.below(1000), "deep": {"s": "}{", "t": "\"\\"}}),
            };
            (chance.pick(&TOOLS).to_owned(), arguments)
        });
        let calls: Vec<_> = calls.collect();
        let has_text = calls.is_empty() || chance.percent(30);
        Self {
            thinking: if chance.percent(30) {
                format!("hm, {}", text(chance).replace("</think>", ""))
            } else {
                String::new()
            },
            text: if has_text && !matches!(end, End::Declined(_)) { text(chance) } else { String::new() },
            calls,
            end,
        }
    }

    /// Returns the fault of an outcome, or `None` if the client did what it owes. `reason` is the word by which the
    /// server ended the answer.
    pub(crate) fn fault(&self, outcome: &Result<Reply, ModelError>, reason: &str) -> Option<String> {
        let told = match outcome {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        let holds = match (&self.end, outcome) {
            (End::Complete, Ok(reply)) => {
                let calls: Vec<_> =
                    reply.calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect();
                let stop = if self.calls.is_empty() { Stop::End } else { Stop::Calls };
                reply.text.trim() == self.text.trim()
                    && calls == self.calls
                    && reply.malformed.is_empty()
                    && reply.stop == stop
            }
            (End::Length, Ok(reply)) => reply.text.trim() == self.text.trim() && reply.stop == Stop::Length,
            (End::Withheld, Err(error)) => {
                matches!(error, ModelError::Filtered { .. } | ModelError::Declined { .. })
                    && !error.is_transient()
                    && (told.contains(reason) || told.contains(self.text.trim()))
            }
            (End::Declined(words), Err(error)) => {
                matches!(error, ModelError::Declined { .. })
                    && !error.is_transient()
                    && told.contains(words.as_str())
            }
            (End::Broken, Err(error)) => {
                matches!(error, ModelError::Incomplete { .. })
                    && error.is_transient()
                    && told.contains(reason)
            }
            (End::Reported(words), Err(_)) => told.contains(words.as_str()),
            (End::Cut, Err(error)) => {
                error.is_transient()
                    && matches!(error, ModelError::CutOff { .. } | ModelError::Malformed { .. })
            }
            _ => false,
        };
        // No words of a parser reach a person.
        let parser = ["expected", "invalid type", "EOF while", "trailing", "at line 1 column"];
        let is_foreign = parser.iter().any(|words| told.contains(words));
        (!holds || is_foreign).then(|| format!("{told} {outcome:?}"))
    }
}
