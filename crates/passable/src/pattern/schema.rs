//! The JSON Schema (2020-12) of the JSON that [`Pattern::write_json`] writes.
//!
//! The schema accepts the values that the pattern accepts, except NaN and the infinities, which JSON lacks. If JSON
//! Schema cannot express a pattern, the schema accepts more, and the later check decides.

use serde_json::{Map, Value as Json, json};

use super::json::structure::{is_open, structural};
use super::{Comparison, Limit, Limits, Matcher, Pattern, Refinement};
use crate::codec::plain::{self, number_to_json};
use crate::text::Text;
use crate::value::{Reference, Value};

const DIGITS: &str = "^-?[0-9]+$";

impl<C: Reference> Pattern<C> {
    /// Returns the JSON Schema of this pattern. Every pattern has one.
    ///
    /// ```
    /// use passable::Pattern;
    /// let pattern: Pattern = Pattern::exact_record(
    ///     [("verdict", Pattern::one_of(["pass", "fail"]))],
    ///     [("score", Pattern::between(0.0, 1.0))],
    /// );
    /// assert_eq!(pattern.to_json_schema(), serde_json::json!({
    ///     "type": "object",
    ///     "properties": {
    ///         "verdict": { "enum": ["pass", "fail"] },
    ///         "score": { "type": "number", "minimum": 0, "maximum": 1 },
    ///     },
    ///     "required": ["verdict"],
    ///     "additionalProperties": false,
    /// }));
    /// ```
    pub fn to_json_schema(&self) -> Json {
        schema(self)
    }
}

/// Returns the schema of an escape of plain JSON.
fn escape() -> Json {
    json!({ "type": "object", "required": ["@qclass"] })
}

fn undefined() -> Json {
    json!({ "const": { "@qclass": "undefined" } })
}

fn object(entries: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn with_limit(mut schema: Json, keyword: &str, limits: &Limits, limit: Limit) -> Json {
    let most = limits.own(limit).filter(|most| *most >= 0.0).map(f64::floor).and_then(number_to_json);
    if let (Some(most), Json::Object(object)) = (most, &mut schema) {
        object.insert(keyword.to_owned(), most);
    }
    schema
}

fn capability<C: Reference>(pattern: &Pattern<C>) -> Json {
    json!({ "type": "string", "format": "almoner-petname", "description": pattern.describe() })
}

fn literal_json<C: Reference>(value: &Value<C>) -> Json {
    plain::write(value, &mut |_| Json::Null)
}

/// Returns whether the JSON of a literal is the JSON of no other value.
fn is_plain_literal<C: Reference>(value: &Value<C>) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))
}

