//! The JSON Schema of a worker file's front matter, for editors that complete and check while an author types.
//!
//! The schema is as strict as JSON Schema can be. Rules over several parts of the file are checked only by
//! [`super::parse`]. Examples are the slot of a step, and the values in a template.

use serde_json::{Value as Json, json};

use super::parse::KEYS;
use super::{MEDIA_FAMILIES, MEDIA_TYPES};

/// Returns the schema of the front matter.
pub fn schema() -> Json {
    let kinds: Vec<&str> = resource::KINDS.iter().map(|row| row.label).collect();
    let amount = json!({ "type": ["string", "integer"] });
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    let types: Vec<&str> = MEDIA_TYPES.into_iter().chain(MEDIA_FAMILIES).collect();
    let attachments = json!({ "type": "object", "additionalProperties": false, "properties": {
        "max": { "type": "integer", "minimum": 0, "maximum": 1000 }, "bytes": amount, "suffixes": strings,
        "types": { "type": "array", "items": { "enum": types } } } });
    let slot = json!({ "oneOf": [
        { "enum": kinds },
        { "type": "object", "additionalProperties": false, "required": ["is"], "properties": {
            "is": { "enum": kinds },
            "attachments": attachments,
            "label": { "type": "string", "description": "what a person reads when something is to be bound" } } }
    ] });
    let names = json!({ "pattern": "^[A-Za-z][A-Za-z0-9_]{0,31}$" });
    let pattern =
        json!({ "description": "a pattern: a word, a list of one, a map of names, or `M.…` in quotes" });
    let properties = json!({
        "approve": { "type": "object", "additionalProperties": { "const": "ask" },
            "propertyNames": { "pattern": "^[A-Za-z][A-Za-z0-9_]{0,31}\\.[a-z_]+$" },
            "description": "methods about which a person is asked even where the endowment would not" },
        "attachments": attachments,
        "creates": { "type": "boolean", "description": "whether its model may make workers" },
        "description": { "type": "string", "maxLength": 300, "description": "what it does, in one line" },
        "input": { "type": "object", "description": "the named inputs: names and patterns" },
        "limits": { "type": "object", "additionalProperties": false, "properties": {
            "turns": { "type": "integer", "minimum": 1, "maximum": 1000 },
            "calls": { "type": "integer", "minimum": 1, "maximum": 100_000 },
            "depth": { "type": "integer", "minimum": 0, "maximum": 32 },
            "tokens": amount, "answer": amount, "kept": amount, "wall": { "type": "string" }, "usd": { "type": "number", "exclusiveMinimum": 0 } } },
        "model": { "type": "string", "maxLength": 200 },
        "output": pattern,
        "slots": { "type": "object", "propertyNames": names, "additionalProperties": slot },
        "then": { "type": "array", "items": { "type": "object", "minProperties": 1, "properties": {
            "with": { "type": "object" }, "attach": { "type": "boolean" } } } },
        "tools": strings,
        "write": { "type": "array", "items": { "type": "object", "additionalProperties": false, "required": ["path"],
            "properties": { "each": { "type": "string" }, "once": { "type": "string" }, "path": { "type": "string" },
                "content": { "type": "string" }, "template": { "type": "string" } } } }
    });
    debug_assert!(properties.as_object().is_some_and(|all| all.keys().eq(KEYS.iter())));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The front matter of an Almoner worker file",
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": properties
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_has_exactly_the_front_matter_keys() {
        let schema = schema();
        let known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(known, KEYS);
    }
}
