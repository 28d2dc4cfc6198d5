//! The open approvals of a batch, where one answer covers those that look alike.

use control::exit::{Exit, Failure};
use control::protocol::{Look, Request};
use control::show::batch_card::{self, AlikeCards, BatchAsks};
use control::show::card::{Card, CardEntry, MODEL_TEXT_HEADING};
use control::show::headline::{self, CallQuestion};
use control::show::{call_words, danger};
use kernel::command::SeenApproval;
use kernel::message::Body;
use kernel::{MessageNumber, RunNumber};
use maud::{Markup, html};
use passable::{Quoting, Untrusted, visible_line};

use super::approval_bar::DENY_ALL;
use super::approval_entry::{self, CardPlace};
use super::messages::refusals;
use super::{after_answer, approval};
use crate::answer::{Answer, Page};
use crate::page::{digest_field, parts};
use crate::page_request::{PageRequest, take, typed};

/// The name of the field with a message that the answer covers.
const MESSAGE: &str = "message";

/// The name of the field with a message and the digest of its card, as it was shown.
const SEEN: &str = "_seen";

/// The value of the button that ticks all calls that look alike.
const TICK: &str = "tick";

/// The maximum number of approvals of a batch whose calls the inbox counts.
const MAX_COUNTED: usize = 50;

/// Answers `GET /batch/RUN`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    page(asked, asked.part("run")?, None, 200)
}

