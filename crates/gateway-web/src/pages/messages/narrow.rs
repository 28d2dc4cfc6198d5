//! An extra step at a picker: the user makes a narrower version of an object, and the card continues with that
//! version.
//!
//! The form of this page carries the card's values along, so that the card returns unchanged, with or without
//! scripts. The daemon computes and enforces the remaining authority.

use std::collections::BTreeSet;

use control::exit::{Exit, Failure};
use control::narrow::{Limit, Narrowable, Narrowing};
use control::protocol::{AgentAct, Look};
use control::view::{MessageView, PickRow};
use kernel::message::Body;
use kernel::{FormulaId, NamePath};
use maud::{Markup, html};
use passable::Untrusted;

use super::field_spec::{FieldSpec, no_picker};
use super::{definition, form, message_page, refusals, request, worker_preview};
use crate::answer::{Answer, Page};
use crate::field::id;
use crate::field::pick::{NARROW, Picker};
use crate::page::{digest_field, parts};
use crate::page_request::{BACK, PageRequest, take};

const DO: &str = "_n-do";
const OF: &str = "_n-of";
const SHOWN: &str = "_n-shown";
const METHOD: &str = "_n-method";
const NAMED: &str = "_n-named";
const PRIVATE: &str = "_n-private";
const LASTS: &str = "_n-lasts";
const TO: &str = "_n-to";
const FORCE: &str = "_n-force";

/// The limits that the user types. Each has a field name, a label and a hint.
const WRITTEN: [(Limit, &str, &str, &str); 4] = [
    (Limit::Suffixes, "_n-suffixes", "Only files whose names end so", "as in .pdf .md; empty: all"),
    (
        Limit::Max,
        "_n-max",
        "The most that one file, message or answer may have",
        "as in 10MiB; empty: as now",
    ),
    (Limit::Total, "_n-total", "The most that all of it may come to", "as in 1GiB; empty: as now"),
    (Limit::Rate, "_n-rate", "How often it may be used", "as in 10/min; empty: as often as now"),
];

fn field_spec(asked: &PageRequest, view: &MessageView, place: &str) -> Result<FieldSpec, Failure> {
    match view.letter.body() {
        Some(Body::Form { .. }) => form::field_spec(asked, view, place),
        Some(Body::Definition { .. }) => definition::field_spec(asked, view, place),
        Some(Body::Request { .. }) => request::field_spec(asked, place),
        Some(Body::Approval { .. }) => worker_preview::field_spec(asked, view, place),
        _ => Err(no_picker()),
    }
}

/// Returns the card again, with its typed values, and with the new object picked.
fn back(
    asked: &PageRequest,
    view: &MessageView,
    (place, hole): (&str, FieldSpec),
    made: Option<(&PickRow, bool)>,
) -> Result<Answer, Failure> {
    let mut body = hole.filled;
    if let Some((row, true)) = made {
        body.retain(|(name, _)| name != place);
        body.push((place.to_owned(), row.id.to_string()));
    }
    body.extend(asked.back().map(|back| (BACK.to_owned(), back)));
    let asked = PageRequest { body, ..asked.clone() };
    let card = match view.letter.body() {
        Some(Body::Form { .. }) => form::redrawn(&asked, view, place)?,
        Some(Body::Definition { .. }) => definition::redrawn(&asked, view, place)?,
        Some(Body::Approval { .. }) => worker_preview::redrawn(&asked, view, place)?,
        _ => request::redrawn(&asked, view)?,
    };
    let said = made.map(|(row, fits)| {
        html! {
            p.note role="status" {
                (parts::word(&row.path)) " is made"
                @if fits { ", and picked below. Nothing was sent yet." } @else { ". It does not fit here any more." }
            }
        }
    });
    Ok(message_page::with_card(&asked, view, &card, said, 200))
}

