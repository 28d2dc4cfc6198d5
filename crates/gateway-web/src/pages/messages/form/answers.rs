//! The answers to a form. If the form was answered elsewhere in the meantime, the user's typed values are also shown.

use control::inspect::FormulaSummary;
use control::messages::{MessageFilter, Order, PageBounds};
use control::protocol::{Look, Request, Response};
use control::view::{MessageView, PickRow, PromiseState};
use kernel::message::Body;
use kernel::query::MailboxEntry;
use kernel::{NamePath, Value};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::{Fields, FormField};
use crate::field::form_values::{FormValues, has_secret};
use crate::page::{link, parts};
use crate::page_request::PageRequest;

/// The maximum length of a value that is shown in one line.
const MAX_LINE_LEN: usize = 200;

/// Returns the answers, field by field. Sealed values are never shown. For a repeatable form, all answers are shown,
/// the oldest first.
pub fn answers_section(asked: &PageRequest, view: &MessageView, fields: &Fields) -> Markup {
    let all = answers(asked, view);
    if all.len() > 1 {
        return html! {
            section.entry aria-labelledby="answered-title" {
                h2 #answered-title { "What you answered, " (all.len()) " times" }
                ol.chain { @for (letter, value) in &all {
                    li {
                        p { (link::message(letter.number)) ", " (parts::when(letter.mail.envelope.sent_ms)) }
                        (answer(asked, fields, value))
                    }
                } }
            }
        };
    }
    let promise = view.letter.body().and_then(Body::asks).map(|(promise, _)| promise);
    let state = promise.and_then(|promise| asked.look(Look::Promise { promise, wait: false }).ok());
    let Some(Response::Promise(PromiseState::Fulfilled { value })) = state else { return html! {} };
    html! {
        section.entry aria-labelledby="answered-title" {
            h2 #answered-title { "What you answered" }
            (answer(asked, fields, &value))
        }
    }
}

/// Returns all answers to a form that may be filled in more than once.
fn answers(asked: &PageRequest, view: &MessageView) -> Vec<(MailboxEntry, Value)> {
    if !matches!(view.letter.body(), Some(Body::Form { repeatable: true, .. })) {
        return vec![];
    }
    let page = PageBounds::after(Some(view.letter.number));
    let filter = MessageFilter::Mailbox { open: false, order: Order::OldestFirst };
    let Ok(Response::Mailbox(later)) = asked.ask(Request::Messages { filter, page }) else { return vec![] };
    let own = view.letter.mail.envelope.id;
    let value = |letter: &MailboxEntry| {
        let is_value = matches!(letter.body(), Some(Body::Value { .. }));
        let is_answer = is_value && letter.mail.envelope.reply_to == Some(own);
        let path = ["@mail".to_owned(), letter.number.to_string(), "@value".to_owned()];
        let path = is_answer.then(|| NamePath::new(path).ok()).flatten()?;
        match asked.look(Look::Object { path }) {
            Ok(Response::Object(thing)) => thing.value,
            _ => None,
        }
    };
    later.into_iter().filter_map(|line| Some((line.letter.clone(), value(&line.letter)?))).collect()
}

/// Returns the fields of one answer.
fn answer(asked: &PageRequest, fields: &Fields, value: &Value) -> Markup {
    let Some(values) = value.as_record() else { return html! {} };
    html! {
        dl { @for one in &fields.all {
            @if let Some(value) = values.get(&one.field.name) {
                dt { (parts::line(&one.field.label)) }
                dd {
                    @if *value == Value::Undefined { "left out" }
                    @else if one.field.secret { "sealed" }
                    @else if has_secret(&one.control) { "not shown: it has a secret" }
                    @else { (shown(asked, fields, value)) }
                }
            }
        } }
    }
}

/// Returns one value, with the user's own names for its references.
fn shown(asked: &PageRequest, fields: &Fields, value: &Value) -> Markup {
    let ids: Vec<_> = value.references().into_iter().copied().collect();
    // A submitted object is a grant of the picked object.
    let called = match ids.is_empty() {
        true => vec![],
        false => match asked.look(Look::FormulaSummaries { ids }) {
            Ok(Response::FormulaSummaries(called)) => called,
            _ => vec![],
        },
    };
    let name = |one: &FormulaSummary| {
        let known = |row: &&PickRow| row.id == one.id || row.id == one.target;
        one.name.clone().or_else(|| fields.picks.iter().find(known).map(|row| row.path.clone()))
    };
    html! {
        @if value.as_reference().is_none() { (written(value)) }
        @for one in &called {
            p {
                a href=(link::formula(&one.target)) {
                    @match name(one) { Some(name) => (parts::word(&name)), None => (parts::line(&one.words)) }
                }
                @if let Some(grant) = &one.grant { ", as grant " (link::grant(grant.grant.number)) }
            }
        }
    }
}

/// Returns a value in a readable form. Text is shown as it is, and any other value in one line unless it is long.
fn written(value: &Value) -> Markup {
    let line = value.in_line();
    match value.as_str() {
        Some(text) => parts::block("What you answered", &Untrusted::new(text)),
        None if line.len() <= MAX_LINE_LEN => parts::line(&Untrusted::new(line)),
        None => parts::block("What you answered", &Untrusted::new(control::show::value::argument(value))),
    }
}

/// Returns the values that the user had typed before the form was answered elsewhere, so that they can be copied.
/// Secrets are left out.
pub fn kept(fields: &Fields, typed: &FormValues) -> Markup {
    let of = |one: &FormField| {
        let pairs = typed.pairs(&one.prefix);
        let is_text = |(name, text): &(String, String)| {
            !name.ends_with(":given") && !name.ends_with(":kind") && !text.trim().is_empty()
        };
        pairs.into_iter().filter(is_text).map(|(_, text)| said(fields, text)).collect::<Vec<_>>()
    };
    let all: Vec<(&FormField, Vec<String>)> = fields.all.iter().map(|one| (one, of(one))).collect();
    html! {
        @if all.iter().any(|(_, texts)| !texts.is_empty()) {
            section.entry aria-labelledby="typed-title" {
                h2 #typed-title { "What you had typed" }
                p.note { "It counts for nothing any more. It stands here so that you can copy it." }
                dl { @for (one, texts) in &all { @if !texts.is_empty() {
                    dt { (parts::line(&one.field.label)) }
                    @for text in texts { dd { (parts::foreign_text(&Untrusted::new(text.as_str()))) } }
                } } }
            }
        }
    }
}

/// Returns a typed text, with the name of an object in place of its identifier.
fn said(fields: &Fields, text: String) -> String {
    let row = fields.picks.iter().find(|row| row.id.to_string() == text);
    row.map_or(text, |row| visible_line(&row.path).into_owned())
}
