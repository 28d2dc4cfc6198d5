//! The reader of JSON Schema (2020-12), which turns a schema into a pattern. A schema that has no pattern is
//! rejected, not approximated.
//!
//! Four differences between a schema and its pattern are accepted, because otherwise nearly every schema would be
//! rejected:
//!
//! - The default limits of patterns apply.
//! - Lengths count UTF-16 units.
//! - A whole number is one that a double holds exactly.
//! - Digits of big integers are counted without sign and leading zeros.
//!
//! `format` is an annotation, as the standard says, unless it is one that patterns know. Titles, descriptions,
//! defaults and examples are ignored.

mod apart;
mod array;
mod record;
mod scalar;

use serde_json::{Map, Value as Json};

use self::apart::{apart, implies};
use super::{Limit, Limits, Pattern};
use crate::value::{NoRef, Reference, Value};

/// The error for a schema that has no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at {path})")]
pub struct SchemaError {
    /// The JSON pointer to the part of the schema that has no pattern. Safe to show.
    pub path: String,
    /// The reason why that part has no pattern. Safe to show.
    pub message: String,
    /// Advice on a schema that has a pattern. Safe to show.
    pub help: String,
}

/// The maximum number of schemas in one schema, with references expanded.
const MAX_PARTS: usize = 20_000;
/// The maximum depth of nested schemas, with references expanded.
const MAX_DEPTH: usize = 48;
/// The maximum number of arms of a `oneOf` with overlaps. The pattern of each arm must exclude all others, so its
/// size grows with their square.
const MAX_EXCLUSIVE: usize = 20;

/// The keywords that do not restrict the valid values.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentMediaType",
    "enumNames",
];

/// The keywords that each have a pattern of their own. A value must match all these patterns.
const SOURCES: &[&str] = &["const", "enum", "$ref", "anyOf", "oneOf", "allOf", "not", "if", "type"];

/// Returns the advice for a keyword that has no pattern.
fn instead_of(keyword: &str) -> &'static str {
    match keyword {
        "pattern" => {
            "list the texts with `enum`, or leave it out and check the text yourself; only `^[0-9]+$` and \
             `^-?[0-9]+$`, which say big integers, are understood"
        }
        "patternProperties" => "name the fields in `properties`, or say of all others `additionalProperties`",
        "minProperties" => "name the fields that must be there in `required`",
        "unevaluatedProperties" => "write `additionalProperties` beside the `properties`",
        "unevaluatedItems" => "write `items` beside the `prefixItems`",
        "$dynamicRef" | "$recursiveRef" => "write `$ref` to a part of `$defs`",
        "maxContains" | "minContains" => "write it beside `contains`",
        "then" | "else" => "write it beside `if`",
        _ => "leave it out, or describe the values that you mean with `enum` or `anyOf`",
    }
}

impl<C: Reference> Pattern<C> {
    /// Reads a JSON Schema.
    ///
    /// ```
    /// use passable::{NoRef, Pattern};
    /// let schema = serde_json::json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    /// let pattern = Pattern::<NoRef>::from_json_schema(&schema)?;
    /// assert_eq!(pattern.to_json_schema(), schema);
    ///
    /// let schema = serde_json::json!({ "type": "array", "items": { "type": "string", "minLength": 2 } });
    /// let refused = Pattern::<NoRef>::from_json_schema(&schema).unwrap_err();
    /// assert_eq!(refused.to_string(), "there is no pattern for a `minLength` above 1 (at #/items)");
    /// assert_eq!(refused.help, "leave it out, or write `\"minLength\": 1` to refuse empty text");
    /// # Ok::<(), passable::SchemaError>(())
    /// ```
    pub fn from_json_schema(schema: &Json) -> Result<Self, SchemaError> {
        let mut reader = Reader { root: schema, path: Vec::new(), parts: 0, literally: 0, names: false };
        reader.schema(schema)
    }
}

struct Reader<'a> {
    root: &'a Json,
    path: Vec<String>,
    parts: usize,
    /// The number of enclosing schemas whose values are also checked by another schema. Within them, text is read as
    /// text and a list as a list. Otherwise one schema could read a value as a big integer, bytes or a set, and the
    /// other one as JSON.
    literally: usize,
    /// Whether the next schema is for names of fields, which are always text.
    names: bool,
}

type Outcome<T> = Result<T, SchemaError>;

