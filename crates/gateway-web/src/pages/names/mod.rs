//! Names, and what they stand for.

mod act;
pub mod call;
mod methods;
mod thing;

use control::exit::{Exit, Failure};
use control::protocol::{Look, Response};
use control::view::NameRow;
use kernel::NamePath;
use maud::{Markup, html};

pub use act::act;
pub use thing::by_id;

use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::{link, parts};

/// The types of what has names in it.
const DIRECTORIES: &[&str] = &["directory", "mail-hub", "host", "guest"];

/// `GET /names` and `GET /names/PATH`: the names in a directory, or what a name stands for.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    page(asked, asked.part_text("path"), None, 200)
}

/// The page of a path of names, with what was wrong with what was sent there.
fn page(asked: &Asked, path: &str, wrong: Option<Markup>, status: u16) -> Result<Answer, Failure> {
    let path = match path {
        "" => None,
        path => Some(NamePath::parse(path).map_err(|error| {
            Failure::new(control::exit::Exit::NotFound, error.to_string()).help("see the list of names")
        })?),
    };
    if let Some(path) = &path {
        let found = match asked.look(Look::Thing { path: path.clone() }) {
            // What can be used no more still has its name, which can be taken away.
            Err(failure) if failure.exit == Exit::Denied => return Ok(ended(asked, path, &failure, wrong)),
            found => *take!(found?, Thing),
        };
        if !DIRECTORIES.contains(&found.kind.as_str()) {
            return thing::named(asked, path, found, wrong, status);
        }
    }
    let rows = take!(asked.look(Look::Names { path: path.clone() })?, Names);
    Ok(directory(asked, path.as_ref(), &rows, wrong).status(status).into())
}

/// The page of a name whose thing can be used no more.
fn ended(asked: &Asked, path: &NamePath, failure: &Failure, wrong: Option<Markup>) -> Answer {
    let title = passable::visible_line(&path.to_string()).into_owned();
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        h1 { (parts::name(&path.to_string())) }
        (way(path.names()))
        section #thing aria-label="What it is" data-live {
            p.warning { "It can be used no more: " (parts::line(&failure.message)) }
            p { (link::why(path)) }
            (kept(asked, &path.to_string()))
        }
        (act::forms_of_name(asked, path))
    };
    Page::new("/names", title, main).live("names grants").into()
}

/// The way to a name, each part a link.
fn way(path: &[String]) -> Markup {
    html! {
        nav aria-label="Where this is" {
            p {
                a href="/names" { "names" }
                @for at in 1..=path.len() {
                    @let name = path.get(at - 1).map_or("", String::as_str);
                    " / " a href=(link::names(path.iter().take(at))) { (parts::name(name)) }
                }
            }
        }
    }
}

fn directory(asked: &Asked, path: Option<&NamePath>, rows: &[NameRow], wrong: Option<Markup>) -> Page {
    let before = path.map(NamePath::names).unwrap_or_default();
    let (own, special): (Vec<_>, Vec<_>) = rows.iter().partition(|row| !row.name.starts_with('@'));
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        h1 { @match path { Some(path) => { "Names in " (parts::name(&path.to_string())) }, None => "Names" } }
        (way(before))
        p { a href="/graph" { "The same as a graph" } ": what your names, your grants and your runs lead to." }
        section #list aria-label="Names" data-live {
            @if own.is_empty() { p.note { "No names here yet." } } @else { (table(before, &own)) }
            @if !special.is_empty() {
                details { summary { "What everybody has" } (table(before, &special)) }
            }
        }
        (act::forms(asked, path))
    };
    Page::new("/names", "Names", main).live("names")
}

fn table(before: &[String], rows: &[&NameRow]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Table of names" {
            table {
                thead { tr { th scope="col" { "Name" } th scope="col" { "Type" } th scope="col" { "What it is" } } }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" {
                                a href=(link::names(before.iter().chain([&row.name]))) { (parts::name(&row.name)) }
                                @if kernel::alike::mixes_scripts(&row.name) {
                                    " " span.warning { "look-alike letters: " (row.name.escape_default().to_string()) }
                                }
                            }
                            td { (parts::word(&row.kind)) }
                            td { (parts::line(&row.words)) }
                        }
                    }
                }
            }
        }
    }
}

/// Why something is kept, each way from the root down.
fn kept(asked: &Asked, thing: &str) -> Markup {
    let ways = match asked.look(Look::Kept { thing: thing.to_owned() }) {
        Ok(Response::Kept(ways)) => ways,
        _ => vec![],
    };
    html! {
        h2 { "Why it is kept" }
        @if ways.is_empty() { p.note { "Nothing keeps it: it waits to be collected." } }
        @for way in &ways {
            ol.chain { @for line in way { li { (parts::line(&passable::Untrusted::new(line.as_str()))) } } }
        }
    }
}
