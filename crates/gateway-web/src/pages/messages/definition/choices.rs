//! A user's choices for a proposed program.

use std::collections::BTreeMap;

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Document, Look, ModelChoice, SeenEndowment, StartSpec};
use control::show::message_view::short;
use control::view::{NameRow, PickRow, ProgramProposal, ProposedSlot};
use kernel::run::ResultGoesTo;
use kernel::{FormulaId, MessageNumber, NamePath, Pattern};
use maud::{Markup, html};
use passable::{Untrusted, Widget, visible_line};
use resource::Row;

use super::DefinitionCard;
use super::endowment_preview::EndowmentPreview;
use crate::field::check;
use crate::field::counters::{self, Counters};
use crate::field::draw::{FormRenderer, PlacedControl};
use crate::field::form_values::{FormValues, ROW};
use crate::field::pick::Picker;
use crate::page::parts;
use crate::page_request::{PageRequest, Pairs, take, typed};
use crate::pages::messages::field_spec::{self, FieldSpec};
use crate::pages::messages::refusals::gone;

/// The prefix of the fields for a worker's inputs.
const INPUT: &str = "in";

/// The destinations of a result, each with its word in the form and its description.
const GOES_TO: [(&str, ResultGoesTo, &str); 3] = [
    (
        "guest-data",
        ResultGoesTo::GuestData,
        "To you and to its sender, if it is data; you are asked before a capability in it goes there",
    ),
    (
        "guest-capabilities",
        ResultGoesTo::GuestCapabilities,
        "To you and to its sender, with capabilities in it as grants of yours",
    ),
    ("host", ResultGoesTo::Host, "To you alone"),
];

/// The name of the field with the object that the name for the result may replace.
const REPLACED: &str = "replaced";

/// The user's name for the result.
pub struct ResultName {
    /// The path of the name.
    pub path: NamePath,
    /// The object for which the name stands at present. Only this object may be replaced.
    pub replaces: Option<NameRow>,
}

/// Returns a description of the object that a name stands for.
fn describe_name(row: &NameRow) -> Markup {
    html! { (parts::line(&row.words)) @if let Some(id) = row.id { " (" (id.short()) ")" } }
}

/// Returns the object that a name stands for, if there is one.
fn named(asked: &PageRequest, path: &NamePath) -> Result<Option<NameRow>, Failure> {
    let (before, last) = path.split();
    let directory = match before {
        [] => None,
        before => Some(NamePath::new(before.iter().cloned()).map_err(|error| bad(&error))?),
    };
    let rows = take!(asked.look(Look::Names { path: directory })?, Names);
    Ok(rows.into_iter().find(|row| row.name == last))
}

fn bad(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Invalid, error.to_string())
}

/// The choices and the typed values.
#[derive(Clone, Default)]
pub struct DefinitionChoices {
    pairs: Pairs,
    typed: FormValues,
    /// Whether each field shows its error, or that its value is missing.
    shows_errors: bool,
    /// The object for which the name for the result stands at present.
    taken: Option<NameRow>,
}

impl DefinitionChoices {
    /// Returns the choices that a form has sent.
    pub fn sent(shown: &ProgramProposal, pairs: &Pairs) -> DefinitionChoices {
        let mut typed = FormValues::sent(pairs);
        if let Some((_, button)) = pairs.iter().find(|(name, _)| name == ROW) {
            typed.change_rows(button);
        }
        if let Some(pattern) = input(shown) {
            typed.forget_secrets(&pattern.controls(), INPUT);
        }
        DefinitionChoices { pairs: pairs.clone(), typed, shows_errors: false, taken: None }
    }

    /// Returns the choices, with an object that was just picked at a place.
    #[must_use]
    pub fn fresh(mut self, place: &str) -> DefinitionChoices {
        self.typed.freshen(place);
        self
    }

    /// Returns the same choices, with errors and missing values shown at each field.
    #[must_use]
    pub fn with_errors(mut self) -> DefinitionChoices {
        self.shows_errors = true;
        self
    }

    /// Returns the same choices, with the object that the name for the result stands for.
    #[must_use]
    pub fn with_name(mut self, asked: &PageRequest) -> DefinitionChoices {
        self.taken = self.result_path().ok().flatten().and_then(|path| named(asked, &path).ok().flatten());
        self
    }

