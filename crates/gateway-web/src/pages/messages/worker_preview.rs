//! The part of an approval card for a worker that a run wants to make: its digest, and the content of each slot. The
//! user can fill slots, or replace the model's text. Before an approval, the card shows all resulting grants.

use std::collections::BTreeMap;

use control::exit::{Exit, Failure};
use control::powers::{ApprovalExtras, ExtrasPreview, SlotFill};
use control::protocol::{Look, Request};
use control::show::card::{Card, CardEntry, MadeSlot, WorkerPreview};
use control::view::{MessageView, PickRow};
use kernel::message::Body;
use kernel::{FormulaId, MessageNumber, NamePath};
use maud::{Markup, html};
use passable::{Untrusted, visible, visible_line};

use super::field_spec::{self, FieldSpec};
use super::{definition, refusals, step_up};
use crate::field::pick::Picker;
use crate::page::{digest_field, link, parts};
use crate::page_request::{BACK, PageRequest, take, typed};
use crate::pages::approval;

/// The name of the field with the digest of the preview. An approval is bound to this digest.
pub const GRANTED: &str = "_granted";

/// The name of the field with the place of the object that was just picked.
const FRESH: &str = "_fresh";

/// The names of the fields for a worker that an entry makes.
#[derive(Clone, Copy)]
struct WorkerFields {
    message: MessageNumber,
    entry: usize,
}

impl WorkerFields {
    /// Returns the prefix of the pickers for the worker's slots.
    fn picks(self) -> String {
        format!("p{}-{}-", self.message, self.entry)
    }

    /// Returns the prefix of the text fields for the worker's slots.
    fn fills(self) -> String {
        format!("fill-{}-{}-", self.message, self.entry)
    }

    /// Returns the name of the field for the worker's text.
    fn text(self) -> String {
        format!("edited-{}-{}", self.message, self.entry)
    }
}

/// The user's choices for the worker that an entry makes.
#[derive(Default)]
struct WorkerChoices {
    /// The picked objects, by slot.
    picked: BTreeMap<String, PickRow>,
    /// The typed bindings, by slot.
    typed: BTreeMap<String, String>,
    /// The worker's text, if the user has changed it.
    edited: Option<String>,
}

impl WorkerChoices {
    /// Returns the choices that a form has sent.
    fn sent(asked: &PageRequest, fields: WorkerFields, entry: &CardEntry) -> Result<WorkerChoices, Failure> {
        let (picks, fills) = (fields.picks(), fields.fills());
        let filled = |prefix: &str| -> BTreeMap<String, String> {
            let pairs = asked.body.iter().map(|(name, text)| (name.strip_prefix(prefix), text.trim()));
            let pairs = pairs.filter(|(_, text)| !text.is_empty());
            pairs.filter_map(|(slot, text)| Some((slot?.to_owned(), text.to_owned()))).collect()
        };
        let mut picked = BTreeMap::new();
        let ids = filled(&picks);
        if !ids.is_empty() {
            let rows = take!(asked.look(Look::Picks)?, Picks);
            for (slot, id) in ids {
                let id: Option<FormulaId> = id.parse().ok();
                let row = rows.iter().find(|row| Some(row.id) == id).ok_or_else(refusals::gone)?;
                picked.insert(slot, row.clone());
            }
        }
        let own = source(entry);
        let sent = asked.field(&fields.text()).map(str::to_owned);
        // The page shows invisible characters written out. A text in this form does not count as edited.
        let edited = sent.filter(|text| *text != visible(&own) && *text != own);
        Ok(WorkerChoices { picked, typed: filled(&fills), edited })
    }

    fn is_nothing(&self) -> bool {
        self.picked.is_empty() && self.typed.is_empty() && self.edited.is_none()
    }

    /// Returns the choices as a request, and as options of the command line.
    fn added(&self, asked: &PageRequest) -> Result<(ApprovalExtras, String), Failure> {
        let (mut added, mut words) = (ApprovalExtras::default(), String::new());
        for (slot, row) in &self.picked {
            let path = NamePath::parse(&row.path);
            let path = path.map_err(|error| Failure::from_error(Exit::Invalid, error))?;
            added.names.insert(slot.clone(), path);
            added.seen.insert(slot.clone(), row.id);
            words += &format!(" {}", typed(&format!("{slot}={}", row.path)));
        }
        for (slot, text) in &self.typed {
            let text = format!("{slot}={text}");
            added.endow.push(asked.site.backend.endowment(&text)?);
            words += &format!(" -e {}", typed(&text));
        }
        if self.edited.is_some() {
            words += " --edited -";
        }
        added.edited = self.edited.clone();
        Ok((added, words))
    }
}

