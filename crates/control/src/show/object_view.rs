//! Names and their objects, as text.

use std::fmt::Write as _;

use kernel::Value;
use kernel::grant::EVERY_METHOD;
use passable::{ExactJson, Untrusted, legible, visible_line};
use serde_json::{Value as Json, json};

use crate::view::{GrantRow, NameRow, ObjectView, PromiseState};

/// The reader of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A user at a screen. Characters that are not plainly visible are escaped, unless they belong to their
    /// neighbours.
    Person,
    /// A program, which gets texts unchanged.
    Program,
}

/// Returns names as text, one per line. With `long`, each line also describes the object.
pub fn names(rows: &[NameRow], long: bool, reader: Reader) -> String {
    let width = rows.iter().map(|row| visible_line(&row.name).chars().count()).max().unwrap_or(0).min(40);
    rows.iter()
        .map(|row| {
            let name = match reader {
                Reader::Person => kernel::confusables::display_name(&row.name),
                Reader::Program => visible_line(&row.name).into_owned(),
            };
            let badge = badge(&row.name, reader);
            match (long, row.id) {
                (false, _) => format!("{name}{badge}\n"),
                (true, id) => {
                    let id = id.map(|id| id.short()).unwrap_or_default();
                    let kind = visible_line(&row.kind);
                    format!("{name:width$}  {kind:<13} {id:<8}  {}{badge}\n", row.words.visible_line())
                }
            }
        })
        .collect()
}

/// Returns a note for a name that mixes letters of several scripts, which can look alike. A program gets no note.
fn badge(name: &str, reader: Reader) -> String {
    let mixed = reader == Reader::Person && kernel::confusables::has_mixed_scripts(name);
    if mixed { format!("  (look-alike letters: {})", name.escape_default()) } else { String::new() }
}

/// Returns an object as text: its value as JSON, or its bytes if they are text, or else its description.
pub fn object(thing: &ObjectView, reader: Reader) -> String {
    if let Some(shown) = &thing.value {
        return value(shown, reader);
    }
    match &thing.text {
        Some(text) => for_reader(text.raw(), reader),
        None => format!("{} ({})", thing.words.visible_line(), visible_line(&thing.kind)),
    }
}

/// Returns an object as JSON for programs. Values in it are plain JSON.
pub fn json(thing: &ObjectView) -> Json {
    let mut json = json!({
        "version": 1,
        "id": thing.id,
        "kind": thing.kind,
        "words": thing.words.raw(),
        "value": thing.value.as_ref().map(Value::to_json),
        "text": thing.text.as_ref().map(Untrusted::raw),
    });
    if let Some(promise) = &thing.promise {
        json["promise"] = promise_json(promise);
    }
    json
}

/// Returns the state of a promise as JSON for programs.
pub fn promise_json(state: &PromiseState) -> Json {
    match state {
        PromiseState::Pending => json!({ "state": "pending" }),
        PromiseState::Fulfilled { value } => json!({ "state": "fulfilled", "value": value.to_json() }),
        PromiseState::Rejected { reason } => json!({ "state": "rejected", "reason": reason.raw() }),
    }
}

/// Returns a value as JSON text. For a user, the text is escaped for a terminal.
pub fn value(value: &Value, reader: Reader) -> String {
    for_reader(&format!("{:#}", ExactJson(&value.to_json())), reader)
}

fn for_reader(text: &str, reader: Reader) -> String {
    match reader {
        Reader::Person => legible(text).into_owned(),
        Reader::Program => text.to_owned(),
    }
}

/// Returns grants as text, one per line.
pub fn grants(rows: &[GrantRow]) -> String {
    let mut out = String::new();
    for GrantRow { grant, held_by, name, .. } in rows {
        let methods = if grant.methods.contains(EVERY_METHOD) {
            "everything".to_owned()
        } else {
            grant.methods.iter().map(|m| visible_line(m).into_owned()).collect::<Vec<_>>().join(", ")
        };
        let limits: String = grant
            .attenuation
            .limit_phrases()
            .iter()
            .map(|words| format!("; {}", visible_line(words)))
            .collect();
        let _ = write!(
            out,
            "{:<5} {:<16} {}{}: {methods}{limits}; held by {}",
            grant.number.to_string(),
            visible_line(&grant.slot),
            name.as_ref().map_or_else(String::new, |name| format!("{}, ", visible_line(name))),
            visible_line(&grant.words),
            held_by.visible_line()
        );
        if let Some(message) = grant.source {
            let _ = write!(out, "; message {message}");
        }
        out.push_str(if grant.revoked_ms.is_some() { "; revoked\n" } else { "\n" });
    }
    out
}

/// Returns the paths by which an object is kept, as text. Each path begins at its root.
pub fn retention_paths(ways: &[Vec<String>]) -> String {
    let mut out = String::new();
    for (i, way) in ways.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        for (depth, line) in way.iter().enumerate() {
            let arrow = if depth == 0 { "" } else { "└ " };
            let _ = writeln!(
                out,
                "{:indent$}{arrow}{}",
                "",
                visible_line(line),
                indent = depth.saturating_sub(1) * 2
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_forge_lines() {
        let row = |name: &str| NameRow {
            name: name.to_owned(),
            kind: "mount".to_owned(),
            words: Untrusted::new("directory /tmp/a\nb"),
            id: None,
        };
        let long = names(&[row("a"), row("b\u{1b}[2K\nc")], true, Reader::Program);
        assert_eq!(long.lines().count(), 2, "{long}");
        assert!(!long.contains('\u{1b}'));
        assert_eq!(names(&[row("a")], false, Reader::Program), "a\n");
    }

    #[test]
    fn retention_path_renders_as_indented_tree() {
        let ways = [vec!["endo".to_owned(), "host".to_owned(), "x".to_owned()], vec!["endo".to_owned()]];
        assert_eq!(retention_paths(&ways), "endo\n└ host\n  └ x\n\nendo\n");
    }
}