    fn result_path(&self) -> Result<Option<NamePath>, Failure> {
        let name = Some(self.text("result")).filter(|name| !name.is_empty());
        let Some(path) = name.map(NamePath::parse).transpose().map_err(|error| bad(&error))? else {
            return Ok(None);
        };
        path.split_pet().map_err(|error| bad(&error))?;
        Ok(Some(path))
    }

    /// Returns the user's name for the result. It must be free, or stand for exactly the object that it may replace.
    pub fn result_name(&self, asked: &PageRequest) -> Result<Option<ResultName>, Failure> {
        let Some(path) = self.result_path()? else { return Ok(None) };
        let replaces = named(asked, &path)?;
        let id = replaces.as_ref().map(|row| row.id.map_or_else(String::new, |id| id.to_string()));
        match id {
            Some(id) if id.is_empty() || id != self.text(REPLACED) => {
                let message =
                    format!("`{}` is the name of something of yours", visible_line(&path.to_string()));
                Err(Failure::new(Exit::Invalid, message)
                    .help("choose another name for the result, or say below that it may replace what it is"))
            }
            _ => Ok(Some(ResultName { path, replaces })),
        }
    }

    /// Returns whether nothing was chosen or typed for a slot.
    fn is_empty(&self, at: usize) -> bool {
        self.text(&format!("s{at}")).is_empty() && self.text(&format!("t{at}")).is_empty()
    }

    /// Returns the field of the picker at a place, if there is one.
    pub fn field_spec(&self, shown: &ProgramProposal, place: &str) -> Option<FieldSpec> {
        let at = place.strip_prefix('s')?.parse::<usize>().ok()?;
        let slot = shown.slots.get(at).filter(|slot| own(shown.worker.is_some(), slot).is_none())?;
        Some(FieldSpec {
            label: slot.label.clone(),
            data: slot.data,
            said: format!("slot {}", visible_line(&slot.name)),
            filled: field_spec::carried(&self.pairs, |name| self.typed.text(name).is_some()),
        })
    }

    fn text(&self, name: &str) -> &str {
        self.typed.text(name).map_or("", str::trim)
    }

    /// Returns the form with the choices.
    pub fn draw(&self, all: &DefinitionCard) -> Markup {
        let shown = &all.proposed;
        html! {
            @for (at, slot) in shown.slots.iter().enumerate() { (self.slot(at, slot, all)) }
            @if shown.worker.is_some() { (self.for_worker(shown)) }
            fieldset {
                legend { "Where its result goes" }
                @let chosen = GOES_TO.iter().position(|(word, ..)| *word == self.text("to")).unwrap_or(0);
                // The result of the user's own proposal goes to the user alone.
                @if all.author.name.is_none() { p { "To you." } }
                @else { @for (at, (word, _, words)) in GOES_TO.iter().enumerate() {
                    label.choice { input type="radio" name="to" value=(word) checked[at == chosen]; span { (words) } }
                } }
                label for="result" { "Your name for it, if you want one" }
                input #result name="result" autocomplete="off" spellcheck="false" value=(self.text("result"))
                    aria-describedby=[self.taken.as_ref().map(|_| "result-taken")];
                @if let Some((row, id)) = self.taken.as_ref().and_then(|row| Some((row, row.id?.to_string()))) {
                    p.note #result-taken { "It is the name of " (describe_name(row)) "." }
                    label.beside {
                        input type="checkbox" name=(REPLACED) value=(id) checked[self.text(REPLACED) == id];
                        " It may replace that: the name stands for the result then"
                    }
                }
            }
        }
    }

