//! The form that begins a conversation: the worker, the model, the endowments, and the first message.

use std::collections::BTreeMap;

use control::exit::{Exit, Failure};
use control::protocol::{
    Look, ModelChoice, Request, Response, RunRequest, StartShape, StartSpec, WorkerSource,
};
use control::talk::{ChatSetup, ChatSlot};
use control::view::PickRow;
use kernel::command::Reply;
use kernel::{Pattern, RunNumber};
use maud::{Markup, html};
use passable::{Untrusted, Widget, visible_line};
use resource::Endowment;

use super::worker_choice;
use super::{FormErrors, FormPlace, answered, begins, is_bringing, message_field, read_message, speak};
use crate::answer::Answer;
use crate::field::check::{self, FieldError};
use crate::field::counters::{self, Counters};
use crate::field::draw::{FormRenderer, PlacedControl};
use crate::field::form_values::{FormValues, ROW};
use crate::field::live_check;
use crate::field::summary::{self, SummaryPart};
use crate::page::parts;
use crate::page_request::{PageRequest, take, unexpected};
use crate::pages::attachments::{self, UploadedFile};
use crate::pages::messages::step_up;

/// The place of the worker's inputs in the form.
const INPUT: &str = "i";

/// The prefix of a slot field's name, before the name of the slot.
pub(super) const SLOT: &str = "slot-";

/// The state of the form.
#[derive(Default)]
pub(super) struct Form {
    /// The files that were uploaded.
    pub(super) kept: Vec<UploadedFile>,
    /// The errors of the form.
    pub(super) told: FormErrors,
    /// The errors of the inputs, by place.
    inputs: BTreeMap<String, String>,
    /// The requirements of the chosen worker.
    wanted: Option<ChatSetup>,
    /// The typed values, with added and removed rows.
    typed: FormValues,
}