/// Answers `POST /batch/RUN`: approves or denies the marked messages, if each is still as it was shown.
pub fn answer(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let refused = |failure: &Failure, status| page(asked, run, Some(refusals::refused(failure)), status);
    if asked.field("do") == Some(TICK) {
        return page(asked, run, None, 200);
    }
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
        Some("deny" | DENY_ALL) => {
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

/// Returns the batches in which several items ask.
///
/// # Errors
/// When the daemon does not answer.
pub fn several(asked: &PageRequest) -> Result<Vec<BatchAsks>, Failure> {
    Ok(all_asks(asked)?.into_iter().filter(|asks| asks.asks.len() > 1).collect())
}

/// Returns the title of a batch that asks: the calls of all its items, counted by their kind.
pub fn title(asked: &PageRequest, asks: &BatchAsks) -> Quoting {
    let few = asks.asks.iter().filter(|_| asks.asks.len() <= MAX_COUNTED);
    let cards: Option<Vec<Card>> = few.map(|ask| card_of(asked, ask.message).ok()).collect();
    let cards = cards.unwrap_or_default();
    let calls: Vec<_> = cards.iter().flat_map(|card| &card.entries).map(call_words::view).collect();
    match calls.is_empty() {
        true => Quoting::theirs(&asks.worker).and(format!(" asks for {} documents", asks.asks.len())),
        false => headline::of_calls(&asks.worker, &calls, CallQuestion { in_doubt: false, is_open: true }),
    }
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

/// Returns the messages that the person has marked, or all that were shown if the button says so.
fn marked(asked: &PageRequest) -> Result<Vec<MessageNumber>, Failure> {
    if asked.field("do") == Some(DENY_ALL) {
        return Ok(shown(asked));
    }
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

/// Returns the messages whose cards the form has shown.
fn shown(asked: &PageRequest) -> Vec<MessageNumber> {
    let digests = asked.body.iter().filter(|(name, _)| name == SEEN);
    digests.filter_map(|(_, text)| text.split(':').next()?.parse().ok()).collect()
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
    let title = match &asks {
        Some(asks) => self::title(asked, asks),
        None => Quoting::ours(format!("Batch {run}")),
    };
    let main = html! {
        @if let Some(wrong) = &wrong { (wrong) }
        h1 { (parts::plain_sentence(&title)) }
        p.envelope {
            "Batch " (parts::run(run)) " · "
            @match groups.len() {
                0 => "No item of this batch asks now.",
                1 => { (cards.len()) @if cards.len() == 1 { " item asks." } @else { " items ask; their calls look alike." } },
                kinds => { (cards.len()) " items ask, for " (kinds) " kinds of calls." },
            }
        }
        @if groups.is_empty() { (after_answer::next(asked)?) }
        @if let Some(card) = cards.first() { (approval::tasks(card)) }
        @for group in &groups { (group) }
    };
    Ok(Page::new("/", visible_line(title.text()), main).status(status).into())
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

/// Returns the form for calls that look alike: their common parts once, and a row for each item.
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
    let entries: Vec<&CardEntry> = group.cards.iter().flat_map(|(card, _)| &card.entries).collect();
    let is_careful = entries.iter().any(|entry| danger::is_careful(entry));
    // The form that was sent has the calls of one group.
    let is_sent = group.cards.iter().any(|(card, _)| shown(asked).contains(&card.number));
    let ticked = match asked.field("do").filter(|_| is_sent) {
        Some(TICK) => shown(asked),
        Some(_) => marked(asked).unwrap_or_default(),
        None if is_careful => vec![],
        None => group.cards.iter().map(|(card, _)| card.number).collect(),
    };
    let many = group.cards.len();
    let all_ticked = group.cards.iter().all(|(card, _)| ticked.contains(&card.number));
    Ok(html! {
        (approval::dangers(&format!("dangers-{at}"), danger::HEADING, &danger::of_entries(&entries)))
        form.card method="post" action={ "/batch/" (run) } data-weighty {
            (parts::token(&asked.session))
            @for digest in &digests { input type="hidden" name=(SEEN) value=(digest); }
            h2 { (many) " items ask for calls that look alike" }
            @if let Some((card, _)) = group.cards.first() {
                @for (index, entry) in card.entries.iter().enumerate() {
                    section.entry.call aria-label={ "The same for all, call " (index.saturating_add(1)) } {
                        (approval_entry::reached(entry))
                        @let same: Vec<_> = entry.arguments.iter().filter(|(name, _)| group.is_same(index, name)).cloned().collect();
                        @if !same.is_empty() {
                            p.note { "The same for all:" }
                            (approval_entry::arguments(&same, false))
                        }
                    }
                }
            }
            ol.alike {
                @for (card, item) in &group.cards { (row(asked, group, card, item, ticked.contains(&card.number))) }
            }
            fieldset.answers {
                legend.unseen { "Your answer" }
                // Enter presses a form's first button. This one does nothing but show the page again.
                button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
                label.unseen for={ "reason-" (at) } { "Reason for denying (the models will read it)" }
                textarea.grows id={ "reason-" (at) } name="reason" rows="1" placeholder="Why not? The workers read this" {
                    "\n" (asked.field("reason").filter(|_| is_sent).unwrap_or(""))
                }
                (parts::unfold_first())
                div.buttons {
                    button name="do" value=(DENY_ALL) { "Deny all " (many) }
                    @if !all_ticked { button name="do" value=(TICK) { "Tick all " (many) } }
                    button.yes name="do" value="approve" {
                        @if all_ticked { "Approve the " (many) " that look alike" } @else { "Approve the ticked ones" }
                    }
                    details.others {
                        summary { span aria-hidden="true" { "⋯" } span.unseen { "More answers" } }
                        button.plain name="do" value="deny" { "Deny only the ticked ones" }
                    }
                }
            }
        }
    })
}

/// Returns the row of an item: the parts of its calls that differ from those of the other items.
fn row(
    asked: &PageRequest,
    group: &AlikeCards<'_>,
    card: &Card,
    item: &Untrusted,
    is_ticked: bool,
) -> Markup {
    let id = format!("b-{}", card.number);
    html! {
        li aria-labelledby=(id) data-call {
            h3 #(id) {
                label {
                    input type="checkbox" name=(MESSAGE) value=(card.number) checked[is_ticked];
                    span { (parts::line(item)) " " span.note { "message " (card.number) } }
                }
            }
            @for (index, entry) in card.entries.iter().enumerate() {
                @let differs: Vec<_> = entry.arguments.iter().filter(|(name, _)| !group.is_same(index, name)).cloned().collect();
                (approval_entry::content(asked, &CardPlace { card, index }, entry, &differs, false, None))
            }
            @if let Some(said) = &card.said {
                details.context {
                    summary { "The model’s own words" }
                    p.note { (MODEL_TEXT_HEADING) }
                    (parts::whole("Its own words", said))
                }
            }
        }
    }
}
