//! A worker that a run wants to make, on the card that asks about it: its digest, what fills each of its slots, and what a
//! person can put in place of what the model wrote.

use control::endowment::Endowment;
use control::exit::Failure;
use control::show::card::{Card, CardEntry, Making};
use maud::{Markup, html};
use passable::{Untrusted, visible, visible_line};

use super::confirm;
use crate::asked::{Asked, typed};
use crate::page::parts;

/// What is added to the worker with a yes.
#[derive(Default)]
pub struct Added {
    /// What fills slots.
    pub endow: Vec<Endowment>,
    /// The text, if it was changed.
    pub edited: Option<String>,
    /// The same as it would be typed.
    pub words: String,
}

/// The field of what fills a slot of the worker that an entry makes.
fn fill(entry: usize, slot: &str) -> String {
    format!("fill-{entry}-{slot}")
}

/// The field of its text.
fn edited(entry: usize) -> String {
    format!("edited-{entry}")
}

/// The text of the worker that an entry makes.
fn source(entry: &CardEntry) -> String {
    let found = entry.arguments.iter().find(|(name, _)| name == "source");
    // A browser sends its own line ends, whatever they were.
    found.map(|(_, text)| text.raw().replace("\r\n", "\n")).unwrap_or_default()
}

/// What stands on the card.
pub fn draw(asked: &Asked, at: usize, entry: &CardEntry, making: &Making) -> Markup {
    let open = entry.answer.is_none();
    let source = source(entry);
    let shown = visible(&source);
    let is_hidden = shown != source;
    html! {
        p.note { "The digest of its text: " code { (making.digest.get(..16).unwrap_or_default()) } }
        h3 { "What it would get" }
        @if making.slots.is_empty() { p { "It has no slots." } }
        dl {
            @for slot in &making.slots {
                dt {
                    (parts::line(&Untrusted::new(slot.name.as_str()))) ", " (parts::word(&slot.wants))
                    @if let Some(label) = &slot.label { ": " (parts::line(label)) }
                }
                dd {
                    @match &slot.from {
                        Some((own, what)) => {
                            "what its maker has as " (parts::line(&Untrusted::new(own.as_str())))
                            @if !what.is_empty() { ": " (parts::word(what)) }
                        }
                        None if open => (field(asked, at, &slot.name)),
                        None => "nothing of its maker's",
                    }
                }
            }
        }
        @if making.slots.iter().any(|slot| slot.from.is_none()) && open {
            (confirm::field(asked, "If you fill a slot with a program, the network or a secret"))
        }
        @if open {
            @let name = edited(at);
            details open[asked.field(&name).is_some_and(|text| text != shown)] {
                summary { "Edit it before you approve" }
                @if is_hidden {
                    p.warning {
                        "It has characters that cannot be seen; below each is written out. A text that you change has what "
                        "is written there instead of them."
                    }
                }
                label for=(name) { "Its text; it is made as it stands here" }
                textarea.code #(name) name=(name) rows="16" spellcheck="false" {
                    "\n" (asked.field(&name).unwrap_or(&shown))
                }
            }
        }
    }
}

fn field(asked: &Asked, at: usize, slot: &str) -> Markup {
    let (name, shown) = (fill(at, slot), visible_line(slot));
    let id = crate::field::id(&name);
    html! {
        p.note { "Its maker has nothing for it: only you can fill it." }
        label for=(id) { "What fills " (shown) ", as behind " code { "-e " (shown) "=" } }
        input id=(id) name=(name) autocomplete="off" spellcheck="false" placeholder="/PATH:rw"
            value=(asked.field(&name).unwrap_or(""));
    }
}

/// What was added to the one worker that these entries of a card make.
///
/// # Errors
/// When it cannot be read, or weighs so much that a fresh word is wanted.
pub fn added(asked: &Asked, card: &Card, entries: Option<&[usize]>) -> Result<Added, Failure> {
    let mut added = Added::default();
    for (at, entry) in card.entries.iter().enumerate() {
        let is_meant = entry.answer.is_none() && entries.is_none_or(|only| only.contains(&at));
        let Some(making) = entry.making.as_ref().filter(|_| is_meant) else { continue };
        for slot in making.slots.iter().filter(|slot| slot.from.is_none()) {
            let Some(text) = asked.filled(&fill(at, &slot.name)) else { continue };
            confirm::check(asked, confirm::written(text))?;
            let text = format!("{}={text}", slot.name);
            added.endow.push(asked.site.backend.endowment(&text)?);
            added.words.push_str(&format!(" -e {}", typed(&text)));
        }
        let own = source(entry);
        let sent = asked.field(&edited(at)).map(str::to_owned);
        // What is shown written out was not changed by showing it.
        if let Some(text) = sent.filter(|text| *text != visible(&own) && *text != own) {
            added.words.push_str(" --edited -");
            added.edited = Some(text);
        }
    }
    Ok(added)
}