/// Answers `POST /m/NUMBER` while the user makes a narrower object for one of the card's pickers.
///
/// # Errors
/// When the picker does not exist, or the daemon does not answer.
pub fn step(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    let place = asked.field(NARROW).unwrap_or_default();
    let hole = field_spec(asked, view, place)?;
    if asked.field(DO) == Some("back") {
        return back(asked, view, (place, hole), None);
    }
    let picks = take!(asked.look(Look::Picks)?, Picks);
    let said = asked.field(OF).or_else(|| asked.field(place)).unwrap_or_default();
    let chosen: Option<FormulaId> = said.parse().ok();
    let row = picks.iter().find(|row| Some(row.id) == chosen && hole.takes(row));
    let mut at = NarrowStep { asked, view, place, hole: &hole, picks: &picks, row, thing: None, left: None };
    let Some(row) = row else {
        // The object had a name when it was chosen, but has none now.
        let gone = asked.filled(OF).map(|_| refusals::gone());
        return Ok(at.page(gone.as_ref(), if gone.is_some() { 409 } else { 200 }));
    };
    let path = path(&row.path)?;
    let narrowable = |by: Option<Narrowing>| {
        let look = Look::Narrowable { path: path.clone(), by: by.map(Box::new) };
        Ok::<_, Failure>(*take!(asked.look(look)?, Narrowable))
    };
    at.thing = match narrowable(None) {
        Ok(thing) => Some(thing),
        Err(failure) => return Ok(at.page(Some(&failure), 422)),
    };
    if !at.is_shown() {
        return Ok(at.page(None, 200));
    }
    let by = at.narrowing();
    let left = match narrowable(Some(by.clone())) {
        Ok(thing) => thing.left.unwrap_or_else(|| Untrusted::new("")),
        Err(failure) => return Ok(at.page(Some(&failure), 422)),
    };
    let digest = digest_field::digest(&(row.id, &by, left.raw()))?;
    at.left = Some((left, digest.clone()));
    if asked.field(DO) != Some("make") {
        return Ok(at.page(None, 200));
    }
    if asked.field("_seen") != Some(digest.as_str()) {
        return Ok(at.stale());
    }
    let made = new_name(asked).and_then(|to| {
        let text = in_words(&row.path, &to, &by);
        let force = asked.field(FORCE) == Some("yes");
        let act = AgentAct::Narrow { path, is: Some(row.id), by: Box::new(by), to: to.clone(), force };
        asked.act("narrow", text, act)?;
        Ok(to.to_string())
    });
    let to = match made {
        Ok(to) => to,
        Err(failure) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            return Ok(at.page(Some(&failure), status));
        }
    };
    let picks = take!(asked.look(Look::Picks)?, Picks);
    let row = picks.iter().find(|row| row.path == to);
    let made = row.map(|row| (row, hole.takes(row)));
    back(asked, view, (place, hole), made)
}

fn path(text: &str) -> Result<NamePath, Failure> {
    NamePath::parse(text).map_err(|error| Failure::from_error(Exit::Invalid, error))
}

fn new_name(asked: &PageRequest) -> Result<NamePath, Failure> {
    let Some(name) = asked.filled(TO) else {
        return Err(Failure::new(Exit::Invalid, "it has no name yet").help("write the name that you give it"));
    };
    path(name).map_err(|failure| failure.help("a name has no `@`; a path has `/` between names"))
}

/// Returns the equivalent command line, for the transcript.
fn in_words(of: &str, to: &NamePath, by: &Narrowing) -> String {
    let mut text = format!("narrow {of} {to}");
    if let Some(methods) = &by.methods {
        text += &format!(" --methods {}", methods.iter().map(String::as_str).collect::<Vec<_>>().join(","));
    }
    for (option, said) in [
        ("suffix", &by.suffixes),
        ("max", &by.max),
        ("total", &by.total),
        ("rate", &by.rate),
        ("lasts", &by.lasts),
    ] {
        if !said.is_empty() {
            text += &format!(" --{option} {said:?}");
        }
    }
    if by.private { text + " --private" } else { text }
}

