//! The form card: one field for each requested value, checked by the code that reads the submission.

mod answers;

use std::collections::BTreeMap;

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, FieldInput, Look};
use control::view::{MessageView, PickRow};
use kernel::message::{Body, Field};
use kernel::{MessageNumber, Pattern, Value};
use maud::{Markup, html};
use passable::{Control, Untrusted, Widget, visible_line};

use super::field_spec::{self, FieldSpec};
use super::refusals::refused;
use super::{message_page, reply, step_up};
use crate::answer::Answer;
use crate::field::check::{self, FieldError};
use crate::field::counters::{self, Counters};
use crate::field::draw::{FormRenderer, PlacedControl};
use crate::field::form_values::{FormValues, PIECE, ROW, has_file, has_pick, has_secret};
use crate::field::live_check::{self, is_below};
use crate::field::summary::{self, SummaryPart};
use crate::field::{control_at, files, insert};
use crate::page::parts;
use crate::page_request::{PageRequest, Pairs, take};

/// The fields of a form, and the objects that can be picked in them.
pub struct Fields {
    all: Vec<FormField>,
    picks: Vec<PickRow>,
}

struct FormField {
    field: Field,
    pattern: Pattern,
    control: Control,
    prefix: String,
}

impl Fields {
    fn of(asked: &PageRequest, view: &MessageView) -> Result<Fields, Failure> {
        let Some(Body::Form { fields, .. }) = view.letter.body() else {
            return Err(Failure::new(Exit::Conflict, "this message is not a form"));
        };
        let read = |(at, field): (usize, &Field)| {
            let pattern = Pattern::from_value(&field.pattern)
                .map_err(|error| Failure::from_error(Exit::Invalid, error))?;
            let control = match field.secret {
                true => sealed(pattern.controls(), pattern.matches(&Value::Undefined)),
                false => pattern.controls(),
            };
            Ok(FormField { field: field.clone(), pattern, control, prefix: format!("f{at}") })
        };
        let all = fields.iter().enumerate().map(read).collect::<Result<_, Failure>>()?;
        Ok(Fields { all, picks: take!(asked.look(Look::Picks)?, Picks) })
    }

    /// Returns the default values of the fields.
    fn defaults(&self) -> FormValues {
        let mut typed = FormValues::default();
        for one in &self.all {
            if let Some(default) = &one.field.default {
                typed.fill(&one.prefix, one.pattern.write_form(default));
            }
        }
        typed
    }

    /// Returns the counters of the typed values. Secrets are not counted.
    fn tallies(&self, typed: &FormValues) -> Counters {
        let mut tallies = Counters::new();
        for one in self.all.iter().filter(|one| !has_secret(&one.control)) {
            counters::count(&one.pattern, &one.prefix, typed, &self.picks, &mut tallies);
        }
        tallies
    }

    /// Returns whether the field at a place accepts promises, if JSON is typed there.
    fn takes_promises(&self, place: &str) -> bool {
        let control = self.all.iter().find_map(|one| control_at(&one.control, &one.prefix, place));
        !matches!(control, Some(Control { widget: Widget::Json { pending: false }, .. }))
    }

    /// Returns the errors of the typed values, at the places where something was typed.
    fn typed_errors(&self, typed: &FormValues) -> BTreeMap<String, String> {
        let pairs = typed.all();
        let wrong = self.all.iter().filter_map(|one| one.read(&pairs, &self.picks).err()).flatten();
        live_check::written_errors(typed, wrong)
    }

    /// Returns the markup of the field that a button has changed.
    fn piece(&self, change: &str, typed: &FormValues, wrong: &BTreeMap<String, String>) -> Answer {
        let place = change.split_once(' ').map_or("", |(_, place)| place);
        let tallies = self.tallies(typed);
        let form = FormRenderer { typed, picks: &self.picks, wrong, tallies: &tallies, narrows: true };
        let own = self.all.iter().filter(|one| is_below(place, &one.prefix));
        Answer::Piece(html! { @for one in own { (one.draw(&form)) } })
    }

