//! The errors of a form that begins a run or a conversation, each with its place.

use control::exit::Failure;
use maud::{Markup, html};
use passable::visible_line;

use crate::page::parts;

/// The prefix of a slot field's name, before the name of the slot.
pub(in crate::pages) const SLOT: &str = "slot-";

/// The prefix of a limit field's name, before the name of the limit.
pub(super) const LIMIT: &str = "limit-";

/// A place of the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pages) enum FormPlace {
    Said,
    Worker,
    Model,
    /// The slot with this name.
    Slot(String),
    /// The lines that bind slots.
    Slots,
    /// The lines with the inputs of a worker that describes none.
    Inputs,
    /// The limit with this name and this title.
    Limit(&'static str, &'static str),
    Documents,
    /// The form as a whole.
    Form,
}

impl FormPlace {
    /// Returns the id and the label of the field, or `None` for the form as a whole.
    fn field(&self) -> Option<(String, String)> {
        let (id, called) = match self {
            FormPlace::Said => ("said", "What you say"),
            FormPlace::Worker => ("worker", "Worker"),
            FormPlace::Model => ("model", "Model"),
            FormPlace::Slot(name) => {
                return Some((format!("{SLOT}{name}"), format!("Slot {}", visible_line(name))));
            }
            FormPlace::Slots => ("fills", "What you hand it"),
            FormPlace::Inputs => ("inputs", "Inputs"),
            FormPlace::Limit(option, title) => {
                return Some((format!("{LIMIT}{option}"), (*title).to_owned()));
            }
            FormPlace::Documents => ("file", "Documents"),
            FormPlace::Form => return None,
        };
        Some((id.to_owned(), called.to_owned()))
    }
}

/// The errors of a form, each with its place.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct FormErrors(pub(in crate::pages) Vec<(FormPlace, Failure)>);

impl FormErrors {
    pub(in crate::pages) fn single(place: FormPlace, failure: Failure) -> FormErrors {
        FormErrors(vec![(place, failure)])
    }

    /// Returns the error at this place.
    pub(in crate::pages) fn at(&self, place: &FormPlace) -> Option<&Failure> {
        self.0.iter().find(|(at, _)| at == place).map(|(_, failure)| failure)
    }

    /// Returns all errors, each with a link to its field. `inputs` lists the errors of a worker's inputs.
    pub(in crate::pages) fn all(&self, inputs: Option<&Markup>) -> Markup {
        match self.0.as_slice() {
            [] => html! {},
            // The form as a whole has the only error.
            [(FormPlace::Form, failure)] if inputs.is_none() => parts::failure_below(failure),
            all => parts::not_done(&html! {
                p { "Nothing was done yet:" }
                ul {
                    @for (place, failure) in all {
                        @match place.field() {
                            Some((id, called)) => li { a href={ "#" (id) } { (called) } ": " (parts::line(&failure.message)) },
                            None => li { (parts::line(&failure.message)) @if let Some(inputs) = inputs { (inputs) } },
                        }
                    }
                }
            }),
        }
    }

    /// Returns the value of a result, or records its error at this place.
    pub(in crate::pages) fn ok<T>(&mut self, place: FormPlace, read: Result<T, Failure>) -> Option<T> {
        read.map_err(|failure| self.0.push((place, failure))).ok()
    }
}