/// Returns the text of the worker that an entry makes.
fn source(entry: &CardEntry) -> String {
    let found = entry.arguments.iter().find(|(name, _)| name == "source");
    // A browser replaces line ends with its own.
    found.map(|(_, text)| text.raw().replace("\r\n", "\n")).unwrap_or_default()
}

/// The grants of an approval in addition to those that the card shows.
pub struct ApprovalPreview {
    /// The previews of the workers to which something is added or must be added, by entry.
    all: Vec<(usize, ExtrasPreview)>,
    /// The additions to a worker, if there is exactly one such worker.
    pub added: ApprovalExtras,
    /// The additions as options of the command line.
    pub words: String,
    /// The digest to which an approval is bound.
    pub digest: String,
    /// Whether the user must confirm again if the session is old, because the grants are powerful.
    pub weighs: bool,
}

impl ApprovalPreview {
    /// Returns the preview for the workers that these entries of a card make. Returns `None` if nothing is added, and
    /// no slot is empty.
    ///
    /// # Errors
    /// When a choice is invalid, or its object is gone.
    pub fn of(
        asked: &PageRequest,
        card: &Card,
        entries: Option<&[usize]>,
    ) -> Result<Option<ApprovalPreview>, Failure> {
        let (mut all, mut all_added, mut weighs) = (Vec::new(), Vec::new(), false);
        for (at, entry) in card.entries.iter().enumerate() {
            let is_meant = entry.answer.is_none() && entries.is_none_or(|only| only.contains(&at));
            let Some(making) = entry.making.as_ref().filter(|_| is_meant) else { continue };
            let fields = WorkerFields { message: card.number, entry: at };
            let chosen = WorkerChoices::sent(asked, fields, entry)?;
            if chosen.is_nothing() && making.slots.iter().all(|slot| slot.from.is_some()) {
                continue;
            }
            let (added, words) = chosen.added(asked)?;
            let request =
                Request::PreviewExtras { message: card.number, entry: at, added: Box::new(added.clone()) };
            all.push((at, *take!(asked.ask(request)?, ExtrasPreview)));
            weighs |= chosen.typed.values().any(|text| step_up::written(text));
            let rows: Vec<PickRow> = chosen.picked.into_values().collect();
            weighs |= step_up::holds(&rows.iter().map(|row| row.id).collect::<Vec<_>>(), &rows);
            all_added.push((added, words));
        }
        if all.is_empty() {
            return Ok(None);
        }
        let digest = digest_field::digest(&(card.number, entries, &all, &all_added))?;
        // The daemon rejects additions for several workers at once.
        let (added, words) = all_added.into_iter().next().unwrap_or_default();
        Ok(Some(ApprovalPreview { all, added, words, digest, weighs }))
    }

    /// Returns the preview of the worker that an entry makes.
    fn at(&self, entry: usize) -> Option<&ExtrasPreview> {
        self.all.iter().find(|(at, _)| *at == entry).map(|(_, adding)| adding)
    }

    /// Returns the reason why the card cannot be approved yet, if there is one.
    pub fn missing(&self) -> Option<Failure> {
        let missing: Vec<String> = self.all.iter().flat_map(|(_, one)| one.missing.iter().cloned()).collect();
        let named: Vec<String> = missing.iter().map(|slot| format!("`{}`", visible_line(slot))).collect();
        let slots = if missing.len() == 1 { "slot" } else { "slots" };
        let what = format!("nothing fills the {slots} {}", named.join(", "));
        (!missing.is_empty())
            .then(|| Failure::new(Exit::Invalid, what).help("choose something for each, or deny it"))
    }

    /// Returns the preview of the grants, above the button that approves them.
    pub fn draw(&self, asked: &PageRequest) -> Markup {
        html! {
            section.entry #granted aria-labelledby="granted-title" {
                input type="hidden" name=(GRANTED) value=(self.digest);
                h2 #granted-title tabindex="-1" { "What you would grant" }
                @for (_, adding) in &self.all {
                    @if adding.grants.is_empty() { p { "Nothing of yours beside what its maker gives it." } }
                    ul {
                        @for (slot, granting) in &adding.grants {
                            li { "As " (parts::line(&Untrusted::new(slot.as_str()))) " it gets " (describe_grant(granting)) }
                        }
                    }
                    @if let Some(edited) = &adding.making.edited {
                        h3 { "How your text differs from what was proposed" }
                        (parts::difference("How your text differs", edited))
                    }
                }
                @if self.weighs { (step_up::field(asked, "To hand this over")) }
            }
        }
    }
}

