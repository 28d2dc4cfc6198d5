//! The inbox. Messages that need the user are shown separately from messages for information.

use std::collections::BTreeMap;

use control::exit::Failure;
use control::messages::{MessageFilter, PageBounds};
use control::protocol::{Look, Request, Response, StalledRun};
use control::show::batch_card::BatchAsks;
use control::show::{danger, headline, message_view};
use control::threads::{AskedCall, Asker, Line, MailboxPart, MessageStatus, Thread, ThreadPage};
use control::view::MessageView;
use kernel::message::Body;
use kernel::query::MailboxEntry;
use kernel::{FormulaId, MessageNumber};
use maud::{Markup, html};
use passable::{Quoting, Untrusted, visible_line};

use crate::answer::{Answer, Page};
use crate::page::{kinds, parts};
use crate::page_request::{PageRequest, take};
use crate::pages::{batch, message_status, start};

/// The number of messages on a page, separately for those that need an answer and the others.
const PAGE: usize = 10;

/// The number of messages on a page of one thread, or of one sender, which is loaded when the user unfolds it.
const PART: usize = 20;

/// The kinds of messages for which the inbox can be filtered, as the protocol names them.
const KINDS: &[&str] =
    &["approval", "definition", "form", "request", "eval-request", "package", "value", "command"];

/// The states of messages for which the inbox can be filtered, by their names in an address.
const STANDINGS: &[(&str, MessageStatus)] = &[
    ("open", MessageStatus::Open),
    ("answered", MessageStatus::Answered),
    ("dismissed", MessageStatus::Dismissed),
];

/// The filter of the inbox.
#[derive(Clone, Copy)]
struct Filter<'a> {
    kind: Option<&'a str>,
    standing: Option<MessageStatus>,
}

impl Filter<'_> {
    /// Returns the address of the inbox with this filter. With `below`, the address shows only messages with lower
    /// numbers.
    fn address(self, below: Option<MessageNumber>) -> String {
        let named = STANDINGS.iter().find(|(_, one)| Some(*one) == self.standing);
        let parts = [
            below.map(|number| format!("below={number}")),
            self.kind.map(|kind| format!("kind={kind}")),
            named.map(|(name, _)| format!("state={name}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "/".to_owned() } else { format!("/?{}", parts.join("&")) }
    }

    fn is_all(self) -> bool {
        self.kind.is_none() && self.standing.is_none()
    }
}

/// Answers `GET /`. `?kind=` shows messages of one kind, `?state=` messages in one state, and `?below=` older ones.
/// `?thread=` shows the thread of a message, and `?of=` the other requests of its sender.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let number = |name: &str| asked.query(name).and_then(|text| text.parse::<MessageNumber>().ok());
    let below = number("below");
    let within = number("thread").map(MailboxPart::Thread).or_else(|| number("of").map(MailboxPart::Asker));
    let kind = asked.query("kind").filter(|kind| KINDS.contains(kind));
    let standing = asked.query("state").and_then(|name| STANDINGS.iter().find(|(one, _)| *one == name));
    let standing = standing.map(|(_, standing)| *standing).filter(|_| within.is_none());
    let limit = if within.is_some() { PART } else { PAGE };
    let filter = MessageFilter::Threads { kind: kind.map(str::to_owned), standing, within };
    let request = Request::Messages { filter, page: PageBounds { after: below, limit } };
    let page = take!(asked.ask(request)?, Threads);
    let known = names(asked)?;
    if let Some(within) = within {
        return part(asked, &known, within, &page);
    }
    let filter = Filter { kind, standing };
    let status = take!(asked.ask(Request::Status)?, Status);
    let title = match standing {
        Some(MessageStatus::Answered) => "Answered",
        Some(MessageStatus::Dismissed) => "Dismissed",
        _ => "For information",
    };
    let main = html! {
        h1 { "Inbox" }
        (start::first_visit::section(asked, !filter.is_all() || below.is_some() || !page.threads.is_empty() || !page.lines.is_empty())?)
        (filters(filter, page.open_count))
        section #needs aria-labelledby="needs-title" data-live {
            h2 #needs-title { "Needs you " span.count { (page.open_count) } }
            (needs(asked, &known, filter, below, &page)?)
        }
        (stalled(&status.stalled))
        @if standing != Some(MessageStatus::Open) {
            section #rest aria-labelledby="rest-title" data-live {
                h2 #rest-title { (title) }
                @if page.threads.is_empty() && page.lines.is_empty() { p.note { (none(filter)) } }
                @else {
                    ol.rows {
                        @for one in &page.threads { (thread(asked, &known, one)) }
                        @for one in &page.lines { (item(asked, &known, one)) }
                    }
                }
                @if let Some(next) = page.next { p { a href=(filter.address(Some(next))) { "Older messages" } } }
            }
        }
    };
    Ok(Page::new("/", "Inbox", main).live("inbox runs").into())
}

