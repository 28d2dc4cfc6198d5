//! The open approvals of a batch, where one answer covers those that look alike.

use control::exit::{Exit, Failure};
use control::protocol::{Look, Request};
use control::show::batch_card::{self, AlikeCards, BatchAsks};
use control::show::card::Card;
use kernel::command::SeenApproval;
use kernel::message::Body;
use kernel::{MessageNumber, RunNumber};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::approval;
use super::messages::refusals;
use crate::answer::{Answer, Page};
use crate::page::{digest_field, parts};
use crate::page_request::{PageRequest, take, typed};

/// The name of the field with a message that the answer covers.
const MESSAGE: &str = "message";

/// The name of the field with a message and the digest of its card, as it was shown.
const SEEN: &str = "_seen";

/// Answers `GET /batch/RUN`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    page(asked, asked.part("run")?, None, 200)
}

/// Answers `POST /batch/RUN`: approves or denies the marked messages, if each is still as it was shown.
pub fn answer(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let refused = |failure: &Failure, status| page(asked, run, Some(refusals::refused(failure)), status);
    let marked = match marked(asked) {
        Ok(marked) => marked,
        Err(failure) => return refused(&failure, 422),
    };
    let batch = open_asks(asked, run)?;
    let mut approvals = Vec::new();
    for message in &marked {
        let is_open = batch.as_ref().is_some_and(|asks| asks.asks.iter().any(|ask| ask.message == *message));
        if !is_open || !is_as_shown(asked, *message)? {
            return page(asked, run, Some(digest_field::changed("answered")), 409);
        }
        approvals.push(seen(asked, *message)?);
    }
    let open = batch.map(|asks| asks.open).unwrap_or_default();
    let list = batch_card::ranges(&marked, &open);
    let (text, denied) = match asked.field("do") {
        Some("approve") => (format!("approve {list}"), None),
        Some("deny") => {
            let reason = asked.filled("reason").unwrap_or("no");
            (format!("deny {list} -r {}", typed(reason)), Some(Untrusted::new(reason)))
        }
        Some("look") => return Ok(Answer::Go(format!("/batch/{run}"))),
        _ => return Err(Failure::new(Exit::Usage, "an answer is yes or no").help("press one of the buttons")),
    };
    match asked.answer_once(Request::AnswerAll { text: Untrusted::new(text), approvals, denied }) {
        Err(failure) if matches!(failure.exit, Exit::Usage | Exit::Invalid | Exit::Conflict) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            refused(&failure, status)
        }
        answered => answered.map(|()| Answer::Go(format!("/batch/{run}"))),
    }
}

/// Returns links to the batches in which several items ask.
///
/// # Errors
/// When the daemon does not answer.
pub fn links(asked: &PageRequest) -> Result<Markup, Failure> {
    let batches = all_asks(asked)?;
    Ok(html! {
        @for asks in batches.iter().filter(|asks| asks.asks.len() > 1) {
            p.note {
                a href={ "/batch/" (asks.batch) } {
                    (asks.asks.len()) " items of " (asks.batch) " (" (visible_line(&asks.worker)) ") ask"
                }
                ": answer those together that look alike."
            }
        }
    })
}

fn all_asks(asked: &PageRequest) -> Result<Vec<BatchAsks>, Failure> {
    Ok(take!(asked.ask(Request::BatchAsks)?, BatchAsks))
}

fn open_asks(asked: &PageRequest, run: RunNumber) -> Result<Option<BatchAsks>, Failure> {
    Ok(all_asks(asked)?.into_iter().find(|asks| asks.batch == run))
}

fn card_of(asked: &PageRequest, message: MessageNumber) -> Result<Card, Failure> {
    Ok(*take!(asked.ask(Request::Card { message })?, Card))
}

/// Returns the messages that the person has marked.
fn marked(asked: &PageRequest) -> Result<Vec<MessageNumber>, Failure> {
    let fields = asked.body.iter().filter(|(name, _)| name == MESSAGE);
    let marked: Option<Vec<MessageNumber>> = fields.map(|(_, text)| text.parse().ok()).collect();
    let mut marked = marked
        .ok_or_else(|| Failure::new(Exit::Usage, "a message has a number").help("open the page again"))?;
    marked.sort_unstable();
    marked.dedup();
    // An empty choice must never mean all messages.
    match marked.is_empty() {
        true => Err(Failure::new(Exit::Usage, "no message was marked").help("mark those that you answer")),
        false => Ok(marked),
    }
}

