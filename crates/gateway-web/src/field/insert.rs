//! Insertion of capabilities into JSON: the user picks a name, and the identifier of its object is written into the
//! text. The text never contains the name, so that a later change of the name cannot change the text's meaning.

use control::view::PickRow;
use kernel::{FormulaId, Value};
use maud::{Markup, html};
use serde_json::Value as Json;

use super::draw::{FormRenderer, PlacedControl};
use super::form_values::{FormValues, ROW};
use super::pick::LookAlikes;
use super::pick::Picker;
use super::place::id;
use crate::page::parts;

/// The first word of the insert button's value.
const INSERT: &str = "insert";

/// The name of the field in which a script sends the position of the caret.
const CARET: &str = "_at";

/// Returns the name of the picker's field. Fields with this prefix are not part of the answer, and are not stored in
/// drafts.
fn field(place: &str) -> String {
    format!("_insert {place}")
}

impl FormRenderer<'_> {
    /// Returns the text area for JSON, with its picker. `name` is the name of its field.
    pub(super) fn json(&self, spot: &PlacedControl<'_>, name: &str, pending: bool) -> Markup {
        let place = spot.place;
        let text = self.typed.text(name).unwrap_or("");
        let field = field(place);
        let own = id(&field);
        let called = format!("Insert one of your names into {}", spot.said);
        let picker = Picker {
            place: &field,
            called: &called,
            label: None,
            pending,
            data: false,
            picks: self.picks,
            typed: None,
            wrong: self.wrong.contains_key(&field),
            fresh: self.typed.is_fresh(&field),
            narrows: None,
        };
        html! {
            div.list id={ (id(place)) "-json" } {
                (self.area(place, name, text, None, false))
                (inserted_note(place, text, self.picks))
                @if !self.picks.is_empty() {
                    label for=(own) { "Insert one of your names into " (spot.title) }
                    p.note id={ (own) "-wants" } {
                        "It goes where the first " code { "?" } " stands in the text, else to the caret or the end, as
                        the thing itself: it stays that whatever its name comes to mean."
                    }
                    (picker.draw())
                    button.plain name=(ROW) value={ (INSERT) " " (place) } formnovalidate
                        aria-label={ "Insert it into " (spot.said) } { "Insert" }
                    (self.error(&field))
                }
            }
        }
    }
}

/// Handles an insert button: writes the picked object into the text. Other buttons are ignored.
///
/// # Errors
/// The place and the message of the error, when the picked object was not offered there.
pub fn insert(
    typed: &mut FormValues,
    said: &str,
    picks: &[PickRow],
    pending: impl Fn(&str) -> bool,
) -> Result<(), (String, String)> {
    let Some((INSERT, place)) = said.split_once(' ') else { return Ok(()) };
    let field = field(place);
    let id: Option<FormulaId> = typed.text(&field).and_then(|text| text.parse().ok());
    // Only objects that were offered at this place are accepted.
    let Some(row) = picks.iter().find(|row| Some(row.id) == id && row.fits(None, pending(place))) else {
        typed.freshen(&field);
        return Err((field, "choose one of your names first".to_owned()));
    };
    let value = if row.pending { Value::promise(row.id) } else { Value::remotable(row.id) };
    let json = format!("{place}:json");
    let name = if typed.text(&json).is_some() { json } else { place.to_owned() };
    // Browsers send each line end as two characters, but count it as one in the caret's position.
    let text = typed.text(&name).unwrap_or("").replace("\r\n", "\n");
    let caret = typed.text(CARET).and_then(|at| at.parse().ok());
    let (text, caret) = with_insertion(&text, caret, &value.to_json().to_string());
    typed.set(&name, text);
    typed.forget(&field);
    typed.freshen_at(place, caret);
    Ok(())
}

