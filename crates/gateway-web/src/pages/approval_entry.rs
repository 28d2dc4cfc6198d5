//! One call on an approval card: its title, its arguments and its changes, and below them, folded, the sources of its
//! passages and the rules that asked.

use control::show::card::{Card, CardEntry, ChangedDependency};
use control::show::{call_words, danger, giver};
use kernel::message::Answer as Said;
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::approval;
use super::messages::approval_context;
use super::messages::worker_preview::{self, ApprovalPreview};
use crate::page::{link, parts};
use crate::page_request::PageRequest;

/// The place of a call: the card, and the index of the call on it.
pub struct CardPlace<'a> {
    /// The card.
    pub card: &'a Card,
    /// The index of the call.
    pub index: usize,
}

impl CardPlace<'_> {
    /// Returns whether the user ticks this call, because the answer need not cover it.
    fn has_tick(&self, entry: &CardEntry) -> bool {
        let open = self.card.entries.iter().filter(|entry| entry.answer.is_none()).count();
        !self.card.in_doubt && entry.answer.is_none() && (open > 1 || danger::is_careful(entry))
    }
}

/// Returns the call. If the card has several calls, those that were answered are folded.
pub fn draw(
    asked: &PageRequest,
    place: &CardPlace<'_>,
    entry: &CardEntry,
    granted: Option<&ApprovalPreview>,
) -> Markup {
    let (card, index) = (place.card, place.index);
    let body = |is_folded| body(asked, place, entry, is_folded, granted);
    let number = index.saturating_add(1);
    let id = format!("e-{}-{number}", card.number);
    let title = html! {
        @if card.entries.len() > 1 { span.number { (number) } " " }
        (parts::plain_sentence(&call_words::of_entry(entry)))
    };
    html! {
        section.entry.call aria-labelledby=(id) data-call[entry.answer.is_none()] {
            @match entry.answer.as_ref() {
                Some(answer) if card.entries.len() > 1 => details #{ (id) "-fold" } {
                    summary { h2 #(id) { (title) } span.answer { (answer_line(answer)) } }
                    (body(true))
                },
                Some(answer) => {
                    h2 #(id) { (title) }
                    (body(false))
                    p.answer { (answer_line(answer)) }
                }
                None => {
                    h2 #(id) {
                        @if place.has_tick(entry) {
                            label { input type="checkbox" name="entry" value=(index) checked[is_ticked(asked, index, entry)]; span { (title) } }
                        } @else { (title) }
                    }
                    (body(false))
                }
            }
        }
    }
}

/// Returns whether a call is ticked. Until the user has sent the form, a call that needs care is not ticked.
fn is_ticked(asked: &PageRequest, index: usize, entry: &CardEntry) -> bool {
    match asked.field("_seen").is_some() {
        true => approval::marked(asked).is_some_and(|marked| marked.contains(&index)),
        false => !danger::is_careful(entry),
    }
}

/// Returns the content of a call. In a folded one, no block must be unfolded first.
fn body(
    asked: &PageRequest,
    place: &CardPlace<'_>,
    entry: &CardEntry,
    is_folded: bool,
    granted: Option<&ApprovalPreview>,
) -> Markup {
    html! {
        (reached(entry))
        (content(asked, place, entry, &entry.arguments, is_folded, granted))
    }
}

/// Returns what a call would do, with these of its arguments, and the folded sources of the call.
pub fn content(
    asked: &PageRequest,
    place: &CardPlace<'_>,
    entry: &CardEntry,
    arguments: &[(String, Untrusted)],
    is_folded: bool,
    granted: Option<&ApprovalPreview>,
) -> Markup {
    html! {
        (self::arguments(arguments, is_folded))
        @if let Some(replaced) = &entry.replaces {
            p.note { "It replaces what is there now (" (parts::word(replaced)) ")." }
        }
        @if let Some(difference) = &entry.difference {
            @let title = entry.difference_of.as_deref().unwrap_or("what becomes of the file");
            p { (parts::word(title)) ":" }
            (parts::difference(&visible_line(title), difference))
        }
        @for one in &entry.changed { (changed(one)) }
        @if let Some(making) = &entry.making { (worker_preview::draw(asked, place.card, place.index, (entry, making), granted)) }
        (approval_context::state(entry))
        (sources(place, entry))
    }
}

