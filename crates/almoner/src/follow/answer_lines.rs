//! Answers that a person types under a card.

use kernel::MessageNumber;
use passable::Untrusted;

use crate::ui::output;
use control::exit::{Exit, Failure};
use control::protocol::Request;
use control::show::card::Card;

/// Prints the prompt under a card, with the answers that the user can type.
pub fn how_to_answer(card: &Card) {
    let number = card.number;
    output::prompt(&match card.in_doubt {
        true => {
            format!("Type `outcome {number} yes`, `outcome {number} no` (it is done now), or `later`: ")
        }
        false => {
            format!("Type `approve {number}`, `approve {number} 1,3`, `deny {number} REASON`, or `later`: ")
        }
    });
}

/// A line that the user typed under a card.
#[derive(Debug, PartialEq)]
pub enum CardInput {
    /// An answer.
    Answer(Request),
    /// The word `later`: the user gives no answer now.
    Postpone,
}

/// Reads a line that the user typed under a card, or returns `None` if it is no complete command. The commands are
/// `approve N [ENTRIES] [--run]`, `deny N [REASON]`, `outcome N yes|no` and `later`. Shorter forms are rejected, so
/// that a stray key press is never an answer.
pub fn parse_card_input(line: &str) -> Option<CardInput> {
    let mut words = line.split_whitespace();
    let verb = words.next()?;
    if verb == "later" {
        return Some(CardInput::Postpone);
    }
    let message: MessageNumber = words.next()?.parse().ok()?;
    let text = Untrusted::new(line.trim());
    match verb {
        "approve" => {
            let (mut only, mut for_run) = (Vec::new(), false);
            for word in words {
                if word == "--run" {
                    for_run = true;
                } else {
                    // An unfinished list is no answer: without numbers it would approve every entry.
                    for n in word.split(',') {
                        only.push(n.parse::<usize>().ok()?.checked_sub(1)?);
                    }
                }
            }
            let entries = (!only.is_empty()).then_some(only);
            Some(CardInput::Answer(Request::yes(text, message, entries, for_run)))
        }
        "outcome" => {
            let happened = match words.next()? {
                "yes" => true,
                "no" => false,
                _ => return None,
            };
            let request = Request::ConfirmOutcome { text, message, happened };
            words.next().is_none().then_some(CardInput::Answer(request))
        }
        "deny" => {
            let reason = words.collect::<Vec<_>>().join(" ");
            Some(CardInput::Answer(Request::Deny {
                text,
                message,
                entries: None,
                reason: Untrusted::new(reason),
            }))
        }
        _ => None,
    }
}

/// Returns the kernel's indices, counted from 0, for entry numbers that users count from 1. An empty list gives
/// `None`, which means all entries.
///
/// # Errors
/// When a number is 0.
pub fn entries(only: &[usize]) -> Result<Option<Vec<usize>>, Failure> {
    if only.is_empty() {
        return Ok(None);
    }
    only.iter()
        .map(|n| {
            n.checked_sub(1).ok_or_else(|| {
                Failure::new(Exit::Usage, "entries are counted from 1").help("`almoner inbox N` shows them")
            })
        })
        .collect::<Result<_, _>>()
        .map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_commands_are_parsed_as_answers() {
        for line in [
            "",
            "y",
            "yes",
            "a",
            "approve",
            "approve all",
            "approve x",
            "7",
            "approve 7 maybe",
            "approve 7 ,",
            "approve 7 1,",
            "approve 7 , --run",
            "approve 7 0",
            "deny",
            "outcome",
            "outcome 7",
            "outcome 7 maybe",
            "outcome 7 yes no",
            "outcome yes",
        ] {
            assert_eq!(parse_card_input(line), None, "{line:?}");
        }
        assert_eq!(parse_card_input(" later "), Some(CardInput::Postpone));
        let Some(CardInput::Answer(Request::Approve { message, entries, for_run, .. })) =
            parse_card_input("approve 7 1,3 --run")
        else {
            panic!("an approval")
        };
        assert_eq!((message.0, entries, for_run), (7, Some(vec![0, 2]), true));
        let Some(CardInput::Answer(Request::Deny { reason, .. })) =
            parse_card_input("deny 7 not to that address")
        else {
            panic!("a denial")
        };
        assert_eq!(reason.raw(), "not to that address");
        for (line, said) in [("outcome 7 yes", true), ("outcome 7 no", false)] {
            let Some(CardInput::Answer(Request::ConfirmOutcome { message, happened, .. })) =
                parse_card_input(line)
            else {
                panic!("an answer")
            };
            assert_eq!((message.0, happened), (7, said));
        }
    }
}
