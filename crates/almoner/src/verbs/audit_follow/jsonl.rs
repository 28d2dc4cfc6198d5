//! Events as lines of JSON on standard output.

use kernel::event::Event;
use serde_json::{Map, Value};

use super::Receiver;
use crate::ui::output;
use control::exit::{Exit, Failure};

/// Events as lines of JSON on standard output.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonLines;

impl Receiver for JsonLines {
    fn target(&self) -> String {
        "jsonl".to_owned()
    }

    fn check(&self) -> Result<(), Failure> {
        output::expect_taker().map_err(|failure| {
            failure.help(
                "`almoner audit follow --jsonl >> events.jsonl`; `--from now --once` skips all events so far",
            )
        })
    }

    fn deliver(&mut self, events: &[Event]) -> Result<(), Failure> {
        for event in events {
            output::json(&line_of(event)?)?;
        }
        output::sync()
    }
}

/// Returns the line of an event, without the words about a step, which may quote prompts and documents.
fn line_of(event: &Event) -> Result<Value, Failure> {
    let event = serde_json::to_value(event).map_err(|error| Failure::from_error(Exit::Failure, error))?;
    let mut line = Map::from_iter([("version".to_owned(), Value::from(1))]);
    let Value::Object(fields) = event else { return Ok(Value::Object(line)) };
    for (name, mut value) in fields {
        // The same word as in the lines of `run --events`.
        let name = if name == "change" { "event".to_owned() } else { name };
        if let Some(change) = value.as_object_mut() {
            change.remove("line");
        }
        line.insert(name, value);
    }
    Ok(Value::Object(line))
}