/// Returns the content of a slot, in sentences.
fn describe_grant(one: &SlotFill) -> Markup {
    // The method names of code objects are chosen by the code, so they are foreign text.
    let is_of_code = one.methods.iter().any(|method| method.effect.is_empty());
    let methods = control::narrow::in_words(&one.methods, false);
    html! {
        @if let Some(name) = &one.name { "your " (parts::word(name)) ": " }
        (parts::line(&one.words)) "."
        @if one.is_new { " It is not there yet, and is made." }
        @if !methods.is_empty() {
            " It can do: "
            @if is_of_code { (parts::line(&Untrusted::new(methods))) } @else { (parts::word(&methods)) } "."
        }
        @if !one.limits.is_empty() { " Only so far: " (parts::word(&one.limits.join("; "))) "." }
        @if !one.asked.is_empty() { " You are asked each time before " (parts::word(&one.asked.join(", "))) "." }
        @if let Some(number) = one.grant { " (" (link::grant(number)) ")" }
    }
}

/// Returns whether an open entry makes a worker with an empty slot. Such a slot must be filled before an approval,
/// and the grants must be previewed.
pub fn is_open(card: &Card) -> bool {
    let mut open = card.entries.iter().filter(|entry| entry.answer.is_none());
    open.any(|entry| {
        entry.making.as_ref().is_some_and(|making| making.slots.iter().any(|slot| slot.from.is_none()))
    })
}

/// Returns the part of the card for the worker that an entry makes.
pub fn draw(
    asked: &PageRequest,
    card: &Card,
    at: usize,
    (entry, making): (&CardEntry, &WorkerPreview),
    granted: Option<&ApprovalPreview>,
) -> Markup {
    let open = entry.answer.is_none();
    let fields = WorkerFields { message: card.number, entry: at };
    let adding = granted.and_then(|granted| granted.at(at));
    // A changed text may have other slots.
    let making = adding.map_or(making, |adding| &adding.making);
    let missing = adding.map_or(&[][..], |adding| &adding.missing);
    let picks = match open && making.slots.iter().any(|slot| slot.from.is_none()) {
        true => match asked.look(Look::Picks) {
            Ok(control::protocol::Response::Picks(picks)) => picks,
            _ => vec![],
        },
        false => vec![],
    };
    html! {
        p.note { "The digest of its text: " code { (making.digest.get(..16).unwrap_or_default()) } }
        @if let Some(edited) = making.edited.as_ref().filter(|_| !open) {
            h3 { "You have changed its text" }
            (parts::difference("How your text differs", edited))
        }
        h3 {
            @if !open { "What it gets" } @else if adding.is_some() { "What it would get" } @else { "What you would grant" }
        }
        @if making.slots.is_empty() { p { @if open { "Nothing: it has no slots." } @else { "It has no slots." } } }
        dl {
            @for slot in &making.slots {
                dt {
                    (parts::line(&Untrusted::new(slot.name.as_str()))) ", " (parts::word(&slot.wants))
                    @if let Some(label) = &slot.label { ": " (parts::line(label)) }
                }
                dd {
                    @match (&slot.filled, &slot.from) {
                        (Some(filled), _) => { "What you chose: " (describe_grant(filled)) }
                        (None, Some((own, given))) => {
                            "What its maker has as " (parts::line(&Untrusted::new(own.as_str()))) ": " (describe_grant(given))
                        }
                        (None, None) if open => (choice(asked, fields, slot, &picks, missing.contains(&slot.name))),
                        (None, None) => "Nothing.",
                    }
                }
            }
        }
        @if open { (text(asked, fields, entry)) }
    }
}

/// Returns a text area for changing the worker's text.
fn text(asked: &PageRequest, fields: WorkerFields, entry: &CardEntry) -> Markup {
    let (name, source) = (fields.text(), source(entry));
    let shown = visible(&source);
    let sent = asked.field(&name);
    html! {
        details open[sent.is_some_and(|text| text != shown)] {
            summary { "Edit it before you approve" }
            @if shown != source {
                p.warning {
                    "It has characters that cannot be seen; below each is written out. A text that you change has what "
                    "is written there instead of them."
                }
            }
            label for=(name) { "Its text; it is made as it stands here" }
            textarea.code #(name) name=(name) rows="16" spellcheck="false" { "\n" (sent.unwrap_or(&shown)) }
        }
    }
}

