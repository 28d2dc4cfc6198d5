//! Answers to several approvals of a batch, which a person types under a card.

use kernel::MessageNumber;
use passable::Untrusted;

use crate::session::Session;
use crate::session::message_list::{self, MessageList};
use crate::session::replies;
use crate::ui::output;
use control::exit::Failure;
use control::protocol::Request;
use control::show::batch_card::BatchAsks;

/// Returns the open approvals of the batch to which a message belongs, if there are several of them.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn batch_of(acting: &Session<'_>, number: MessageNumber) -> Result<Option<BatchAsks>, Failure> {
    let has = |asks: &BatchAsks| asks.asks.len() > 1 && asks.asks.iter().any(|ask| ask.message == number);
    Ok(message_list::batch_asks(acting)?.into_iter().find(has))
}

/// Prints the prompt under the card of a batch.
pub fn how_to_answer(asks: &BatchAsks, number: MessageNumber) {
    let all = asks.numbers();
    output::prompt(&format!(
        "Type `approve {all}`, `approve {number}`, `deny {all} REASON`, `deny {number} REASON`, or `later`: "
    ));
}

/// Answers several approvals if a line is `approve LIST` or `deny LIST [REASON]`. Returns whether they were answered, or
/// `None` for any other line.
pub fn answer(acting: &Session<'_>, line: &str) -> Option<bool> {
    let (list, denied) = parse(line)?;
    let text = Untrusted::new(line.trim());
    let answered = list
        .find(acting)
        .and_then(|found| message_list::seen(acting, &found))
        .and_then(|approvals| acting.ask(Request::AnswerAll { text, approvals, denied }));
    Some(match answered {
        Ok(response) => {
            output::note(&replies::describe(&response));
            true
        }
        Err(failure) => {
            output::failure(&failure);
            false
        }
    })
}

/// Reads `approve LIST` or `deny LIST [REASON]`: the list, and the reason of a no.
pub(super) fn parse(line: &str) -> Option<(MessageList, Option<Untrusted>)> {
    // The card prints the whole command, and people copy it.
    let mut words = line.split_whitespace().skip_while(|word| *word == "almoner");
    let (verb, list) = (words.next()?, MessageList::parse(words.next()?)?);
    let rest = words.collect::<Vec<_>>().join(" ");
    let rest = rest.strip_prefix("-r ").unwrap_or(&rest).to_owned();
    match verb {
        "approve" if rest.is_empty() => Some((list, None)),
        "deny" => Some((list, Some(Untrusted::new(rest)))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_answers_to_lists_are_parsed() {
        for line in
            ["", "approve", "approve 12", "approve 12-", "approve 12-20 --run", "deny", "yes 12-20", "12-20"]
        {
            assert!(parse(line).is_none(), "{line}");
        }
        assert!(matches!(parse("approve 12-20,23"), Some((_, None))));
        let Some((_, Some(reason))) = parse("deny 12-20 not into this folder") else { panic!("a denial") };
        assert_eq!(reason.raw(), "not into this folder");
        let Some((_, Some(reason))) = parse("almoner deny 1-3 -r too late") else { panic!("a denial") };
        assert_eq!(reason.raw(), "too late");
        assert!(matches!(parse("almoner approve 1-3"), Some((_, None))));
    }
}
