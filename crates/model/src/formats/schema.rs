//! JSON Schemas cut down to the subset that a vendor enforces on its models.
//!
//! A cut schema accepts at least every value that the original accepts. So the caller must check the answer against
//! the original.

use serde_json::{Map, Value};

/// The keywords that map names to schemas.
const NAMED: [&str; 2] = ["properties", "$defs"];
/// The keywords that hold a list of schemas.
const LISTED: [&str; 3] = ["anyOf", "oneOf", "prefixItems"];

/// The subset of JSON Schema that a vendor understands.
pub(super) struct Subset {
    /// The keywords that the vendor accepts. Other keywords are left out.
    pub(super) keywords: &'static [&'static str],
    /// Whether objects must have no properties other than those that are named.
    pub(super) closed: bool,
    /// Whether every property must be required.
    pub(super) all_required: bool,
    /// Whether the schema as a whole must be that of an object.
    pub(super) object_root: bool,
}

impl Subset {
    /// Returns the schema with only the keywords that the vendor accepts, or `None` if the subset cannot express it.
    pub(super) fn cut(&self, schema: &Value) -> Option<Value> {
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        if self.object_root && !is_object { None } else { self.part(schema) }
    }

    fn part(&self, schema: &Value) -> Option<Value> {
        let Value::Object(map) = schema else {
            // No vendor accepts the schemas `true` and `false` as a form.
            return None;
        };
        let mut out = Map::new();
        for (key, value) in map {
            if !self.keywords.contains(&key.as_str()) {
                // A constant is an `enum` of one value.
                if key == "const" && value.is_string() && self.keywords.contains(&"enum") {
                    out.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
                }
                continue;
            }
            let cut = if NAMED.contains(&key.as_str()) {
                let parts =
                    value.as_object()?.iter().map(|(name, part)| Some((name.clone(), self.part(part)?)));
                Value::Object(parts.collect::<Option<Map<_, _>>>()?)
            } else if LISTED.contains(&key.as_str()) {
                Value::Array(value.as_array()?.iter().map(|part| self.part(part)).collect::<Option<_>>()?)
            } else if key == "items" || (key == "additionalProperties" && value.is_object()) {
                self.part(value)?
            } else {
                value.clone()
            };
            out.insert(key.clone(), cut);
        }
        if out.get("type").is_some_and(|kind| kind == "object") && !self.takes_object(&out) {
            return None;
        }
        Some(Value::Object(out))
    }

    fn takes_object(&self, object: &Map<String, Value>) -> bool {
        let is_closed = object.get("additionalProperties") == Some(&Value::Bool(false));
        let required = object.get("required").and_then(Value::as_array);
        let is_required = |name: &String| required.is_some_and(|all| all.iter().any(|r| r == name.as_str()));
        let named = object.get("properties").and_then(Value::as_object);
        (!self.closed || is_closed)
            && (!self.all_required || named.is_none_or(|named| named.keys().all(is_required)))
    }
}

/// The subset that OpenAI enforces strictly on its models.
pub(super) const OPENAI: Subset = Subset {
    keywords: &[
        "type",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$defs",
        "$ref",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ],
    closed: true,
    all_required: true,
    object_root: true,
};

/// The subset that Anthropic enforces on its models.
pub(super) const ANTHROPIC: Subset = Subset {
    keywords: &[
        "type",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$defs",
        "$ref",
    ],
    closed: true,
    all_required: false,
    object_root: false,
};

/// The subset that Gemini enforces on its models.
pub(super) const GEMINI: Subset = Subset {
    keywords: &[
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "enum",
        "anyOf",
        "oneOf",
        "$defs",
        "$ref",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
    ],
    closed: false,
    all_required: false,
    object_root: false,
};

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schema_is_cut_to_the_subset_or_omitted() {
        let closed = json!({"type": "object", "properties": {
                "a": {"type": "string", "maxLength": 3}, "b": {"type": "array", "items": {"type": "number", "minimum": 0}}},
            "required": ["a", "b"], "additionalProperties": false});
        let openai = OPENAI.cut(&closed).unwrap();
        assert_eq!(openai["properties"]["a"], json!({"type": "string"}));
        assert_eq!(openai["properties"]["b"]["items"]["minimum"], json!(0));
        assert_eq!(ANTHROPIC.cut(&closed).unwrap()["properties"]["b"]["items"], json!({"type": "number"}));

        let mut optional = closed.clone();
        optional["required"] = json!(["a"]);
        assert!(OPENAI.cut(&optional).is_none() && ANTHROPIC.cut(&optional).is_some());
        let open = json!({"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}});
        assert!(ANTHROPIC.cut(&open).is_none());
        assert_eq!(GEMINI.cut(&open).unwrap()["additionalProperties"], json!({"type": "string"}));
        let inside = json!({"type": "array", "items": open});
        assert!(ANTHROPIC.cut(&inside).is_none() && OPENAI.cut(&json!({"type": "string"})).is_none());
        assert!(GEMINI.cut(&json!(true)).is_none());
        assert_eq!(GEMINI.cut(&json!({"const": "a"})), Some(json!({"enum": ["a"]})));
        // A property may be called like a keyword.
        let named = json!({"type": "object", "properties": {"not": {"not": {}, "type": "null"}},
                           "required": ["not"], "additionalProperties": false});
        assert_eq!(OPENAI.cut(&named).unwrap()["properties"], json!({"not": {"type": "null"}}));
    }
}
