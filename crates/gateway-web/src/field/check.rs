//! Validation of form input. The same code runs while the user types and when the form is sent.

use control::view::PickRow;
use kernel::{FormulaId, Pattern, Value};
use passable::{Control, Matcher, Mismatch, Widget, visible_line};

use super::form_values::{FormValues, has_secret, of_field};
use super::place;
use crate::page_request::Pairs;

/// An error of a form's field, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The place of the field.
    pub place: String,
    /// The problem at this place, in words that are safe to show.
    pub why: String,
}

/// Reads a field. An identifier from a picker is accepted only if the picker offered it.
///
/// # Errors
/// All mismatches, each at another place.
pub fn read(
    pattern: &Pattern,
    prefix: &str,
    pairs: &Pairs,
    picks: &[PickRow],
) -> Result<Value, Vec<FieldError>> {
    let own = of_field(pairs, prefix);
    let mut resolve = |part: &Pattern, text: &str| picked(part, text, picks);
    if let Ok(value) = pattern.read_form_with(&own, &mut resolve) {
        return Ok(value);
    }
    let (control, typed) = (pattern.controls(), FormValues::sent(pairs));
    let told = |mismatch: Mismatch| {
        let place = place::mismatch_place(&control, prefix, &typed, &mismatch);
        let own = place::control_at(&control, prefix, &place);
        let gone = own.and_then(|control| not_offered(control, typed.text(&place)?, picks));
        let why = if mismatch.expected.contains("`:kind`") {
            "choose one of these first".to_owned()
        } else if !typed.is_filled(&place) {
            // Where nothing was found, repeat the description of the field: other checks do not matter yet.
            let asks = own.filter(|_| mismatch.found == "nothing").map(|control| &control.asks);
            format!("fill this in: {}", asks.unwrap_or(&mismatch.expected))
        } else if let Some(why) = gone {
            why
        } else if has_secret(&control) {
            // The found value may be the secret.
            format!("expected {}", mismatch.expected)
        } else {
            format!("expected {}, found {}", mismatch.expected, mismatch.found)
        };
        FieldError { place, why }
    };
    let mut all: Vec<FieldError> = Vec::new();
    for wrong in pattern.form_problems_with(&own, &mut resolve).into_iter().take(MAX_ITEMS).map(told) {
        // Several mismatches may fall on one field, which reports only the first.
        if all.iter().all(|one| one.place != wrong.place) {
            all.push(wrong);
        }
    }
    Err(all)
}

/// Returns why a picked capability is no longer offered, or `None` if that is not the problem.
fn not_offered(control: &Control, text: &str, picks: &[PickRow]) -> Option<String> {
    let Widget::Pick { settled, .. } = &control.widget else { return None };
    let id: FormulaId = text.parse().ok()?;
    Some(match picks.iter().find(|row| row.id == id) {
        None => "what you had picked is none of your names any more: pick again".to_owned(),
        Some(row) if !settled && !row.pending => {
            let name = visible_line(&row.path);
            format!("what `{name}` promised has come meanwhile, and a promise is asked for: pick another one")
        }
        Some(row) => {
            format!("`{}` does not fit: expected {}", visible_line(&row.path), visible_line(&control.asks))
        }
    })
}

/// The maximum number of errors that are reported at once.
const MAX_ITEMS: usize = 100;

/// Returns the capability for an identifier from a picker or from JSON, if it was among those offered.
pub(super) fn picked(pattern: &Pattern, text: &str, picks: &[PickRow]) -> Option<Value> {
    let id: FormulaId = text.parse().ok()?;
    let (pending, settled) = (takes_promise(pattern), takes_settled(pattern));
    let fits = |row: &&PickRow| {
        row.id == id && (row.pending || settled) && row.fits(label(pattern).as_deref(), pending)
    };
    let row = picks.iter().find(fits)?;
    Some(if row.pending { Value::promise(id) } else { Value::remotable(id) })
}

