//! The live check of a field that the user has just changed, by the code that reads the submitted form.

use std::collections::BTreeMap;

use control::view::PickRow;
use maud::html;
use passable::{Control, visible_line};

use super::check::FieldError;
use super::counters::{self, Counters};
use super::form_values::{FormValues, has_secret};
use super::place::{control_at, id};
use super::{insert, preview::input_preview as told_as};
use crate::answer::Answer;
use crate::page_request::PageRequest;

/// Returns whether a place is the place of a field, or is below it.
pub fn is_below(place: &str, prefix: &str) -> bool {
    place.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}

/// Returns the errors at places where the user has written something. Untouched places report no errors yet.
pub fn written_errors(
    typed: &FormValues,
    wrong: impl IntoIterator<Item = FieldError>,
) -> BTreeMap<String, String> {
    let is_written =
        |wrong: &FieldError| typed.text(&wrong.place).is_some_and(|text| !text.trim().is_empty());
    wrong.into_iter().filter(is_written).map(|wrong| (wrong.place, wrong.why)).collect()
}

/// Returns the errors of a field and notes on its content, as a piece of the page. The user has just changed the
/// place `touched` of the field. Places without an error in the piece are valid. `read` is the result of reading the
/// whole field, whose control is at the prefix.
pub fn render_check(
    asked: &PageRequest,
    touched: &str,
    (own, prefix): (&Control, &str),
    read: Result<(), Vec<FieldError>>,
    (picks, tallies): (&[PickRow], &Counters),
) -> Answer {
    // The touched place, without the suffix that names its part.
    let place = touched.trim_end_matches(":given").trim_end_matches(":kind").trim_end_matches(":json");
    let typed = FormValues::sent(&asked.body);
    // An error at a part that the user has not reached yet is marked as late. The page shows it only if it was shown
    // before.
    let is_late = |wrong: &FieldError| !is_below(place, &wrong.place) && !typed.is_filled(&wrong.place);
    let said = |name: &str| asked.field(name).filter(|_| !has_secret(own));
    let control = control_at(own, prefix, place);
    let json = touched.ends_with(":json").then(|| said(touched)).flatten();
    // In a list, the counters of all rows are updated, not only those of the changed row.
    let counted = tallies.iter().filter(|(place, _)| is_below(place, prefix));
    Answer::Piece(html! {
        @for wrong in read.err().iter().flatten() {
            p.error id={ (id(&wrong.place)) "-error" } data-error-of=(wrong.place) data-late[is_late(wrong)] role="status" {
                (visible_line(&wrong.why))
            }
        }
        @if let Some(text) = json { (insert::inserted_note(place, text, picks)) }
        @else if let (Some(control), Some(text)) = (control, said(place)) { (told_as(control, place, text, picks)) }
        @for (place, tallies) in counted { (counters::render_counters(place, tallies)) }
    })
}
