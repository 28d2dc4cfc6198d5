//! Counters for lists that must hold a number of certain elements, shown below each list.

use std::collections::BTreeMap;

use control::view::PickRow;
use kernel::Pattern;
use maud::{Markup, html};
use passable::Tally;

use super::check::picked;
use super::place::id;
use super::typed::{ROOT, Typed};

/// The counters of a form, by place.
pub type Tallies = BTreeMap<String, Vec<Tally>>;

/// Adds the counters of a field to `into`, from its typed values.
pub fn count(pattern: &Pattern, prefix: &str, typed: &Typed, picks: &[PickRow], into: &mut Tallies) {
    let pairs = typed.pairs(prefix);
    let counted = pattern.tally_form_with(&pairs, &mut |part, text| picked(part, text, picks));
    for (name, tally) in counted {
        let below = name.strip_prefix(ROOT).unwrap_or_default();
        into.entry(format!("{prefix}{below}")).or_default().push(tally);
    }
}

/// Returns the counters at a place.
pub fn told(place: &str, tallies: &[Tally]) -> Markup {
    html! {
        div.note id={ (id(place)) "-tally" } data-told role="status" {
            @for tally in tallies { p { (tally.words()) } }
        }
    }
}