/// Returns the runs that have stalled, each with the reason. The page of a run has the button that resumes it.
fn stalled(runs: &[StalledRun]) -> Markup {
    html! {
        section #stalled aria-labelledby="stalled-title" data-live hidden[runs.is_empty()] {
            h2 #stalled-title { "Stalled " span.count { (runs.len()) } }
            ul { @for one in runs { li { (parts::run(one.run)) " " (parts::line(&Untrusted::new(one.line()))) } } }
        }
    }
}

/// Returns the note for an empty list of messages.
fn none(filter: Filter<'_>) -> Markup {
    html! {
        @match filter.standing {
            _ if filter.is_all() => {
                "Nothing here yet. What you do and what your runs and guests tell you comes here. Start a run: "
                code { "almoner run FILE" }
            }
            Some(MessageStatus::Answered) => "Nothing of this kind was answered.",
            Some(MessageStatus::Dismissed) => "Nothing of this kind was dismissed.",
            _ => "No message of this kind.",
        }
    }
}

/// Returns links to the inbox by kind and by state. Each link keeps the other filter.
fn filters(filter: Filter<'_>, open: usize) -> Markup {
    let link = |words: &str, to: Filter<'_>, chosen: bool| {
        html! { a href=(to.address(None)) aria-current=[chosen.then_some("true")] { (words) } }
    };
    html! {
        nav.filters aria-labelledby="kinds-label" {
            span #kinds-label { "Kind" }
            (link("all", Filter { kind: None, ..filter }, filter.kind.is_none()))
            @for one in KINDS { (link(kinds::message(one), Filter { kind: Some(one), ..filter }, filter.kind == Some(one))) }
        }
        nav.filters #states aria-labelledby="states-label" data-live {
            span #states-label { "State" }
            (link("any state", Filter { standing: None, ..filter }, filter.standing.is_none()))
            @for (name, one) in STANDINGS {
                @let words = if *one == MessageStatus::Open { format!("{name} ({open})") } else { (*name).to_owned() };
                (link(&words, Filter { standing: Some(*one), ..filter }, filter.standing == Some(*one)))
            }
        }
    }
}