    /// Returns the typed values, without secrets.
    fn sent(&self, pairs: &Pairs) -> FormValues {
        let mut typed = FormValues::sent(pairs);
        self.all.iter().for_each(|one| typed.forget_secrets(&one.control, &one.prefix));
        typed
    }
}

/// Returns the control for a sealed value. It is a text field that hides its text, whatever the pattern is.
fn sealed(control: Control, may_be_left_out: bool) -> Control {
    let mut line = control;
    while let Widget::Optional { inner } = line.widget {
        line = *inner;
    }
    let max_length = match line.widget {
        Widget::Line { max_length, .. } => max_length,
        _ => f64::INFINITY,
    };
    line.widget = Widget::Line { max_length, multiline: false, secret: true, format: None };
    match may_be_left_out {
        true => Control {
            asks: line.asks.clone(),
            checks: vec![],
            widget: Widget::Optional { inner: Box::new(line) },
        },
        false => line,
    }
}

impl FormField {
    /// Returns the input of the field for submission, and its value unless it is sealed. An omitted secret is not
    /// submitted.
    fn read(
        &self,
        pairs: &Pairs,
        picks: &[PickRow],
    ) -> Result<(Option<FieldInput>, Option<Value>), Vec<FieldError>> {
        if self.field.secret {
            return match check::read_secret(&self.pattern, &self.prefix, pairs) {
                Ok(Some(text)) => Ok((Some(FieldInput::Text { text }), None)),
                Ok(None) => Ok((None, Some(Value::Undefined))),
                Err(wrong) => Err(vec![wrong]),
            };
        }
        let value = check::read(&self.pattern, &self.prefix, pairs, picks)?;
        Ok((Some(FieldInput::Value { value: value.clone() }), Some(value)))
    }

    /// Returns whether the user has typed a secret, which is not shown again.
    fn has_secret_text(&self, pairs: &Pairs) -> bool {
        has_secret(&self.control)
            && pairs
                .iter()
                .any(|(name, text)| is_below(name, &self.prefix) && !name.contains(':') && !text.is_empty())
    }

    /// Returns the label of the field, which is safe to show.
    fn said(&self) -> String {
        let label = self.field.label.visible_line();
        if label.is_empty() { visible_line(&self.field.name).into_owned() } else { label.to_string() }
    }

    fn draw(&self, drawn: &FormRenderer<'_>) -> Markup {
        let label = self.field.label.raw();
        let said = self.said();
        let help = html! {
            @if label != self.field.name { "Field name: " (parts::word(&self.field.name)) ". " }
            @if let Some(example) = &self.field.example {
                @let text = example.as_str().map_or_else(|| example.in_line(), str::to_owned);
                "For example " (parts::line(&Untrusted::new(text))) ". "
            }
            @if self.field.secret { "It is sealed: whoever asked gets a capability for it, and no page shows it again." }
        };
        drawn.draw(&PlacedControl {
            control: &self.control,
            place: &self.prefix,
            title: html! { (parts::line(&self.field.label)) },
            said: &said,
            help: Some(help),
            preset: self.field.default.is_some(),
        })
    }
}

/// Returns the card with its default values.
///
/// # Errors
/// When a pattern of the form cannot be read.
pub fn card(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    let fields = Fields::of(asked, view)?;
    let typed = fields.defaults();
    Ok(drawn(asked, view, &fields, &typed, &BTreeMap::new()))
}

/// Returns the card with the typed values, and with an object that was just picked.
///
/// # Errors
/// When a pattern of the form cannot be read.
pub fn redrawn(asked: &PageRequest, view: &MessageView, place: &str) -> Result<Markup, Failure> {
    let (asked, fields) = (&files::written(asked), Fields::of(asked, view)?);
    let mut typed = fields.sent(&asked.body);
    typed.freshen(place);
    Ok(drawn(asked, view, &fields, &typed, &BTreeMap::new()))
}