/// Returns the fields with which the user fills a slot.
fn choice(
    asked: &PageRequest,
    fields: WorkerFields,
    slot: &MadeSlot,
    picks: &[PickRow],
    is_missing: bool,
) -> Markup {
    let shown = visible_line(&slot.name);
    let place = format!("{}{}", fields.picks(), slot.name);
    let fill = format!("{}{}", fields.fills(), slot.name);
    let (pick, line) = (crate::field::id(&place), crate::field::id(&fill));
    let (called, narrows) = (format!("Your name for what fills {shown}"), format!("slot {shown}"));
    let picker = Picker {
        place: &place,
        called: &called,
        label: Some(&slot.wants),
        pending: false,
        data: false,
        picks,
        typed: asked.field(&place),
        wrong: is_missing,
        fresh: asked.field(FRESH) == Some(&place),
        narrows: Some(&narrows),
    };
    html! {
        p.note id={ (pick) "-wants" } { "Its maker has nothing for it: only you can fill it." }
        p.error id={ (pick) "-error" } role="status" {
            @if is_missing { "nothing fills this slot: choose something, or deny it" }
        }
        label for=(pick) { (called) }
        (picker.draw())
        label for=(line) { "Or something of this machine, as behind " code { "-e " (shown) "=" } }
        input id=(line) name=(fill) autocomplete="off" spellcheck="false" placeholder=(definition::example(Some(&slot.wants)))
            value=(asked.field(&fill).unwrap_or(""));
    }
}

/// Returns the field of the picker at a place of an approval, while a narrower object is made for it.
///
/// # Errors
/// When the place has no picker.
pub fn field_spec(asked: &PageRequest, view: &MessageView, place: &str) -> Result<FieldSpec, Failure> {
    let card = card(asked, view)?;
    for (at, entry) in card.entries.iter().enumerate() {
        let fields = WorkerFields { message: card.number, entry: at };
        let Some(slot) = place.strip_prefix(&fields.picks()) else { continue };
        let is_open = entry.answer.is_none();
        let Some(making) = entry.making.as_ref().filter(|_| is_open) else { continue };
        // A changed text may have slots that the card does not show.
        let granted = ApprovalPreview::of(asked, &card, Some(&[at])).ok().flatten();
        let adding = granted.as_ref().and_then(|granted| granted.at(at));
        let slots = adding.map_or(&making.slots, |adding| &adding.making.slots);
        if let Some(slot) = slots.iter().find(|own| own.name == slot && own.from.is_none()) {
            let mut filled = field_spec::carried(&asked.body, |_| true);
            filled.extend(asked.field(BACK).map(|back| (BACK.to_owned(), back.to_owned())));
            let (label, said) = (Some(slot.wants.clone()), format!("slot {}", visible_line(&slot.name)));
            return Ok(FieldSpec { label, data: false, said, filled });
        }
    }
    Err(field_spec::no_picker())
}

fn card(asked: &PageRequest, view: &MessageView) -> Result<Card, Failure> {
    match view.letter.body() {
        Some(Body::Approval { .. }) => {
            Ok(*take!(asked.ask(Request::Card { message: view.letter.number })?, Card))
        }
        _ => Err(field_spec::no_picker()),
    }
}

/// Returns the card with the typed values, and with an object that was just picked.
///
/// # Errors
/// When the daemon does not answer.
pub fn redrawn(asked: &PageRequest, view: &MessageView, place: &str) -> Result<Markup, Failure> {
    let mut asked = asked.clone();
    asked.body.push((FRESH.to_owned(), place.to_owned()));
    approval::card(&asked, &card(&asked, view)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_names_of_two_workers_never_collide() {
        let fields = |message, entry| WorkerFields { message: MessageNumber(message), entry };
        let all = [fields(1, 1), fields(1, 11), fields(11, 1), fields(11, 11)];
        for (at, one) in all.iter().enumerate() {
            for (_, other) in all.iter().enumerate().filter(|(other, _)| *other != at) {
                assert!(!format!("{}box", one.picks()).starts_with(&other.picks()));
                assert!(!format!("{}box", one.fills()).starts_with(&other.fills()));
                assert_ne!(one.text(), other.text());
            }
        }
    }
}
