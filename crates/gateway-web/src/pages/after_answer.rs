//! The place to which an answer leads: the call that replaces a denied one, or else the next message that waits.

use control::exit::Failure;
use control::messages::{MessageFilter, Order, PageBounds};
use control::protocol::{Look, Request, Response};
use control::show::card::{Card, CardEntry};
use control::show::{call_words, difference};
use control::threads::Line;
use control::view::MessageView;
use kernel::message::{Answer as Said, Body};
use kernel::run::{Run, State};
use kernel::{MessageNumber, RunNumber};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::messages::title;
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};

/// The name of the query parameter of the page of an answered message, which then shows what comes after the answer.
const ANSWERED: &str = "answered";

/// The name of the query parameter with the message that the user answered before this one.
const AFTER: &str = "after";

/// The maximum number of later messages among which the replacing call is looked for.
const MAX_LATER: usize = 100;

/// Returns the address to which the browser goes after an answer to an approval.
///
/// After a denial, it is the page of the denied call, where the repaired call appears. After a yes, it is the next
/// message that waits. A card with open calls stays.
///
/// # Errors
/// When the daemon does not answer.
pub fn place(asked: &PageRequest, number: MessageNumber) -> Result<String, Failure> {
    let card = *take!(asked.ask(Request::Card { message: number })?, Card);
    if card.is_open() {
        return Ok(format!("/m/{number}"));
    }
    Ok(match waiting(asked)?.next(number) {
        Some(next) if !is_denied(&card) => format!("/m/{next}?{AFTER}={number}"),
        _ => format!("/m/{number}?{ANSWERED}=yes"),
    })
}

/// Returns the address to which the browser goes after an answer to a message of another kind.
pub fn place_of_message(number: MessageNumber) -> String {
    format!("/m/{number}?{ANSWERED}=yes")
}

/// The messages that wait for an answer, oldest first.
struct WaitingMessages(Vec<MessageNumber>);

impl WaitingMessages {
    /// Returns the next message after this one. After the last one comes the first.
    fn next(&self, number: MessageNumber) -> Option<MessageNumber> {
        let others = || self.0.iter().copied().filter(|other| *other != number);
        others().find(|other| *other > number).or_else(|| others().next())
    }
}

fn waiting(asked: &PageRequest) -> Result<WaitingMessages, Failure> {
    let filter = MessageFilter::Mailbox { open: true, order: Order::OldestFirst };
    let page = PageBounds { after: None, limit: MAX_LATER };
    let open = take!(asked.ask(Request::Messages { filter, page })?, Mailbox);
    Ok(WaitingMessages(open.iter().map(|line| line.letter.number).collect()))
}

/// Returns whether the last answer to a card denied a call.
fn is_denied(card: &Card) -> bool {
    card.entries.iter().any(|entry| matches!(entry.answer, Some(Said::Denied { .. })))
}

/// The continuation of a page after an answer.
pub struct Continuation {
    /// The lines about the answer, above the card.
    pub lines: Markup,
    /// The message whose card takes the place of the answered one, if there is one.
    pub shows: Option<MessageNumber>,
}