/// Returns the field of the picker at a place.
///
/// # Errors
/// When the place has no picker.
pub fn field_spec(asked: &PageRequest, view: &MessageView, place: &str) -> Result<FieldSpec, Failure> {
    let (asked, fields) = (&files::written(asked), Fields::of(asked, view)?);
    let found = fields.all.iter().find_map(|one| Some((one, control_at(&one.control, &one.prefix, place)?)));
    let Some((one, Control { widget: Widget::Pick { label, .. }, .. })) = found else {
        return Err(field_spec::no_picker());
    };
    let typed = fields.sent(&asked.body);
    Ok(FieldSpec {
        label: label.clone(),
        data: false,
        said: one.said(),
        filled: field_spec::carried(&asked.body, |name| typed.text(name).is_some()),
    })
}

fn drawn(
    asked: &PageRequest,
    view: &MessageView,
    fields: &Fields,
    typed: &FormValues,
    wrong: &BTreeMap<String, String>,
) -> Markup {
    let number = view.letter.number;
    let Some(Body::Form { description, repeatable, run, .. }) = view.letter.body() else { return html! {} };
    let tallies = fields.tallies(typed);
    let form = FormRenderer { typed, picks: &fields.picks, wrong, tallies: &tallies, narrows: true };
    html! {
        @if run.is_some() { p.note { "A model asks this: its words, and the names of the fields, are its own." } }
        section.entry aria-label="What is asked" { (parts::block("What is asked", description)) }
        @if *repeatable { p.note { "It may be filled in more than once: every answer counts, and stands below." } }
        @if reply::is_open(view) {
            form #fill.card method="post" action={ "/m/" (number) } novalidate
                data-check={ "/m/" (number) "/check" } data-draft={ "form " (number) } data-same={ "form " (number) }
                data-picks[fields.all.iter().any(|one| has_pick(&one.control))]
                enctype=[fields.all.iter().any(|one| has_file(&one.control)).then_some("multipart/form-data")] {
                (parts::token(&asked.session))
                (parts::back(asked))
                // The Enter key presses this button. It checks the values and sends nothing.
                button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" formnovalidate {
                    "Look again"
                }
                @for one in &fields.all { (one.draw(&form)) }
                @if fields.all.iter().any(|one| has_pick(&one.control)) {
                    (step_up::field(asked, "If it hands over a program, the network or a secret"))
                }
                div.answers { div.buttons { button.yes name="do" value="submit" { "Send the answer" } } }
            }
            (reply::refusal(asked, number, "Or refuse", "Refuse to answer"))
        } @else {
            @if !asked.body.is_empty() { (answers::kept(fields, typed)) }
            section.entry aria-labelledby="asked-title" {
                h2 #asked-title { "What it asked for" }
                ul { @for one in &fields.all {
                    li { (parts::line(&one.field.label)) ": " (visible_line(&one.pattern.describe())) }
                } }
            }
        }
        (answers::answers_section(asked, view, fields))
    }
}

/// The note on secrets. They are lost when a page is shown again.
const TYPED_AGAIN: &str = "What is secret is not kept: type it again before you send it.";

/// Returns the errors above the form, each with a link to its field.
fn summary(wrong: &BTreeMap<String, String>, typed: &FormValues, fields: &Fields, lost: bool) -> Markup {
    let all: Vec<SummaryPart<'_>> = fields
        .all
        .iter()
        .map(|one| SummaryPart {
            title: parts::line(&one.field.label),
            control: &one.control,
            prefix: &one.prefix,
        })
        .collect();
    html! {
        section #wrong.failure role="alert" tabindex="-1" aria-labelledby="wrong-title" {
            h2 #wrong-title { "Nothing was sent: " (wrong.len())
                @if wrong.len() == 1 { " of the fields does not fit" } @else { " of the fields do not fit" } }
            (summary::listed(&all, typed, wrong))
            @if lost { p data-lost { (TYPED_AGAIN) } }
        }
    }
}

