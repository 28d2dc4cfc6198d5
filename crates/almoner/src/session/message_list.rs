//! Several messages that a person names together: `12-20,23`.

use std::collections::BTreeMap;

use kernel::MessageNumber;
use kernel::command::SeenApproval;
use kernel::message::Body;
use passable::visible_line;

use super::Session;
use super::questions;
use control::ask::unexpected;
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};
use control::show::batch_card::{self, BatchAsks};
use control::show::card::Card;
use control::show::message_view;

/// The numbers and ranges of messages, as they were typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageList {
    text: String,
    spans: Vec<(MessageNumber, MessageNumber)>,
}

impl MessageList {
    /// Parses `12-20,23`. Returns `None` for a single number, and for any other text.
    pub fn parse(text: &str) -> Option<MessageList> {
        let number = |text: &str| text.parse::<u64>().ok().map(MessageNumber);
        let span = |part: &str| match part.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                (first < last).then_some((first, last))
            }
            None => number(part).map(|one| (one, one)),
        };
        let spans: Vec<_> = text.split(',').map(span).collect::<Option<_>>()?;
        let is_list = spans.len() > 1 || spans.iter().any(|(first, last)| first != last);
        is_list.then(|| MessageList { text: text.to_owned(), spans })
    }

    /// Returns the open approvals that the list names. A range stands for the approvals of one batch, and both its ends
    /// must be among them. So a range never covers messages that a card has not shown.
    ///
    /// # Errors
    /// When a message is no open approval of a batch.
    pub fn find(&self, acting: &Session<'_>) -> Result<Vec<BatchAsks>, Failure> {
        let batches = batch_asks(acting)?;
        let mut found: BTreeMap<kernel::RunNumber, BatchAsks> = BTreeMap::new();
        for (first, last) in &self.spans {
            let has = |asks: &&BatchAsks| {
                let is_there = |number: &MessageNumber| asks.asks.iter().any(|ask| ask.message == *number);
                is_there(first) && is_there(last)
            };
            let asks =
                batches.iter().find(has).ok_or_else(|| self.not_open(acting, &batches, *first, *last))?;
            let row = found.entry(asks.batch).or_insert_with(|| BatchAsks { asks: vec![], ..asks.clone() });
            let within = asks.asks.iter().filter(|ask| (*first..=*last).contains(&ask.message));
            row.asks.extend(within.cloned());
        }
        for row in found.values_mut() {
            row.asks.sort_by_key(|ask| ask.message);
            row.asks.dedup();
        }
        Ok(found.into_values().collect())
    }

    /// Returns the failure of a span that is no part of one batch, with the reason.
    fn not_open(
        &self,
        acting: &Session<'_>,
        batches: &[BatchAsks],
        first: MessageNumber,
        last: MessageNumber,
    ) -> Failure {
        let is_open = |number| batches.iter().any(|asks| asks.asks.iter().any(|ask| ask.message == number));
        let what = match [first, last].into_iter().find(|number| !is_open(*number)) {
            None => format!("messages {first} and {last} belong to different batches"),
            Some(number) => match acting.message(number) {
                Err(failure) => {
                    let what = failure.message.visible_line().into_owned();
                    return self.refusal(failure.exit, &what);
                }
                Ok(view) if !view.letter.mail.needs_you => format!("message {number} needs no answer now"),
                Ok(view) => match view.letter.body() {
                    Some(Body::Approval { .. }) => format!("message {number} belongs to no batch"),
                    _ => format!("message {number} is {}", message_view::kind_with_article(&view)),
                },
            },
        };
        self.refusal(Exit::Conflict, &what)
    }

    fn refusal(&self, exit: Exit, what: &str) -> Failure {
        Failure::new(exit, format!("cannot use {}: {what}", visible_line(&self.text)))
            .help("`almoner inbox` shows the numbers that belong together; answer any other message alone")
    }
}

/// Returns the open approvals of batches.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn batch_asks(acting: &Session<'_>) -> Result<Vec<BatchAsks>, Failure> {
    match acting.ask(Request::BatchAsks)? {
        Response::BatchAsks(asks) => Ok(asks),
        other => Err(unexpected(&other)),
    }
}

/// Returns the numbers of messages that wait, as a person types them, if several items of one batch ask them all.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn batch_numbers(acting: &Session<'_>, waiting: &[MessageNumber]) -> Result<Option<String>, Failure> {
    if waiting.len() < 2 {
        return Ok(None);
    }
    let has_all = |asks: &BatchAsks| waiting.iter().all(|number| asks.open.contains(number));
    let batch = batch_asks(acting)?.into_iter().find(has_all);
    Ok(batch.map(|asks| batch_card::ranges(waiting, &asks.open)))
}

/// Returns the calls of approvals, to which an answer is bound.
///
/// # Errors
/// When a message is no approval.
pub fn seen(acting: &Session<'_>, asks: &[BatchAsks]) -> Result<Vec<SeenApproval>, Failure> {
    let messages = asks.iter().flat_map(|asks| &asks.asks).map(|ask| ask.message);
    messages
        .map(|message| match acting.message(message)?.letter.body() {
            Some(Body::Approval { entries, .. }) => {
                let fingerprints = entries.iter().map(|entry| entry.fingerprint).collect();
                Ok(SeenApproval { message, fingerprints })
            }
            _ => Err(Failure::new(Exit::Conflict, format!("message {message} is not an approval"))
                .help("see `almoner inbox`")),
        })
        .collect()
}

/// Returns the cards of approvals.
///
/// # Errors
/// When a message is no approval.
pub fn cards(acting: &Session<'_>, asks: &BatchAsks) -> Result<Vec<Card>, Failure> {
    asks.asks.iter().map(|ask| questions::card(acting, ask.message)).collect()
}

/// Notes that the user has the approvals of a batch before them in full. Returns whether all had been so before.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn open_all(acting: &Session<'_>, asks: &BatchAsks) -> Result<bool, Failure> {
    let mut before = true;
    for ask in &asks.asks {
        before &= questions::open_card(acting, ask.message)?;
    }
    Ok(before)
}

/// Returns the approvals of a batch as one card.
///
/// # Errors
/// When a message is no approval.
pub fn render(acting: &Session<'_>, asks: &BatchAsks, columns: usize) -> Result<String, Failure> {
    Ok(batch_card::render(asks, &cards(acting, asks)?, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_at_least_two_messages() {
        let check = |text: &str, expected: Option<&[(u64, u64)]>| {
            let found = MessageList::parse(text).map(|list| list.spans);
            let expected = expected.map(|all| {
                all.iter().map(|(a, b)| (MessageNumber(*a), MessageNumber(*b))).collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{text}");
        };
        check("12-20", Some(&[(12, 20)]));
        check("12,14,20-30", Some(&[(12, 12), (14, 14), (20, 30)]));
        for text in ["12", "", "12-", "-12", "12,", "20-12", "12-12", "r1-r2", "last", "1 2", "12--14"] {
            check(text, None);
        }
    }
}