    fn slot(&self, at: usize, slot: &ProposedSlot, all: &DefinitionCard) -> Markup {
        let is_worker = all.proposed.worker.is_some();
        let pick = format!("s{at}");
        let said = format!("slot {}", visible_line(&slot.name));
        // If there are several pickers, each label names its slot.
        let called = format!("One of your names for {}", visible_line(&slot.name));
        let is_missing = self.shows_errors && own(is_worker, slot).is_none() && self.is_empty(at);
        let unfit = self.shows_errors && self.chosen(at, slot, all).is_err();
        // If a capability is required by its interface, the picker tells how many other capabilities are not offered.
        let is_other = |row: &PickRow| !slot.data && !row.fits(slot.label.as_deref(), slot.pending);
        let picks: Vec<PickRow> =
            all.picks.iter().filter(|row| fits(slot, row) || is_other(row)).cloned().collect();
        let takes_capability = !slot.data || picks.iter().any(|row| !row.data && !row.pending);
        let picker = Picker {
            place: &pick,
            called: &called,
            label: slot.label.as_deref(),
            pending: slot.pending,
            data: slot.data,
            picks: &picks,
            typed: self.typed.text(&pick),
            wrong: is_missing || unfit,
            fresh: self.typed.is_fresh(&pick),
            narrows: takes_capability.then_some(said.as_str()),
        };
        html! {
            fieldset.slot {
                legend { "Slot " (parts::line(&Untrusted::new(slot.name.as_str()))) }
                @if !slot.words.raw().is_empty() && slot.words.raw() != slot.name { (said_of(all, &slot.words)) }
                @if let Some(words) = own(is_worker, slot) { p { (words) } }
                @else {
                    label for=(pick) { "One of your names for " (parts::line(&Untrusted::new(slot.name.as_str()))) }
                    p.note id={ (pick) "-wants" } { (wants(slot)) }
                    p.error id={ (pick) "-error" } role="status" {
                        @if is_missing { "nothing fills this slot: choose something, or send it back" }
                        @else if unfit { "this does not fit: choose something else" }
                    }
                    (picker.draw())
                    @if is_worker {
                        @let fill = format!("t{at}");
                        label for=(fill) { "Or something of this machine, as behind " code { "-e" } }
                        input id=(fill) name=(fill) autocomplete="off" spellcheck="false" value=(self.text(&fill))
                            placeholder=(example(slot.label.as_deref()));
                    }
                }
            }
        }
    }

    /// Returns the fields for a worker's inputs, documents and model.
    fn for_worker(&self, shown: &ProgramProposal) -> Markup {
        let mut tallies = Counters::new();
        let pattern = input(shown);
        let wrong: BTreeMap<String, String> = match &pattern {
            Some(pattern) if self.shows_errors => check::read(pattern, INPUT, &self.pairs, &[])
                .err()
                .map(|all| all.into_iter().map(|one| (one.place, one.why)).collect())
                .unwrap_or_default(),
            _ => BTreeMap::new(),
        };
        if let Some(pattern) = &pattern {
            counters::count(pattern, INPUT, &self.typed, &[], &mut tallies);
        }
        // A worker's inputs are data, so no object can be picked for them.
        let drawn =
            FormRenderer { typed: &self.typed, picks: &[], wrong: &wrong, tallies: &tallies, narrows: true };
        html! {
            @if let Some(pattern) = &pattern {
                @let control = pattern.controls();
                (drawn.draw(&PlacedControl {
                    control: &control, place: INPUT, title: html! { "Its inputs" }, said: "its inputs", help: None,
                    preset: false,
                }))
            }
            @if shown.documents > 0 {
                label for="documents" { "Documents: whole paths, one in a line, at most " (shown.documents) }
                textarea #documents name="documents" rows="2" spellcheck="false" { "\n" (self.text("documents")) }
            }
            label for="model" {
                "The model; yours, if nothing is written"
                @if let Some(model) = &shown.model { " (the file asks for " (parts::line(model)) ")" }
            }
            input #model name="model" autocomplete="off" spellcheck="false" value=(self.text("model"));
            label for="allow" { "Do not ask me about these methods, as " code { "slot.method" } ", one on each line" }
            textarea #allow name="allow" rows="2" spellcheck="false" { "\n" (self.text("allow")) }
        }
    }

    /// Returns the destination of the result.
    pub fn goes_to(&self) -> ResultGoesTo {
        let said = self.text("to");
        GOES_TO.iter().find(|(word, ..)| *word == said).unwrap_or(&GOES_TO[0]).1
    }

