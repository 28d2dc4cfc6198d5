//! A fresh word for what weighs most: a session that began a while ago is asked for it before it hands over programs, the
//! network or a secret, so that a browser left open is not enough for that.

use control::exit::{Exit, Failure};
use control::protocol::{Look, Response};
use control::view::{PickRow, Thing};
use kernel::{FormulaId, Value};
use maud::{Markup, html};
use resource::{KINDS, Kind, Row};

use crate::asked::Asked;

/// How long a session counts as fresh, in milliseconds.
const FRESH_MS: i64 = 15 * 60 * 1000;

/// The name of the field. What begins so is kept in no draft.
const FIELD: &str = "_confirm";

/// What is written there.
const WORD: &str = "endow";

/// The types of things that carry a secret or all powers, and are of no kind of slot.
const HEAVY: [&str; 2] = ["secret", "host"];

/// The types of things in which others have names.
const WITH_NAMES: [&str; 2] = ["guest", "directory"];

/// Of a value that holds more than so many capabilities, nobody looks at each.
const MANY: usize = 50;

/// Returns whether something of this type starts programs, reaches the network or carries a secret. A model that has a
/// name is a worker that may ask it, and what it may use up was said when it got the name.
fn is_heavy(type_name: &str) -> bool {
    let weighs = |row: &&Row| row.weighs && row.kind != Kind::Model;
    HEAVY.contains(&type_name) || KINDS.into_iter().filter(weighs).any(|row| row.type_name == type_name)
}

/// Whether a form hands over something that weighs so much, among what it names of these.
pub fn picks(asked: &Asked, all: &[PickRow]) -> bool {
    let heavy: Vec<String> =
        all.iter().filter(|row| is_heavy(&row.kind)).map(|row| row.id.to_string()).collect();
    asked.body.iter().any(|(_, text)| heavy.contains(text))
}

/// The same of what was read from a form, however it was written there.
pub fn holds(ids: &[FormulaId], all: &[PickRow]) -> bool {
    all.iter().any(|row| is_heavy(&row.kind) && ids.contains(&row.id))
}

/// The same of what was written behind `-e`, without the slot.
pub fn written(fill: &str) -> bool {
    Row::begun(fill.trim_start()).0.weighs
}

/// The same of something that is given a name where others find it: what it is, what it was kept with, or what may have a
/// name in it.
///
/// # Errors
/// When the daemon does not answer.
pub fn leads_to(asked: &Asked, thing: &Thing) -> Result<bool, Failure> {
    let weighs = |kind: &str| is_heavy(kind) || WITH_NAMES.contains(&kind);
    let ids: Vec<&FormulaId> = thing.value.iter().flat_map(Value::references).collect();
    if weighs(&thing.kind) || ids.len() > MANY {
        return Ok(true);
    }
    for id in ids {
        match asked.look(Look::Formula { id: *id }) {
            Ok(Response::Formula(view)) if !weighs(&view.thing.kind) => {}
            // What has ended leads nowhere.
            Err(failure) if failure.exit == Exit::Denied => {}
            Err(failure) => return Err(failure),
            _ => return Ok(true),
        }
    }
    Ok(false)
}

fn is_old(asked: &Asked) -> bool {
    asked.site.backend.now_ms().saturating_sub(asked.session.begun_ms) > FRESH_MS
}

/// The field, if the session is old; `what` says when it is needed.
pub fn field(asked: &Asked, what: &str) -> Markup {
    field_of(asked, "", what)
}

/// The same, on a page with several such forms, for the one of this name.
pub fn field_of(asked: &Asked, form: &str, what: &str) -> Markup {
    let id = format!("{form}confirm");
    html! {
        @if is_old(asked) {
            label for=(id) { "This browser was let in a while ago. " (what) ", write " code { (WORD) } }
            input #(id) name=(FIELD) autocomplete="off" autocapitalize="off" spellcheck="false";
        }
    }
}

/// Refuses what weighs so much in an old session, unless the word was written.
///
/// # Errors
/// When it was not.
pub fn check(asked: &Asked, weighs: bool) -> Result<(), Failure> {
    if weighs && is_old(asked) && asked.filled(FIELD) != Some(WORD) {
        let message =
            "programs, the network and secrets are not handed over by a browser that was let in long ago";
        return Err(Failure::new(Exit::Invalid, message)
            .help(format!("write `{WORD}` into the field above the button; nothing was done")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{is_heavy, written};

    #[test]
    fn programs_the_network_and_secrets_weigh() {
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
    fn things_that_start_programs_or_carry_secrets_weigh() {
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