/// Returns the messages that need an answer. A note counts those that the filter hides.
fn needs(
    asked: &PageRequest,
    known: &BTreeMap<FormulaId, String>,
    filter: Filter<'_>,
    below: Option<MessageNumber>,
    page: &ThreadPage,
) -> Result<Markup, Failure> {
    let batches = batch::several(asked)?;
    // A batch that another run of the same family started has a row of its own.
    let is_listed = |asks: &BatchAsks| page.open.iter().any(|one| one.run == Some(asks.batch));
    let others = page.all_open_count.saturating_sub(page.open_count);
    let open = |kind| Filter { kind, standing: Some(MessageStatus::Open) }.address(None);
    let told: usize = page.open.iter().map(|one| one.lines.len() + one.more).sum();
    let is_open = filter.standing == Some(MessageStatus::Open);
    Ok(html! {
        @if page.all_open_count == 0 { p.note { "Nothing waits for you." } }
        @if !page.open.is_empty() {
            ol.rows {
                @for asks in batches.iter().filter(|asks| !is_listed(asks)) { li #{ "batch-" (asks.batch) } { (batch_row(asked, asks)) } }
                // The most dangerous questions come first.
                @for one in page.open.iter().filter(|one| has_danger(one)) { (asker(asked, known, one, &batches)) }
                @for one in page.open.iter().filter(|one| !has_danger(one)) { (asker(asked, known, one, &batches)) }
            }
        }
        @if is_open {
            @if let Some(next) = page.next { p { a href=(filter.address(Some(next))) { "Older messages" } } }
            @if below.is_some() { p { a href=(filter.address(None)) { "The newest" } } }
        } @else if told < page.open_count {
            p.note {
                a href=(open(filter.kind)) {
                    @if told == 0 { "Look at what needs you" } @else { (page.open_count - told) " more" }
                }
            }
        }
        @if others > 0 {
            p.note {
                @if page.open_count == 0 {
                    "None of this kind needs you; "
                    a href=(open(None)) { (others) @if others == 1 { " other does" } @else { " others do" } } "."
                } @else {
                    a href=(open(None)) { (others) " of other kinds" } @if others == 1 { " needs" } @else { " need" }
                    " you too."
                }
            }
        }
    })
}

/// Returns whether a message of an asker has a danger.
fn has_danger(one: &Asker) -> bool {
    one.lines.iter().any(|line| line.danger.is_some())
}

/// Returns the requests of one asker. The newest are rows, and the others are folded into one row. The approvals of a
/// batch are one row, which leads to one card.
fn asker(
    asked: &PageRequest,
    known: &BTreeMap<FormulaId, String>,
    one: &Asker,
    batches: &[BatchAsks],
) -> Markup {
    let oldest = one.oldest;
    let asks = batches.iter().find(|asks| Some(asks.batch) == one.run);
    let is_of_batch =
        |line: &&Line| asks.is_some_and(|asks| asks.asks.iter().any(|ask| ask.message == line.letter.number));
    let own: Vec<&Line> = one.lines.iter().filter(|line| !is_of_batch(line)).collect();
    html! {
        @if let Some(asks) = asks {
            li #{ "batch-" (asks.batch) } {
                (batch_row(asked, asks))
                details #{ "o-" (oldest) } {
                    summary.row { "One by one" }
                    (fold(&format!("of-{oldest}"), &format!("/?of={oldest}")))
                }
            }
        }
        @for line in &own { (item(asked, known, line)) }
        @if let (None, Some(last), 1..) = (asks, one.lines.last(), one.more) {
            @let to = format!("/?of={oldest}&below={}", last.letter.number);
            // The oldest message stays the oldest, so its number identifies the row.
            li #{ "f-" (oldest) } {
                details #{ "o-" (oldest) } {
                    summary.row { (one.more) " more of " (parts::word(&who(asked, known, one.run, &last.letter))) }
                    (fold(&format!("of-{oldest}"), &to))
                }
            }
        }
    }
}

/// Returns the row of a batch, whose items are answered together.
fn batch_row(asked: &PageRequest, asks: &BatchAsks) -> Markup {
    html! {
        a.row.ask href={ "/batch/" (asks.batch) } {
            span.number { (asks.asks.len()) "×" } " "
            span {
                span.title { (parts::plain_sentence(&batch::title(asked, asks))) }
                span.second { (asks.asks.len()) " documents of " (asks.batch) ": review them together" }
            }
        }
    }
}

/// Returns the name of an asker. A run and its descendants have the number of the topmost run and the name of its
/// worker.
fn who(
    asked: &PageRequest,
    known: &BTreeMap<FormulaId, String>,
    run: Option<kernel::RunNumber>,
    one: &MailboxEntry,
) -> String {
    match run.map(|run| asked.ask(Request::GetRun { run })) {
        Some(Ok(Response::Run(run))) if run.is_agent_journal() => run.name,
        Some(Ok(Response::Run(run))) => format!("run {} ({})", run.number, run.name),
        _ => sender(asked, known, one),
    }
}

/// Returns a thread of messages, folded under its first message.
fn thread(asked: &PageRequest, known: &BTreeMap<FormulaId, String>, thread: &Thread) -> Markup {
    let first = thread.first.letter.number;
    html! {
        li #{ "m-" (first) } {
            (row(asked, known, &thread.first))
            @if thread.more > 0 {
                details #{ "t-" (first) } {
                    summary.row { (counted(thread.more)) }
                    (fold(&format!("in-{first}"), &format!("/?thread={first}")))
                }
            }
        }
    }
}