/// Returns the label that a pattern requires of a capability.
fn label(pattern: &Pattern) -> Option<String> {
    match pattern.matcher() {
        Matcher::Remotable(label) | Matcher::Promise(label) => Some(label.to_str_lossy().into_owned()),
        // For a capability or a promise of one, the capability's pattern has the label.
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

/// Returns whether a pattern accepts anything but promises.
fn takes_settled(pattern: &Pattern) -> bool {
    match pattern.matcher() {
        Matcher::Promise(_) => false,
        Matcher::Kind(kind) => *kind != "promise",
        Matcher::Or(parts) => parts.iter().any(takes_settled),
        _ => true,
    }
}

/// Reads a field whose text will be sealed. Returns `None` if the field is optional and was left out.
///
/// # Errors
/// When the text does not match the pattern.
pub fn read_secret(pattern: &Pattern, prefix: &str, pairs: &Pairs) -> Result<Option<String>, FieldError> {
    let sent = |name: &str| pairs.iter().rev().find(|(own, _)| own == name).map(|(_, text)| text.as_str());
    // Browsers send each line end as two characters.
    let text = sent(prefix).unwrap_or("").replace("\r\n", "\n");
    let given = sent(&format!("{prefix}:given"));
    if pattern.matches(&Value::Undefined) && (given == Some("no") || (given.is_none() && text.is_empty())) {
        return Ok(None);
    }
    match pattern.check(&Value::string(text.clone())) {
        _ if text.is_empty() => {
            Err(FieldError { place: prefix.to_owned(), why: format!("fill this in: {}", pattern.describe()) })
        }
        Ok(()) => Ok(Some(text)),
        // The found value is the secret.
        Err(mismatch) => {
            Err(FieldError { place: prefix.to_owned(), why: format!("expected {}", mismatch.expected) })
        }
    }
}

#[cfg(test)]
mod tests {
    use passable::Untrusted;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Pairs {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    fn id(at: u8) -> FormulaId {
        FormulaId { number: [at; 32], node: [9; 32] }
    }

    fn row(at: u8, path: &str, interface: &str, pending: bool) -> PickRow {
        PickRow {
            path: path.to_owned(),
            id: id(at),
            kind: "export".to_owned(),
            words: Untrusted::new("an object"),
            methods: vec![],
            others: false,
            pending,
            data: false,
            labels: vec![],
            interface: Some(interface.to_owned()),
        }
    }

    #[test]
    fn secret_is_read_whole_or_left_out() {
        for (pattern, sent, expected) in [
            ("M.refine('secret')", &[("f0", "a\r\nb")][..], Ok(Some("a\nb"))),
            ("M.refine('secret')", &[("f0", "")], Err("fill this in: a secret")),
            ("M.refine('secret')", &[], Err("fill this in: a secret")),
            ("M.opt(M.refine('secret'))", &[], Ok(None)),
            ("M.opt(M.refine('secret'))", &[("f0", "")], Ok(None)),
            ("M.opt(M.refine('secret'))", &[("f0", "x"), ("f0:given", "no")], Ok(None)),
            ("M.opt(M.refine('secret'))", &[("f0", "x"), ("f0:given", "yes")], Ok(Some("x"))),
            (
                "M.opt(M.refine('secret'))",
                &[("f0", ""), ("f0:given", "yes")],
                Err("fill this in: a secret (may be left out)"),
            ),
            (
                "M.and(M.string({ stringLengthLimit: 3 }), M.refine('secret'))",
                &[("f0", "hunter2")],
                Err("expected text (at most 3 characters)"),
            ),
        ] {
            let read = read_secret(&Pattern::parse(pattern).unwrap(), "f0", &pairs(sent));
            let read = read.as_ref().map(Option::as_deref).map_err(|wrong| wrong.why.as_str());
            assert_eq!(read, expected, "{pattern} {sent:?}");
        }
    }

    #[test]
    fn error_describes_the_found_input() {
        let picks = [
            row(1, "counter", "Counter", false),
            row(2, "ledger", "Ledger", false),
            row(3, "soon", "Counter", true),
        ];
        let (gone, ledger, came) = (id(7).to_string(), id(2).to_string(), id(1).to_string());
        for (pattern, sent, expected) in [
            ("M.nat()", &[("f0", "")][..], "f0: fill this in: a whole number, 0 or more"),
            ("M.nat()", &[("f0", "x")], "f0: expected a whole number, 0 or more, found the text \"x\""),
            (
                "M.and({ a: M.number(), b: M.number() }, M.gte({ a: 3, b: 0 }))",
                &[("f0/a", "1"), ("f0/b", "1")],
                "f0: expected at least {a: 3, b: 0}, found a record with a, b",
            ),
            (
                "M.kind('tagged')",
                &[("f0/tag", "t"), ("f0/payload:kind", "1")],
                "f0/payload/1: fill this in: a number",
            ),
            (
                "M.remotable('Counter')",
                &[("f0", &gone)],
                "f0: what you had picked is none of your names any more: pick again",
            ),
            (
                "M.remotable('Counter')",
                &[("f0", &ledger)],
                "f0: `ledger` does not fit: expected a capability (Counter)",
            ),
            (
                "M.promise('Counter')",
                &[("f0", &came)],
                "f0: what `counter` promised has come meanwhile, and a promise is asked for: pick another one",
            ),
            ("M.remotable('Counter')", &[("f0", "")], "f0: fill this in: a capability (Counter)"),
            (
                "M.recordOf(M.or('a', 'b'), M.number())",
                &[("f0/0:given", "yes"), ("f0/0/value", "1")],
                "f0/0/key: fill this in: one of \"a\" or \"b\"",
            ),
            // JSON input does not bypass the check of the picker.
            (
                "M.remotable('Counter')",
                &[("f0:json", &format!(r#"{{"@qclass":"remotable","ref":"{ledger}"}}"#))],
                "f0: expected the identifier of a capability that can be picked here",
            ),
        ] {
            let wrong = read(&Pattern::parse(pattern).unwrap(), "f0", &pairs(sent), &picks).unwrap_err();
            let said = format!("{}: {}", wrong[0].place, wrong[0].why);
            assert!(said.starts_with(expected) && (!expected.contains("fill") || said == expected), "{said}");
        }
    }
}
