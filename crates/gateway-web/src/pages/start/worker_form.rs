//! The form with which a run or a conversation begins: the worker, the model, the inputs and the endowments.

use std::collections::BTreeMap;

use control::exit::{Exit, Failure};
use control::protocol::{Document, Look, ModelChoice, Request, RunRequest, StartSpec, WorkerSource};
use control::talk::{ChatSetup, ChatSlot, WorkerUse};
use control::view::PickRow;
use kernel::Pattern;
use maud::{Markup, html};
use passable::{Untrusted, Widget, visible_line};
use resource::Endowment;

use super::folder_chooser::{self, FolderChooser, with_access};
use super::form_errors::{FormErrors, FormPlace, SLOT};
use super::worker_choice;
use crate::field::check::{self, FieldError};
use crate::field::counters::{self, Counters};
use crate::field::draw::{FormRenderer, PlacedControl};
use crate::field::form_values::{FormValues, ROW};
use crate::field::live_check;
use crate::field::summary::{self, SummaryPart};
use crate::page::parts;
use crate::page_request::{PageRequest, take, typed};
use crate::pages::attachments::{self, UploadedFile};
use crate::pages::messages::step_up;

/// The place of the worker's inputs in the form.
const INPUT: &str = "i";

/// The prefix of the field with the access to a directory, before the name of the slot.
const ACCESS: &str = "access-";

/// The state of the form.
#[derive(Default)]
pub(in crate::pages) struct WorkerForm {
    /// The use for which a worker is chosen.
    pub(in crate::pages) purpose: WorkerUse,
    /// The files that were uploaded.
    pub(in crate::pages) kept: Vec<UploadedFile>,
    /// The errors of the form.
    pub(in crate::pages) told: FormErrors,
    /// The requirements of the chosen worker.
    pub(in crate::pages) wanted: Option<ChatSetup>,
    /// The errors of the inputs, by place.
    inputs: BTreeMap<String, String>,
    /// The typed values, with added and removed rows.
    typed: FormValues,
    /// The chooser of directories, if it is open.
    chooser: Option<FolderChooser>,
}

impl WorkerForm {
    /// Returns the form as it was sent, with its uploaded files stored.
    pub(in crate::pages) fn sent(asked: &PageRequest, purpose: WorkerUse) -> (WorkerForm, PageRequest) {
        let (asked, chooser) = folder_chooser::after_choice(asked);
        let typed = FormValues::sent(&asked.body);
        let mut form = WorkerForm { purpose, typed, chooser, ..WorkerForm::default() };
        match attachments::upload_files(&asked) {
            Ok(kept) => form.kept = kept,
            Err(failure) => {
                form.kept = attachments::before(&asked);
                form.told = FormErrors::single(FormPlace::Documents, failure);
            }
        }
        (form, asked)
    }

    /// Returns whether the form was sent to begin now, and not to change or look at a part of it.
    pub(in crate::pages) fn begins_now(&self, asked: &PageRequest) -> bool {
        self.told.0.is_empty()
            && asked.field("do").is_none()
            && asked.field(ROW).is_none()
            && !folder_chooser::is_choosing(asked)
    }