impl<'a> Reader<'a> {
    fn refuse<T>(&self, message: impl Into<String>, help: &str) -> Outcome<T> {
        let path: String = self.path.iter().map(|step| format!("/{step}")).collect();
        let path = crate::visible_line(&format!("#{path}")).into_owned();
        let message = crate::visible_line(&message.into()).into_owned();
        Err(SchemaError { path, message, help: help.to_owned() })
    }

    fn within<T>(
        &mut self,
        step: impl Into<String>,
        read: impl FnOnce(&mut Self) -> Outcome<T>,
    ) -> Outcome<T> {
        self.path.push(step.into());
        let outcome = read(self)?;
        self.path.pop();
        Ok(outcome)
    }

    /// Calls `read` in a state in which values are read as the JSON that they are.
    fn literally<T>(&mut self, read: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.literally += 1;
        let outcome = read(self)?;
        self.literally -= 1;
        Ok(outcome)
    }

    /// Rejects a keyword that reads JSON as another type, if another schema checks the same value.
    fn may_take(&self, keyword: &str, what: &str) -> Outcome<()> {
        match self.literally {
            0 => Ok(()),
            _ => self.refuse(
                format!("`{keyword}` says {what}, which has a pattern only where no other schema looks at the same value"),
                "leave one of the two out",
            ),
        }
    }

    fn schema<C: Reference>(&mut self, schema: &'a Json) -> Outcome<Pattern<C>> {
        self.parts += 1;
        let names = std::mem::take(&mut self.names);
        if self.parts > MAX_PARTS {
            return self.refuse("the schema is too large", "describe less, or in several schemas");
        }
        if self.path.len() > 2 * MAX_DEPTH {
            return self.refuse(
                "the schema nests too deep, or refers to itself",
                "write the levels that you need without `$ref`, and leave the innermost open",
            );
        }
        match schema {
            Json::Bool(true) => Ok(Pattern::any()),
            Json::Bool(false) => Ok(Pattern::or([])),
            Json::Object(object) => self.object(object, names),
            _ => self.refuse("a schema is an object or a boolean", "write `{}` for anything"),
        }
    }

    fn object<C: Reference>(&mut self, object: &'a Map<String, Json>, names: bool) -> Outcome<Pattern<C>> {
        let several = SOURCES.iter().filter(|source| object.contains_key(**source)).count() > 1;
        if several {
            return self.literally(|reader| reader.all_of_object(object, names));
        }
        self.all_of_object(object, names)
    }

    fn all_of_object<C: Reference>(
        &mut self,
        object: &'a Map<String, Json>,
        names: bool,
    ) -> Outcome<Pattern<C>> {
        let mut parts = Vec::new();
        let mut used: Vec<&str> = Vec::new();
        if let Some(value) = object.get("const") {
            used.push("const");
            parts.push(self.literal(value)?);
        }
        if let Some(values) = object.get("enum") {
            used.push("enum");
            let Some(values) = values.as_array() else {
                return self.refuse("`enum` is a list", "write it like `\"enum\": [\"a\", \"b\"]`");
            };
            let values = values.iter().map(|value| self.literal(value));
            parts.push(Pattern::or(values.collect::<Outcome<Vec<_>>>()?));
        }
        if let Some(reference) = object.get("$ref") {
            used.push("$ref");
            parts.push(self.reference(reference)?);
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            if let Some(schemas) = object.get(keyword) {
                used.push(keyword);
                parts.push(self.combination(keyword, schemas)?);
            }
        }
        if let Some(schema) = object.get("not") {
            used.push("not");
            let part = self.within("not", |reader| reader.literally(|reader| reader.schema(schema)))?;
            // `not: {}` is the schema that no value matches.
            let nothing = matches!(part.matcher(), super::Matcher::Any);
            parts.push(if nothing { Pattern::or([]) } else { Pattern::not(part) });
        }
        if let Some(condition) = object.get("if") {
            used.extend(["if", "then", "else"]);
            parts.extend(self.condition(condition, object)?);
        }
        let named = Json::from("string");
        let kind = object.get("type").or(names.then_some(&named));
        if let Some(kind) = kind {
            used.push("type");
            let pattern = match kind {
                Json::String(kind) => self.typed(kind, object, &mut used)?,
                Json::Array(kinds) => {
                    let kinds = kinds.iter().map(|kind| match kind {
                        Json::String(kind) => self.typed(kind, object, &mut used),
                        _ => self.refuse("`type` is a name or a list of names", "write it like `\"string\"`"),
                    });
                    Pattern::or(kinds.collect::<Outcome<Vec<_>>>()?)
                }
                _ => return self.refuse("`type` is a name or a list of names", "write it like `\"string\"`"),
            };
            // A type adds nothing to literals that all have this type.
            let told = parts.iter().any(|part: &Pattern<C>| implies(part, &pattern));
            if !told {
                parts.insert(0, pattern);
            }
        }
        let foreign =
            |keyword: &&String| !used.contains(&keyword.as_str()) && !ANNOTATIONS.contains(&keyword.as_str());
        if let Some(keyword) = object.keys().find(foreign) {
            return self.foreign(keyword, kind.is_some());
        }
        match parts.len() {
            0 => Ok(Pattern::any()),
            _ => Ok(single_or_and(parts)),
        }
    }

