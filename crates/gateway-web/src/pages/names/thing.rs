//! The page of the object behind a name or an identifier.

use control::exit::Failure;
use control::inspect::{FormulaSummary, FormulaView, Reference};
use control::protocol::Look;
use control::show::reason::WhyTarget as Meant;
use control::show::value;
use control::view::{ObjectView, PromiseState};
use kernel::{FormulaId, NamePath, confusables};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::methods::Methods;
use super::{act, kept, way};
use crate::answer::{Answer, Page};
use crate::page::short_path::description;
use crate::page::{kinds, link, parts};
use crate::page_request::{PageRequest, take};
use crate::pages::grants;

/// Returns the page of the object that a name stands for.
pub fn named(
    asked: &PageRequest,
    path: &NamePath,
    thing: ObjectView,
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
            @if let Some(view) = &view { (numbered(&view.called)) }
            (describe(&thing, &path.to_string()))
            @if let Some(view) = &view { (methods(asked, view, Some(&path.to_string()))?) (relations(asked, view)) }
            (kept(asked, &path.to_string()))
        }
        (act::forms_of_name(asked, path))
    };
    let title = format!("Names: {}", visible_line(&path.to_string()));
    Ok(Page::new("/names", title, main).status(status).live("names grants").into())
}

/// Answers `GET /thing?id=`: shows the page of a formula.
pub fn by_id(asked: &PageRequest) -> Result<Answer, Failure> {
    let text = asked.query("id").unwrap_or("");
    let id: FormulaId = text.parse().map_err(|_| {
        Failure::new(control::exit::Exit::NotFound, "this address names nothing: it has no identifier")
    })?;
    let view = take!(asked.look(Look::Formula { id })?, Formula);
    let of_type = || format!("{} {}", kinds::object(&view.called.kind), id.short());
    let called =
        view.called.name.clone().unwrap_or_else(|| view.called.number_label().unwrap_or_else(of_type));
    let main = html! {
        h1 { (parts::name(&called)) }
        section #thing aria-label="What it is" data-live {
            (numbered(&view.called))
            (describe(&view.thing, text))
            (methods(asked, &view, view.called.name.as_deref())?)
            (relations(asked, &view))
            (kept(asked, text))
        }
    };
    Ok(Page::new("/names", confusables::display_name(&called), main).live("names grants").into())
}

/// Returns links to the object's own page as a message or a run.
fn numbered(called: &FormulaSummary) -> Markup {
    html! {
        @if let Some(number) = called.message { p { "It is " (link::message(number)) "." } }
        @if let Some(run) = called.run { p { "It is run " (parts::run(run)) "." } }
    }
}

/// Returns a description of the object, with its value or its text. `name` is the user's name for it.
pub fn describe(thing: &ObjectView, name: &str) -> Markup {
    // A name may look like the number of a run or message, and such numbers have precedence over names.
    let why = thing.id.map_or_else(|| name.to_owned(), |id| id.to_string());
    let taken_for = match name.parse() {
        Ok(Meant::Run(run)) => Some(format!("run {run}")),
        Ok(Meant::Step(step)) => Some(format!("step {step}")),
        Ok(Meant::Message(number)) => Some(format!("message {number}")),
        _ => None,
    };
    html! {
        @if let Some(other) = taken_for {
            p.warning { "Wherever you ask about something, as in “Why”, this name is read as " (other) ". Another name is better." }
        }
        dl.facts {
            dt { "Type" } dd { (parts::word(kinds::object(&thing.kind))) }
            dt { "What it is" } dd { (parts::word(thing.words.raw())) }
            @if let Some(id) = thing.id { dt { "Identifier" } dd { code { (id) } } }
            @match &thing.promise {
                Some(PromiseState::Pending) => { dt { "Promise" } dd { "nothing has come of it yet" } }
                Some(PromiseState::Fulfilled { .. }) => { dt { "Promise" } dd { "kept" } }
                Some(PromiseState::Rejected { reason }) => { dt { "Promise" } dd { "broken: " (parts::line(reason)) } }
                None => {}
            }
        }
        p { (link::why(&why)) @if let Some(id) = thing.id { ", " a href={ "/graph?focus=" (id) } { "what it leads to" } } }
        @if let Some(found) = &thing.value {
            h2 { "Value" }
            (parts::whole("value", &Untrusted::new(value::argument(found))))
        }
        @if let Some(text) = &thing.text { h2 { "Text" } (parts::whole("text", text)) }
    }
}

/// Returns a table of the object's methods, if it has any.
fn methods(asked: &PageRequest, view: &FormulaView, path: Option<&str>) -> Result<Markup, Failure> {
    let found = Methods::of(asked, view)?;
    Ok(html! { @if let Some(found) = found { (found.table(path)) } })
}

/// Returns the references of the object, the references to it, and its holders.
fn relations(asked: &PageRequest, view: &FormulaView) -> Markup {
    let now = asked.site.backend.now_ms();
    html! {
        (granted(view))
        h2 { "Who holds it " span.count { (view.grants.len()) } }
        @if view.grants.is_empty() { p.note { "You have granted it to nobody." } }
        @else { (grants::table(&view.grants, now)) }
        @let few = if asked.query("all").is_some() { usize::MAX } else { FEW };
        (references("What it refers to", &view.refers_to, false, few, &view.called.id))
        (references("What refers to it", &view.referred_by, view.is_more, few, &view.called.id))
    }
}

/// Returns the number and the target of a grant. For other objects, the markup is empty.
pub fn granted(view: &FormulaView) -> Markup {
    html! {
        @if let Some(row) = &view.called.grant {
            p {
                "It is grant " (link::grant(row.grant.number)) " of "
                a href=(link::formula(&row.grant.target)) {
                    @match &row.name { Some(name) => (parts::name(name)), None => (description(&view.called.words)) }
                }
                "."
            }
        }
    }
}

/// The number of references that are shown at first.
const FEW: usize = 20;

/// Returns the first of these references. `is_more` tells that more exist than are listed.
fn references(title: &str, all: &[Reference], is_more: bool, few: usize, of: &FormulaId) -> Markup {
    let more = if is_more { "more than " } else { "" };
    html! {
        h2 { (title) " " span.count { (more) (all.len()) } }
        @if all.is_empty() { p.note { "Nothing." } }
        @else { ul { @for one in all.iter().take(few) { li { (reference(one)) } } } }
        @if all.len() > few {
            p { a href={ (link::formula(of)) "&all=yes" } { "All that are told of: " (title) } }
        }
    }
}

fn reference(one: &Reference) -> Markup {
    let other = &one.other;
    html! {
        (parts::word(&one.label)) ": "
        @match (&other.name, other.message, other.run) {
            (None, Some(number), _) => (link::message(number)),
            (None, None, Some(run)) => { "run " (parts::run(run)) }
            _ => a href=(link::formula(&other.id)) {
                @match &other.name {
                    Some(name) => (parts::name(name)),
                    None => { (parts::word(kinds::object(&other.kind))) " " (other.id.short()) }
                }
            },
        }
        " " (description(&other.words))
        @if let Some(row) = &other.grant { ", grant " (link::grant(row.grant.number)) }
    }
}