    /// Finds out the requirements of the chosen worker, and changes the rows of its inputs as a button says.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub(in crate::pages) fn look_up(&mut self, asked: &PageRequest) -> Result<(), Failure> {
        let wanted = worker_choice::chosen(asked, self.purpose)
            .and_then(|with| asked.site.backend.wanted(&with, self.purpose));
        // Without a choice yet, a chooser for the worker's file is no error.
        let is_early = folder_chooser::is_choosing(asked) && !worker_choice::is_chosen(asked);
        self.wanted = if is_early { wanted.ok() } else { self.told.ok(FormPlace::Worker, wanted) };
        if let (Some(change), Some(wanted)) = (asked.field(ROW), &self.wanted) {
            self.typed.change_rows(change);
            if let Some(pattern) = input(wanted)? {
                let read = check::read(&pattern, INPUT, &self.typed.all(), &picks(asked)?);
                self.inputs = live_check::written_errors(&self.typed, read.err().into_iter().flatten());
            }
        }
        Ok(())
    }

    /// Returns the button that the Enter key presses. It only looks at the form.
    pub(in crate::pages) fn default_button() -> Markup {
        html! {
            button.default name="do" value="look" formnovalidate tabindex="-1" aria-hidden="true" { "Look at it" }
        }
    }

    /// Returns the fields for the choice of the worker.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub(in crate::pages) fn worker(&self, asked: &PageRequest) -> Result<Markup, Failure> {
        let wrong = self.told.at(&FormPlace::Worker);
        worker_choice::fields(asked, self.purpose, self.chooser.as_ref(), wrong)
    }

    /// Returns the field for the model, with a list of the models that can be asked.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub(in crate::pages) fn model(&self, asked: &PageRequest) -> Result<Markup, Failure> {
        let wrong = self.told.at(&FormPlace::Model);
        let known = match self.purpose {
            WorkerUse::Chat => vec![],
            WorkerUse::Run => take!(asked.ask(Request::Models)?, Models).can_ask,
        };
        let list = (!known.is_empty()).then_some("models");
        Ok(html! {
            label for="model" { "Model; empty for the one in your settings" }
            input #model name="model" list=[list] value=(asked.field("model").unwrap_or("")) autocomplete="off"
                spellcheck="false" aria-describedby="model-error" aria-invalid=[wrong.map(|_| "true")];
            @if list.is_some() {
                datalist #models { @for one in &known { option value=(one.model) { (visible_line(&one.origin)) } } }
            }
            (parts::wrong("model-error", wrong))
        })
    }

    /// Returns the documents of the form: the uploaded files, and a field for paths.
    pub(in crate::pages) fn documents(&self, asked: &PageRequest) -> Markup {
        html! {
            (attachments::fields(asked, &self.kept, self.told.at(&FormPlace::Documents)))
            p.buttons { (folder_chooser::button(folder_chooser::DOCUMENTS, "Find a document of this machine…")) }
            (FolderChooser::draw_for(self.chooser.as_ref(), folder_chooser::DOCUMENTS))
        }
    }

    /// Returns all errors, each with a link to its field.
    pub(in crate::pages) fn wrong(&self) -> Result<Markup, Failure> {
        let pattern =
            self.wanted.as_ref().filter(|_| !self.inputs.is_empty()).map(input).transpose()?.flatten();
        let control = pattern.map(|pattern| pattern.controls());
        let inputs = control.as_ref().map(|control| {
            let part = SummaryPart { title: html! { "Its inputs" }, control, prefix: INPUT };
            summary::listed(&[part], &self.typed, &self.inputs)
        });
        Ok(self.told.all(inputs.as_ref()))
    }

    /// Returns the requirements of the chosen worker: its inputs, and a field for each of its slots.
    ///
    /// # Errors
    /// When the pattern of the inputs is invalid, or the daemon does not answer.
    pub(in crate::pages) fn wants(&self, asked: &PageRequest) -> Result<Markup, Failure> {
        let Some(wanted) = &self.wanted else { return Ok(html! {}) };
        let inputs = self.inputs(asked, wanted)?;
        Ok(html! {
            fieldset #wants {
                legend { "What " (parts::word(&wanted.name)) " works with" }
                @if let Some(description) = &wanted.description { p { "Its file says: " (parts::line(description)) } }
                @if inputs.is_none() && wanted.slots.is_empty() { p.note {
                    @if self.purpose == WorkerUse::Chat { "It works with nothing but what you say." }
                    @else { "Its file names nothing that it needs, and it can reach nothing." }
                } }
                @for slot in &wanted.slots { (self.slot(asked, slot)) }
                @if let Some(inputs) = inputs { (inputs) }
                @else if self.purpose == WorkerUse::Run { (self.free_inputs(asked)) }
            }
        })
    }

    /// Returns the field for the inputs of a worker whose file describes none.
    fn free_inputs(&self, asked: &PageRequest) -> Markup {
        let wrong = self.told.at(&FormPlace::Inputs);
        html! {
            label for="inputs" { "Inputs, as " code { "NAME=TEXT" } " or " code { "NAME:=JSON" } ", one on each line" }
            textarea #inputs name="inputs" rows="2" spellcheck="false" aria-describedby="inputs-error"
                aria-invalid=[wrong.map(|_| "true")] { "\n" (asked.field("inputs").unwrap_or("")) }
            (parts::wrong("inputs-error", wrong))
        }
    }

    fn slot(&self, asked: &PageRequest, slot: &ChatSlot) -> Markup {
        let name = format!("{SLOT}{}", slot.name);
        let wrong = self.told.at(&FormPlace::Slot(slot.name.clone()));
        html! {
            @match &slot.example {
                None => p.note { "Slot " code { (visible_line(&slot.name)) } " (" (slot.kind) ") is filled by itself." },
                Some(example) => {
                    label for=(name) {
                        "Slot " code { (visible_line(&slot.name)) } " (" (slot.kind) ")"
                        @if let Some(words) = &slot.words { ": " (parts::line(words)) }
                        @if !slot.is_needed { ", if it does not lie beside the file" }
                    }
                    input #(name) name=(name) value=(asked.field(&name).unwrap_or("")) placeholder=(example)
                        autocomplete="off" spellcheck="false" aria-describedby={ (name) "-error" }
                        aria-invalid=[wrong.map(|_| "true")] data-fresh[folder_chooser::is_fresh(asked, &name)];
                    @if slot.is_directory {
                        div.beside {
                            (folder_chooser::button(&name, "Choose a folder…"))
                            @if slot.is_changed { (access(asked, slot)) }
                            @else if slot.kind == "dir" { span.note { "It may read the folder, and change nothing in it." } }
                        }
                        (FolderChooser::draw_for(self.chooser.as_ref(), &name))
                    }
                    (parts::wrong(&format!("{name}-error"), wrong))
                }
            }
        }
    }

    /// Returns the controls of the worker's inputs, if it has any.
    fn inputs(&self, asked: &PageRequest, wanted: &ChatSetup) -> Result<Option<Markup>, Failure> {
        let Some(pattern) = input(wanted)? else { return Ok(None) };
        let control = pattern.controls();
        let picks = picks(asked)?;
        let mut tallies = Counters::new();
        counters::count(&pattern, INPUT, &self.typed, &picks, &mut tallies);
        let wrong = &self.inputs;
        let drawn =
            FormRenderer { typed: &self.typed, picks: &picks, wrong, tallies: &tallies, narrows: false };
        let (title, said) = (html! { "Its inputs" }, "Its inputs");
        Ok(Some(drawn.draw(&PlacedControl {
            control: &control,
            place: INPUT,
            title,
            said,
            help: None,
            preset: false,
        })))
    }

    /// Returns fields for further slot bindings, one per line, as for `-e` and `--allow`.
    pub(in crate::pages) fn more(&self, asked: &PageRequest) -> Markup {
        let typed = |name: &str| asked.field(name).unwrap_or("");
        let wrong = self.told.at(&FormPlace::Slots);
        let is_open = ["fills", "allow"].iter().any(|name| !typed(name).is_empty()) || wrong.is_some();
        html! {
            details open[is_open] {
                summary { "What you hand it, in lines" }
                label for="fills" { "What fills its slots, as behind " code { "-e" } ", one on each line" }
                textarea #fills name="fills" rows="2" spellcheck="false" placeholder="out=/PATH:rw"
                    aria-describedby="fills-error" aria-invalid=[wrong.map(|_| "true")] { "\n" (typed("fills")) }
                (parts::wrong("fills-error", wrong))
                label for="allow" { "Do not ask me about these methods, as " code { "slot.method" } ", one on each line" }
                textarea #allow name="allow" rows="2" spellcheck="false" { "\n" (typed("allow")) }
            }
            (step_up::field(asked, "If you hand it a program, the network or a secret"))
        }
    }
}

