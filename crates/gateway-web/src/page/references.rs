//! Capabilities, and values that contain them, shown with the user's own names.

use std::collections::BTreeMap;

use control::narrow;
use control::powers::Powers;
use control::protocol::{Look, Response};
use control::show;
use kernel::{FormulaId, Value};
use maud::{Markup, html};
use passable::Untrusted;

use super::link::called;
use super::parts;
use super::short_path::description;
use crate::page_request::PageRequest;

/// Returns a description of a capability: the user's name for it, its description, its methods and its limits.
pub fn powers(one: Option<&Powers>) -> Markup {
    let Some(one) = one else { return html! { "something that is gone" } };
    let line = |text: &str| parts::line(&Untrusted::new(text));
    // The method names of code objects are chosen by the code, so they are foreign text.
    let is_of_code = one.methods.iter().any(|method| method.effect.is_empty());
    let methods = narrow::in_words(&one.methods, one.others);
    html! {
        (called(&one.called))
        @if one.called.name.is_some() { ": " (description(&one.called.words)) }
        @if let Some(interface) = &one.interface { ", recorded as " (line(interface)) }
        "."
        @if !methods.is_empty() {
            " It can do: " @if is_of_code { (line(&methods)) } @else { (parts::word(&methods)) } "."
        }
        @if !one.limits.is_empty() { " Only so far: " (parts::word(&one.limits.join("; "))) "." }
        @if let Some(why) = &one.ended {
            " " strong.warning { "Nothing can be done with it: " (parts::line(why)) "." }
        }
    }
}

/// Returns a value as the user would write it, with the user's name for each capability.
pub fn value(asked: &PageRequest, label: &str, value: &Value) -> Markup {
    let ids: Vec<FormulaId> = value.references().into_iter().copied().collect();
    let known: BTreeMap<FormulaId, _> = match asked.look(Look::FormulaSummaries { ids }) {
        Ok(Response::FormulaSummaries(all)) => all.into_iter().map(|one| (one.id, one)).collect(),
        _ => BTreeMap::new(),
    };
    if let Some(one) = value.as_reference() {
        return html! {
            p {
                @match known.get(one) {
                    Some(one) => {
                        (called(one)) @if one.name.is_some() { ": " (description(&one.words)) }
                    }
                    None => "something that is gone",
                }
            }
        };
    }
    let named = |id: &FormulaId| match known.get(id) {
        Some(one) => {
            one.name.clone().unwrap_or_else(|| format!("{} {}", one.words.visible_line(), id.short()))
        }
        None => format!("gone {}", id.short()),
    };
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None => show::value::named(value, &named),
    };
    parts::whole(label, &Untrusted::new(text))
}