    /// Rejects a keyword that was not read.
    fn foreign<T>(&self, keyword: &str, typed: bool) -> Outcome<T> {
        const TYPED: &[&str] = &[
            "properties",
            "required",
            "items",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "maxLength",
            "minLength",
            "maxItems",
            "minItems",
            "additionalProperties",
            "prefixItems",
        ];
        if TYPED.contains(&keyword) && !typed {
            let message = format!("`{keyword}` without `type` says nothing of other types");
            return self.refuse(message, "add the type, like `\"type\": \"object\"` for `properties`");
        }
        if TYPED.contains(&keyword) {
            let message = format!("`{keyword}` says nothing of the types that are given");
            return self.refuse(message, "leave it out, or add the type that it is for");
        }
        self.refuse(format!("there is no pattern for `{keyword}`"), instead_of(keyword))
    }

    fn literal<C: Reference>(&self, json: &Json) -> Outcome<Pattern<C>> {
        let help = "constants are JSON; escapes with `@qclass` are those of plain JSON";
        let value = match Value::<NoRef>::from_json(json) {
            Ok(value) => value.widen(),
            Err(error) => return self.refuse(error.to_string(), help),
        };
        if matches!(value, Value::Undefined) {
            return Ok(Pattern::undefined());
        }
        Pattern::literal(value).or_else(|complaint| self.refuse(complaint.to_string(), help))
    }

