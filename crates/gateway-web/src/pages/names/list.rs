//! The names in a directory, page by page.

use control::exit::Failure;
use control::protocol::Look;
use control::view::{NamePage, NameRow, ObjectView};
use kernel::NamePath;
use maud::{Markup, html};
use passable::visible_line;

use super::{act, thing, way};
use crate::answer::Page;
use crate::page::short_path::description;
use crate::page::{kinds, link, parts, table};
use crate::page_request::{PageRequest, take};

/// The number of names on a page.
const PAGE: usize = 100;

/// The type of mail directories, whose names no user chooses.
const MAIL: &str = "mail-hub";

/// Returns the page of a directory. If the directory has a name, its own description is included.
///
/// # Errors
/// When the daemon does not answer.
pub fn directory(
    asked: &PageRequest,
    path: Option<&NamePath>,
    own: Option<&ObjectView>,
    wrong: Option<Markup>,
) -> Result<Page, Failure> {
    let before = path.map(NamePath::names).unwrap_or_default();
    let find = asked.query("find").map(str::trim).unwrap_or_default();
    let from = asked.query("from").and_then(|from| from.parse().ok()).unwrap_or(0);
    let look = Look::NamePage { path: path.cloned(), find: find.to_owned(), from, limit: PAGE };
    let page: NamePage = take!(asked.look(look)?, NamePage);
    let title = path.map_or("Names".to_owned(), |path| format!("Names: {}", visible_line(&path.to_string())));
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        h1 { @match path { Some(path) => { "Names in " (parts::name(&path.to_string())) }, None => "Names" } }
        (way(before))
        @if path.is_none() {
            p { a href="/graph" { "The same as a graph" } ": what your names, your grants and your runs lead to." }
        }
        @if page.all > PAGE || !find.is_empty() { (search(before, find)) }
        section #list aria-label="Names" data-live { (rows(before, find, from, &page)) }
        @if let (Some(path), Some(own)) = (path, own) {
            section #thing aria-labelledby="thing-title" data-live {
                h2 #thing-title { "What it is" }
                (thing::describe(own, &path.to_string()))
                @if let Some(id) = &own.id {
                    p {
                        a href=(link::formula(id)) { "All that is known of it" }
                        ": who holds it, what it can be asked, why it is kept"
                    }
                }
            }
        }
        @if own.is_none_or(|own| own.kind != MAIL) { (act::forms(asked, path)) }
        @if let Some(path) = path { (act::forms_of_name(asked, path)) }
    };
    Ok(Page::new("/names", title, main).live("names grants"))
}

fn search(before: &[String], find: &str) -> Markup {
    html! {
        form.search method="get" action=(link::names(before)) role="search" {
            label for="find" { "Names that have this in them" }
            input #find name="find" value=(find) autocomplete="off" spellcheck="false";
            button { "Find" }
        }
    }
}

fn rows(before: &[String], find: &str, from: usize, page: &NamePage) -> Markup {
    let to = from.saturating_add(page.rows.len());
    let at = |from: usize| format!("{}?find={}&from={from}", link::names(before), link::query(find));
    html! {
        @if page.rows.is_empty() {
            p.note { @if find.is_empty() { "No names here yet." } @else { "No name here has this in it." } }
        } @else {
            (table("Your names", before, &page.rows))
        }
        @if from > 0 || page.all > to {
            nav.filters aria-label="Other names" {
                @if from > 0 { a href=(at(from.saturating_sub(PAGE))) { "Names before" } }
                span.note { (from + 1) " to " (to) " of " (page.all) }
                @if page.all > to { a href=(at(to)) { "Further names" } }
            }
        }
        @if !page.special.is_empty() {
            details { summary { "What everybody has" } (table("What everybody has", before, &page.special)) }
        }
    }
}

fn table(label: &str, before: &[String], rows: &[NameRow]) -> Markup {
    let row = |row: &NameRow| {
        let name = html! {
            a href=(link::names(before.iter().chain([&row.name]))) { (parts::name(&row.name)) }
            @if kernel::confusables::has_mixed_scripts(&row.name) {
                " " span.warning { "look-alike letters: " (row.name.escape_default().to_string()) }
            }
        };
        vec![name, html! { (kinds::object(&row.kind)) }, description(&row.words)]
    };
    table::table(label, &["Name", "Type", "What it is"], rows.iter().map(row))
}