/// Returns the pattern of a worker's inputs, if it has any.
fn input(wanted: &ChatSetup) -> Result<Option<Pattern>, Failure> {
    let pattern = Pattern::from_value(&wanted.input)
        .map_err(|error| Failure::from_error(Exit::Invalid, error).help("mend the worker file"))?;
    // A file that describes no inputs accepts any and ignores them.
    let has_fields = matches!(&pattern.controls().widget, Widget::Group { .. });
    Ok(has_fields.then_some(pattern))
}

/// Returns the choice of the access to a directory that the worker may change.
fn access(asked: &PageRequest, slot: &ChatSlot) -> Markup {
    let name = format!("{ACCESS}{}", slot.name);
    let typed = asked.field(&name).unwrap_or("rw");
    html! {
        label.beside for=(name) { "Access" }
        select #(name) name=(name) {
            option value="rw" selected[typed == "rw"] { "read and write; I am asked before each change" }
            option value="stage" selected[typed == "stage"] { "a copy; I apply its changes afterwards" }
        }
    }
}

fn picks(asked: &PageRequest) -> Result<Vec<PickRow>, Failure> {
    Ok(take!(asked.look(Look::Picks)?, Picks))
}

/// Returns the inputs of a worker whose file describes none, in the syntax of the command line.
fn free_values(asked: &PageRequest) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    let mut values = serde_json::Map::new();
    for line in lines(asked, "inputs") {
        let wrong = |what: &str| {
            Failure::new(Exit::Invalid, format!("cannot read `{}`: {what}", visible_line(line)))
                .help("write it like `name=Ada` or `count:=2`")
        };
        let (name, text) = line.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                (name, serde_json::from_str(text).map_err(|_| wrong("behind `:=` stands no JSON"))?)
            }
            None => (name, serde_json::Value::from(text)),
        };
        values.insert(name.trim().to_owned(), value);
    }
    Ok(values)
}

