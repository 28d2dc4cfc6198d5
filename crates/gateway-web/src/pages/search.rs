//! The search over pages, runs, names and messages. The script shows the same results in a dialog.
//!
//! It looks at what the lists of the site show: numbers, names, kinds, and the beginnings of messages. It looks neither
//! into documents nor into secrets.

use control::exit::Failure;
use control::messages::{MessageFilter, Order, PageBounds};
use control::protocol::{Look, Request};
use control::threads::Line;
use kernel::run::Run;
use maud::{Markup, html};

use crate::answer::{Answer, Page};
use crate::page::site_map::{self, GROUPS, Part};
use crate::page::{kinds, link, parts};
use crate::page_request::{PageRequest, take};

/// The maximum number of results of each sort.
const MAX_RESULTS: usize = 8;

/// The number of the newest runs and messages that are looked at.
const MAX_EXAMINED: usize = 1000;

/// Answers `GET /search`. `?q=` is the searched text. Without it, the page lists all parts of the site.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let words = asked.query("q").map(str::trim).unwrap_or_default();
    let main = html! {
        h1 { "Search" }
        form.search method="get" action="/search" role="search" {
            label for="q" { "A run, a name, a message or a page" }
            input #q name="q" type="search" value=(words) autocomplete="off" spellcheck="false";
            button { "Search" }
        }
        div #results {
            @if words.is_empty() { (all_parts()) } @else { (results(asked, words)?) }
        }
    };
    Ok(Page::new("/search", "Search", main).into())
}

fn all_parts() -> Markup {
    html! {
        @for group in GROUPS {
            h2 { (group.name) }
            ul.rows { @for part in group.parts { li { (hit(part.path, "page", &html! { (part.name) }, &html! {})) } } }
        }
    }
}

fn results(asked: &PageRequest, words: &str) -> Result<Markup, Failure> {
    let words = words.to_lowercase();
    let found = [
        ("Pages", pages(&words)),
        ("Runs", runs(asked, &words)?),
        ("Names", names(asked, &words)?),
        ("Messages", messages(asked, &words)?),
    ];
    Ok(html! {
        @if found.iter().all(|(_, hits)| hits.is_empty()) { p.note { "Nothing is found." } }
        @for (title, hits) in &found {
            @if !hits.is_empty() {
                h2 { (title) }
                ul.rows { @for hit in hits { li { (hit) } } }
            }
        }
    })
}

/// Returns one result: its kind, its words, and a note at the end of the row.
fn hit(to: &str, kind: &str, words: &Markup, note: &Markup) -> Markup {
    html! { a.row.hit href=(to) { span.kind { (kind) } span { (words) } span.note { (note) } } }
}

fn pages(words: &str) -> Vec<Markup> {
    let is_it = |part: &&Part| part.name.to_lowercase().contains(words) || part.words.contains(words);
    let found = site_map::parts().filter(is_it).take(MAX_RESULTS);
    found.map(|part| hit(part.path, "page", &html! { (part.name) }, &html! {})).collect()
}

fn runs(asked: &PageRequest, words: &str) -> Result<Vec<Markup>, Failure> {
    let (mut found, mut examined, mut below) = (Vec::new(), 0, None);
    while examined < MAX_EXAMINED && found.len() < MAX_RESULTS {
        let page = take!(asked.ask(Request::Runs { limit: 200, below, roots: false })?, Runs);
        let Some(last) = page.last() else { break };
        below = Some(last.number);
        examined += page.len();
        let is_it = |run: &&Run| run.number.to_string() == words || run.name.to_lowercase().contains(words);
        found.extend(page.iter().filter(is_it).map(run));
    }
    found.truncate(MAX_RESULTS);
    Ok(found)
}

fn run(run: &Run) -> Markup {
    let words =
        html! { (run.number) " " strong { (parts::word(&run.name)) } " " span.state { (parts::state(run)) } };
    hit(&format!("/r/{}", run.number), "run", &words, &parts::when(run.started_ms))
}

fn names(asked: &PageRequest, words: &str) -> Result<Vec<Markup>, Failure> {
    let all = take!(asked.look(Look::Names { path: None })?, Names);
    let found = all.iter().filter(|row| row.name.to_lowercase().contains(words)).take(MAX_RESULTS);
    let row = |row: &control::view::NameRow| {
        let words = html! { strong { (parts::name(&row.name)) } };
        hit(&link::names([&row.name]), kinds::object(&row.kind), &words, &html! {})
    };
    Ok(found.map(row).collect())
}

fn messages(asked: &PageRequest, words: &str) -> Result<Vec<Markup>, Failure> {
    let filter = MessageFilter::Mailbox { open: false, order: Order::NewestFirst };
    let page = PageBounds { after: None, limit: MAX_EXAMINED };
    let lines = take!(asked.ask(Request::Messages { filter, page })?, Mailbox);
    Ok(lines.iter().filter(|line| is_found(line, words)).take(MAX_RESULTS).map(message).collect())
}

/// Returns whether the number, the kind or the title of a message has the searched words in it.
fn is_found(line: &Line, words: &str) -> bool {
    if words.trim_start_matches('#') == line.letter.number.to_string() {
        return true;
    }
    let title = line.title.as_ref().map_or("", |title| title.text.raw());
    let kind = kinds::message(&line.letter.mail.envelope.kind);
    format!("{kind} {title}").to_lowercase().contains(words)
}

fn message(line: &Line) -> Markup {
    let (number, envelope) = (line.letter.number, &line.letter.mail.envelope);
    let words = html! {
        "#" (number) " "
        @match &line.title { Some(title) => (parts::plain_sentence(&title.quoting())), None => "dismissed" }
    };
    let when = parts::when(envelope.sent_ms);
    hit(&format!("/m/{number}"), kinds::message(&envelope.kind), &words, &when)
}
