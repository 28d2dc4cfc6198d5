//! Reading what was typed: the same code while it is typed and when it is sent.

use control::view::PickRow;
use kernel::{FormulaId, Pattern, Value};
use passable::{Matcher, Mismatch};

use super::place;
use super::typed::{Typed, has_secret, of_field};
use crate::asked::Pairs;

/// What does not fit, and where in the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The place.
    pub place: String,
    /// What is wrong there; safe to show.
    pub why: String,
}

/// Reads a field. What a picker sends counts only if it was offered.
///
/// # Errors
/// All that does not fit, each at another place.
pub fn read(pattern: &Pattern, prefix: &str, pairs: &Pairs, picks: &[PickRow]) -> Result<Value, Vec<Wrong>> {
    let own = of_field(pairs, prefix);
    let mut resolve = |part: &Pattern, text: &str| picked(part, text, picks);
    if let Ok(value) = pattern.read_form_with(&own, &mut resolve) {
        return Ok(value);
    }
    let (control, typed) = (pattern.controls(), Typed::sent(pairs));
    let told = |mismatch: Mismatch| {
        let place = place::of(&control, prefix, &typed, &mismatch);
        let is_empty =
            typed.text(&place).is_none_or(|text| text.trim().is_empty()) && typed.rows(&place).is_empty();
        let why = if mismatch.expected.contains("`:kind`") {
            "choose one of these first".to_owned()
        } else if is_empty {
            format!("this is needed: {}", mismatch.expected)
        } else if has_secret(&control) {
            // What was found may be the secret.
            format!("expected {}", mismatch.expected)
        } else {
            format!("expected {}, found {}", mismatch.expected, mismatch.found)
        };
        Wrong { place, why }
    };
    let mut all: Vec<Wrong> = Vec::new();
    for wrong in pattern.form_problems_with(&own, &mut resolve).into_iter().take(MOST).map(told) {
        // What is said of a whole that has no field of its own is said once.
        if all.iter().all(|one| one.place != wrong.place) {
            all.push(wrong);
        }
    }
    Err(all)
}

/// Of how many places at most it is told at once that they do not fit.
const MOST: usize = 100;

/// What a picker has sent, or what stands in JSON: an identifier that was among what was offered.
pub(super) fn picked(pattern: &Pattern, text: &str, picks: &[PickRow]) -> Option<Value> {
    let id: FormulaId = text.parse().ok()?;
    let (pending, settled) = (takes_promise(pattern), takes_settled(pattern));
    let fits = |row: &&PickRow| {
        row.id == id && (row.pending || settled) && row.fits(label(pattern).as_deref(), pending)
    };
    let row = picks.iter().find(fits)?;
    Some(if row.pending { Value::promise(id) } else { Value::remotable(id) })
}

/// What a pattern says that a capability should be.
fn label(pattern: &Pattern) -> Option<String> {
    match pattern.matcher() {
        Matcher::Remotable(label) | Matcher::Promise(label) => Some(label.to_str_lossy().into_owned()),
        // Of a capability or a promise of one, the capability says what it should be.
        Matcher::Or(parts) => parts.iter().find(|part| takes_settled(part)).and_then(label),
        _ => None,
    }
}

fn takes_promise(pattern: &Pattern) -> bool {
    match pattern.matcher() {
        Matcher::Promise(_) => true,
        Matcher::Kind(kind) => *kind == "promise",
        Matcher::Or(parts) => parts.iter().any(takes_promise),
        _ => false,
    }
}

/// Whether it takes anything but promises.
fn takes_settled(pattern: &Pattern) -> bool {
    match pattern.matcher() {
        Matcher::Promise(_) => false,
        Matcher::Kind(kind) => *kind != "promise",
        Matcher::Or(parts) => parts.iter().any(takes_settled),
        _ => true,
    }
}

/// Reads a field whose text is sealed.
///
/// # Errors
/// When it does not fit.
pub fn read_secret(pattern: &Pattern, prefix: &str, pairs: &Pairs) -> Result<String, Wrong> {
    let text = pairs.iter().rev().find(|(name, _)| name == prefix).map_or("", |(_, text)| text.as_str());
    // Browsers send every line end as two characters.
    let text = text.replace("\r\n", "\n");
    match pattern.check(&Value::string(text.clone())) {
        Ok(()) if !text.is_empty() => Ok(text),
        Ok(()) => Err(Wrong { place: prefix.to_owned(), why: "this one is needed".to_owned() }),
        // What was found is the secret.
        Err(mismatch) => {
            Err(Wrong { place: prefix.to_owned(), why: format!("expected {}", mismatch.expected) })
        }
    }
}