/// Returns the place for rows that are loaded when the user unfolds them. Without scripts, it is a link to these
/// rows.
fn fold(id: &str, to: &str) -> Markup {
    html! { div.fold #(id) data-load=(to) { a href=(to) { "Show them" } } }
}

fn counted(many: usize) -> String {
    if many == 1 { "1 message below".to_owned() } else { format!("{many} messages below") }
}

/// Returns a page with a message's thread, or with its sender's requests. The inbox loads the same list when the user
/// unfolds a row.
fn part(
    asked: &PageRequest,
    known: &BTreeMap<FormulaId, String>,
    within: MailboxPart,
    page: &ThreadPage,
) -> Result<Answer, Failure> {
    let (title, region, first, list) = match (within, page.threads.first()) {
        (MailboxPart::Thread(_), Some(thread)) => {
            let first = thread.first.letter.number;
            let list = html! {
                div.fold #{ "in-" (first) } {
                    @if let Some(next) = page.next {
                        p { a href={ "/?thread=" (first) "&below=" (next) } { "Earlier messages" } }
                    }
                    ol.rows { @for one in page.lines.iter().rev() { (item(asked, known, one)) } }
                }
            };
            (format!("Message {first} and what answers it"), "rest", Some(&thread.first), list)
        }
        (MailboxPart::Thread(of) | MailboxPart::Asker(of), _) => {
            let view = take!(asked.look(Look::Message { number: of })?, Message);
            let list = html! {
                div.fold #{ "of-" (of) } {
                    @if page.lines.is_empty() { p.note { "Nothing more." } }
                    ol.rows { @for one in &page.lines { (item(asked, known, one)) } }
                    @if let Some(next) = page.next {
                        p { a href={ "/?of=" (of) "&below=" (next) } { "Older messages" } }
                    }
                }
            };
            let run = page.open.first().and_then(|one| one.run);
            let who = who(asked, known, run, &view.letter);
            (format!("What {} asks you", visible_line(&who)), "needs", None, list)
        }
    };
    let main = html! {
        h1 { (parts::word(&title)) }
        p { a href="/" { "Inbox" } }
        section #(region) aria-label="Messages" data-live {
            @if let Some(first) = first { ol.rows { (item(asked, known, first)) } }
            (list)
        }
    };
    Ok(Page::new("/", title, main).live("inbox runs").into())
}

/// Returns the user's own names, by the identifiers of their objects.
fn names(asked: &PageRequest) -> Result<BTreeMap<FormulaId, String>, Failure> {
    let rows = take!(asked.look(Look::Names { path: None })?, Names);
    Ok(rows.into_iter().filter_map(|row| Some((row.id?, row.name))).collect())
}

