//! Answers that a person types under a card.

use kernel::MessageNumber;
use passable::{Untrusted, visible_line};

use super::entry_list;
use crate::session::earlier_answer::AnswerKind;
use crate::ui::output;
use control::protocol::Request;
use control::show::card::Card;
use control::show::danger;

/// Prints the prompt under a card, with the answers that the user can type.
pub fn how_to_answer(card: &Card) {
    let number = card.number;
    output::prompt(&match card.in_doubt {
        true => {
            format!("Type `outcome {number} yes`, `outcome {number} no` (it is done now), or `later`: ")
        }
        false => {
            let some = match card.entries.len() {
                0 | 1 => String::new(),
                _ => format!("`approve {number} 1,3` (or `1-3`), "),
            };
            let plain = match danger::unticked(card).is_empty() {
                true => format!("`approve {number}`, "),
                false => String::new(),
            };
            format!("Type {plain}{some}`deny {number} REASON`, or `later`: ")
        }
    });
}

/// Tells the user that a line is no answer, and what is. Nothing was answered.
pub fn explain_input(card: &Card, line: &str) {
    let shown = match line.trim() {
        "" => "an empty line answers nothing".to_owned(),
        line => format!("`{}` is not understood, and nothing was answered", visible_line(line)),
    };
    let number = card.number;
    let yes = if card.in_doubt { format!("outcome {number} yes") } else { format!("approve {number}") };
    output::note(&format!("{shown}: a yes is `{yes}`, in full, so that no stray key is one"));
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
    // A user may paste the command that the inbox shows.
    let verb = words.next().and_then(|word| if word == "almoner" { words.next() } else { Some(word) })?;
    if verb == "later" {
        return Some(CardInput::Postpone);
    }
    let message: MessageNumber = words.next()?.parse().ok()?;
    let text = Untrusted::new(line.trim());
    match verb {
        "approve" => {
            let (mut only, mut for_run, mut names_entries) = (Vec::new(), false, false);
            for word in words {
                if word == "--run" {
                    for_run = true;
                } else if word == "--only" {
                    names_entries = true;
                } else {
                    // An unfinished list is no answer: without numbers it would approve every entry.
                    only.extend(entry_list::parse(word.strip_prefix("--only=").unwrap_or(word)).ok()?);
                }
            }
            if names_entries && only.is_empty() {
                return None;
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
            let entries = match entry_list::is_list(&reason) {
                true => Some(entry_list::parse(&reason).ok()?),
                false => None,
            };
            let reason = if entries.is_some() { String::new() } else { reason };
            Some(CardInput::Answer(Request::Deny { text, message, entries, reason: Untrusted::new(reason) }))
        }
        _ => None,
    }
}

/// Returns the kind of an answer, and the entries that it names.
pub fn kind_of(request: &Request) -> (AnswerKind, Option<Vec<usize>>) {
    match request {
        Request::Deny { entries, .. } => (AnswerKind::Deny, entries.clone()),
        Request::ConfirmOutcome { happened: true, .. } => (AnswerKind::Happened, None),
        Request::ConfirmOutcome { happened: false, .. } => (AnswerKind::Repeat, None),
        Request::Approve { entries, .. } => (AnswerKind::Approve, entries.clone()),
        _ => (AnswerKind::Approve, None),
    }
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
            "approve 7 3-1",
            "approve 7 1-",
            "approve 7 --only",
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
        for line in
            ["approve 7 1-3", "approve 7 1,2-3", "approve 7 --only 1-3", "almoner approve 7 --only=1,2,3"]
        {
            let Some(CardInput::Answer(Request::Approve { entries, .. })) = parse_card_input(line) else {
                panic!("{line}")
            };
            assert_eq!(entries, Some(vec![0, 1, 2]), "{line}");
        }
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