impl Form {
    pub(super) fn draw(&self, asked: &PageRequest) -> Result<Markup, Failure> {
        let typed = |name: &str| asked.field(name).unwrap_or("");
        let model = self.told.at(&FormPlace::Model);
        Ok(html! {
            form #begin.card method="post" action="/chat" enctype="multipart/form-data" data-draft="chat" {
                (parts::token(&asked.session))
                (worker_choice::fields(asked, self.told.at(&FormPlace::Worker))?)
                p.buttons { button name="do" value="look" formnovalidate { "Show what it works with" } }
                label for="model" { "Model; empty for the one in your settings" }
                input #model name="model" value=(typed("model")) autocomplete="off" spellcheck="false"
                    aria-describedby="model-error" aria-invalid=[model.map(|_| "true")];
                (parts::wrong("model-error", model))
                @if let Some(wanted) = &self.wanted { (self.wants(asked, wanted)?) }
                (self.more(asked))
                (message_field(asked, "4", self.told.at(&FormPlace::Said)))
                (attachments::fields(asked, &self.kept, self.told.at(&FormPlace::Documents)))
                p.buttons { button { "Begin" } (attachments::button()) }
            }
        })
    }

    /// Returns all errors, each with a link to its field.
    pub(super) fn wrong(&self) -> Result<Markup, Failure> {
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
    fn wants(&self, asked: &PageRequest, wanted: &ChatSetup) -> Result<Markup, Failure> {
        let inputs = self.inputs(asked, wanted)?;
        Ok(html! {
            fieldset #wants {
                legend { "What " (parts::word(&wanted.name)) " works with" }
                @if let Some(description) = &wanted.description { p { "Its file says: " (parts::line(description)) } }
                @if inputs.is_none() && wanted.slots.is_empty() { p.note { "It works with nothing but what you say." } }
                @for slot in &wanted.slots { (self.slot(asked, slot)) }
                @if let Some(inputs) = inputs { (inputs) }
            }
        })
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
                        aria-invalid=[wrong.map(|_| "true")];
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
    fn more(&self, asked: &PageRequest) -> Markup {
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

fn picks(asked: &PageRequest) -> Result<Vec<PickRow>, Failure> {
    Ok(take!(asked.look(Look::Picks)?, Picks))
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

/// Answers `POST /chat`: begins a conversation and sends the first message, or shows the requirements of the chosen
/// worker.
pub fn begin(asked: &PageRequest) -> Result<Answer, Failure> {
    let mut form = Form { typed: FormValues::sent(&asked.body), ..Form::default() };
    match attachments::upload_files(asked) {
        Ok(kept) => form.kept = kept,
        Err(failure) => {
            form.kept = attachments::before(asked);
            form.told = FormErrors::single(FormPlace::Documents, failure);
        }
    }
    let row = asked.field(ROW);
    let begins_now =
        form.told.0.is_empty() && !is_bringing(asked) && asked.field("do").is_none() && row.is_none();
    if !is_bringing(asked) {
        let wanted = worker_choice::chosen(asked).and_then(|with| asked.site.backend.wanted(&with));
        form.wanted = form.told.ok(FormPlace::Worker, wanted);
    }
    if let (Some(change), Some(wanted)) = (row, &form.wanted) {
        form.typed.change_rows(change);
        if let Some(pattern) = input(wanted)? {
            let read = check::read(&pattern, INPUT, &form.typed.all(), &picks(asked)?);
            form.inputs = live_check::written_errors(&form.typed, read.err().into_iter().flatten());
        }
    }
    if begins_now && let Some(request) = form.request(asked)? {
        match started(asked, request) {
            Ok(run) => return Ok(Answer::Go(format!("/chat/{run}"))),
            Err((place, failure)) => form.told = FormErrors::single(place, failure),
        }
    }
    let told = form.told.clone();
    let kept = form.kept.clone();
    answered(asked, &kept, &told, || begins(asked, &form))
}

impl Form {
    /// Returns the request that begins the conversation, and the first message. If something is invalid, it records
    /// all errors at their places and returns `None`.
    fn request(&mut self, asked: &PageRequest) -> Result<Option<(RunRequest, String)>, Failure> {
        let said = self.told.ok(FormPlace::Said, read_message(asked));
        let model = self.told.ok(FormPlace::Model, asked.site.backend.model(asked.filled("model")));
        let documents = self.told.ok(FormPlace::Documents, attachments::documents(asked, &self.kept));
        let Some(wanted) = self.wanted.clone() else { return Ok(None) };
        let values = self.values(asked, &wanted)?;
        let endow = self.endow(asked, &wanted);
        let (Some(said), Some(model), Some(documents), Some(values)) = (said, model, documents, values)
        else {
            return Ok(None);
        };
        if !self.told.0.is_empty() {
            return Ok(None);
        }
        let fills = fills(asked, &wanted).into_iter().map(|(_, fill)| format!(" -e {fill}"));
        let fills: String =
            fills.chain(lines(asked, "allow").map(|line| format!(" --allow {line}"))).collect();
        let request = RunRequest {
            text: Untrusted::new(format!("chat {}{fills} -m {model}", wanted.name)),
            worker: WorkerSource {
                name: wanted.name,
                source: wanted.source,
                includes: wanted.includes,
                beside: wanted.beside,
                policy: wanted.policy,
            },
            spec: StartSpec {
                values,
                documents,
                shape: StartShape::Chat,
                endow,
                allow: lines(asked, "allow").map(str::to_owned).collect(),
                model: ModelChoice::Reference(model),
                ..StartSpec::default()
            },
            key: None,
        };
        Ok(Some((request, said)))
    }

    /// Returns the worker's inputs as JSON. If an input is invalid, records the errors and returns `None`.
    fn values(
        &mut self,
        asked: &PageRequest,
        wanted: &ChatSetup,
    ) -> Result<Option<serde_json::Map<String, serde_json::Value>>, Failure> {
        let Some(pattern) = input(wanted)? else { return Ok(Some(serde_json::Map::new())) };
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
            read.extend(self.told.ok(place, asked.site.backend.endowment(&line)));
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

fn started(
    asked: &PageRequest,
    (request, said): (RunRequest, String),
) -> Result<RunNumber, (FormPlace, Failure)> {
    let begun = asked.ask(Request::Run(Box::new(request.clone())));
    let run = match begun.map_err(|failure| error_place(asked, request, failure))? {
        Response::Reply(Reply::Started { run }) => run,
        other => return Err((FormPlace::Form, unexpected(&other))),
    };
    speak(asked, run, said, vec![]).map_err(|failure| (FormPlace::Form, failure))?;
    Ok(run)
}

/// Returns the place of an error in the form. If the request would work without the documents, the error belongs to
/// them.
fn error_place(asked: &PageRequest, request: RunRequest, failure: Failure) -> (FormPlace, Failure) {
    let had = !request.spec.documents.is_empty();
    let spec = StartSpec { documents: vec![], dry_run: true, ..request.spec };
    let without = RunRequest { spec, ..request };
    match had && asked.ask(Request::Run(Box::new(without))).is_ok() {
        true => (FormPlace::Documents, failure),
        false => (FormPlace::Form, failure),
    }
}