fn schema<C: Reference>(pattern: &Pattern<C>) -> Json {
    let shape = structural(pattern);
    match shape.matcher() {
        Matcher::Any | Matcher::Scalar | Matcher::Key | Matcher::Pattern => json!({}),
        Matcher::Literal(value) => match value.references().is_empty() {
            true => json!({ "const": literal_json(value) }),
            false => json!({ "description": pattern.describe() }),
        },
        Matcher::Kind(kind) => match kind.as_str() {
            Some("undefined") => undefined(),
            Some("null") => json!({ "type": "null" }),
            Some("boolean") => json!({ "type": "boolean" }),
            Some("number") => json!({ "type": "number" }),
            Some("string") => json!({ "type": "string" }),
            Some("error") => json!({
                "type": "object",
                "properties": { "name": { "type": "string" }, "message": { "type": "string" } },
                "required": ["name", "message"],
            }),
            Some("remotable" | "promise") => capability(pattern),
            _ => json!({ "description": pattern.describe() }),
        },
        Matcher::And(parts) => conjunction(parts),
        Matcher::Or(parts) => disjunction(pattern, parts),
        Matcher::Negation(part) => match part.matcher() {
            // `not` is used only if the schema of the part accepts no more than the part itself.
            Matcher::Literal(value) if is_plain_literal(value) => json!({ "not": schema(part) }),
            Matcher::Kind(kind) if kind == "boolean" || kind == "null" => json!({ "not": schema(part) }),
            _ => json!({ "description": pattern.describe() }),
        },
        Matcher::BigInt(limits) => {
            let most = limits.own(Limit::DecimalDigits).filter(|most| *most >= 0.0);
            let mut schema = json!({ "type": "string", "pattern": DIGITS });
            if let (Some(most), Json::Object(object)) =
                (most.and_then(|most| number_to_json(most.floor() + 1.0)), &mut schema)
            {
                object.insert("maxLength".to_owned(), most);
            }
            schema
        }
        Matcher::Nat(limits) => {
            let mut schema = json!({ "type": "string", "pattern": "^[0-9]+$" });
            // Zero counts as a number of 0 digits, but is written with one digit.
            let most =
                limits.own(Limit::DecimalDigits).map(|most| most.floor().max(1.0)).and_then(number_to_json);
            if let (Some(most), Json::Object(object)) = (most, &mut schema) {
                object.insert("maxLength".to_owned(), most);
            }
            schema
        }
        Matcher::String(limits) => {
            with_limit(json!({ "type": "string" }), "maxLength", limits, Limit::StringLength)
        }
        Matcher::Symbol(limits) => {
            with_limit(json!({ "type": "string" }), "maxLength", limits, Limit::SymbolNameLength)
        }
        Matcher::Bytes(_) => json!({ "type": "string", "contentEncoding": "base64" }),
        Matcher::Remotable(_) | Matcher::Promise(_) => capability(pattern),
        Matcher::Compare(comparison, key) => comparison_schema(*comparison, key, pattern),
        Matcher::ArrayOf(part, limits) => {
            let items = schema(part);
            let schema = match items.as_object().is_some_and(Map::is_empty) {
                true => json!({ "type": "array" }),
                false => json!({ "type": "array", "items": items }),
            };
            with_limit(schema, "maxItems", limits, Limit::ArrayLength)
        }
        Matcher::SetOf(part, limits) => {
            let mut schema = json!({ "type": "array", "items": schema(part), "uniqueItems": true });
            // Endo's limit on sets is exclusive: a set must have fewer elements than the limit.
            let most = limits.own(Limit::NumSetElements).map(|limit| (limit.ceil() - 1.0).max(0.0));
            if let (Some(most), Json::Object(schema)) = (most.and_then(number_to_json), &mut schema) {
                schema.insert("maxItems".to_owned(), most);
            }
            schema
        }
        Matcher::BagOf(key, _, limits) => {
            let entry = json!({
                "type": "object",
                "properties": { "value": schema(key), "count": { "type": "string", "pattern": "^[0-9]+$" } },
                "required": ["value", "count"],
                "additionalProperties": false,
            });
            let schema = json!({ "type": "array", "items": entry });
            with_limit(schema, "maxItems", limits, Limit::NumUniqueBagElements)
        }
        Matcher::MapOf(key, value, limits) => {
            let pair = tuple([schema(key), schema(value)]);
            let schema = json!({ "type": "array", "items": pair });
            with_limit(schema, "maxItems", limits, Limit::NumMapEntries)
        }
        Matcher::Map(entries) => {
            let pair = |(key, part): &(Value<C>, Pattern<C>)| {
                tuple([json!({ "const": literal_json(key) }), schema(part)])
            };
            let pairs: Vec<Json> = entries.iter().map(pair).collect();
            let count = pairs.len();
            json!({ "type": "array", "items": { "anyOf": pairs }, "minItems": count, "maxItems": count })
        }
        Matcher::ContainerHas(part, count, _) => {
            let least: Option<u32> = count.try_into().ok();
            // `contains` is used only if the elements are surely written in the way that the schema of the part
            // describes.
            let array = match reads_as_itself(part) {
                true => json!({ "type": "array", "contains": schema(part), "minContains": least }),
                false => json!({ "type": "array", "minItems": least }),
            };
            json!({ "anyOf": [array, escape()] })
        }
        Matcher::Array(parts) => tuple(parts.iter().map(schema)),
        Matcher::SplitArray(split) => split_array(split),
        Matcher::Record(fields) => record(fields, &[], Some(json!(false))),
        Matcher::SplitRecord(split) => {
            let further = match &split.rest {
                None => None,
                Some(rest) => rest_schema(rest),
            };
            record(&split.required, split.optional.as_deref().unwrap_or_default(), further)
        }
        Matcher::RecordOf(name, value, limits) => {
            let mut out = json!({ "type": "object" });
            if let Json::Object(out) = &mut out {
                let values = schema(value);
                if !values.as_object().is_some_and(Map::is_empty) {
                    out.insert("additionalProperties".to_owned(), values);
                }
                let open = match name.matcher() {
                    Matcher::Any => true,
                    Matcher::String(limits) => limits.entries().is_none(),
                    _ => false,
                };
                if !open {
                    out.insert("propertyNames".to_owned(), schema(name));
                }
            }
            with_limit(out, "maxProperties", limits, Limit::NumProperties)
        }
        Matcher::Tagged(tag, payload) => json!({
            "type": "object",
            "properties": { "tag": schema(tag), "payload": schema(payload) },
            "required": ["tag", "payload"],
            "additionalProperties": false,
        }),
        Matcher::Refine(refinement) => match refinement {
            Refinement::Integer => json!({ "type": "integer" }),
            Refinement::Exact => json!({ "type": "number" }),
            Refinement::Secret => json!({ "type": "string", "writeOnly": true }),
            Refinement::Multiline => json!({ "type": "string" }),
            format => json!({ "type": "string", "format": format.name() }),
        },
    }
}