/// Answers `POST /m/NUMBER`: changes rows, checks the typed values, or sends them.
///
/// # Errors
/// When the daemon does not answer.
pub fn send(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    let (asked, fields) = (&files::written(asked), Fields::of(asked, view)?);
    let mut typed = fields.sent(&asked.body);
    if let Some(change) = asked.field(ROW) {
        typed.change_rows(change);
        let place = |place: &str| fields.takes_promises(place);
        let mut wrong: BTreeMap<String, String> = fields.typed_errors(&typed);
        wrong.extend(insert::insert(&mut typed, change, &fields.picks, place).err());
        // The script replaces only the changed field.
        if asked.field(PIECE).is_some() {
            return Ok(fields.piece(change, &typed, &wrong));
        }
        let card = drawn(asked, view, &fields, &typed, &wrong);
        return Ok(message_page::with_card(asked, view, &card, None, 200));
    }
    let (mut wrong, mut values, mut text) = (BTreeMap::new(), BTreeMap::new(), format!("submit {number}"));
    let mut ids = Vec::new();
    for one in &fields.all {
        match one.read(&asked.body, &fields.picks) {
            Ok((written, value)) => {
                text += &in_words(one, value.as_ref(), &fields.picks);
                ids.extend(value.iter().flat_map(Value::references).copied());
                values.extend(written.map(|written| (one.field.name.clone(), written)));
            }
            Err(all) => wrong.extend(all.into_iter().map(|FieldError { place, why }| (place, why))),
        }
    }
    let again = |wrong: &BTreeMap<String, String>, said: Option<Markup>, status| {
        let card = drawn(asked, view, &fields, &typed, wrong);
        Ok(message_page::with_card(asked, view, &card, said, status))
    };
    // A page never contains a typed secret.
    let lost = fields.all.iter().any(|one| one.has_secret_text(&asked.body));
    if asked.field("do") != Some("submit") {
        let fits = html! {
            p #looked.note role="status" data-kept="Everything fits. Nothing was sent yet." {
                "Everything fits. Nothing was sent yet."
                @if lost { " " (TYPED_AGAIN) }
            }
        };
        let said = if wrong.is_empty() { fits } else { summary(&wrong, &typed, &fields, lost) };
        return again(&wrong, Some(said), 200);
    }
    if !wrong.is_empty() {
        return again(&wrong, Some(summary(&wrong, &typed, &fields, lost)), 422);
    }
    if let Err(failure) = step_up::check(asked, step_up::holds(&ids, &fields.picks)) {
        return again(&wrong, Some(refused(&failure)), 422);
    }
    match asked.act_once("submit", text, AgentAct::Submit { number, values }) {
        Ok(_) => Ok(Answer::Go(format!("/m/{number}"))),
        Err(failure) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            again(&wrong, Some(refused(&failure)), status)
        }
    }
}

/// Returns the words for a field in the transcript. Secrets are left out.
fn in_words(one: &FormField, value: Option<&Value>, picks: &[PickRow]) -> String {
    let name = &one.field.name;
    match value {
        Some(Value::Undefined) => String::new(),
        Some(_) if has_secret(&one.control) => format!(" {name}=…"),
        None => format!(" {name}=…"),
        Some(value) => match (value.as_str(), value.as_reference()) {
            (Some(text), _) => format!(" {name}={text:?}"),
            (None, Some(id)) => {
                let path = picks.iter().find(|row| row.id == *id).map_or("…", |row| row.path.as_str());
                format!(" {name}={path}")
            }
            (None, None) => format!(" {name}:={}", value.to_json()),
        },
    }
}

/// Answers `POST /m/NUMBER/check`: returns the errors of one field in its present state, for the script.
pub fn check(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: MessageNumber = asked.part("number")?;
    let view = *take!(asked.look(Look::Message { number })?, Message);
    let fields = Fields::of(asked, &view)?;
    let touched = asked.field("_field").unwrap_or_default();
    let Some(one) = fields.all.iter().find(|one| is_below(touched, &one.prefix)) else {
        return Ok(Answer::Piece(html! {}));
    };
    let read = one.read(&asked.body, &fields.picks).map(drop);
    let tallies = fields.tallies(&fields.sent(&asked.body));
    Ok(live_check::render_check(asked, touched, (&one.control, &one.prefix), read, (&fields.picks, &tallies)))
}