/// Returns the lines of a field, without blank ones.
fn lines<'a>(asked: &'a PageRequest, name: &str) -> impl Iterator<Item = &'a str> {
    let text = asked.field(name).unwrap_or("");
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Returns the slot bindings in the syntax of `-e`, each with its place in the form.
fn fills(asked: &PageRequest, wanted: &ChatSetup) -> Vec<(FormPlace, String)> {
    let own = wanted.slots.iter().filter_map(|slot| {
        let fill = asked.filled(&format!("{SLOT}{}", slot.name))?;
        Some((FormPlace::Slot(slot.name.clone()), format!("{}={fill}", slot.name)))
    });
    own.chain(lines(asked, "fills").map(|line| (FormPlace::Slots, line.to_owned()))).collect()
}

impl WorkerForm {
    /// Returns the request for a run with the model, the documents, the inputs and the endowments of the form. The
    /// caller adds its shape and its limits. If something is invalid, it records all errors at their places and
    /// returns `None`.
    ///
    /// # Errors
    /// When the pattern of the inputs is invalid, or the daemon does not answer.
    pub(in crate::pages) fn request(&mut self, asked: &PageRequest) -> Result<Option<RunRequest>, Failure> {
        let model = self.told.ok(FormPlace::Model, chosen_model(asked, self.purpose));
        let documents = self.told.ok(FormPlace::Documents, attachments::documents(asked, &self.kept));
        let Some(wanted) = self.wanted.clone() else { return Ok(None) };
        let values = self.values(asked, &wanted)?;
        let endow = self.endow(asked, &wanted);
        let (Some(model), Some(documents), Some(values)) = (model, documents, values) else {
            return Ok(None);
        };
        if !self.told.0.is_empty() {
            return Ok(None);
        }
        let spec = StartSpec {
            values,
            documents,
            endow,
            allow: lines(asked, "allow").map(str::to_owned).collect(),
            model,
            ..StartSpec::default()
        };
        let worker = WorkerSource {
            name: wanted.name,
            source: wanted.source,
            includes: wanted.includes,
            beside: wanted.beside,
            policy: wanted.policy,
        };
        Ok(Some(RunRequest { text: Untrusted::new(""), worker, spec, key: None }))
    }

