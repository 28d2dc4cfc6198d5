//! The grammar of a model's output: JSON Schemas made fit for decoding.
//!
//! A small model goes on writing as long as its schema permits. So every string without a `maxLength` gets one, and
//! so does every list without a `maxItems`. Objects with named properties are closed. These changes only narrow the
//! schema: the original accepts every text that the narrowed schema accepts.

use serde_json::{Map, Value, json};

use crate::request::Request;

/// The maximum number of characters of a string that has no limit of its own.
const MAX_STRING_LEN: u64 = 600;
/// The maximum number of characters of an answer in free text, if the request has tools.
const MAX_ANSWER_LEN: u64 = 4000;
/// The maximum number of elements of a list that has no limit of its own.
const MAX_LIST_ITEMS: u64 = 40;
/// The largest integer that is exact in JSON.
const MAX_INTEGER: i64 = 9_007_199_254_740_991;

/// Returns the name of the function by which a model with tools answers. Small models choose well between functions,
/// and badly between a function and something else. So the answer is offered as a function too.
pub(super) fn answer_name(request: &Request) -> String {
    let mut name = "final_answer".to_owned();
    while request.tools.iter().any(|tool| tool.name == name) {
        name.push('_');
    }
    name
}

/// Returns the parameters of the answer function: one value of the requested form, or text.
pub(super) fn answer_parameters(request: &Request) -> Value {
    let value =
        request.output.clone().unwrap_or_else(|| json!({ "type": "string", "maxLength": MAX_ANSWER_LEN }));
    let mut definitions = Map::new();
    let value = moved(value, "answer", &mut definitions);
    json!({ "type": "object", "properties": { "answer": value }, "required": ["answer"],
            "additionalProperties": false, "$defs": definitions })
}

/// Returns the schema of everything that the model may write in answer to `request`, or `None` for free text. With
/// tools, the schema is that of `{"name": …, "arguments": …}`, a call of a tool or of the answer function.
pub(super) fn schema(request: &Request) -> Option<Value> {
    if request.tools.is_empty() {
        return request.output.as_ref().map(|schema| with_options(bounded(schema)));
    }
    let mut definitions = Map::new();
    let mut choices = Vec::new();
    let answer = (answer_name(request), answer_parameters(request));
    let tools = request.tools.iter().map(|tool| (tool.name.clone(), tool.parameters.clone()));
    for (i, (name, parameters)) in tools.chain([answer]).enumerate() {
        let mut parameters = bounded(&parameters);
        // A tool without parameters takes none.
        if let Some(map) = parameters.as_object_mut()
            && !["properties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf"]
                .iter()
                .any(|k| map.contains_key(*k))
        {
            map.insert("additionalProperties".into(), json!(false));
        }
        let arguments = moved(parameters, &format!("tool{i}"), &mut definitions);
        choices.push(json!({
            "type": "object",
            "properties": { "name": { "const": name }, "arguments": arguments },
            "required": ["name", "arguments"],
            "additionalProperties": false,
        }));
    }
    Some(with_options(json!({ "anyOf": choices, "$defs": definitions })))
}

/// Returns a schema with the option to ignore keywords that the grammar cannot express. The caller checks the result
/// anyway.
pub(super) fn lenient(mut schema: Value) -> Value {
    if let Some(options) = schema.pointer_mut("/x-guidance").and_then(Value::as_object_mut) {
        options.insert("lenient".into(), json!(true));
    }
    schema
}

