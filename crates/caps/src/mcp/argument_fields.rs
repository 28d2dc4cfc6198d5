//! The fields that a tool's schema gives its arguments, wherever in the schema they stand.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

/// The maximum number of schemas within each other that are looked at.
const MAX_DEPTH: usize = 16;

/// The fields of the object of arguments.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ArgumentFields {
    /// The schemas of the named fields.
    pub(super) properties: BTreeMap<String, Json>,
    /// The fields that each call must have.
    pub(super) required: BTreeSet<String>,
    /// The schema of all other fields, if others are allowed: `true`, or an object.
    pub(super) others: Option<Json>,
}

impl ArgumentFields {
    /// Reads the fields of a schema.
    ///
    /// A schema without `properties` that forbids nothing allows any fields. A schema with them allows others only
    /// if it says so: most servers reject what they did not name.
    pub(super) fn of(schema: &Json) -> ArgumentFields {
        let mut fields = ArgumentFields::default();
        let names_fields = fields.add(schema, schema, MAX_DEPTH);
        if !names_fields && fields.others.is_none() {
            fields.others = Some(Json::Bool(true));
        }
        fields
    }

    /// Adds the fields of a part of the schema. Returns whether the part says which fields there are.
    fn add(&mut self, whole: &Json, part: &Json, depth: usize) -> bool {
        let (Some(object), Some(depth)) = (part.as_object(), depth.checked_sub(1)) else { return false };
        let mut names_fields = false;
        if let Some(properties) = object.get("properties").and_then(Json::as_object) {
            names_fields = true;
            for (name, property) in properties.iter().filter(|(_, property)| is_schema(property)) {
                self.add_property(name, property);
            }
        }
        let required = object.get("required").and_then(Json::as_array).into_iter().flatten();
        self.required.extend(required.filter_map(Json::as_str).map(str::to_owned));
        match object.get("additionalProperties") {
            Some(Json::Bool(true)) => self.others = Some(Json::Bool(true)),
            Some(Json::Bool(false)) => names_fields = true,
            Some(schema @ Json::Object(rules)) => {
                let free = rules.is_empty() || self.others.is_some();
                self.others = Some(if free { Json::Bool(true) } else { schema.clone() });
            }
            _ => {}
        }
        if object.get("patternProperties").is_some_and(Json::is_object) {
            self.others = Some(Json::Bool(true));
        }
        let reference = object.get("$ref").and_then(Json::as_str).and_then(|it| it.strip_prefix('#'));
        let referred = reference.and_then(|pointer| whole.pointer(pointer));
        let all = object.get("allOf").and_then(Json::as_array);
        for part in referred.into_iter().chain(all.into_iter().flatten()) {
            names_fields |= self.add(whole, part, depth);
        }
        for choice in ["anyOf", "oneOf"] {
            let arms = object.get(choice).and_then(Json::as_array);
            names_fields |= self.add_choice(whole, arms.into_iter().flatten(), depth);
        }
        let conditional = ["then", "else"].into_iter().filter_map(|part| object.get(part));
        let dependent = object.get("dependentSchemas").and_then(Json::as_object).into_iter().flatten();
        // An argument may fit none of these parts, so no field of them is required.
        let nothing = json!({});
        let optional = conditional.chain(dependent.map(|(_, part)| part)).chain([&nothing]);
        names_fields | self.add_choice(whole, optional, depth)
    }

    /// Adds the fields of schemas of which one holds. Only what all of them require is required.
    fn add_choice<'a>(&mut self, whole: &Json, arms: impl Iterator<Item = &'a Json>, depth: usize) -> bool {
        let mut common: Option<BTreeSet<String>> = None;
        let mut names_fields = false;
        for arm in arms {
            let mut fields = ArgumentFields::default();
            names_fields |= fields.add(whole, arm, depth);
            for (name, property) in &fields.properties {
                self.add_property(name, property);
            }
            self.others = self.others.take().or(fields.others);
            common = Some(match common {
                None => fields.required,
                Some(common) => common.intersection(&fields.required).cloned().collect(),
            });
        }
        self.required.extend(common.into_iter().flatten());
        names_fields
    }

    /// Adds a field. A field that several parts of the schema describe may be as any of them says.
    fn add_property(&mut self, name: &str, property: &Json) {
        match self.properties.get_mut(name) {
            None => {
                self.properties.insert(name.to_owned(), property.clone());
            }
            Some(known) if known == property => {}
            Some(known) => *known = json!({ "anyOf": [known.clone(), property] }),
        }
    }
}

fn is_schema(json: &Json) -> bool {
    json.is_object() || json.is_boolean()
}

