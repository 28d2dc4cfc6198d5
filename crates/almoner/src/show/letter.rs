//! Letters, as a person reads them.

use std::fmt::Write as _;

use kernel::message::Body;
use passable::visible_line;

/// A message in one line.
pub fn summary(body: &Body) -> String {
    match body {
        Body::Request { description, .. } => format!("asks: {}", description.visible_line()),
        Body::Package { strings, names, .. } => {
            let mut line = String::new();
            for (i, text) in strings.iter().enumerate() {
                line.push_str(&text.visible_line());
                if let Some(name) = names.get(i) {
                    let _ = write!(line, "@{}", visible_line(name));
                }
            }
            line
        }
        Body::Definition { .. } => "proposes a program: see what it needs, then endow or reject it".to_owned(),
        Body::EvalRequest { names, .. } => format!("asks to run code over {}", listed(names)),
        Body::Form { description, fields, .. } => {
            format!("form with {} fields: {}", fields.len(), description.visible_line())
        }
        Body::Value { .. } => "a value".to_owned(),
        Body::Approval { run, entries } => format!("{run} asks about {}", entries.len()),
        Body::Release { gives, .. } => format!("a result is withheld: it would give away {}", listed(gives)),
        Body::Command { text, .. } => text.visible_line().into_owned(),
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => names.iter().map(|name| visible_line(name).into_owned()).collect::<Vec<_>>().join(", "),
    }
}
