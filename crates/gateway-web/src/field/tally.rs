//! How many elements of a list are what it must hold so many of: told below it, as it stands.

use std::collections::BTreeMap;

use control::view::PickRow;
use kernel::Pattern;
use maud::{Markup, html};
use passable::Tally;

use super::check::picked;
use super::place::id;
use super::typed::{ROOT, Typed};

/// What is counted of a form, by place.
pub type Tallies = BTreeMap<String, Vec<Tally>>;

/// Counts what was typed into a field.
pub fn count(pattern: &Pattern, prefix: &str, typed: &Typed, picks: &[PickRow], into: &mut Tallies) {
    let pairs = typed.pairs(prefix);
    let counted = pattern.tally_form_with(&pairs, &mut |part, text| picked(part, text, picks));
    for (name, tally) in counted {
        let below = name.strip_prefix(ROOT).unwrap_or_default();
        into.entry(format!("{prefix}{below}")).or_default().push(tally);
    }
}

/// What is told at a place.
pub fn told(place: &str, tallies: &[Tally]) -> Markup {
    html! {
        div.note id={ (id(place)) "-tally" } data-told role="status" {
            @for tally in tallies { p { (tally.words()) } }
        }
    }
}