/// Returns the text with the insertion, and the position of the caret after it. Positions are counted in UTF-16
/// units.
fn with_insertion(text: &str, caret: Option<usize>, what: &str) -> (String, usize) {
    let (before, after) = match gap(text) {
        Some(at) => (text.get(..at).unwrap_or(""), text.get(at + 1..).unwrap_or("")),
        None => {
            // A caret at the very beginning was not placed by the user.
            let at = caret.filter(|at| *at > 0).and_then(|at| place_of(text, at)).unwrap_or(text.len());
            text.split_at_checked(at).unwrap_or((text, ""))
        }
    };
    let caret = before.encode_utf16().count() + what.encode_utf16().count();
    (format!("{before}{what}{after}"), caret)
}

/// Returns the position of the first `?` outside of strings.
fn gap(text: &str) -> Option<usize> {
    let (mut in_string, mut escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '?' if !in_string => return Some(at),
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = in_string && letter == '\\' && !escaped;
    }
    None
}

/// Returns the byte offset of a caret position, if it is between two characters.
fn place_of(text: &str, caret: usize) -> Option<usize> {
    let mut units = 0;
    for (at, letter) in text.char_indices() {
        if units >= caret {
            return (units == caret).then_some(at);
        }
        units += letter.len_utf16();
    }
    None
}

/// Returns the note below the text: a list of the capabilities in it.
pub fn inserted_note(place: &str, text: &str, picks: &[PickRow]) -> Markup {
    let inserted = inserted(text);
    html! {
        div.note id={ (id(place)) "-told" } data-told role="status" {
            @if !inserted.is_empty() {
                p { "What is inserted:" }
                ul { @for one in &inserted { li { (in_words(one, picks)) } } }
            }
        }
    }
}

/// Returns the identifiers of the capabilities in a text, in order and without duplicates. While the text is not
/// valid JSON, all values of `"ref"` count.
fn inserted(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    match serde_json::from_str(text) {
        Ok(json) => walk(&json, &mut all),
        Err(_) => scan(text, &mut all),
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|one| seen.insert(one.clone()));
    all
}

fn walk(json: &Json, all: &mut Vec<String>) {
    match json {
        Json::Array(elements) => elements.iter().for_each(|one| walk(one, all)),
        Json::Object(fields) => {
            let class = fields.get("@qclass").and_then(Json::as_str);
            match (class, fields.get("ref").and_then(Json::as_str)) {
                (Some("remotable" | "promise"), Some(id)) => all.push(id.to_owned()),
                _ => fields.values().for_each(|one| walk(one, all)),
            }
        }
        _ => {}
    }
}

fn scan(text: &str, all: &mut Vec<String>) {
    for rest in text.split("\"ref\"").skip(1) {
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
        let id = value.and_then(|value| value.strip_prefix('"')?.split_once('"'));
        all.extend(id.map(|(id, _)| id.to_owned()));
    }
}

/// Returns a description of an identifier, taken from the daemon's own record.
fn in_words(id: &str, picks: &[PickRow]) -> Markup {
    let read: Option<FormulaId> = id.parse().ok();
    let row = picks.iter().find(|row| Some(row.id) == read);
    html! {
        @match (row, read) {
            (Some(row), _) => {
                (parts::word(&row.path)) " · "
                @match &row.interface { Some(name) => (parts::word(name)), None => (parts::word(&row.kind)) }
                " · " (row.id.short())
                (LookAlikes::among(picks).badge(row))
                @if row.pending { " · ⏳ nothing has come of it yet" }
            }
            (None, Some(id)) => { (id.short()) " · nothing that you have a name for" }
            (None, None) => "something that is no identifier",
        }
    }
}

#[cfg(test)]
mod tests {
    use passable::Untrusted;

    use super::*;

    fn id(at: u8) -> FormulaId {
        FormulaId { number: [at; 32], node: [9; 32] }
    }

    fn row(at: u8, path: &str, pending: bool, data: bool) -> PickRow {
        PickRow {
            path: path.to_owned(),
            id: id(at),
            kind: "export".to_owned(),
            words: Untrusted::new("an object"),
            methods: vec![],
            others: false,
            pending,
            data,
            labels: vec![],
            interface: (path == "counter").then(|| "Counter".to_owned()),
        }
    }