/// Returns the effect of a call, its slot and method, and the object that it reaches.
pub fn reached(entry: &CardEntry) -> Markup {
    html! {
        p.note {
            (parts::plain_sentence(&entry.effect_quoting())) ": " code { (visible_line(&entry.slot)) "." (visible_line(&entry.method)) }
            " → " (parts::word(&entry.target))
        }
    }
}

/// Returns arguments, each beside its name.
pub fn arguments(all: &[(String, Untrusted)], is_folded: bool) -> Markup {
    html! {
        dl.arguments {
            @for (name, text) in all {
                @let label = format!("argument {}", visible_line(name));
                dt { (parts::word(name)) }
                dd { @if is_folded { (parts::whole(&label, text)) } @else { (parts::block(&label, text)) } }
            }
        }
    }
}

/// Returns the folded sources of a call: the giver of each argument, the places of its passages, and the rules that
/// asked.
pub fn sources(place: &CardPlace<'_>, entry: &CardEntry) -> Markup {
    html! {
        details.sources #{ "s-" (place.card.number) "-" (place.index) } {
            summary { (sources_title(entry)) }
            @if let Some(all) = giver::of_all(&entry.givers) { p { (all) } }
            ul.findings {
                @for (name, text) in &entry.arguments {
                    li {
                        (parts::word(name)) " (" (text.raw().len()) @if text.raw().len() == 1 { " byte)" } @else { " bytes)" }
                        @if let Some(giver) = giver::of_argument(&entry.givers, name) {
                            ", " (parts::plain_sentence(&giver::quoting(giver)))
                        }
                        @for (part, giver) in giver::of_parts(&entry.givers, name) {
                            ", " (parts::plain_sentence(&giver::of_part(part, giver)))
                        }
                    }
                }
                @for trace in &entry.traces {
                    li {
                        (parts::word(&trace.argument)) " “" (parts::line(&Untrusted::new(trace.text.as_str())))
                        "” came from " (parts::plain_sentence(&giver::source(trace)))
                        " (" (parts::word(&trace.how)) ")"
                    }
                }
                @for finding in &entry.findings { li { (parts::finding(finding)) } }
            }
            p { "Step " (link::step(entry.step)) ", " (link::why(entry.step)) }
        }
    }
}

/// Returns the title of the folded sources.
fn sources_title(entry: &CardEntry) -> String {
    match giver::passages(&entry.traces).count() {
        0 => "Why you are asked".to_owned(),
        1 => "1 passage comes from a document · why you are asked".to_owned(),
        many => format!("{many} passages come from documents · why you are asked"),
    }
}

fn changed(one: &ChangedDependency) -> Markup {
    let state = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "not there".to_owned());
    html! {
        p.warning {
            (parts::word(&one.what)) " has changed since you approved this: " (state(&one.was)) " then, "
            (state(&one.is)) " now"
        }
        @if let Some(lines) = &one.lines { (parts::difference("what has changed", lines)) }
    }
}

/// Returns an answer with its time, in one line.
pub fn answer_line(answer: &Said) -> Markup {
    html! {
        @match answer {
            Said::Approved { for_run, at_ms } => {
                "✓ approved" @if *for_run { " for this run" } ", " (parts::when(*at_ms))
            }
            Said::Denied { reason, at_ms } => { "✗ denied: " (parts::foreign_text(reason)) ", " (parts::when(*at_ms)) }
            Said::Happened { at_ms } => { "✓ it happened, said " (parts::when(*at_ms)) }
            Said::Repeat { at_ms } => { "✓ it did not happen: to be done, said " (parts::when(*at_ms)) }
            Said::Withdrawn { reason, at_ms } => {
                "✗ withdrawn: " (parts::foreign_text(reason)) ", " (parts::when(*at_ms))
            }
        }
    }
}
