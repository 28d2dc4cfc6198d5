//! What is behind a name or an identifier.

use control::exit::Failure;
use control::inspect::{FormulaView, Reference};
use control::protocol::Look;
use control::show::value;
use control::view::{PromiseState, Thing};
use kernel::{FormulaId, NamePath};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::methods::Methods;
use super::{act, kept, way};
use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::{link, parts};
use crate::pages::grants;
use crate::pages::runs::figures::called;

/// The page of what a name stands for.
pub fn named(
    asked: &Asked,
    path: &NamePath,
    thing: Thing,
    wrong: Option<Markup>,
    status: u16,
) -> Result<Answer, Failure> {
    let view = match thing.id {
        Some(id) => Some(take!(asked.look(Look::Formula { id })?, Formula)),
        None => None,
    };
    let main = html! {
        @if let Some(wrong) = wrong { (wrong) }
        h1 { (parts::name(&path.to_string())) }
        (way(path.names()))
        section #thing aria-label="What it is" data-live {
            (what(&thing, &path.to_string()))
            @if let Some(view) = &view { (methods(asked, view, Some(&path.to_string()))?) (around(asked, view)) }
            (kept(asked, &path.to_string()))
        }
        (act::forms_of_name(asked, path))
    };
    let title = visible_line(&path.to_string()).into_owned();
    Ok(Page::new("/names", title, main).status(status).live("names grants").into())
}

/// `GET /thing?id=`: the page of a formula.
pub fn by_id(asked: &Asked) -> Result<Answer, Failure> {
    let text = asked.query("id").unwrap_or("");
    let id: FormulaId = text.parse().map_err(|_| {
        Failure::new(control::exit::Exit::NotFound, format!("`{}` is no identifier", visible_line(text)))
    })?;
    let view = take!(asked.look(Look::Formula { id })?, Formula);
    let main = html! {
        h1 {
            @match &view.called.name {
                Some(name) => (parts::name(name)),
                None => { (parts::word(&view.called.kind)) " " (id.short()) }
            }
        }
        section #thing aria-label="What it is" data-live {
            (what(&view.thing, text))
            (methods(asked, &view, view.called.name.as_deref())?)
            (around(asked, &view))
            (kept(asked, text))
        }
    };
    Ok(Page::new("/names", id.short(), main).live("names grants").into())
}

/// What it is, in words, with its value or its text.
fn what(thing: &Thing, why: &str) -> Markup {
    html! {
        dl.facts {
            dt { "Type" } dd { (parts::word(&thing.kind)) }
            dt { "What it is" } dd { (parts::line(&thing.words)) }
            @if let Some(id) = thing.id { dt { "Identifier" } dd { code { (id) } } }
            @match &thing.promise {
                Some(PromiseState::Pending) => { dt { "Promise" } dd { "nothing has come of it yet" } }
                Some(PromiseState::Fulfilled { .. }) => { dt { "Promise" } dd { "kept" } }
                Some(PromiseState::Rejected { reason }) => { dt { "Promise" } dd { "broken: " (parts::line(reason)) } }
                None => {}
            }
        }
        p { (link::why(why)) @if let Some(id) = thing.id { ", " a href={ "/graph?focus=" (id) } { "what it leads to" } } }
        @if let Some(found) = &thing.value {
            h2 { "Value" }
            (parts::whole("value", &Untrusted::new(value::argument(found))))
        }
        @if let Some(text) = &thing.text { h2 { "Text" } (parts::whole("text", text)) }
    }
}

/// What it can be asked to do, if anything.
fn methods(asked: &Asked, view: &FormulaView, path: Option<&str>) -> Result<Markup, Failure> {
    let found = Methods::of(asked, view)?;
    Ok(html! { @if let Some(found) = found { (found.table(path)) } })
}

/// What it refers to, what refers to it, and who holds it.
fn around(asked: &Asked, view: &FormulaView) -> Markup {
    let now = asked.site.backend.now_ms();
    html! {
        @if let Some(row) = &view.called.grant {
            p { "It is grant " (link::grant(row.grant.number)) " of " (called(&view.called)) "." }
        }
        h2 { "Who holds it " span.count { (view.grants.len()) } }
        @if view.grants.is_empty() { p.note { "You have granted it to nobody." } }
        @else { (grants::table(&view.grants, now)) }
        (references("What it refers to", &view.refers_to))
        (references("What refers to it", &view.referred_by))
        @if view.is_more { p.note { "and more" } }
    }
}

fn references(title: &str, all: &[Reference]) -> Markup {
    html! {
        h2 { (title) " " span.count { (all.len()) } }
        @if all.is_empty() { p.note { "Nothing." } }
        @else {
            ul {
                @for one in all {
                    li {
                        (parts::word(&one.label)) ": "
                        a href=(link::formula(&one.other.id)) {
                            @match &one.other.name {
                                Some(name) => (parts::name(name)),
                                None => { (parts::word(&one.other.kind)) " " (one.other.id.short()) }
                            }
                        }
                        " " (parts::line(&one.other.words))
                        @if let Some(row) = &one.other.grant { ", grant " (link::grant(row.grant.number)) }
                    }
                }
            }
        }
    }
}