    fn picks() -> Vec<PickRow> {
        vec![row(1, "counter", false, false), row(2, "soon", true, false), row(3, "plain", false, true)]
    }

    #[test]
    fn insertion_goes_to_the_gap_the_caret_or_the_end() {
        for (text, caret, expected) in [
            ("", None, "X|"),
            ("[1, ]", Some(4), "[1, X|]"),
            ("[?, ?]", Some(0), "[X|, ?]"),
            (r#"{"a?\"?": ?}"#, Some(1), r#"{"a?\"?": X|}"#),
            (r#"["\\", ?]"#, None, r#"["\\", X|]"#),
            (r#"["?"]"#, None, r#"["?"]X|"#),
            ("[]", Some(0), "[]X|"),
            ("[]", Some(99), "[]X|"),
            ("[\"ä😀\",]", Some(7), "[\"ä😀\",X|]"),
            // A caret position inside of a character is invalid.
            ("😀1", Some(1), "😀1X|"),
        ] {
            let (text, caret) = with_insertion(text, caret, "X");
            let at = place_of(&text, caret).unwrap_or(text.len());
            let (before, after) = text.split_at(at);
            assert_eq!(format!("{before}|{after}"), expected);
        }
    }

    #[test]
    fn only_offered_objects_are_inserted() {
        let nonsense = ["nonsense".to_owned(), String::new(), id(9).to_string(), id(3).to_string()];
        for (picked, pending, expected) in [
            (id(1).to_string(), false, Some("remotable")),
            (id(2).to_string(), true, Some("promise")),
            (id(2).to_string(), false, None),
        ]
        .into_iter()
        .chain(nonsense.into_iter().map(|one| (one, true, None)))
        {
            let pairs =
                vec![("f0/a".to_owned(), "[?]".to_owned()), ("_insert f0/a".to_owned(), picked.clone())];
            let mut typed = FormValues::sent(&pairs);
            let done = insert(&mut typed, "insert f0/a", &picks(), |_| pending);
            let text = typed.text("f0/a").unwrap();
            match expected {
                Some(class) => {
                    assert_eq!(done, Ok(()));
                    let json: Json = serde_json::from_str(text).unwrap();
                    assert_eq!(json, serde_json::json!([{ "@qclass": class, "ref": picked }]));
                    assert!(typed.is_fresh("f0/a"));
                }
                None => {
                    assert_eq!(text, "[?]", "{picked}");
                    assert_eq!(done.unwrap_err().0, "_insert f0/a");
                }
            }
        }
        let mut typed = FormValues::default();
        for other in ["more f0", "insert", "", "inserted f0"] {
            assert_eq!(insert(&mut typed, other, &picks(), |_| true), Ok(()), "{other}");
            assert_eq!(typed, FormValues::default());
        }
    }

    #[test]
    fn inserted_capabilities_are_listed() {
        let one = |at: u8| format!(r#"{{"@qclass":"remotable","ref":"{}"}}"#, id(at));
        for (text, expected) in [
            (one(1), vec!["counter", "Counter", "01010101"]),
            (format!(r#"{{"a":[{},{}]}}"#, one(1), one(2)), vec!["counter", "soon", "⏳"]),
            // Unfinished JSON is searched, too.
            (format!("[{}", one(1)), vec!["counter"]),
            (one(7), vec!["07070707", "nothing that you have a name for"]),
            (r#"{"@qclass":"remotable","ref":"<b>"}"#.to_owned(), vec!["no identifier"]),
            // An identifier in plain text is not a capability.
            (format!("[\"{}\", {{\"ref\":\"{}\"}}]", id(1), id(1)), vec![]),
            (String::new(), vec![]),
            ("\"ref\" : \"".to_owned(), vec![]),
        ] {
            let told = inserted_note("f0", &text, &picks()).into_string();
            for words in &expected {
                assert!(told.contains(words), "{told}");
            }
            assert_eq!(told.contains("What is inserted"), !expected.is_empty(), "{told}");
            assert!(!told.contains("<b>"));
        }
    }
}
