//! The inbox: what needs the person, apart from what is there to know.

use std::collections::BTreeMap;

use control::exit::Failure;
use control::protocol::{Look, Request, Response};
use control::show::letter;
use control::threads::{Standing, Thread, ThreadPage};
use control::view::LetterView;
use kernel::message::Body;
use kernel::query::Letter;
use kernel::{FormulaId, MessageNumber};
use maud::{Markup, html};
use passable::Untrusted;

use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::parts;
use crate::pages::standing;

/// After how many messages a page ends.
const PAGE: usize = 50;

/// The kinds of messages that can be looked for, by their names on the wire.
const KINDS: &[&str] =
    &["approval", "definition", "form", "request", "eval-request", "package", "value", "command"];

/// How messages can stand that are looked for, by their names in an address.
const STANDINGS: &[(&str, Standing)] =
    &[("open", Standing::Open), ("answered", Standing::Answered), ("dismissed", Standing::Dismissed)];

/// What of the inbox is looked at.
#[derive(Clone, Copy)]
struct Filter<'a> {
    kind: Option<&'a str>,
    standing: Option<Standing>,
}

impl Filter<'_> {
    /// The address of the inbox so filtered; from a message on down, if one is said.
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
}

/// `GET /`, with `?kind=` for messages of one kind, `?state=` for those that stand so, `?below=` for older ones.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let kind = asked.query("kind").filter(|kind| KINDS.contains(kind));
    let standing = asked.query("state").and_then(|name| STANDINGS.iter().find(|(one, _)| *one == name));
    let standing = standing.map(|(_, standing)| *standing);
    let below = asked.query("below").and_then(|text| text.parse::<MessageNumber>().ok());
    let request = Request::Threads { kind: kind.map(str::to_owned), standing, below, limit: PAGE };
    let page = take!(asked.ask(request)?, Threads);
    let known = names(asked)?;
    let filter = Filter { kind, standing };
    let title = match standing {
        Some(Standing::Answered) => "Answered",
        Some(Standing::Dismissed) => "Dismissed",
        _ => "For information",
    };
    let main = html! {
        h1 { "Inbox" }
        (filters(filter, page.open_count))
        section #needs aria-labelledby="needs-title" data-live {
            h2 #needs-title { "Needs you " span.count { (page.open_count) } }
            (needs(asked, &known, filter, &page))
        }
        @if standing != Some(Standing::Open) {
            section #rest aria-labelledby="rest-title" data-live {
                h2 #rest-title { (title) }
                @if page.threads.is_empty() { p.note { "Nothing here." } }
                @else { ol.rows { @for one in &page.threads { (thread(asked, &known, one)) } } }
                @if let Some(next) = page.next { p { a href=(filter.address(Some(next))) { "Older messages" } } }
            }
        }
    };
    Ok(Page::new("/", "Inbox", main).live("inbox runs").into())
}

/// Links to the inbox by kind and by how messages stand; each keeps what the other has chosen.
fn filters(filter: Filter<'_>, open: usize) -> Markup {
    let link = |words: &str, to: Filter<'_>, chosen: bool| {
        html! { a href=(to.address(None)) aria-current=[chosen.then_some("true")] { (words) } }
    };
    html! {
        nav.filters aria-label="Kinds of messages" {
            (link("all", Filter { kind: None, ..filter }, filter.kind.is_none()))
            @for one in KINDS { (link(one, Filter { kind: Some(one), ..filter }, filter.kind == Some(one))) }
        }
        nav.filters #states aria-label="How messages stand" data-live {
            (link("any state", Filter { standing: None, ..filter }, filter.standing.is_none()))
            @for (name, one) in STANDINGS {
                @let words = if *one == Standing::Open { format!("{name} ({open})") } else { (*name).to_owned() };
                (link(&words, Filter { standing: Some(*one), ..filter }, filter.standing == Some(*one)))
            }
        }
    }
}