    fn reference<C: Reference>(&mut self, reference: &'a Json) -> Outcome<Pattern<C>> {
        let pointer = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
        let root = self.root;
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            // The limit on the path also bounds the number of references in a row.
            Some(schema) => self.within("$ref", |reader| reader.within("", |reader| reader.schema(schema))),
            None => self.refuse(
                "only references within the schema can be followed",
                "copy what is meant into `$defs` and refer to it like `#/$defs/name`",
            ),
        }
    }

    fn combination<C: Reference>(&mut self, keyword: &'static str, schemas: &'a Json) -> Outcome<Pattern<C>> {
        let Some(schemas) = schemas.as_array().filter(|schemas| !schemas.is_empty()) else {
            return self.refuse(format!("`{keyword}` is a list of schemas"), "name at least one schema");
        };
        // This arm for escapes of plain JSON is in schemas that this crate writes. It is left out, because every
        // pattern reads escapes.
        let escape = serde_json::json!({ "type": "object", "required": ["@qclass"] });
        let schemas =
            schemas.iter().enumerate().filter(|(_, schema)| keyword != "anyOf" || **schema != escape);
        let read = |reader: &mut Self| {
            let arm = |(at, schema)| reader.within(format!("{keyword}/{at}"), |reader| reader.schema(schema));
            schemas.clone().map(arm).collect::<Outcome<Vec<Pattern<C>>>>()
        };
        let together = keyword == "allOf" && schemas.clone().count() > 1;
        let arms = if together { self.literally(read)? } else { read(self)? };
        match keyword {
            "allOf" => return Ok(single_or_and(arms)),
            "oneOf" if !all_apart(&arms) => return self.exactly_one(schemas.map(|(_, schema)| schema)),
            _ => {}
        }
        match <[Pattern<C>; 1]>::try_from(arms) {
            Ok([only]) => Ok(only),
            Err(arms) => Ok(Pattern::or(arms)),
        }
    }

    /// Returns the pattern of a `oneOf` whose arms may overlap: any arm, combined with the negation of all others.
    fn exactly_one<C: Reference>(
        &mut self,
        schemas: impl Iterator<Item = &'a Json> + Clone,
    ) -> Outcome<Pattern<C>> {
        if schemas.clone().count() > MAX_EXCLUSIVE {
            return self.refuse(
                format!("more than {MAX_EXCLUSIVE} arms of `oneOf` may overlap"),
                "write `anyOf`, or give every arm a field with a `const` of its own",
            );
        }
        let arm = |(at, schema)| -> Outcome<Pattern<C>> {
            self.within(format!("oneOf/{at}"), |reader| reader.literally(|reader| reader.schema(schema)))
        };
        let arms = schemas.enumerate().map(arm).collect::<Outcome<Vec<_>>>()?;
        let only = |(at, arm): (usize, &Pattern<C>)| {
            let others =
                arms.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, arm)| arm.clone());
            Pattern::and([arm.clone(), Pattern::not(Pattern::or(others))])
        };
        Ok(Pattern::or(arms.iter().enumerate().map(only)))
    }

    fn condition<C: Reference>(
        &mut self,
        condition: &'a Json,
        object: &'a Map<String, Json>,
    ) -> Outcome<Option<Pattern<C>>> {
        self.literally(|reader| {
            let condition: Pattern<C> = reader.within("if", |reader| reader.schema(condition))?;
            let mut branch = |keyword: &'static str| match object.get(keyword) {
                Some(schema) => reader.within(keyword, |reader| reader.schema(schema)).map(Some),
                None => Ok(None),
            };
            let (then, other) = (branch("then")?, branch("else")?);
            if then.is_none() && other.is_none() {
                return Ok(None);
            }
            let with = |first: Pattern<C>, second: Option<Pattern<C>>| match second {
                Some(second) => Pattern::and([first, second]),
                None => first,
            };
            Ok(Some(Pattern::or([with(condition.clone(), then), with(Pattern::not(condition), other)])))
        })
    }

    fn number(&self, object: &Map<String, Json>, keyword: &str) -> Outcome<Option<f64>> {
        match object.get(keyword) {
            None => Ok(None),
            Some(Json::Number(number)) => Ok(number.as_f64()),
            Some(_) => self.refuse(format!("`{keyword}` is a number"), "write it without quotes"),
        }
    }

    fn count(&self, object: &Map<String, Json>, keyword: &str) -> Outcome<Option<usize>> {
        match self.number(object, keyword)? {
            None => Ok(None),
            Some(count) if count >= 0.0 && count.fract() == 0.0 && count <= 1e9 => Ok(Some(count as usize)),
            Some(_) => {
                self.refuse(format!("`{keyword}` is a count"), "write a whole number from 0 to a milliard")
            }
        }
    }

    fn limits(&self, object: &Map<String, Json>, keyword: &str, limit: Limit) -> Outcome<Limits> {
        let most = self.count(object, keyword)?;
        Ok(most.map_or_else(Limits::none, |most| Limits::from_pairs([(limit, most as f64)])))
    }

    fn typed<C: Reference>(
        &mut self,
        kind: &str,
        object: &'a Map<String, Json>,
        used: &mut Vec<&'a str>,
    ) -> Outcome<Pattern<C>> {
        match kind {
            "null" => Ok(Pattern::null()),
            "boolean" => Ok(Pattern::bool()),
            "string" => {
                used.extend(["maxLength", "minLength", "contentEncoding"]);
                self.string(object, used)
            }
            "number" | "integer" => {
                used.extend(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]);
                self.numeric(kind == "integer", object)
            }
            "array" => {
                used.extend(array::KEYWORDS);
                self.array(object)
            }
            "object" => {
                used.extend(record::KEYWORDS);
                self.record(object)
            }
            other => self.refuse(
                format!("there is no type `{other}`"),
                "types are string, number, integer, boolean, null, array and object",
            ),
        }
    }
}

fn all_apart<C: Reference>(arms: &[Pattern<C>]) -> bool {
    arms.iter().enumerate().all(|(at, arm)| arms.iter().take(at).all(|other| apart(arm, other)))
}

fn single_or_and<C: Reference>(mut parts: Vec<Pattern<C>>) -> Pattern<C> {
    if parts.len() == 1 { parts.swap_remove(0) } else { Pattern::and(parts) }
}