    /// Returns the object that is picked for a slot, if there is one.
    ///
    /// # Errors
    /// When the object does not fit the slot, or is no longer available.
    fn chosen<'a>(
        &self,
        at: usize,
        slot: &ProposedSlot,
        all: &'a DefinitionCard,
    ) -> Result<Option<&'a PickRow>, Failure> {
        let said = self.text(&format!("s{at}"));
        if said.is_empty() {
            return Ok(None);
        }
        let id: Option<FormulaId> = said.parse().ok();
        let row = all.picks.iter().find(|row| Some(row.id) == id).ok_or_else(gone)?;
        if fits(slot, row) {
            return Ok(Some(row));
        }
        let (name, path) = (visible_line(&slot.name), visible_line(&row.path));
        let message = format!("slot `{name}`: your `{path}` does not fit ({})", slot.wants.visible_line());
        Err(Failure::new(Exit::Invalid, message).help("choose one of your names that is offered there"))
    }

    /// Returns the slots for which a name was chosen, each with the object of the name.
    pub fn picked<'a>(&self, all: &'a DefinitionCard) -> Result<BTreeMap<String, &'a PickRow>, Failure> {
        let mut picked = BTreeMap::new();
        for (at, slot) in all.proposed.slots.iter().enumerate() {
            if let Some(row) = self.chosen(at, slot, all)? {
                picked.insert(slot.name.clone(), row);
            }
        }
        Ok(picked)
    }

    /// Returns the slots for which nothing was chosen or typed.
    pub fn missing(&self, shown: &ProgramProposal) -> Vec<String> {
        let empty = shown.slots.iter().enumerate().filter(|(at, _)| self.is_empty(*at));
        empty.map(|(_, slot)| format!("`{}`", visible_line(&slot.name))).collect()
    }

    /// Returns the typed bindings of slots, without the slot names.
    pub fn written<'a>(&'a self, shown: &'a ProgramProposal) -> impl Iterator<Item = &'a str> {
        (0..shown.slots.len()).map(|at| self.text(&format!("t{at}")))
    }

    /// Returns the typed bindings of slots, in the syntax of `-e`.
    fn fills(&self, shown: &ProgramProposal) -> Vec<String> {
        let typed = shown.slots.iter().enumerate().map(|(at, slot)| (slot, self.text(&format!("t{at}"))));
        typed
            .filter(|(_, text)| !text.is_empty())
            .map(|(slot, text)| format!("{}={text}", slot.name))
            .collect()
    }

    /// Returns the request to the daemon. Without a seen preview, it asks for a preview. With one, it endows exactly
    /// what the preview shows.
    pub fn act(
        &self,
        asked: &PageRequest,
        number: MessageNumber,
        all: &DefinitionCard,
        seen: Option<&EndowmentPreview>,
    ) -> Result<AgentAct, Failure> {
        let shown = &all.proposed;
        let picked = self.picked(all)?;
        let mut names = BTreeMap::new();
        for (slot, row) in &picked {
            names.insert(slot.clone(), NamePath::parse(&row.path).map_err(|error| bad(&error))?);
        }
        let values = match input(shown) {
            Some(pattern) => match check::read(&pattern, INPUT, &self.pairs, &[]) {
                Ok(value) => match value.to_json() {
                    serde_json::Value::Object(values) => values,
                    _ => serde_json::Map::new(),
                },
                Err(wrong) => {
                    let why: Vec<String> = wrong.into_iter().map(|one| one.why).collect();
                    return Err(bad(&format!("its inputs: {}", why.join("; "))));
                }
            },
            None => serde_json::Map::new(),
        };
        let lines = |name: &str| -> Vec<String> {
            let text = self.text(name).to_owned();
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        let documents = lines("documents");
        if let Some(relative) = documents.iter().find(|path| !path.starts_with('/')) {
            let what = format!("{relative}: the path does not begin at the root");
            return Err(Failure::new(Exit::Invalid, what).help("write it in full, beginning with `/`"));
        }
        let endow = self.fills(shown).into_iter().map(|fill| asked.site.backend.endowment(&fill));
        let spec = StartSpec {
            values,
            documents: documents.into_iter().map(Document::file).collect(),
            endow: endow.collect::<Result<_, Failure>>()?,
            allow: lines("allow"),
            model: ModelChoice::named(self.text("model")),
            dry_run: seen.is_none(),
            ..StartSpec::default()
        };
        let result = seen.and_then(|seen| seen.result.as_ref());
        let bound = SeenEndowment {
            done: all.done,
            names: picked.iter().map(|(slot, row)| (slot.clone(), row.id)).collect(),
            result: result.and_then(|name| name.replaces.as_ref()?.id),
            plan: seen.and_then(|seen| Some(seen.plan.as_ref()?.seal)),
        };
        Ok(AgentAct::Endow {
            number,
            names,
            spec: Box::new(spec),
            goes_to: self.goes_to(),
            result_name: result.map(|name| name.path.clone()),
            seen: Some(Box::new(bound)),
        })
    }

    /// Returns the equivalent command line, for the transcript.
    pub fn in_words(
        &self,
        asked: &PageRequest,
        number: MessageNumber,
        all: &DefinitionCard,
        seen: Option<&EndowmentPreview>,
    ) -> String {
        let mut words = vec!["endow".to_owned(), number.to_string()];
        for (slot, row) in self.picked(all).unwrap_or_default() {
            words.push(format!("{slot}={}", row.path));
        }
        for fill in self.fills(&all.proposed) {
            words.extend(["-e".to_owned(), fill]);
        }
        if let Ok(AgentAct::Endow { spec, goes_to, result_name, .. }) = self.act(asked, number, all, seen) {
            for (name, value) in &spec.values {
                words.push(match value.as_str() {
                    Some(text) => format!("{name}={text}"),
                    None => format!("{name}:={value}"),
                });
            }
            words.extend(spec.documents.iter().filter_map(|one| match one {
                Document::File { path, .. } => Some(path.clone()),
                _ => None,
            }));
            let to = match goes_to {
                ResultGoesTo::GuestData => None,
                ResultGoesTo::GuestCapabilities => Some("guest-caps"),
                ResultGoesTo::Host => Some("me"),
            };
            let model = match spec.model {
                ModelChoice::Named(name) | ModelChoice::Reference(name) => Some(name),
                ModelChoice::Usual => None,
            };
            let options = [
                ("--to", to.map(str::to_owned)),
                ("--result", result_name.map(|name| name.to_string())),
                ("-m", model),
            ];
            let options = options.into_iter().filter_map(|(option, value)| Some((option, value?)));
            let allow = spec.allow.iter().map(|method| ("--allow", method.clone()));
            words.extend(options.chain(allow).flat_map(|(option, value)| [option.to_owned(), value]));
        }
        let words: Vec<String> = words.iter().map(|word| typed(word)).collect();
        words.join(" ")
    }
}