/// What needs an answer. Of what a filter hides, it is said that it is there.
fn needs(
    asked: &Asked,
    known: &BTreeMap<FormulaId, String>,
    filter: Filter<'_>,
    page: &ThreadPage,
) -> Markup {
    let others = page.all_open_count.saturating_sub(page.open_count);
    let open = |kind| Filter { kind, standing: Some(Standing::Open) }.address(None);
    let lists = matches!(filter.standing, None | Some(Standing::Open));
    html! {
        @if page.all_open_count == 0 { p.note { "Nothing waits for you." } }
        @else if !lists && page.open_count > 0 {
            p.note { a href=(open(filter.kind)) { "Look at what needs you" } }
        }
        @else if page.open_count > 0 {
            ol.rows { @for one in folded(&page.open) { (open_row(asked, known, &one)) } }
        }
        @if page.open_count > page.open.len() && lists {
            p.note { "The newest " (page.open.len()) " are shown; the others come as these are answered." }
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
    }
}

/// How many asks of one sender stand by themselves. One who asks more does not push away what others ask.
const OF_ONE: usize = 5;

/// A row of what needs an answer.
enum Open<'a> {
    /// One message.
    One(&'a Letter),
    /// What else somebody asks, behind their newest.
    More(Vec<&'a Letter>),
}

/// What needs an answer; of one who asks much, all but the newest is one row.
fn folded(open: &[Letter]) -> Vec<Open<'_>> {
    let of = |one: &Letter| {
        let run = one.body().and_then(Body::run);
        run.map(|run| run.to_string()).or_else(|| Some(one.message.as_ref()?.from.to_string()))
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for who in open.iter().filter_map(of) {
        *counts.entry(who).or_default() += 1;
    }
    let mut rows: Vec<Open<'_>> = Vec::new();
    // Of each who asks much: how many stand by themselves, and where the others lie.
    let mut at: BTreeMap<String, (usize, Option<usize>)> = BTreeMap::new();
    for one in open {
        let who = of(one).filter(|who| counts.get(who).is_some_and(|count| *count > OF_ONE));
        let Some(who) = who else {
            rows.push(Open::One(one));
            continue;
        };
        let (shown, fold) = at.entry(who).or_default();
        // One row of several says less than the one message in it.
        if *shown + 1 < OF_ONE {
            *shown += 1;
            rows.push(Open::One(one));
        } else if let Some(Open::More(more)) = fold.and_then(|fold: usize| rows.get_mut(fold)) {
            more.push(one);
        } else {
            *fold = Some(rows.len());
            rows.push(Open::More(vec![one]));
        }
    }
    rows
}

fn open_row(asked: &Asked, known: &BTreeMap<FormulaId, String>, one: &Open<'_>) -> Markup {
    match one {
        Open::One(one) => html! { li #{ "m-" (one.number) } { (row(asked, known, one)) } },
        Open::More(more) => html! {
            @if let (Some(newest), Some(oldest)) = (more.first(), more.last()) {
                // The oldest of them stays the oldest, whatever comes.
                li #{ "f-" (oldest.number) } {
                    details #{ "o-" (oldest.number) } {
                        summary.row { (more.len()) " more of " (parts::word(&sender(asked, known, newest))) }
                        ol.rows { @for one in more { li #{ "m-" (one.number) } { (row(asked, known, one)) } } }
                    }
                }
            }
        },
    }
}

/// Messages that answer one another, folded under the first.
fn thread(asked: &Asked, known: &BTreeMap<FormulaId, String>, thread: &Thread) -> Markup {
    let Some((first, later)) = thread.letters.split_first() else { return html! {} };
    html! {
        li #{ "m-" (first.number) } {
            (row(asked, known, first))
            @if !later.is_empty() {
                details #{ "t-" (first.number) } {
                    summary.row { (counted(later.len() + thread.left_out)) }
                    ol.rows {
                        @if thread.left_out > 0 {
                            li { a href={ "/m/" (first.number) } { (thread.left_out) " more between" } }
                        }
                        @for one in later { li #{ "m-" (one.number) } { (row(asked, known, one)) } }
                    }
                }
            }
        }
    }
}

fn counted(many: usize) -> String {
    if many == 1 { "1 message below".to_owned() } else { format!("{many} messages below") }
}

/// The person's own names, by what they stand for.
fn names(asked: &Asked) -> Result<BTreeMap<FormulaId, String>, Failure> {
    let rows = take!(asked.look(Look::Names { path: None })?, Names);
    Ok(rows.into_iter().filter_map(|row| Some((row.id?, row.name))).collect())
}

fn row(asked: &Asked, known: &BTreeMap<FormulaId, String>, one: &Letter) -> Markup {
    let number = one.number;
    let from = sender(asked, known, one);
    html! {
        a.row href={ "/m/" (number) } {
            span.number { "#" (number) } " "
            span.kind { (parts::word(&one.mail.envelope.kind)) } " "
            @if !from.is_empty() { span.from { (parts::word(&from)) } " " }
            span.what { (summary(asked, one)) } " "
            span.state { (standing::state(asked, one)) } " "
            (parts::minute(one.mail.envelope.sent_ms))
        }
    }
}

/// The person's own name for whoever sent it; nothing for what the person did.
fn sender(asked: &Asked, known: &BTreeMap<FormulaId, String>, one: &Letter) -> String {
    let named = one.message.as_ref().and_then(|message| known.get(&message.from));
    match one.body() {
        None | Some(Body::Command { .. }) => String::new(),
        Some(body) if body.run().is_none() && named.is_some() => named.cloned().unwrap_or_default(),
        Some(body) => match body.run() {
            Some(run) => match asked.ask(Request::GetRun { run }) {
                Ok(Response::Run(found)) => format!("run {run} ({})", found.name),
                _ => format!("run {run}"),
            },
            None => match asked.look(Look::Letter { number: one.number }) {
                Ok(Response::Letter(view)) => view.from,
                _ => String::new(),
            },
        },
    }
}

/// What it says, in a line. Who said it stands before.
fn summary(asked: &Asked, one: &Letter) -> Markup {
    match one.body() {
        // What a guest proposes is told apart by what it says.
        Some(Body::Definition { by: None, .. }) => match asked.look(Look::Letter { number: one.number }) {
            Ok(Response::Letter(view)) => proposed(&view),
            _ => html! { "code that is gone" },
        },
        None => html! { "dismissed" @if let Some(ms) = one.mail.dismissed_ms { " " (parts::minute(ms)) } },
        Some(Body::Approval { entries, .. }) => {
            let open = entries.len().saturating_sub(one.mail.answers.len());
            let calls = if entries.len() == 1 { " call, " } else { " calls, " };
            html! { "asks about " (entries.len()) (calls) (open) " open" }
        }
        Some(Body::Command { text, .. }) => {
            let (head, more) = letter::short(text);
            html! { code { (head) } (letter::more_bytes(more)) }
        }
        Some(body) => parts::says(body),
    }
}

/// Code or a worker that somebody proposes: over what, and how it begins.
fn proposed(view: &LetterView) -> Markup {
    let slots: Vec<&str> = view.holes.iter().map(|hole| hole.name.as_str()).collect();
    html! {
        @if view.is_worker { "a worker" } @else { "code" }
        @if !slots.is_empty() { " over " (parts::line(&Untrusted::new(slots.join(", ")))) }
        @if let Some(source) = &view.source { ": " (parts::short(source)) }
    }
}