fn tuple(parts: impl IntoIterator<Item = Json>) -> Json {
    let parts: Vec<Json> = parts.into_iter().collect();
    let count = parts.len();
    json!({ "type": "array", "prefixItems": parts, "items": false, "minItems": count })
}

fn comparison_schema<C: Reference>(comparison: Comparison, key: &Value<C>, pattern: &Pattern<C>) -> Json {
    match key {
        Value::Number(bound) => match number_to_json(*bound) {
            Some(bound) => {
                let keyword = match comparison {
                    Comparison::Lt => "exclusiveMaximum",
                    Comparison::Lte => "maximum",
                    Comparison::Gte => "minimum",
                    Comparison::Gt => "exclusiveMinimum",
                };
                object([("type", json!("number")), (keyword, bound)])
            }
            None => json!({ "type": "number" }),
        },
        Value::String(_) => json!({ "type": "string", "description": pattern.describe() }),
        _ => json!({ "description": pattern.describe() }),
    }
}

/// Returns one schema for all parts of a conjunction. A part whose keywords conflict with earlier ones goes into
/// `allOf`.
fn conjunction<C: Reference>(parts: &[Pattern<C>]) -> Json {
    let mut merged = Map::new();
    let mut others = Vec::new();
    // A value is written in the way of the first part that is not open. The other parts constrain that JSON.
    let base = parts.iter().position(|part| !is_open(part));
    for (at, part) in parts.iter().enumerate() {
        let own = match base.and_then(|base| parts.get(base)) {
            Some(base_part) if base != Some(at) => beside(base_part, part),
            _ => Some(schema(part)),
        };
        let Some(Json::Object(own)) = own else { continue };
        let compatible = own.iter().all(|(keyword, value)| match (keyword.as_str(), merged.get(keyword)) {
            (_, None) => true,
            ("type", Some(other)) => {
                value == other
                    || (*value == "integer" && *other == "number")
                    || (*value == "number" && *other == "integer")
            }
            (_, Some(other)) => value == other || is_least(keyword),
        });
        if !compatible {
            others.push(Json::Object(own));
            continue;
        }
        for (keyword, value) in own {
            if keyword == "type" && merged.get("type").is_some_and(|other| *other == "integer") {
                continue;
            }
            if is_least(&keyword) && merged.get(&keyword).and_then(Json::as_u64) > value.as_u64() {
                continue;
            }
            merged.insert(keyword, value);
        }
    }
    if !others.is_empty() {
        merged.insert("allOf".to_owned(), Json::Array(others));
    }
    Json::Object(merged)
}

/// Returns whether a keyword is a minimum, so that the larger of two values implies the other.
fn is_least(keyword: &str) -> bool {
    matches!(keyword, "minItems" | "minLength")
}

/// Returns the constraint of a part on JSON that another part has written, or `None` if JSON Schema cannot express
/// it.
fn beside<C: Reference>(base: &Pattern<C>, part: &Pattern<C>) -> Option<Json> {
    let written = structural(base);
    match (written.matcher(), part.matcher()) {
        (Matcher::String(_), Matcher::Negation(other))
            if other.as_literal().and_then(Value::as_str) == Some("") =>
        {
            Some(json!({ "minLength": 1 }))
        }
        (
            Matcher::ArrayOf(..) | Matcher::SetOf(..) | Matcher::SplitArray(_),
            Matcher::ContainerHas(other, least, _),
        ) if matches!(other.matcher(), Matcher::Any) => {
            Some(json!({ "minItems": u32::try_from(least).unwrap_or(u32::MAX) }))
        }
        (Matcher::Record(_) | Matcher::SplitRecord(_), Matcher::RecordOf(_, value, _))
            if matches!(value.matcher(), Matcher::Any) =>
        {
            Some(schema(part))
        }
        (Matcher::BigInt(_) | Matcher::Nat(_), _) => {
            let digits = matches!(structural(part).matcher(), Matcher::BigInt(_) | Matcher::Nat(_));
            digits.then(|| schema(part))
        }
        _ => {
            let plain = |part: &Pattern<C>| {
                reads_as_itself(part)
                    || matches!(part.matcher(), Matcher::Compare(_, Value::Number(_) | Value::String(_)))
            };
            (plain(base) && (plain(part) || is_open(part))).then(|| schema(part))
        }
    }
}