fn item(asked: &PageRequest, known: &BTreeMap<FormulaId, String>, one: &Line) -> Markup {
    html! { li #{ "m-" (one.letter.number) } { (row(asked, known, one)) } }
}

fn row(asked: &PageRequest, known: &BTreeMap<FormulaId, String>, line: &Line) -> Markup {
    let one = &line.letter;
    if one.mail.needs_you {
        return ask_row(asked, known, line);
    }
    let number = one.number;
    let from = sender(asked, known, one);
    html! {
        a.row.cells href={ "/m/" (number) } {
            span.number { "#" (number) } " "
            span { span.kind { (parts::word(kinds::message(&one.mail.envelope.kind))) } } " "
            span {
                @if !from.is_empty() { span.from { (parts::word(&from)) } " " }
                span.what { (summary(asked, line)) }
            }
            " "
            span { span.state { (message_status::state(asked, one)) } " " (parts::minute(one.mail.envelope.sent_ms)) }
        }
    }
}

/// Returns the row of a message that asks: its title, a mark if its card has a danger, and below that its sender with
/// the beginning of the arguments.
fn ask_row(asked: &PageRequest, known: &BTreeMap<FormulaId, String>, line: &Line) -> Markup {
    let one = &line.letter;
    let number = one.number;
    let view = match asked.look(Look::Message { number }) {
        Ok(Response::Message(view)) => Some(view),
        _ => None,
    };
    let card = match (one.body(), asked.ask(Request::Card { message: number })) {
        (
            Some(Body::Approval { .. } | Body::OutcomeUnknown { .. } | Body::Budget { .. }),
            Ok(Response::Card(card)),
        ) => Some(card),
        _ => None,
    };
    let title = match (&card, &view) {
        (Some(card), _) => headline::of_card(card),
        (None, Some(view)) => headline::of_message(view),
        (None, None) => Quoting::ours(format!("Message {number}")),
    };
    let worst = card.as_ref().and_then(|card| danger::of_card(card).into_iter().next());
    let open = card.iter().flat_map(|card| &card.entries).filter(|entry| entry.answer.is_none()).count();
    let all = card.as_ref().map_or(0, |card| card.entries.len());
    html! {
        a.row.ask href={ "/m/" (number) } {
            span.number { "#" (number) } " "
            span {
                span.title {
                    (parts::plain_sentence(&title))
                }
                @if let Some(worst) = &worst {
                    span.danger-mark { span aria-hidden="true" { "▲ " } span.unseen { "Look closely: " } (parts::plain_sentence(worst)) }
                }
                span.second {
                    (parts::word(&sender(asked, known, one)))
                    @if let Some(call) = line.call.as_ref().filter(|call| !call.with.raw().is_empty()) { " " (parts::short(&call.with)) }
                    // Proposals are distinguished by their content.
                    @if let Some(view) = view.as_ref().filter(|view| view.source.is_some()) { " " (proposed(view)) }
                    @if open < all { " (" (open) " of " (all) " calls open)" }
                }
            }
            " "
            span { (parts::minute(one.mail.envelope.sent_ms)) }
        }
    }
}

/// Returns the user's own name for the sender of a message. It is empty for the user's own commands.
fn sender(asked: &PageRequest, known: &BTreeMap<FormulaId, String>, one: &MailboxEntry) -> String {
    let named = one.message.as_ref().and_then(|message| known.get(&message.from));
    match one.body() {
        None | Some(Body::Command { .. }) => String::new(),
        Some(body) if body.run().is_none() && named.is_some() => named.cloned().unwrap_or_default(),
        Some(body) => match body.run() {
            Some(run) => match asked.ask(Request::GetRun { run }) {
                Ok(Response::Run(found)) => format!("run {run} ({})", found.name),
                _ => format!("run {run}"),
            },
            None => match asked.look(Look::Message { number: one.number }) {
                Ok(Response::Message(view)) => view.from,
                _ => String::new(),
            },
        },
    }
}

/// Returns the content of a message in one line, to be shown after the name of its sender.
fn summary(asked: &PageRequest, line: &Line) -> Markup {
    let one = &line.letter;
    match one.body() {
        // Proposals of guests are distinguished by their content.
        Some(Body::Definition { by: None, .. }) => match asked.look(Look::Message { number: one.number }) {
            Ok(Response::Message(view)) => proposed(&view),
            _ => html! { "code that is gone" },
        },
        None => html! { "dismissed" @if let Some(ms) = one.mail.dismissed_ms { " " (parts::minute(ms)) } },
        Some(Body::Approval { entries, .. }) => {
            let (all, open) = (entries.len(), entries.len().saturating_sub(one.mail.answers.len()));
            html! {
                @match &line.call { Some(call) => (self::call(call)), None => "asks about a call" }
                @match all { 0 | 1 => {} 2 => " and 1 more call", _ => { " and " (all - 1) " more calls" } }
                @if open > 0 && open < all { ", " (open) " open" }
            }
        }
        Some(body @ Body::OutcomeUnknown { .. }) => match &line.call {
            Some(call) => html! { "asks whether this happened: " (self::call(call)) },
            None => parts::summary(body),
        },
        Some(Body::Command { text, .. }) => {
            let (head, more) = message_view::short(text);
            html! { code { (head) } (message_view::more_bytes(more)) }
        }
        Some(body) => parts::says(body),
    }
}

/// Returns a call in one line: its effect, slot, method and arguments.
fn call(call: &AskedCall) -> Markup {
    html! {
        (call.effect.as_words()) " " code { (visible_line(&call.slot)) "." (visible_line(&call.method)) }
        @if !call.with.raw().is_empty() { " " (parts::short(&call.with)) }
    }
}

/// Returns a proposal of code or of a worker in one line: its slots, and the beginning of its text.
fn proposed(view: &MessageView) -> Markup {
    let slots: Vec<&str> = view.fields.iter().map(|hole| hole.name.as_str()).collect();
    html! {
        @if view.is_worker { "a worker" } @else { "code" }
        @if !slots.is_empty() { " over " (parts::short(&Untrusted::new(slots.join(", ")))) }
        @if let Some(source) = &view.source { ": " (parts::short(source)) }
    }
}