/// Moves a schema among the definitions, and returns the reference to it. The references inside of the schema are
/// adjusted.
fn moved(mut schema: Value, name: &str, definitions: &mut Map<String, Value>) -> Value {
    fn rebase(schema: &mut Value, base: &str) {
        match schema {
            Value::Object(map) => {
                for (key, value) in map {
                    match value {
                        Value::String(target) if key == "$ref" => {
                            if let Some(rest) = target.strip_prefix('#') {
                                *target = format!("{base}{rest}");
                            }
                        }
                        value => rebase(value, base),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| rebase(item, base)),
            _ => {}
        }
    }
    let target = format!("#/$defs/{name}");
    rebase(&mut schema, &target);
    definitions.insert(name.to_owned(), schema);
    json!({ "$ref": target })
}

fn with_options(mut schema: Value) -> Value {
    if schema.is_boolean() {
        schema = json!({});
    }
    if let Some(map) = schema.as_object_mut() {
        // Every value has one spelling only, which is the one that models know best.
        let options = json!({ "whitespace_flexible": false, "coerce_one_of": true,
                              "key_separator": ": ", "item_separator": ", " });
        map.insert("x-guidance".into(), options);
    }
    schema
}

/// Returns the schema with the missing limits added.
fn bounded(schema: &Value) -> Value {
    let Some(map) = schema.as_object() else {
        // The schema `true` accepts any value, but a model needs a definite form.
        return if schema == &Value::Bool(false) { schema.clone() } else { anything(1) };
    };
    let says = |key: &str| map.contains_key(key);
    let narrows = |key: &&String| !key.starts_with('$') && !ANNOTATIONS.contains(&key.as_str());
    if !says("$ref") && map.keys().filter(narrows).count() == 0 {
        let mut any = anything(1);
        if let (Some(any), Some(definitions)) = (any.as_object_mut(), map.get("$defs")) {
            any.insert("$defs".into(), definitions.clone());
        }
        return any;
    }
    let mut out = Map::new();
    for (key, value) in map {
        let value = match (key.as_str(), value) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(inner)) => {
                Value::Object(inner.iter().map(|(name, schema)| (name.clone(), bounded(schema))).collect())
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(inner)) => {
                Value::Array(inner.iter().map(bounded).collect())
            }
            ("items", Value::Object(_) | Value::Bool(true)) => bounded(value),
            ("additionalProperties", Value::Object(_) | Value::Bool(true)) => bounded(value),
            _ => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    let fixed = says("enum") || says("const");
    let may_be = |kind: &str| match map.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|t| t == kind),
        _ => false,
    };
    let mut default = |key: &str, value: Value| {
        out.entry(key.to_owned()).or_insert(value);
    };
    if !fixed && may_be("string") && !says("format") {
        let least = map.get("minLength").and_then(Value::as_u64).unwrap_or(0);
        default("maxLength", json!(MAX_STRING_LEN.max(least)));
    }
    if !fixed && may_be("array") {
        let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        default("maxItems", json!(MAX_LIST_ITEMS.max(least)));
        if !says("prefixItems") {
            default("items", anything(0));
        }
    }
    if !fixed && may_be("integer") {
        if !says("minimum") && !says("exclusiveMinimum") {
            default("minimum", json!(-MAX_INTEGER));
        }
        if !says("maximum") && !says("exclusiveMaximum") {
            default("maximum", json!(MAX_INTEGER));
        }
    }
    if !fixed && may_be("object") {
        let open = !says("properties") && !says("patternProperties");
        // Inside of `allOf`, a closed object would exclude the properties of the other schemas.
        if !says("allOf") {
            default("additionalProperties", if open { anything(0) } else { json!(false) });
        }
    }
    Value::Object(out)
}

/// The keywords that do not restrict which values are accepted.
const ANNOTATIONS: &[&str] =
    &["title", "description", "default", "examples", "readOnly", "writeOnly", "deprecated", "x-guidance"];

/// Returns a schema for any value: plain values, and up to `depth` levels of lists and objects.
fn anything(depth: u32) -> Value {
    let mut choices = vec![
        json!({ "type": "string", "maxLength": MAX_STRING_LEN }),
        json!({ "type": "number" }),
        json!({ "type": "boolean" }),
        json!({ "type": "null" }),
    ];
    if depth > 0 {
        let inner = anything(depth - 1);
        choices.push(json!({ "type": "array", "items": inner, "maxItems": MAX_LIST_ITEMS }));
        choices.push(json!({ "type": "object", "additionalProperties": inner }));
    }
    json!({ "anyOf": choices })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Tool;

    #[test]
    fn missing_limits_are_added_to_schemas() {
        #[track_caller]
        fn check(schema: Value, expected: Value) {
            assert_eq!(bounded(&schema), expected);
        }
        check(json!({"type": "string"}), json!({"type": "string", "maxLength": MAX_STRING_LEN}));
        check(json!({"type": "string", "maxLength": 5}), json!({"type": "string", "maxLength": 5}));
        check(json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a"]}));
        check(
            json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"$ref": "#/$defs/x"}},
                   "$defs": {"x": {"type": "array", "items": {"type": "boolean"}}}}),
            json!({"type": "object",
                   "properties": {"a": {"type": ["string", "null"], "maxLength": MAX_STRING_LEN}, "b": {"$ref": "#/$defs/x"}},
                   "additionalProperties": false,
                   "$defs": {"x": {"type": "array", "items": {"type": "boolean"}, "maxItems": MAX_LIST_ITEMS}}}),
        );
        check(json!({"description": "whatever"}), anything(1));
        check(json!(true), anything(1));
        check(
            json!({"type": "integer", "minimum": 1}),
            json!({"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}),
        );
    }

    #[test]
    fn tools_and_the_answer_are_one_choice() {
        let parameters = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/d"}},
                                "$defs": {"d": {"type": "boolean"}}});
        let tool =
            |name: &str, parameters| Tool { name: name.into(), description: String::new(), parameters };
        let request = Request {
            tools: vec![tool("read", parameters), tool("list", json!({"type": "object"}))],
            ..Request::default()
        };
        let schema = schema(&request).unwrap();
        assert_eq!(schema["anyOf"][0]["properties"]["name"], json!({"const": "read"}));
        assert_eq!(schema["$defs"]["tool0"]["properties"]["p"], json!({"$ref": "#/$defs/tool0/$defs/d"}));
        assert_eq!(schema["$defs"]["tool1"]["additionalProperties"], json!(false));
        assert_eq!(schema["anyOf"][2]["properties"]["name"], json!({"const": "final_answer"}));
        let answer = &schema["$defs"]["tool2"]["properties"]["answer"];
        assert_eq!(answer, &json!({"$ref": "#/$defs/tool2/$defs/answer"}));
        assert_eq!(super::schema(&Request::default()), None);
    }
}
