//! The graph of capabilities, which shows the objects that can be reached from each object.

use control::exit::Failure;
use control::protocol::Look;
use maud::html;
use passable::visible_line;

use crate::answer::{Answer, Page};
use crate::graph::draw;
use crate::page::parts;
use crate::page_request::{PageRequest, take};
use crate::pages::names::no_name;
use crate::serve;

/// Answers `GET /graph`. `?focus=` is the start of the graph: a run, a name or an identifier.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let focus = asked.query("focus").map(str::trim).filter(|focus| !focus.is_empty());
    let found = match asked.look(Look::Graph { focus: focus.map(str::to_owned) }) {
        Ok(found) => Ok(take!(found, Graph)),
        Err(failure) => Err(no_name(failure)),
    };
    let main = html! {
        h1 { "What leads to what" }
        form.search method="get" action="/graph" role="search" {
            label for="focus" { "Where it begins: a run (r17), a name, or an identifier; you, if nothing is said" }
            input #focus name="focus" value=(focus.unwrap_or("")) autocomplete="off" spellcheck="false";
            button { "Show" }
        }
        @match &found {
            Err(failure) => (parts::failure_at(failure, &[("focus", "Where it begins")])),
            Ok(graph) => section #graph aria-label="Graph" data-live {
                (draw::risks(graph))
                (draw::legend())
                @if graph.left_out > 0 { p.note { (graph.left_out) " more are not drawn: begin further on." } }
                (draw::drawing(graph))
                h2 { "The same as a list" }
                (draw::list(graph))
            },
        }
    };
    let title = match focus {
        Some(focus) => format!("What {} leads to", visible_line(focus)),
        None => "What leads to what".to_owned(),
    };
    let status = found.as_ref().err().map_or(200, serve::status);
    Ok(Page::new("/names", title, main).status(status).live("names grants").into())
}
