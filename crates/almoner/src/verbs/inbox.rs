//! `almoner inbox`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use kernel::message::Body;
use kernel::query::MailboxEntry;
use kernel::{MessageNumber, Number};
use passable::{Quoting, visible_line};
use serde_json::Value as Json;

use crate::cli::InboxArgs;
use crate::follow::entry_list;
use crate::session;
use crate::session::Session;
use crate::session::message_list::{self, MessageList};
use crate::session::questions;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::messages::{MessageFilter, Order, PageBounds};
use control::protocol::{Request, Response, StalledRun};
use control::show::batch_card::BatchAsks;
use control::show::card::Card;
use control::show::object_view::Reader;
use control::show::{call_words, danger, headline, message_view, outcome};
use control::threads::Line;
use control::title::Title;
use control::view::MessageView;

/// The interval at which a follower polls, because the mail of an agent causes no events for others.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum number of messages of one sender that each have a line.
const MAX_LISTED_OF_SENDER: usize = 20;

/// Runs `almoner inbox`.
///
/// # Errors
/// When the message does not exist.
pub fn inbox(acting: &Session<'_>, args: &InboxArgs) -> ExitResult {
    if let Some(list) = args.message.as_deref().and_then(MessageList::parse) {
        return show_list(acting, &list, args.json.json);
    }
    if let Some(text) = &args.message {
        // JSON leaves nothing out.
        let is_whole = args.is_whole() || args.json.json;
        let shown = render_message(acting, session::parse_message_number(text)?, is_whole)?;
        if args.json.json {
            output::json(&shown.json)?;
        } else {
            output::result(&shown.text)?;
            if let Some(next) = shown.next {
                output::note(&next);
            }
        }
        return Ok(Exit::Ok);
    }
    let letters = acting.mailbox(!args.all)?;
    let stalled = stalled(acting);
    if args.follow {
        return follow(acting, args, letters);
    }
    if args.json.json {
        output::json(&letters)?;
    } else if letters.is_empty() && stalled.is_empty() {
        output::empty(&match acting.agent {
            Some(agent) => format!("nothing waits for `{}`", visible_line(agent)),
            None => "nothing waits for you".to_owned(),
        });
    } else {
        let waiting = lines(acting, &letters)?;
        let stopped = stalled.iter().map(|run| format!("■    -  stalled      {}\n", run.line()));
        output::listing(&(waiting + &stopped.collect::<String>()))?;
    }
    Ok(Exit::Ok)
}

/// Returns whether a person reads standard output.
fn is_for_person() -> bool {
    matches!(output::reader(), Reader::Person)
}

/// Shows approvals of a batch as one card.
fn show_list(acting: &Session<'_>, list: &MessageList, json: bool) -> ExitResult {
    for asks in list.find(acting)? {
        if !json && is_for_person() {
            message_list::open_all(acting, &asks)?;
        }
        if json {
            output::json(&message_list::cards(acting, &asks)?)?;
        } else {
            output::result(&message_list::render(acting, &asks, output::columns())?)?;
        }
    }
    Ok(Exit::Ok)
}

/// Returns a line for each message. The approvals of a batch share a line, at the place of the first of them.
fn lines(acting: &Session<'_>, letters: &[Line]) -> Result<String, Failure> {
    let is_approval = |line: &&Line| {
        line.letter.mail.needs_you && matches!(line.letter.body(), Some(Body::Approval { .. }))
    };
    let batches = match letters.iter().filter(is_approval).count() {
        0 | 1 => vec![],
        // Only hosts have runs, and so batches.
        _ if acting.agent.is_some() => message_list::batch_asks(acting).unwrap_or_default(),
        _ => message_list::batch_asks(acting)?,
    };
    let mut out = String::new();
    let mut shown = BTreeSet::new();
    let mut floods = floods(letters);
    for line in letters {
        let letter = &line.letter;
        let sender = letter.mail.envelope.from;
        if let Some(flood) = floods.get_mut(&sender).filter(|flood| flood.has(letter)) {
            if !std::mem::replace(&mut flood.is_shown, true) {
                out += &flood.line();
            }
            continue;
        }
        let has = |asks: &&BatchAsks| {
            asks.asks.len() > 1 && asks.asks.iter().any(|ask| ask.message == letter.number)
        };
        match batches.iter().find(has) {
            None => out += &row(line),
            Some(asks) if shown.insert(asks.batch) => out += &batch_line(acting, asks),
            Some(_) => {}
        }
    }
    Ok(out)
}