/// Returns the schema without the parts that are none. The servers of models reject a whole request for one of them.
pub(super) fn sound(schema: &Json) -> Json {
    let Json::Object(object) = schema else { return schema.clone() };
    let mut sound_object = Map::new();
    for (key, value) in object {
        let kept = match (key.as_str(), value) {
            // mastra-ai/mastra#23731: `required` among the properties.
            ("properties" | "$defs" | "definitions" | "patternProperties", Json::Object(parts)) => {
                let parts = parts.iter().filter(|(_, part)| is_schema(part));
                Some(parts.map(|(name, part)| (name.clone(), sound(part))).collect())
            }
            ("items" | "additionalProperties" | "not" | "contains" | "propertyNames", part)
                if is_schema(part) =>
            {
                Some(sound(part))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Json::Array(parts)) => {
                Some(parts.iter().filter(|part| is_schema(part)).map(sound).collect())
            }
            // `"required": true` beside a type comes from older drafts.
            ("required", Json::Array(names)) => {
                Some(names.iter().filter(|name| name.is_string()).cloned().collect())
            }
            ("enum", Json::Array(values)) if !values.is_empty() => Some(value.clone()),
            ("type", Json::String(_)) | ("description" | "title", Json::String(_)) => Some(value.clone()),
            ("type", Json::Array(kinds)) if kinds.iter().all(Json::is_string) => Some(value.clone()),
            (
                "properties"
                | "$defs"
                | "definitions"
                | "patternProperties"
                | "items"
                | "additionalProperties"
                | "not"
                | "contains"
                | "propertyNames"
                | "anyOf"
                | "oneOf"
                | "allOf"
                | "prefixItems"
                | "required"
                | "enum"
                | "type"
                | "description"
                | "title",
                _,
            ) => None,
            _ => Some(value.clone()),
        };
        sound_object.extend(kept.map(|kept| (key.clone(), kept)));
    }
    let has_items = ["items", "prefixItems"].iter().any(|key| sound_object.contains_key(*key));
    if sound_object.get("type").is_some_and(|kind| kind == "array") && !has_items {
        sound_object.insert("items".to_owned(), json!({}));
    }
    Json::Object(sound_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the fields in short: `a` is optional, `b!` required, `…` stands for any others, `…?` for typed ones.
    fn fields(schema: &Json) -> String {
        let fields = ArgumentFields::of(schema);
        let named = fields.properties.keys().chain(&fields.required).collect::<BTreeSet<_>>();
        let named = named.into_iter().map(|name| match fields.required.contains(name) {
            true => format!("{name}!"),
            false => name.clone(),
        });
        let others = fields.others.map(|others| if others == true { "…" } else { "…?" }.to_owned());
        named.chain(others).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn fields_are_found_wherever_the_schema_has_them() {
        let (a, b) = (json!({ "a": { "type": "string" } }), json!({ "b": { "type": "integer" } }));
        for (schema, found) in [
            (json!({ "type": "object", "properties": a, "required": ["a"] }), "a!"),
            (json!({ "type": "object", "properties": {} }), ""),
            (json!({ "type": "object", "additionalProperties": false }), ""),
            (json!({ "properties": a, "required": ["a", "b"] }), "a! b!"),
            // Free fields: elastic/kibana#287769, gsd-build/gsd-2#1354, zereight/gitlab-mcp#286.
            (json!({ "properties": a, "additionalProperties": true }), "a …"),
            (json!({ "properties": a, "additionalProperties": {} }), "a …"),
            (json!({ "properties": a, "additionalProperties": { "type": "string" } }), "a …?"),
            (json!({ "properties": a, "patternProperties": { "^x-": {} } }), "a …"),
            (json!({ "type": "object" }), "…"),
            (json!({}), "…"),
            // Fields below the top: anthropics/claude-code#88049.
            (
                json!({ "anyOf": [{ "properties": a, "required": ["a"] }, { "properties": b, "required": ["b"] }] }),
                "a b",
            ),
            (
                json!({ "oneOf": [{ "properties": a, "required": ["a"] }, { "properties": a, "required": ["a"] }] }),
                "a!",
            ),
            (json!({ "allOf": [{ "properties": a, "required": ["a"] }, { "properties": b }] }), "a! b"),
            (json!({ "$ref": "#/$defs/x", "$defs": { "x": { "properties": a, "required": ["a"] } } }), "a!"),
            (json!({ "$ref": "#/definitions/x", "definitions": { "x": { "properties": b } } }), "b"),
            (json!({ "properties": a, "if": {}, "then": { "properties": b, "required": ["b"] } }), "a b"),
            (json!({ "properties": a, "dependentSchemas": { "a": { "properties": b } } }), "a b"),
            // mastra-ai/mastra#23731.
            (json!({ "properties": { "a": { "type": "string" }, "required": ["a"] } }), "a"),
            (json!({ "properties": { "a": 7, "b": null, "c": true } }), "c"),
            (
                json!({ "properties": 7, "required": "a", "anyOf": 7, "$ref": 7, "additionalProperties": 7 }),
                "…",
            ),
            (json!({ "$ref": "#", "properties": a }), "a"),
        ] {
            assert_eq!(fields(&schema), found, "{schema}");
        }
        let both = json!({ "anyOf": [{ "properties": a }, { "properties": { "a": { "type": "null" } } }] });
        assert_eq!(
            ArgumentFields::of(&both).properties["a"],
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })
        );
    }

    #[test]
    fn unsound_parts_of_a_schema_are_left_out() {
        for (schema, expected) in [
            (json!({ "properties": { "a": {}, "required": ["a"] } }), json!({ "properties": { "a": {} } })),
            (json!({ "type": "string", "required": true }), json!({ "type": "string" })),
            (json!({ "type": 7, "enum": [], "description": [] }), json!({})),
            // IvanMurzak/Unity-MCP#440: "array type must have items".
            (json!({ "type": "array" }), json!({ "type": "array", "items": {} })),
            (json!({ "type": "array", "items": "string" }), json!({ "type": "array", "items": {} })),
            (json!({ "items": [{ "type": "string" }, 7] }), json!({ "items": [{ "type": "string" }] })),
            (
                json!({ "properties": { "a": { "type": "array", "items": { "required": true } } }, "required": ["a", 7] }),
                json!({ "properties": { "a": { "type": "array", "items": {} } }, "required": ["a"] }),
            ),
            (
                json!({ "type": ["string", "null"], "nullable": true, "x": 1 }),
                json!({ "type": ["string", "null"], "nullable": true, "x": 1 }),
            ),
        ] {
            assert_eq!(sound(&schema), expected, "{schema}");
        }
    }
}
