//! A JSON Schema validator for the keywords that patterns are exported to; nothing more.

use serde_json::Value as Json;

/// Equality in which 1 and 1.0 are one number.
fn same(left: &Json, right: &Json) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

pub(crate) fn accepts(schema: &Json, json: &Json) -> bool {
    let schema = match schema {
        Json::Bool(answer) => return *answer,
        Json::Object(schema) => schema,
        _ => return false,
    };
    schema.iter().all(|(keyword, rule)| {
        let number =
            |check: fn(f64, f64) -> bool| json.as_f64().is_none_or(|n| check(n, rule.as_f64().unwrap()));
        let count = rule.as_u64().unwrap_or_default() as usize;
        let arms = || rule.as_array().unwrap().iter();
        match keyword.as_str() {
            "const" => same(rule, json),
            "enum" => arms().any(|option| same(option, json)),
            "anyOf" => arms().any(|arm| accepts(arm, json)),
            "allOf" => arms().all(|arm| accepts(arm, json)),
            "not" => !accepts(rule, json),
            "type" => match rule.as_str().unwrap() {
                "null" => json.is_null(),
                "boolean" => json.is_boolean(),
                "string" => json.is_string(),
                "number" => json.is_number(),
                "integer" => json.as_f64().is_some_and(|number| number.fract() == 0.0),
                "array" => json.is_array(),
                "object" => json.is_object(),
                other => panic!("type {other}"),
            },
            "minimum" => number(|n, bound| n >= bound),
            "maximum" => number(|n, bound| n <= bound),
            "exclusiveMinimum" => number(|n, bound| n > bound),
            "exclusiveMaximum" => number(|n, bound| n < bound),
            "maxLength" => json.as_str().is_none_or(|text| text.chars().count() <= count),
            "pattern" => json.as_str().is_none_or(|text| {
                let digits = text.strip_prefix('-').filter(|_| rule == "^-?[0-9]+$").unwrap_or(text);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            }),
            "minItems" => json.as_array().is_none_or(|array| array.len() >= count),
            "maxItems" => json.as_array().is_none_or(|array| array.len() <= count),
            "uniqueItems" => json.as_array().is_none_or(|array| {
                array.iter().enumerate().all(|(at, one)| !array.iter().take(at).any(|other| same(one, other)))
            }),
            "prefixItems" => json
                .as_array()
                .is_none_or(|array| arms().zip(array).all(|(schema, json)| accepts(schema, json))),
            "items" => json.as_array().is_none_or(|array| {
                let skip = schema.get("prefixItems").and_then(Json::as_array).map_or(0, Vec::len);
                array.iter().skip(skip).all(|json| accepts(rule, json))
            }),
            "contains" => json.as_array().is_none_or(|array| {
                let least = schema.get("minContains").and_then(Json::as_u64).unwrap_or(1) as usize;
                array.iter().filter(|json| accepts(rule, json)).count() >= least
            }),
            "minContains" => true,
            "required" => {
                json.as_object().is_none_or(|o| arms().all(|name| o.contains_key(name.as_str().unwrap())))
            }
            "properties" => json.as_object().is_none_or(|object| {
                rule.as_object()
                    .unwrap()
                    .iter()
                    .all(|(name, schema)| object.get(name).is_none_or(|json| accepts(schema, json)))
            }),
            "additionalProperties" => json.as_object().is_none_or(|object| {
                let known = schema.get("properties").and_then(Json::as_object);
                let further =
                    object.iter().filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
                further.into_iter().all(|(_, json)| accepts(rule, json))
            }),
            "propertyNames" => json
                .as_object()
                .is_none_or(|object| object.keys().all(|name| accepts(rule, &Json::from(name.as_str())))),
            "maxProperties" => json.as_object().is_none_or(|object| object.len() <= count),
            "description" | "format" | "contentEncoding" | "writeOnly" | "title" => true,
            other => panic!("keyword {other}"),
        }
    })
}
