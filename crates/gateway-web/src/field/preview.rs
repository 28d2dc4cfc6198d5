//! Previews of typed text, shown below its field: the digest of a file, the form of a pattern, or the capabilities in
//! JSON.

use std::collections::BTreeMap;

use control::view::PickRow;
use maud::{Markup, html};
use passable::{Control, Widget, form_bytes};
use sha2::{Digest as _, Sha256};

use super::counters::Counters;
use super::draw::{FormRenderer, PlacedControl};
use super::form_values::FormValues;
use super::insert;
use super::place::id;
use crate::page::parts;

/// The maximum length of a pattern whose form is shown, in bytes.
const MAX_LEN: usize = 4000;

/// Returns the preview of the text at a place. It is an empty element if the control supports previews but the text
/// has none.
pub fn input_preview(control: &Control, place: &str, text: &str, picks: &[PickRow]) -> Markup {
    let own = id(place);
    html! {
        @match &control.widget {
            Widget::File { .. } => p.note id={ (own) "-told" } data-told role="status" { (bytes(text)) },
            Widget::PatternText => div.preview id={ (own) "-told" } data-told { (preview(place, text)) },
            Widget::Json { .. } => (insert::inserted_note(place, text, picks)),
            _ => {},
        }
    }
}

/// Returns the number of the bytes and their digest.
fn bytes(text: &str) -> Markup {
    match form_bytes(text) {
        Some(bytes) if !text.trim().is_empty() => {
            let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            html! { (bytes.len()) " bytes, SHA-256 " code { (digest) } }
        }
        _ => html! {},
    }
}

/// Returns the form that a pattern makes, as a disabled preview.
fn preview(place: &str, text: &str) -> Markup {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_LEN {
        return html! {};
    }
    let Ok(pattern) = kernel::Pattern::parse(text) else { return html! {} };
    let (typed, wrong, tallies) = (FormValues::default(), BTreeMap::new(), Counters::new());
    let control = pattern.controls();
    let drawn = FormRenderer { typed: &typed, picks: &[], wrong: &wrong, tallies: &tallies, narrows: false };
    // Disabled fields are not sent, so the preview is not part of the answer.
    html! {
        fieldset disabled {
            legend { "The form that it makes" }
            (drawn.draw(&PlacedControl {
                control: &control,
                place: &format!("{place}:preview"),
                title: parts::word(&control.asks),
                said: &control.asks,
                help: None,
                preset: false,
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use passable::Pattern;

    use super::*;

    #[test]
    fn typed_text_gets_a_preview() {
        for (pattern, text, expected) in [
            (
                "M.byteArray()",
                "AQI=",
                Some(
                    "2 bytes, SHA-256 <code>a12871fee210fb8619291eaea194581cbd2531e4b23759d225f6806923f63222",
                ),
            ),
            ("M.byteArray()", "", None),
            ("M.byteArray()", "no base64", None),
            ("M.pattern()", "M.or('a', 'b')", Some("type=\"radio\"")),
            ("M.pattern()", "M.pattern()", Some("<textarea")),
            ("M.pattern()", "M.remotable('Counter')", Some("<select")),
            ("M.pattern()", "M.strng()", None),
            ("M.pattern()", "", None),
        ] {
            let control = Pattern::<kernel::FormulaId>::parse(pattern).unwrap().controls();
            let told = input_preview(&control, "f0", text, &[]).into_string();
            assert!(told.contains("id=\"f0-told\""), "{told}");
            match expected {
                Some(expected) => assert!(told.contains(expected), "{told}"),
                None => assert!(told.ends_with("></p>") || told.ends_with("></div>"), "{told}"),
            }
        }
    }
}
