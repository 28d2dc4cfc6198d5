//! The page that explains why something happened. It shows the chain of reasons back to the rule, answer, grant and
//! command that caused it.

use control::exit::{Exit, Failure};
use control::protocol::{Look, Request, Response};
use control::show::reason::{Reason, WhyTarget};
use kernel::FormulaId;
use maud::{Markup, html};
use passable::visible_line;

use crate::answer::{Answer, Page};
use crate::page::{link, parts};
use crate::page_request::{PageRequest, unexpected};

/// Answers `GET /why`. `?thing=` is a run, a step, a message, a grant, a name, an identifier, or the path of a file.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let thing = asked.query("thing").filter(|thing| !thing.trim().is_empty());
    let found = thing.map(|thing| chain(asked, thing));
    // A name may begin or end with a blank, but a blank was more often pasted by mistake.
    let found = match (thing, found) {
        (Some(thing), Some(Err(_))) if thing.trim() != thing => Some(chain(asked, thing.trim())),
        (_, found) => found,
    };
    let status = if matches!(found, Some(Err(_))) { 404 } else { 200 };
    let main = html! {
        h1 { "Why" }
        form.search method="get" action="/why" role="search" {
            label for="thing" { "A run (r17), a step (r17#9), a message (7), a grant (g4), a name, or the whole path of a file" }
            input #thing name="thing" value=(thing.unwrap_or("")) autocomplete="off" spellcheck="false" required;
            button { "Ask why" }
        }
        @match &found {
            None => p.note { "Everything that happened has a chain of reasons that ends with something that you said." },
            Some(Err(failure)) => (parts::failure_below(failure)),
            Some(Ok(reasons)) => section aria-labelledby="chain-title" {
                h2 #chain-title { "The chain, back to what it began with" }
                ol.chain { @for one in reasons { (line(one)) } }
            },
        }
    };
    let title = thing.map_or("Why".to_owned(), |thing| format!("Why {}", last_name(thing.trim())));
    Ok(Page::new("/why", title, main).status(status).into())
}

/// Returns what the tab of the browser calls a thing. Of the path of a file, it is the last name.
fn last_name(thing: &str) -> String {
    let name = thing.strip_prefix('/').and_then(|path| path.rsplit('/').find(|name| !name.is_empty()));
    visible_line(name.unwrap_or(thing)).into_owned()
}

/// Returns the chain of reasons for a thing.
fn chain(asked: &PageRequest, thing: &str) -> Result<Vec<Reason>, Failure> {
    let origin = |thing: &str| reasons(asked.look(Look::Origin { thing: thing.to_owned() })?);
    let is_name = matches!(thing.parse(), Ok(WhyTarget::Name(_)) | Err(_)) && !thing.starts_with('/');
    if thing.parse::<FormulaId>().is_ok() {
        return origin(thing);
    }
    if is_name {
        match origin(thing) {
            Err(failure) if matches!(failure.exit, Exit::NotFound | Exit::Usage | Exit::Invalid) => {}
            other => return other,
        }
    }
    reasons(asked.ask(Request::Why { thing: thing.to_owned() })?)
}

fn reasons(response: Response) -> Result<Vec<Reason>, Failure> {
    match response {
        Response::Why(reasons) => Ok(reasons),
        other => Err(unexpected(&other)),
    }
}

fn line(one: &Reason) -> Markup {
    html! {
        li {
            span.what { (link::reason(&one.what)) } " "
            span.says { (parts::linked_sentence(&one.quoting())) }
        }
    }
}