/// Returns whether the card of a message is the one that the page has shown.
fn is_as_shown(asked: &PageRequest, message: MessageNumber) -> Result<bool, Failure> {
    let expected = format!("{message}:{}", approval::digest(&card_of(asked, message)?)?);
    Ok(asked.body.iter().any(|(name, text)| name == SEEN && *text == expected))
}

/// Returns the calls of an approval, to which the answer is bound.
fn seen(asked: &PageRequest, message: MessageNumber) -> Result<SeenApproval, Failure> {
    let view = take!(asked.look(Look::Message { number: message })?, Message);
    match view.letter.body() {
        Some(Body::Approval { entries, .. }) => {
            let fingerprints = entries.iter().map(|entry| entry.fingerprint).collect();
            Ok(SeenApproval { message, fingerprints })
        }
        _ => Err(Failure::new(Exit::Conflict, format!("message {message} needs another answer"))
            .help("open its own page")),
    }
}

fn page(asked: &PageRequest, run: RunNumber, wrong: Option<Markup>, status: u16) -> Result<Answer, Failure> {
    let asks = open_asks(asked, run)?;
    let mut cards = Vec::new();
    for ask in asks.iter().flat_map(|asks| &asks.asks) {
        cards.push(card_of(asked, ask.message)?);
    }
    let mut groups = Vec::new();
    if let Some(asks) = &asks {
        for (at, group) in batch_card::alike(asks, &cards).iter().enumerate() {
            groups.push(draw_group(asked, run, at, group)?);
        }
    }
    let main = html! {
        h1 { "Batch " (run) @if let Some(asks) = &asks { " (" (parts::word(&asks.worker)) ")" } }
        p { (parts::run(run)) " · " a href="/" { "Inbox" } }
        @if let Some(wrong) = &wrong { (wrong) }
        @if let Some(card) = cards.first() { (approval::tasks(card)) }
        @match groups.len() {
            0 => p.note { "No item of this batch asks now." },
            1 => p { (cards.len()) @if cards.len() == 1 { " item asks." } @else { " items ask; their calls look alike." } },
            kinds => p { (cards.len()) " items ask, for " (kinds) " kinds of calls." },
        }
        @for group in &groups { (group) }
    };
    Ok(Page::new("/", format!("Batch {run}"), main).status(status).into())
}

/// Returns the form for the calls that look alike. A call that looks like no other one is answered on its own page.
fn draw_group(
    asked: &PageRequest,
    run: RunNumber,
    at: usize,
    group: &AlikeCards<'_>,
) -> Result<Markup, Failure> {
    let [(card, item)] = group.cards.as_slice() else { return draw_form(asked, run, at, group) };
    Ok(html! {
        section.entry {
            h2 { "1 item: " (parts::line(item)) }
            p { a href={ "/m/" (card.number) } { "Message " (card.number) } " is answered on its own page." }
        }
    })
}

fn draw_form(
    asked: &PageRequest,
    run: RunNumber,
    at: usize,
    group: &AlikeCards<'_>,
) -> Result<Markup, Failure> {
    let mut digests = Vec::new();
    for (card, _) in &group.cards {
        digests.push(format!("{}:{}", card.number, approval::digest(card)?));
    }
    let is_marked =
        |number: MessageNumber| asked.body.is_empty() || marked(asked).is_ok_and(|all| all.contains(&number));
    let reason = format!("reason-{at}");
    Ok(html! {
        form.card method="post" action={ "/batch/" (run) } data-weighty {
            (parts::token(&asked.session))
            h2 { (group.cards.len()) " items ask for calls that look alike" }
            @for (card, item) in &group.cards {
                @let id = format!("b-{}", card.number);
                section.entry aria-labelledby=(id) {
                    h3 #(id) {
                        label {
                            input type="checkbox" name=(MESSAGE) value=(card.number) checked[is_marked(card.number)];
                            span { "Message " (card.number) ": " (parts::line(item)) }
                        }
                    }
                    (approval::calls(asked, card))
                }
            }
            @for digest in &digests { input type="hidden" name=(SEEN) value=(digest); }
            fieldset.answers {
                legend { "Your answer" }
                // Enter presses a form's first button. This one does nothing but show the page again.
                button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
                p { "Your answer covers the ticked messages; the others stay open." }
                label for=(reason) { "Reason for denying (the models will read it)" }
                textarea #(reason) name="reason" rows="2" { "\n" (asked.field("reason").unwrap_or("")) }
                (parts::unfold_first())
                div.buttons {
                    button name="do" value="deny" { "Deny" }
                    button.yes name="do" value="approve" { "Approve" }
                }
            }
        }
    })
}