fn disjunction<C: Reference>(pattern: &Pattern<C>, parts: &[Pattern<C>]) -> Json {
    if let Some(other) = pattern.as_optional() {
        return json!({ "anyOf": [schema(other), undefined()] });
    }
    let literal =
        |part: &Pattern<C>| part.as_literal().filter(|value| is_plain_literal(value)).map(literal_json);
    if let Some(literals) = parts.iter().map(literal).collect::<Option<Vec<_>>>()
        && !literals.is_empty()
    {
        return json!({ "enum": literals });
    }
    if parts.is_empty() {
        return json!({ "not": {} });
    }
    let mut arms: Vec<Json> = parts.iter().map(schema).collect();
    // A value is escaped if another alternative would also read its JSON.
    if parts.iter().any(|part| !reads_as_itself(part)) {
        arms.push(escape());
    }
    json!({ "anyOf": arms })
}

/// Returns whether all matching values are written as plain JSON that no other pattern reads as another value.
fn reads_as_itself<C: Reference>(pattern: &Pattern<C>) -> bool {
    match pattern.matcher() {
        Matcher::Literal(value) => is_plain_literal(value),
        Matcher::String(_) => true,
        Matcher::Kind(kind) => kind == "boolean" || kind == "number" || kind == "null" || kind == "string",
        Matcher::Refine(_) => true,
        Matcher::And(parts) => parts.iter().any(reads_as_itself),
        Matcher::Or(parts) => parts.iter().all(|part| part.as_literal().is_some_and(is_plain_literal)),
        Matcher::Remotable(_) | Matcher::Promise(_) => true,
        _ => false,
    }
}

fn split_array<C: Reference>(split: &super::SplitArray<C>) -> Json {
    let parts: Vec<Json> = split
        .required
        .iter()
        .map(schema)
        .chain(split.optional.iter().flatten().map(optional_element))
        .collect();
    let items = match split.rest.as_ref().map(Pattern::matcher) {
        None => None,
        Some(Matcher::ArrayOf(part, _)) => Some(schema(part)),
        Some(Matcher::Literal(Value::Array(array))) if array.is_empty() => Some(json!(false)),
        Some(_) => None,
    };
    let mut out = json!({ "type": "array", "minItems": split.required.len() });
    if let Json::Object(out) = &mut out {
        if !parts.is_empty() {
            out.insert("prefixItems".to_owned(), Json::Array(parts));
        }
        if let Some(items) = items {
            out.insert("items".to_owned(), items);
        }
    }
    out
}

/// Returns the schema of an optional element, which may also be `undefined`.
fn optional_element<C: Reference>(part: &Pattern<C>) -> Json {
    json!({ "anyOf": [schema(part), undefined()] })
}

/// Returns the schema of further fields, or `None` if the pattern does not restrict them in a way that JSON Schema
/// can express.
fn rest_schema<C: Reference>(rest: &Pattern<C>) -> Option<Json> {
    match rest.matcher() {
        Matcher::RecordOf(_, value, _) => Some(schema(value)).filter(|schema| *schema != json!({})),
        Matcher::Literal(Value::Record(record)) if record.is_empty() => Some(json!(false)),
        _ => None,
    }
}

fn record<C: Reference>(
    required: &[(Text, Pattern<C>)],
    optional: &[(Text, Pattern<C>)],
    further: Option<Json>,
) -> Json {
    // Names that JSON cannot hold are escaped together with the whole record.
    if !required.iter().chain(optional).all(|(name, _)| name.is_well_formed()) {
        return json!({ "type": "object" });
    }
    let (mut properties, mut names) = (Map::new(), Vec::new());
    for (name, part) in required {
        let name = name.to_str_lossy().into_owned();
        match part.as_optional() {
            Some(inner) => properties.insert(name, schema(inner)),
            None => {
                if !part.is_undefined() {
                    names.push(Json::from(name.clone()));
                }
                properties.insert(name, schema(part))
            }
        };
    }
    for (name, part) in optional {
        let part = part.as_optional().unwrap_or(part);
        properties.insert(name.to_str_lossy().into_owned(), schema(part));
    }
    let mut out = json!({ "type": "object", "properties": properties });
    if let Json::Object(out) = &mut out {
        if !names.is_empty() {
            out.insert("required".to_owned(), Json::Array(names));
        }
        if let Some(further) = further {
            out.insert("additionalProperties".to_owned(), further);
        }
    }
    out
}