/// The state of the step.
struct NarrowStep<'a> {
    asked: &'a PageRequest,
    view: &'a MessageView,
    place: &'a str,
    hole: &'a FieldSpec,
    picks: &'a [PickRow],
    row: Option<&'a PickRow>,
    thing: Option<Narrowable>,
    /// The remaining authority, and the digest to which the button is bound.
    left: Option<(Untrusted, String)>,
}

impl NarrowStep<'_> {
    /// Returns whether the sent values were typed for the object that is chosen now.
    fn is_shown(&self) -> bool {
        self.row.is_some_and(|row| self.asked.field(SHOWN) == Some(row.id.to_string().as_str()))
    }

    fn text(&self, name: &str) -> &str {
        if self.is_shown() || name == TO { self.asked.field(name).unwrap_or("").trim() } else { "" }
    }

    /// Returns the methods that the user has kept, among those that are shown.
    fn kept(&self) -> BTreeSet<String> {
        let kept = self.asked.body.iter().filter(|(name, _)| name == METHOD);
        kept.map(|(_, method)| method.clone()).collect()
    }

    fn narrowing(&self) -> Narrowing {
        let all = self.thing.as_ref().map_or(&[][..], |thing| &thing.methods);
        let named = self.text(NAMED).split([' ', ',', '\n', '\r']).filter(|name| !name.is_empty());
        let methods: BTreeSet<String> = self.kept().into_iter().chain(named.map(str::to_owned)).collect();
        // If the methods of the object are unknown and none is named, all methods are kept.
        let methods = Some(methods).filter(|methods| !(all.is_empty() && methods.is_empty()));
        let text = |name: &str| self.text(name).to_owned();
        Narrowing {
            methods,
            suffixes: text("_n-suffixes"),
            max: text("_n-max"),
            total: text("_n-total"),
            rate: text("_n-rate"),
            lasts: text(LASTS),
            private: self.text(PRIVATE) == "yes",
        }
    }

    fn stale(&self) -> Answer {
        self.answer(Some(refusals::stale()), 409)
    }

    fn page(&self, wrong: Option<&Failure>, status: u16) -> Answer {
        self.answer(wrong.map(parts::failure_below), status)
    }

    fn answer(&self, wrong: Option<Markup>, status: u16) -> Answer {
        let number = self.view.letter.number;
        let main = html! {
            article #narrow {
                h1 { "Make a narrower one" }
                p.note {
                    "Of something that you have you make one that can do less, for " (parts::line(&Untrusted::new(self.hole.said.as_str())))
                    ". What you have filled in stays; only a secret is to be typed again."
                }
                @if let Some(wrong) = wrong { (wrong) }
                form.card method="post" action={ "/m/" (number) } data-weighty novalidate {
                    (parts::token(&self.asked.session))
                    (parts::back(self.asked))
                    button.default type="submit" name=(DO) value="look" tabindex="-1" aria-hidden="true" { "Look" }
                    input type="hidden" name=(NARROW) value=(self.place);
                    @for (name, text) in &self.hole.filled { (hidden(name, text)) }
                    (self.which())
                    @if let (Some(row), Some(thing)) = (self.row, &self.thing) {
                        input type="hidden" name=(SHOWN) value=(row.id);
                        (self.methods(thing))
                        (self.limits(thing))
                        (self.name())
                    } @else {
                        (hidden(TO, self.text(TO)))
                    }
                    div.buttons {
                        button name=(DO) value="look" {
                            @if self.thing.is_some() { "Show what it would allow" } @else { "Narrow this one" }
                        }
                        button.plain name=(DO) value="back" formnovalidate { "Go back without making one" }
                    }
                    @if let Some((left, digest)) = &self.left { (granted(left, digest)) }
                }
            }
        };
        Page::new("/", format!("Message {number}: make a narrower one"), main).status(status).into()
    }

    fn which(&self) -> Markup {
        let offered: Vec<PickRow> = self.picks.iter().filter(|row| self.hole.takes(row)).cloned().collect();
        let own = id(OF);
        let chosen = self.row.map(|row| row.id.to_string());
        let picker = Picker {
            place: OF,
            called: "Of which",
            label: self.hole.label.as_deref(),
            pending: false,
            data: self.hole.data,
            picks: &offered,
            typed: chosen.as_deref(),
            wrong: false,
            fresh: false,
            narrows: None,
        };
        html! {
            label for=(own) { "Of which" }
            p.note id={ (own) "-wants" } { "It stays as it is." }
            p.error id={ (own) "-error" } {}
            (picker.draw())
        }
    }

    fn methods(&self, thing: &Narrowable) -> Markup {
        let kept = self.kept();
        html! {
            fieldset {
                legend { "What stays of what it can do" }
                @for method in &thing.methods {
                    label.beside {
                        input type="checkbox" name=(METHOD) value=(method.name)
                            checked[!self.is_shown() || kept.contains(&method.name)];
                        " " (parts::word(&method.name)) @if !method.effect.is_empty() { " (" (method.effect) ")" }
                    }
                }
                @if thing.any_method {
                    label for="named" {
                        @if thing.methods.is_empty() { "The names of the methods that stay, one on each line; all, if none is written" }
                        @else { "The names of other methods that stay, one on each line" }
                    }
                    p.note id="named-wants" { "Only its code knows which it has: a name that it has not lets nobody do anything." }
                    textarea #named aria-describedby="named-wants" name=(NAMED) rows="3" spellcheck="false" { "\n" (self.text(NAMED)) }
                }
            }
        }
    }

    fn limits(&self, thing: &Narrowable) -> Markup {
        let written = WRITTEN.iter().filter(|(limit, ..)| thing.limits.contains(limit));
        html! {
            @for (_, name, label, how) in written { (self.line(name, label, how)) }
            (self.line(LASTS, "How long it lasts", "as in 30m, 8h or 7d; empty: as long as what it is made of"))
            @if thing.limits.contains(&Limit::Private) {
                label.beside {
                    input type="checkbox" name=(PRIVATE) value="yes" checked[self.text(PRIVATE) == "yes"];
                    " What is read through it is private"
                }
            }
        }
    }

    fn line(&self, name: &str, label: &str, how: &str) -> Markup {
        let own = id(name);
        html! {
            label for=(own) { (label) }
            p.note id={ (own) "-wants" } { (how) }
            input id=(own) name=(name) autocomplete="off" spellcheck="false" value=(self.text(name))
                aria-describedby={ (own) "-wants" };
        }
    }

    fn name(&self) -> Markup {
        let insist = self.asked.field(DO) == Some("make");
        html! {
            label for="narrow-to" { "Your name for it" }
            input #narrow-to name=(TO) autocomplete="off" spellcheck="false" value=(self.text(TO));
            @if insist {
                label.beside {
                    input type="checkbox" name=(FORCE) value="yes"; " Even if it looks like another name here"
                }
            }
        }
    }
}

/// Returns a hidden field. A text with several lines survives only in a hidden text area.
fn hidden(name: &str, text: &str) -> Markup {
    html! {
        @if text.contains(['\n', '\r']) {
            textarea name=(name) hidden { "\n" (text) }
        } @else {
            input type="hidden" name=(name) value=(text);
        }
    }
}

fn granted(left: &Untrusted, digest: &str) -> Markup {
    html! {
        section.entry #granted aria-labelledby="granted-title" {
            input type="hidden" name="_seen" value=(digest);
            h2 #granted-title tabindex="-1" { "What it would allow" }
            p { (parts::word(left.raw())) }
            div.buttons { button.yes name=(DO) value="make" { "Make it, and go back" } }
        }
    }
}
