//! The confirmation of high-risk grants. In an older session, the user types a word before handing over programs, the
//! network or a secret. Access to a browser that was left open is not enough.

use control::exit::{Exit, Failure};
use control::protocol::{Look, Response};
use control::view::{ObjectView, PickRow};
use kernel::{FormulaId, Value};
use maud::{Markup, html};
use resource::{KINDS, Kind, Row};

use crate::page_request::PageRequest;

/// The time for which a session counts as fresh, in milliseconds.
const FRESH_TIMEOUT_MS: i64 = 15 * 60 * 1000;

/// The name of the field. Fields with such a prefix are not stored in drafts.
const FIELD: &str = "_confirm";

/// The word that the user types.
const WORD: &str = "endow";

/// The types of high-risk objects that do not belong to any kind of slot.
const HEAVY: [&str; 2] = ["secret", "host"];

/// The types of objects in which others have names.
const WITH_NAMES: [&str; 2] = ["guest", "directory"];

/// The maximum number of capabilities in a value that are checked one by one. A value with more counts as high-risk.
const MAX_CAPABILITIES: usize = 50;

/// Returns whether an object of this type starts programs, reaches the network or carries a secret. A named model is
/// exempt: it is a worker that may ask the model, and its budget was set with the name.
fn is_heavy(type_name: &str) -> bool {
    let weighs = |row: &&Row| row.needs_confirmation && row.kind != Kind::Model;
    HEAVY.contains(&type_name) || KINDS.into_iter().filter(weighs).any(|row| row.type_name == type_name)
}

/// Returns whether a form hands over a high-risk object from this list.
pub fn picks(asked: &PageRequest, all: &[PickRow]) -> bool {
    let heavy: Vec<String> =
        all.iter().filter(|row| is_heavy(&row.kind)).map(|row| row.id.to_string()).collect();
    asked.body.iter().any(|(_, text)| heavy.contains(text))
}

/// Returns whether any of these identifiers is a high-risk object. They were read from a form, in any notation.
pub fn holds(ids: &[FormulaId], all: &[PickRow]) -> bool {
    all.iter().any(|row| is_heavy(&row.kind) && ids.contains(&row.id))
}

/// Returns whether a binding is high-risk. It has the syntax of `-e`, without the slot.
pub fn written(fill: &str) -> bool {
    Row::for_text(fill.trim_start()).0.needs_confirmation
}

/// Returns whether it is high-risk to give an object a name where others find it. The check covers the object, the
/// capabilities in its value, and objects that may contain names.
///
/// # Errors
/// When the daemon does not answer.
pub fn leads_to(asked: &PageRequest, thing: &ObjectView) -> Result<bool, Failure> {
    let weighs = |kind: &str| is_heavy(kind) || WITH_NAMES.contains(&kind);
    let ids: Vec<&FormulaId> = thing.value.iter().flat_map(Value::references).collect();
    if weighs(&thing.kind) || ids.len() > MAX_CAPABILITIES {
        return Ok(true);
    }
    for id in ids {
        match asked.look(Look::Formula { id: *id }) {
            Ok(Response::Formula(view)) if !weighs(&view.thing.kind) => {}
            // An object that has ended gives access to nothing.
            Err(failure) if failure.exit == Exit::Denied => {}
            Err(failure) => return Err(failure),
            _ => return Ok(true),
        }
    }
    Ok(false)
}

fn is_old(asked: &PageRequest) -> bool {
    asked.site.backend.now_ms().saturating_sub(asked.session.begun_ms) > FRESH_TIMEOUT_MS
}

/// Returns the confirmation field, if the session is old. Its label begins with the given condition.
pub fn field(asked: &PageRequest, what: &str) -> Markup {
    field_of(asked, "", what)
}

/// Returns the confirmation field for one of several forms on a page. The form's name makes the field's id unique.
pub fn field_of(asked: &PageRequest, form: &str, what: &str) -> Markup {
    let id = format!("{form}confirm");
    html! {
        @if is_old(asked) {
            label for=(id) { "This browser was let in a while ago. " (what) ", write " code { (WORD) } }
            input #(id) name=(FIELD) autocomplete="off" autocapitalize="off" spellcheck="false";
        }
    }
}

/// Returns whether the session is fresh, or the word was typed.
pub fn is_confirmed(asked: &PageRequest) -> bool {
    !is_old(asked) || asked.filled(FIELD) == Some(WORD)
}

/// Returns the remedy for a missing word.
pub fn remedy() -> String {
    format!("write `{WORD}` into the field above the button; nothing was done")
}

/// Refuses a high-risk action in an old session, unless the word was typed.
///
/// # Errors
/// When the word is missing.
pub fn check(asked: &PageRequest, weighs: bool) -> Result<(), Failure> {
    if weighs && !is_confirmed(asked) {
        let message =
            "cannot hand over programs, the network, secrets or a model: this browser was let in long ago";
        return Err(Failure::new(Exit::Invalid, message).help(remedy()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{is_heavy, written};

    #[test]
    fn programs_network_and_secrets_need_confirmation() {
        for (fill, expected) in [
            ("program:sh", true),
            (" https://example.org", true),
            ("HTTPS://example.org", true),
            ("model:fast", true),
            ("mcp:s[t]", true),
            ("secret:x?env=X", true),
            ("/home/me/notes:rw", false),
            ("clock", false),
        ] {
            assert_eq!(written(fill), expected, "{fill}");
        }
    }

    #[test]
    fn types_with_programs_or_secrets_need_confirmation() {
        for (type_name, expected) in [
            ("program", true),
            ("web", true),
            ("mcp", true),
            ("handed-secret", true),
            ("secret", true),
            ("host", true),
            ("worker", false),
            ("mount", false),
            ("repository", false),
        ] {
            assert_eq!(is_heavy(type_name), expected, "{type_name}");
        }
    }
}
