//! What a script is told of a field that was just written in: by the code that reads the form when it is sent.

use std::collections::BTreeMap;

use control::view::PickRow;
use maud::html;
use passable::Control;

use super::check::Wrong;
use super::draw::Drawn;
use super::place::control_at;
use super::tally::{self, Tallies};
use super::typed::{Typed, has_secret};
use super::{insert, told::told as told_as};
use crate::answer::Answer;
use crate::asked::Asked;

/// Whether a place is one of a field's, or lies below it.
pub fn is_below(place: &str, prefix: &str) -> bool {
    place.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}

/// Of what is wrong, what stands where something was written: what nobody has come to yet is not told of.
pub fn written(typed: &Typed, wrong: impl IntoIterator<Item = Wrong>) -> BTreeMap<String, String> {
    let is_written = |wrong: &Wrong| typed.text(&wrong.place).is_some_and(|text| !text.trim().is_empty());
    wrong.into_iter().filter(is_written).map(|wrong| (wrong.place, wrong.why)).collect()
}

/// What is wrong at the place that was touched, and what stands there, as a piece of the page. `read` is what came of
/// reading the whole field, whose control stands at the prefix.
pub fn told(
    asked: &Asked,
    touched: &str,
    (own, prefix): (&Control, &str),
    read: Result<(), Vec<Wrong>>,
    (picks, tallies): (&[PickRow], &Tallies),
) -> Answer {
    // The part that was touched: what marks it stands behind it.
    let place = touched.trim_end_matches(":given").trim_end_matches(":kind").trim_end_matches(":json");
    let mut wrong = BTreeMap::new();
    match read {
        Ok(()) => {
            // Neither is anything wrong with what it is a part of.
            let above = std::iter::successors(Some(place), |own| Some(own.rsplit_once(['/', ':'])?.0));
            let above = above.filter(|own| is_below(own, prefix));
            wrong.extend(above.map(|own| (own.to_owned(), String::new())));
        }
        // What is said of a part that nobody has come to yet only disturbs.
        Err(all) => {
            for found in all {
                let is_written = asked.field(&found.place).is_some_and(|text| !text.is_empty());
                if found.place == place || (is_below(&found.place, place) && is_written) {
                    wrong.insert(found.place, found.why);
                } else if is_below(place, &found.place) {
                    wrong.entry(place.to_owned()).or_default();
                    wrong.insert(found.place, found.why);
                }
            }
        }
    }
    let typed = Typed::default();
    let form = Drawn { typed: &typed, picks: &[], wrong: &wrong, tallies, narrows: true };
    let mut places: Vec<&str> = wrong.keys().map(String::as_str).collect();
    if !places.contains(&place) {
        places.push(place);
    }
    let said = |name: &str| asked.field(name).filter(|_| !has_secret(own));
    let control = control_at(own, prefix, place);
    let json = touched.ends_with(":json").then(|| said(touched)).flatten();
    // Of rows, those beside the one that was touched count too.
    let counted = tallies.iter().filter(|(place, _)| is_below(place, prefix));
    Answer::Piece(html! {
        @for place in places { (form.error(place)) }
        @if let Some(text) = json { (insert::told(place, text, picks)) }
        @else if let (Some(control), Some(text)) = (control, said(place)) { (told_as(control, place, text, picks)) }
        @for (place, tallies) in counted { (tally::told(place, tallies)) }
    })
}
