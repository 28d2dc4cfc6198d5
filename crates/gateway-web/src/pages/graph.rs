//! What leads to what: the graph of capabilities.

use control::exit::Failure;
use control::protocol::Look;
use maud::html;

use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::graph::draw;

/// `GET /graph`, with `?focus=` for where it begins: a run, a name or an identifier.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let focus = asked.query("focus").map(str::trim).filter(|focus| !focus.is_empty());
    let graph = take!(asked.look(Look::Graph { focus: focus.map(str::to_owned) })?, Graph);
    let main = html! {
        h1 { "What leads to what" }
        form.search method="get" action="/graph" role="search" {
            label for="focus" { "Where it begins: a run (r17), a name, or an identifier; you, if nothing is said" }
            input #focus name="focus" value=(focus.unwrap_or("")) autocomplete="off" spellcheck="false";
            button { "Show" }
        }
        section #graph aria-label="Graph" data-live {
            (draw::risks(&graph))
            p.note {
                "A solid line is something that may be used, a thin one a name, a dashed one what a thing was made of. A thick frame is a secret, a dashed frame a way out of this machine; thick lines with ⚠ lead from one to the other."
                @if graph.left_out > 0 { " " (graph.left_out) " more are not drawn: begin further on." }
            }
            (draw::drawing(&graph))
            h2 { "The same as a list" }
            (draw::list(&graph))
        }
    };
    Ok(Page::new("/names", "What leads to what", main).live("names grants").into())
}
