//! Names, and the objects that they stand for.

mod act;
pub mod call;
mod list;
mod methods;
mod thing;

use control::exit::{Exit, Failure};
use control::protocol::{Look, Response};
use kernel::NamePath;
use maud::{Markup, html};

pub use act::act;
pub use thing::by_id;

use crate::answer::{Answer, Page};
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};

/// The types of objects that contain names.
const DIRECTORIES: &[&str] = &["directory", "mail-hub", "host", "guest"];

/// Answers `GET /names` and `GET /names/PATH`: shows the names in a directory, or the object of a name.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    page(asked, asked.part_text("path"), None, 200)
}

/// Returns the page of a path of names. `wrong` is the error of a form that was sent from this page.
fn page(asked: &PageRequest, path: &str, wrong: Option<Markup>, status: u16) -> Result<Answer, Failure> {
    let path = match path {
        "" => None,
        path => Some(NamePath::parse(path).map_err(|error| {
            Failure::new(control::exit::Exit::NotFound, error.to_string()).help("see the list of names")
        })?),
    };
    let mut found = None;
    if let Some(path) = &path {
        let thing = match asked.look(Look::Object { path: path.clone() }) {
            // An object that can no longer be used still has its name, and the user can remove this name.
            Err(failure) if failure.exit == Exit::Denied => return Ok(ended(asked, path, &failure, wrong)),
            found => take!(found.map_err(no_name)?, Object),
        };
        if !DIRECTORIES.contains(&thing.kind.as_str()) {
            return thing::named(asked, path, *thing, wrong, status);
        }
        found = Some(thing);
    }
    list::directory(asked, path.as_ref(), found.as_deref(), wrong).map(|page| page.status(status).into())
}

/// Adds a hint to the error of a missing name: the page itself links to the list of names.
pub fn no_name(failure: Failure) -> Failure {
    if failure.exit == Exit::NotFound {
        failure
            .saying("nothing has this name")
            .help("the list of names is in the bar of each page, under Names")
    } else {
        failure
    }
}

/// Returns the page of a name whose object can no longer be used.
fn ended(asked: &PageRequest, path: &NamePath, failure: &Failure, wrong: Option<Markup>) -> Answer {
    let title = format!("Names: {}", passable::visible_line(&path.to_string()));
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        h1 { (parts::name(&path.to_string())) }
        (way(path.names()))
        section #thing aria-label="What it is" data-live {
            p.warning { "It can be used no more: " (parts::plain_sentence(&failure.message_quoting())) }
            @if let Ok(Response::Identifier(Some(id))) = asked.look(Look::Identifier { path: path.clone() }) {
                p { (link::why(id)) ", " a href=(link::formula(&id)) { "all that is known of it" } }
                @if let Ok(Response::Formula(view)) = asked.look(Look::Formula { id }) { (thing::granted(&view)) }
            }
            (kept(asked, &path.to_string()))
        }
        (act::forms_of_name(asked, path))
    };
    Page::new("/names", title, main).live("names grants").into()
}

/// Returns the path of a name. Each part is a link.
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

/// Returns the reasons why something is kept, each as a path from the root.
fn kept(asked: &PageRequest, thing: &str) -> Markup {
    let ways = match asked.look(Look::RetentionPaths { thing: thing.to_owned() }) {
        Ok(Response::RetentionPaths(ways)) => ways,
        _ => vec![],
    };
    let way = |lines: &[String]| {
        html! {
            ol.chain.down { @for line in lines { li { (parts::word(line)) } } }
        }
    };
    html! {
        h2 { "Why it is kept" }
        @match ways.split_first() {
            None => p.note { "Nothing keeps it: it waits to be collected." },
            Some((first, more)) => {
                p.note { "From the root of this store down to it." }
                (way(first))
                @if !more.is_empty() {
                    details {
                        summary { "Other ways " span.count { (more.len()) } }
                        @for one in more { (way(one)) }
                    }
                }
            }
        }
    }
}
