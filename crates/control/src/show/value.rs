//! Values in a terminal.

use kernel::Value;
use passable::visible;

use super::json;

/// A result on stdout: text made visible, anything else as indented JSON, which a program reads as it was.
pub fn result(value: &Value) -> String {
    match value.as_str() {
        Some(text) => visible(text).into_owned(),
        None => {
            json::escaped(&serde_json::to_string_pretty(&value.to_json()).unwrap_or_default()).into_owned()
        }
    }
}

/// An argument on a card: text as it is, anything else as JSON.
pub fn argument(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string_pretty(&value.to_json()).unwrap_or_default(),
    }
}