/// The older messages of a sender who has sent many. They share a line.
#[derive(Default)]
struct Flood {
    messages: Vec<MessageNumber>,
    is_shown: bool,
}

impl Flood {
    fn has(&self, letter: &MailboxEntry) -> bool {
        is_of_agent(letter) && self.messages.binary_search(&letter.number).is_ok()
    }

    fn line(&self) -> String {
        let (first, last) = (self.messages.first(), self.messages.last());
        let numbers = first.zip(last).map_or_else(String::new, |(first, last)| format!("{first} to {last}"));
        format!("     …  {} older messages of one sender, {numbers}; almoner inbox N\n", self.messages.len())
    }
}

/// Returns the older messages of each sender with more than [`MAX_LISTED_OF_SENDER`] messages.
fn floods(letters: &[Line]) -> BTreeMap<Number, Flood> {
    let mut floods: BTreeMap<Number, Flood> = BTreeMap::new();
    for letter in letters.iter().map(|line| &line.letter).filter(|letter| is_of_agent(letter)) {
        floods.entry(letter.mail.envelope.from).or_default().messages.push(letter.number);
    }
    floods.retain(|_, flood| {
        let older = flood.messages.len().saturating_sub(MAX_LISTED_OF_SENDER);
        flood.messages.truncate(older);
        older > 0
    });
    floods
}

/// Returns whether an agent wrote a message, and neither a run nor the user with a command.
fn is_of_agent(letter: &MailboxEntry) -> bool {
    let body = letter.body();
    body.is_some_and(|body| {
        body.run().is_none()
            && matches!(
                body,
                Body::Package { .. }
                    | Body::Request { .. }
                    | Body::Form { .. }
                    | Body::Definition { .. }
                    | Body::EvalRequest { .. }
                    | Body::Value { .. }
            )
    })
}

fn batch_line(acting: &Session<'_>, asks: &BatchAsks) -> String {
    let (numbers, count, batch) = (asks.numbers(), asks.asks.len(), asks.batch);
    let title = match message_list::cards(acting, asks) {
        Ok(cards) => headline::of_cards(&asks.worker, &cards),
        // A message that was answered meanwhile has no place in the list any more.
        Err(_) => Quoting::theirs(&asks.worker),
    };
    let title = visible_line(title.text());
    format!("● {numbers:>4}  approvals    {batch} {title}: {count} items ask; almoner inbox {numbers}\n")
}

/// Returns the stalled runs of the user's own host. A guest has no runs.
fn stalled(acting: &Session<'_>) -> Vec<StalledRun> {
    match acting.ask(Request::Status) {
        Ok(Response::Status(status)) => status.stalled,
        Ok(_) | Err(_) => vec![],
    }
}

/// Shows the present messages, then each new message when it arrives. Ends when the reader closes standard output, or
/// the daemon goes.
fn follow(acting: &Session<'_>, args: &InboxArgs, mut letters: Vec<Line>) -> ExitResult {
    let filter = MessageFilter::Mailbox { open: !args.all, order: Order::OldestFirst };
    let ask = |page| match acting.ask(Request::Messages { filter: filter.clone(), page })? {
        Response::Mailbox(letters) => Ok(letters),
        other => Err(unexpected(&other)),
    };
    // The number of the last message shown. The filter may leave out other messages.
    let mut last = None;
    loop {
        for line in &letters {
            if args.json.json {
                output::json(line)?;
            } else {
                output::result(&row(line))?;
            }
            last = last.max(Some(line.letter.number));
        }
        std::thread::sleep(POLL_INTERVAL);
        letters = ask(PageBounds::after(last))?;
    }
}

/// A message in the forms in which commands print it.
pub struct RenderedMessage {
    /// The message as text.
    pub text: String,
    /// The message as JSON.
    pub json: Json,
    /// The commands that the user can type about the message.
    pub next: Option<String>,
}

