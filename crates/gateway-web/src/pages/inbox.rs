//! The inbox: what needs the person, apart from what is there to know.

use std::collections::BTreeMap;

use control::exit::Failure;
use control::protocol::{Look, Request};
use control::show::letter;
use control::threads::Thread;
use kernel::message::{Answer as Said, Body};
use kernel::query::Letter;
use kernel::{FormulaId, MessageNumber};
use maud::{Markup, html};
use passable::Untrusted;

use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::parts;

/// After how many messages a page ends.
const PAGE: usize = 50;

/// The kinds of messages that can be looked for, by their names on the wire.
const KINDS: &[&str] =
    &["approval", "definition", "form", "request", "eval-request", "package", "value", "command"];

/// `GET /`, with `?kind=` for messages of one kind, `?below=` for older ones.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let kind = asked.query("kind").filter(|kind| KINDS.contains(kind));
    let below = asked.query("below").and_then(|text| text.parse::<MessageNumber>().ok());
    let request = Request::Threads { kind: kind.map(str::to_owned), below, limit: PAGE };
    let page = take!(asked.ask(request)?, Threads);
    let known = names(asked)?;
    let main = html! {
        h1 { "Inbox" }
        nav.filters aria-label="Kinds of messages" {
            a href="/" aria-current=[kind.is_none().then_some("true")] { "all" }
            @for one in KINDS {
                a href={ "/?kind=" (one) } aria-current=[(kind == Some(one)).then_some("true")] { (one) }
            }
        }
        section #needs aria-labelledby="needs-title" data-live {
            h2 #needs-title { "Needs you " span.count { (page.open_count) } }
            @if page.open.is_empty() { p.note { "Nothing waits for you." } }
            @else { ol.rows { @for one in &page.open { li #{ "m-" (one.number) } { (row(asked, &known, one)) } } } }
            @if page.open_count > page.open.len() {
                p.note { "The newest " (page.open.len()) " are shown; the others come as these are answered." }
            }
        }
        section #rest aria-labelledby="rest-title" data-live {
            h2 #rest-title { "For information" }
            @if page.threads.is_empty() { p.note { "Nothing here." } }
            @else { ol.rows { @for one in &page.threads { (thread(asked, &known, one)) } } }
            @if let Some(next) = page.next {
                p { a href={ "/?below=" (next) @if let Some(kind) = kind { "&kind=" (kind) } } { "Older messages" } }
            }
        }
    };
    Ok(Page::new("/", "Inbox", main).live("inbox runs").into())
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
            span.what { (summary(one)) } " "
            span.state { (state(asked, one)) }
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
            Some(run) => run.to_string(),
            None => match asked.look(Look::Letter { number: one.number }) {
                Ok(control::protocol::Response::Letter(view)) => view.from,
                _ => String::new(),
            },
        },
    }
}

/// What it says, in a line. Who said it stands before.
fn summary(one: &Letter) -> Markup {
    match one.body() {
        None => html! { "dismissed" },
        Some(Body::Approval { entries, .. }) => {
            let open = entries.len().saturating_sub(one.mail.answers.len());
            html! { "asks about " (entries.len()) " calls, " (open) " open" }
        }
        Some(Body::Command { text, .. }) => html! { code { (letter::one_line(text)) } },
        Some(body) => parts::line(&Untrusted::new(letter::summary(body))),
    }
}

/// How it stands, if anything came of it.
fn state(asked: &Asked, one: &Letter) -> Markup {
    if let Some(Body::Command { run: Some(run), .. }) = one.body()
        && let Ok(control::protocol::Response::Run(run)) = asked.ask(Request::GetRun { run: *run })
    {
        return html! { (run.number) ": " (parts::state(&run)) };
    }
    let answers = &one.mail.answers;
    let said = answers.values().map(|answer| match answer {
        Said::Approved { for_run: true, .. } => "approved for the run",
        Said::Approved { .. } => "approved",
        Said::Denied { .. } => "denied",
        Said::Happened { .. } => "it happened",
        Said::Repeat { .. } => "done again",
        Said::Withdrawn { .. } => "withdrawn",
    });
    let mut said: Vec<&str> = said.collect();
    said.dedup();
    html! { @if one.mail.needs_you { "needs you" } @else { (said.join(", ")) } }
}