impl Continuation {
    /// Returns the continuation that the address asks for, if it asks for one.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub fn of(asked: &PageRequest, view: &MessageView) -> Result<Option<Continuation>, Failure> {
        if let Some(before) = asked.query(AFTER).and_then(|text| text.parse::<MessageNumber>().ok()) {
            let Ok(Response::Message(before)) = asked.look(Look::Message { number: before }) else {
                return Ok(None);
            };
            let lines = html! { p.after role="status" { (answered(asked, &before)) } };
            return Ok(Some(Continuation { lines, shows: None }));
        }
        if asked.query(ANSWERED).is_none() || view.letter.mail.needs_you {
            return Ok(None);
        }
        let number = view.letter.number;
        let run = match view.letter.body() {
            Some(
                Body::Approval { run, .. } | Body::OutcomeUnknown { run, .. } | Body::Budget { run, .. },
            ) => *run,
            // The page of any other message shows what came of the answer.
            _ => return Ok(Some(Continuation { lines: plain(asked, view)?, shows: None })),
        };
        let card = *take!(asked.ask(Request::Card { message: number })?, Card);
        if let Some(again) = asks_again(asked, number, run)? {
            let later = *take!(asked.ask(Request::Card { message: again })?, Card);
            let lines = html! {
                p.after role="status" { (answered(asked, view)) " It asks again, in " (link::message(again)) "." }
                @if is_denied(&card) { (differences(&card, &later)) }
            };
            return Ok(Some(Continuation { lines, shows: Some(again) }));
        }
        let run = *take!(asked.ask(Request::GetRun { run })?, Run);
        let waiting = waiting(asked)?;
        let next = waiting.next(number);
        if matches!(run.state, State::Ready) {
            let lines = html! {
                p.after role="status" {
                    (answered(asked, view)) " "
                    @if is_denied(&card) {
                        (parts::word(&card.worker)) " reads your reason. A repaired call comes here."
                    } @else { (parts::word(&card.worker)) " goes on." }
                    span.by-hand { " " a href={ "/m/" (number) "?" (ANSWERED) "=yes" } { "Look again" } }
                }
                (next_line(asked, &waiting, next))
            };
            return Ok(Some(Continuation { lines, shows: None }));
        }
        let lines = html! {
            p.after role="status" { (answered(asked, view)) " " (run_line(&run)) }
            (next_line(asked, &waiting, next))
        };
        Ok(Some(Continuation { lines, shows: next }))
    }
}

fn plain(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    let waiting = waiting(asked)?;
    let next = waiting.next(view.letter.number);
    Ok(html! {
        p.after role="status" { (answered(asked, view)) }
        (next_line(asked, &waiting, next))
    })
}

/// Returns the answer that a message got, in one sentence of our own.
fn answered(asked: &PageRequest, view: &MessageView) -> Markup {
    let number = view.letter.number;
    let mut said: Vec<&str> = view.letter.mail.answers.values().map(word).collect();
    said.dedup();
    html! {
        strong { @if said.is_empty() { "Answered" } @else { (said.join(", ")) } }
        ": " a href={ "/m/" (number) } { (parts::plain_sentence(&title::of(asked, view))) } "."
    }
}

fn word(answer: &Said) -> &'static str {
    match answer {
        Said::Approved { for_run: true, .. } => "✓ Approved for this run",
        Said::Approved { .. } => "✓ Approved",
        Said::Denied { .. } => "✗ Denied",
        Said::Happened { .. } => "✓ It happened",
        Said::Repeat { .. } => "✓ It is done now",
        Said::Withdrawn { .. } => "✗ Withdrawn",
    }
}

fn run_line(run: &Run) -> Markup {
    html! { (parts::run(run.number)) ": " (parts::state(run)) "." }
}

/// Returns a link to the oldest message that waits, with its title.
///
/// # Errors
/// When the daemon does not answer.
pub fn next(asked: &PageRequest) -> Result<Markup, Failure> {
    let waiting = waiting(asked)?;
    Ok(next_line(asked, &waiting, waiting.0.first().copied()))
}

/// Returns a link to the next message that waits, with its title.
fn next_line(asked: &PageRequest, waiting: &WaitingMessages, next: Option<MessageNumber>) -> Markup {
    let view = next.map(|number| asked.look(Look::Message { number }));
    let Some(Ok(Response::Message(view))) = view else {
        return html! { p.next { "Nothing else waits for you. " a href="/" { "Inbox" } } };
    };
    let number = view.letter.number;
    let place = waiting.0.iter().position(|one| *one == number).map_or(1, |at| at.saturating_add(1));
    html! {
        p.next {
            "Next: " a href={ "/m/" (number) } { (parts::plain_sentence(&title::of(asked, &view))) }
            span.note { " (" (place) " of " (waiting.0.len()) ")" }
        }
    }
}