/// Returns one message: an approval as its card, any other message as a letter. A long task is shown to its end only if
/// `is_whole`.
///
/// # Errors
/// When the message does not exist.
pub fn render_message(
    acting: &Session<'_>,
    number: MessageNumber,
    is_whole: bool,
) -> Result<RenderedMessage, Failure> {
    let view = acting.message(number)?;
    let json = |json: serde_json::Result<Json>| json.map_err(|e| Failure::from_error(Exit::Failure, e));
    if let Some(Body::Approval { .. } | Body::OutcomeUnknown { .. } | Body::Budget { .. }) =
        view.letter.body()
    {
        let card = questions::card(acting, number)?;
        let (one, other) = match card.in_doubt {
            true => (format!("outcome {number} yes"), format!("outcome {number} no")),
            false => {
                // Careful calls are named, so that a plain yes never covers them unseen.
                let unticked = danger::unticked(&card);
                let named = match unticked.is_empty() {
                    true => String::new(),
                    false => format!(" {}", entry_list::typed(&open_entries(&card))),
                };
                (format!("approve {number}{named}"), format!("deny {number} -r WHY"))
            }
        };
        let next = card.is_open().then(|| format!("{} or {}", acting.command(&one), acting.command(&other)));
        return Ok(RenderedMessage {
            text: questions::shown_card(acting, &card, output::columns(), is_whole, is_for_person())?,
            json: json(card_json(&card))?,
            next,
        });
    }
    Ok(RenderedMessage {
        text: message_view::render(&view, output::columns()),
        next: message_view::next_commands(&view, acting.agent),
        json: json(message_json(&view))?,
    })
}

fn open_entries(card: &Card) -> Vec<usize> {
    let open = card.entries.iter().enumerate().filter(|(_, entry)| entry.answer.is_none());
    open.map(|(at, _)| at).collect()
}

/// Returns a card as JSON, with the sentences that people read.
fn card_json(card: &Card) -> serde_json::Result<Json> {
    let mut json = serde_json::to_value(card)?;
    let dangers: Vec<Title> = danger::of_card(card).into_iter().map(Title::from).collect();
    json["title"] = serde_json::to_value(Title::from(headline::of_card(card)))?;
    json["dangers"] = serde_json::to_value(dangers)?;
    for (at, entry) in card.entries.iter().enumerate() {
        json["entries"][at]["words"] = serde_json::to_value(Title::from(call_words::of_entry(entry)))?;
        json["entries"][at]["is_careful"] = danger::is_careful(entry).into();
    }
    Ok(json)
}

/// Returns a message as JSON, with its title.
fn message_json(view: &MessageView) -> serde_json::Result<Json> {
    let mut json = serde_json::to_value(view)?;
    json["title"] = serde_json::to_value(Title::from(headline::of_message(view)))?;
    Ok(json)
}

/// Returns a message as a row of the list: its title, if it asks for something, and otherwise the beginning of its text.
fn row(line: &Line) -> String {
    let letter = &line.letter;
    let mark = if letter.mail.needs_you { "●" } else { " " };
    let kind = visible_line(&letter.mail.envelope.kind);
    let mut out = format!("{mark} {:>4}  {kind:<12} ", letter.number);
    let asks = letter.body().is_some_and(|body| {
        !matches!(body, Body::Package { .. } | Body::Value { .. } | Body::Command { .. })
    });
    match (&line.title, letter.body()) {
        (Some(title), Some(body)) if asks => {
            out += &visible_line(title.text.raw());
            let answered = letter.mail.answers.len();
            if let (true, Body::Approval { entries, .. }) = (letter.mail.needs_you && answered > 0, body) {
                let _ = write!(out, " ({answered} of {} answered)", entries.len());
            }
            if let Some(danger) = &line.danger {
                let _ = write!(out, "\n        ▲ {}", visible_line(danger.text.raw()));
            }
        }
        (_, Some(body)) => {
            // A refused command must not look like a done one.
            let came = letter.mail.outcome.as_ref().map(outcome::render_outcome);
            let came = came.map_or_else(String::new, |came| format!(" ({})", visible_line(came.text())));
            let _ = write!(out, "{}{came}", message_view::summary(body));
        }
        (_, None) => out.push_str("(dismissed)"),
    }
    out.push('\n');
    out
}
