//! Counters for lists that must contain a given number of certain elements. They are shown below each list.

use std::collections::BTreeMap;

use control::view::PickRow;
use kernel::Pattern;
use maud::{Markup, html};
use passable::ElementCount;

use super::check::picked;
use super::form_values::{FormValues, ROOT};
use super::place::id;

/// The counters of a form, by place.
pub type Counters = BTreeMap<String, Vec<ElementCount>>;

/// Counts elements in the typed values of a field, and adds the counters to `into`.
pub fn count(pattern: &Pattern, prefix: &str, typed: &FormValues, picks: &[PickRow], into: &mut Counters) {
    let pairs = typed.pairs(prefix);
    let counted = pattern.count_elements_with(&pairs, &mut |part, text| picked(part, text, picks));
    for (name, tally) in counted {
        let below = name.strip_prefix(ROOT).unwrap_or_default();
        into.entry(format!("{prefix}{below}")).or_default().push(tally);
    }
}

/// Returns the counters at a place.
pub fn render_counters(place: &str, tallies: &[ElementCount]) -> Markup {
    html! {
        div.note id={ (id(place)) "-tally" } data-told role="status" {
            @for tally in tallies { p { (tally.summary()) } }
        }
    }
}