/// Returns the first approval that a run asked for after a message, if there is one.
fn asks_again(
    asked: &PageRequest,
    number: MessageNumber,
    run: RunNumber,
) -> Result<Option<MessageNumber>, Failure> {
    let filter = MessageFilter::Mailbox { open: false, order: Order::OldestFirst };
    let page = PageBounds { after: Some(number), limit: MAX_LATER };
    let later = take!(asked.ask(Request::Messages { filter, page })?, Mailbox);
    let is_ask = |line: &&Line| {
        matches!(
            line.letter.body(),
            Some(Body::Approval { run: own, .. } | Body::Budget { run: own, .. }) if *own == run
        )
    };
    Ok(later.iter().find(is_ask).map(|line| line.letter.number))
}

/// Returns the differences of the calls of a card from the calls that the user denied before.
fn differences(before: &Card, now: &Card) -> Markup {
    let compared = compare(before, now);
    let new = compared.iter().filter(|(old, _)| old.is_none()).map(|(_, entry)| *entry);
    let changed = compared.iter().filter_map(|(old, new)| Some((old.as_ref().copied()?, *new)));
    let changes: Vec<Markup> = changed.flat_map(|(old, new)| changes(old, new)).collect();
    html! {
        section.entry.differs aria-labelledby="differs-title" {
            h2 #differs-title { "What differs from the call that you denied" }
            @for entry in new.clone() { p { "New: " (parts::plain_sentence(&call_words::of_entry(entry))) } }
            @if changes.is_empty() && new.count() == 0 { p { "Nothing: it asks for the same again." } }
            @for change in &changes { (change) }
        }
    }
}

/// Returns each call of a card with the call like it that the user denied before, if there is one. Each denied call is
/// compared once, first with the call in the same place.
fn compare<'a>(before: &'a Card, now: &'a Card) -> Vec<(Option<&'a CardEntry>, &'a CardEntry)> {
    let is_denied = |entry: &CardEntry| matches!(entry.answer, Some(Said::Denied { .. }));
    let mut denied: Vec<(usize, &CardEntry)> =
        before.entries.iter().enumerate().filter(|(_, entry)| is_denied(entry)).collect();
    let is_like = |old: &CardEntry, new: &CardEntry| {
        (&old.slot, &old.method, &old.target, old.effect) == (&new.slot, &new.method, &new.target, new.effect)
    };
    let mut compared = Vec::new();
    for (at, entry) in now.entries.iter().enumerate() {
        let in_place = denied.iter().position(|(place, old)| *place == at && is_like(old, entry));
        let found = in_place.or_else(|| denied.iter().position(|(_, old)| is_like(old, entry)));
        compared.push((found.map(|found| denied.remove(found).1), entry));
    }
    compared
}

/// Returns each argument that differs, with its removed and added lines.
fn changes(old: &CardEntry, new: &CardEntry) -> Vec<Markup> {
    let text = |entry: &CardEntry, name: &str| {
        let found = entry.arguments.iter().find(|(other, _)| other == name);
        found.map(|(_, text)| text.raw().to_owned()).unwrap_or_default()
    };
    let mut names: Vec<&String> = new.arguments.iter().map(|(name, _)| name).collect();
    names.extend(
        old.arguments
            .iter()
            .map(|(name, _)| name)
            .filter(|name| new.arguments.iter().all(|(other, _)| other != *name)),
    );
    let drawn = names.into_iter().filter_map(|name| {
        let (was, is) = (text(old, name), text(new, name));
        (was != is).then(|| {
            let lines = Untrusted::new(difference::lines(&was, &is));
            html! {
                p { (parts::word(name)) }
                (parts::difference(&format!("the difference in {}", visible_line(name)), &lines))
            }
        })
    });
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_message_is_the_following_one_or_the_oldest() {
        let waiting = WaitingMessages([3, 5, 9].map(MessageNumber).to_vec());
        for (after, next) in [(1, Some(3)), (3, Some(5)), (4, Some(5)), (9, Some(3)), (12, Some(3))] {
            assert_eq!(waiting.next(MessageNumber(after)), next.map(MessageNumber), "{after}");
        }
        assert_eq!(WaitingMessages(vec![MessageNumber(3)]).next(MessageNumber(3)), None);
    }
}