    /// Returns the worker's inputs as JSON. If an input is invalid, records the errors and returns `None`.
    fn values(
        &mut self,
        asked: &PageRequest,
        wanted: &ChatSetup,
    ) -> Result<Option<serde_json::Map<String, serde_json::Value>>, Failure> {
        let Some(pattern) = input(wanted)? else {
            return Ok(match self.purpose {
                WorkerUse::Chat => Some(serde_json::Map::new()),
                WorkerUse::Run => self.told.ok(FormPlace::Inputs, free_values(asked)),
            });
        };
        match check::read(&pattern, INPUT, &asked.body, &picks(asked)?) {
            Ok(value) => match value.to_json() {
                serde_json::Value::Object(values) => Ok(Some(values)),
                _ => Ok(Some(serde_json::Map::new())),
            },
            Err(all) => {
                let count = all.len();
                self.inputs = all.into_iter().map(|FieldError { place, why }| (place, why)).collect();
                let message = match count {
                    1 => "one of its inputs does not fit".to_owned(),
                    _ => format!("{count} of its inputs do not fit"),
                };
                let failure = Failure::new(Exit::Invalid, message).help("what is wrong stands at each");
                self.told.0.push((FormPlace::Form, failure));
                Ok(None)
            }
        }
    }

    /// Returns the slot bindings. Missing and invalid ones are recorded as errors at their slots.
    fn endow(&mut self, asked: &PageRequest, wanted: &ChatSetup) -> Vec<Endowment> {
        let all = fills(asked, wanted);
        let fill = |line: &str| line.split_once('=').map_or("", |(_, fill)| fill).to_owned();
        let weighs = all.iter().any(|(_, line)| step_up::written(&fill(line)));
        self.told.ok(FormPlace::Slots, step_up::check(asked, weighs));
        let mut read = Vec::new();
        for (place, line) in all {
            let access = match &place {
                FormPlace::Slot(name) => asked.filled(&format!("{ACCESS}{name}")),
                _ => None,
            };
            let given = self.told.ok(place, asked.site.backend.endowment(&line));
            read.extend(given.map(|given| with_access(given, access)));
        }
        for slot in wanted.slots.iter().filter(|slot| slot.is_needed) {
            let place = FormPlace::Slot(slot.name.clone());
            let is_filled = read.iter().any(|one: &Endowment| one.slot == slot.name);
            if !is_filled && self.told.at(&place).is_none() {
                let example = slot.example.as_deref().unwrap_or_default();
                let message = format!("slot `{}` is not filled", visible_line(&slot.name));
                self.told
                    .0
                    .push((place, Failure::new(Exit::Invalid, message).help(format!("write {example}"))));
            }
        }
        read
    }
}

/// Returns the model that the form names. Without a name, a run has the model that is found, and a conversation the one
/// of the settings.
fn chosen_model(asked: &PageRequest, purpose: WorkerUse) -> Result<ModelChoice, Failure> {
    match (asked.filled("model"), purpose) {
        (None, WorkerUse::Run) => Ok(ModelChoice::Usual),
        (named, _) => asked.site.backend.model(named).map(ModelChoice::Reference),
    }
}

/// Returns the command line that begins the same run, for the transcript.
pub(in crate::pages) fn in_words(verb: &str, request: &RunRequest) -> Untrusted {
    let spec = &request.spec;
    let mut words = vec![verb.to_owned(), request.worker.name.clone()];
    for (name, value) in &spec.values {
        words.push(match value.as_str() {
            Some(text) => format!("{name}={text}"),
            None => format!("{name}:={value}"),
        });
    }
    words.extend(spec.documents.iter().filter_map(|one| match one {
        Document::File { path, .. } => Some(path.clone()),
        Document::Uploaded { name, .. } => Some(name.clone()),
        _ => None,
    }));
    for given in &spec.endow {
        words.extend(["-e".to_owned(), given.typed()]);
    }
    words.extend(spec.allow.iter().flat_map(|method| ["--allow".to_owned(), method.clone()]));
    if let ModelChoice::Named(model) | ModelChoice::Reference(model) = &spec.model {
        words.extend(["-m".to_owned(), model.clone()]);
    }
    let words: Vec<String> = words.iter().map(|word| typed(word)).collect();
    Untrusted::new(words.join(" "))
}