/// Returns the pattern of a worker's inputs, if it has any.
fn input(shown: &ProgramProposal) -> Option<Pattern> {
    let pattern = Pattern::from_value(shown.input.as_ref()?).ok()?;
    match pattern.controls().widget {
        Widget::Group { fields, .. } if fields.is_empty() => None,
        Widget::Note { .. } => None,
        _ => Some(pattern),
    }
}

/// Returns the description of a slot that is filled without a choice, or `None` for any other slot.
fn own(is_worker: bool, slot: &ProposedSlot) -> Option<String> {
    let row = slot.label.as_deref().and_then(Row::of)?;
    (is_worker && !row.is_typed()).then(|| format!("It {}.", row.permission_phrase))
}

/// Returns whether an object fits a slot.
fn fits(slot: &ProposedSlot, row: &PickRow) -> bool {
    slot.fits.iter().any(|(id, _)| *id == row.id)
}

/// Returns the requirements of a slot, in words.
fn wants(slot: &ProposedSlot) -> Markup {
    html! {
        @match slot.label.as_deref() {
            None => { "Something that fits: " (parts::line(&slot.wants)) }
            Some("") => "Any capability",
            Some(label) if Row::of(label).is_none() => {
                "A capability with the interface " (parts::line(&Untrusted::new(label)))
            }
            Some(label) => { "A capability of the kind " (parts::line(&Untrusted::new(label))) }
        }
        @if slot.pending && slot.label.is_some() { ", or what is still to become one" }
    }
}

/// Returns the author's description of a slot. A long one is shortened and can be unfolded.
fn said_of(all: &DefinitionCard, words: &Untrusted) -> Markup {
    let (_, more) = short(words);
    html! {
        p { (all.author.speaker()) @if all.author.speaker() == "You" { " say: " } @else { " says: " } (parts::short(words)) }
        @if more > 0 { (parts::unfolded_first("All that it says", words.raw().len(), &parts::whole("All that it says", words))) }
    }
}

/// Returns an example of a binding for a slot with this label, in the syntax of the command line.
pub fn example(label: Option<&str>) -> String {
    label.and_then(Row::of).map_or_else(String::new, Row::example_from_root)
}
