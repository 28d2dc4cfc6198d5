//! From JSON Schema (2020-12) to a pattern. What has no pattern is refused, not approximated.
//!
//! Three differences are accepted, because refusing them would refuse nearly every schema: the default limits of
//! patterns apply; `maxLength` counts UTF-16 units; and `format` is an annotation, as the standard says, unless it
//! is one that patterns know. Titles, descriptions, defaults and examples are ignored.

use serde_json::{Map, Value as Json};

use super::{Comparison, Limit, Limits, Pattern, Refinement};
use crate::text::Text;
use crate::value::{NoRef, Reference, Value};

/// A schema that has no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at {path})")]
pub struct SchemaError {
    /// JSON pointer to the part of the schema that has no pattern. Safe to show.
    pub path: String,
    /// Why it has none. Safe to show.
    pub message: String,
}

/// How many schemas, references expanded, one schema may consist of.
const MAX_PARTS: usize = 20_000;
/// How deep schemas may nest, references expanded.
const MAX_DEPTH: usize = 48;

/// Keywords that say nothing about which values are valid.
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

impl<C: Reference> Pattern<C> {
    /// Reads a JSON Schema.
    ///
    /// ```
    /// use passable::{NoRef, Pattern};
    /// let schema = serde_json::json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    /// let pattern = Pattern::<NoRef>::from_json_schema(&schema)?;
    /// assert_eq!(pattern.to_json_schema(), schema);
    ///
    /// let refused = Pattern::<NoRef>::from_json_schema(&serde_json::json!({ "type": "string", "pattern": "^a" }));
    /// assert_eq!(refused.unwrap_err().to_string(), "there is no pattern for `pattern` (at #)");
    /// # Ok::<(), passable::SchemaError>(())
    /// ```
    pub fn from_json_schema(schema: &Json) -> Result<Self, SchemaError> {
        let mut reader = Reader { root: schema, path: Vec::new(), parts: 0 };
        reader.schema(schema)
    }
}

struct Reader<'a> {
    root: &'a Json,
    path: Vec<String>,
    parts: usize,
}

type Outcome<T> = Result<T, SchemaError>;

impl<'a> Reader<'a> {
    fn refuse<T>(&self, message: impl Into<String>) -> Outcome<T> {
        let path: String = self.path.iter().map(|step| format!("/{step}")).collect();
        let path = crate::visible_line(&format!("#{path}")).into_owned();
        Err(SchemaError { path, message: crate::visible_line(&message.into()).into_owned() })
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

    fn schema<C: Reference>(&mut self, schema: &'a Json) -> Outcome<Pattern<C>> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return self.refuse("the schema is too large");
        }
        if self.path.len() > 2 * MAX_DEPTH {
            return self.refuse("the schema nests too deep, or refers to itself");
        }
        match schema {
            Json::Bool(true) => Ok(Pattern::any()),
            Json::Bool(false) => Ok(Pattern::or([])),
            Json::Object(object) => self.object(object),
            _ => self.refuse("a schema is an object or a boolean"),
        }
    }

    fn object<C: Reference>(&mut self, object: &'a Map<String, Json>) -> Outcome<Pattern<C>> {
        let mut parts = Vec::new();
        let mut used: Vec<&str> = Vec::new();
        if let Some(value) = object.get("const") {
            used.push("const");
            parts.push(self.literal(value)?);
        }
        if let Some(values) = object.get("enum") {
            used.push("enum");
            let Some(values) = values.as_array() else { return self.refuse("`enum` is a list") };
            parts.push(Pattern::or(
                values.iter().map(|value| self.literal(value)).collect::<Outcome<Vec<_>>>()?,
            ));
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
            let part = self.within("not", |reader| reader.schema(schema))?;
            // `not: {}` is how nothing is written.
            let nothing = matches!(part.matcher(), super::Matcher::Any);
            parts.push(if nothing { Pattern::or([]) } else { Pattern::not(part) });
        }
        if let Some(kind) = object.get("type") {
            used.push("type");
            let pattern = match kind {
                Json::String(kind) => self.typed(kind, object, &mut used)?,
                Json::Array(kinds) => {
                    let kinds = kinds.iter().map(|kind| match kind {
                        Json::String(kind) => self.typed(kind, object, &mut used),
                        _ => self.refuse("`type` is a name or a list of names"),
                    });
                    Pattern::or(kinds.collect::<Outcome<Vec<_>>>()?)
                }
                _ => return self.refuse("`type` is a name or a list of names"),
            };
            // A type says nothing beside a value that has it.
            let told = parts.iter().any(|part: &Pattern<C>| implies(part, &pattern));
            if !told {
                parts.insert(0, pattern);
            }
        }
        let foreign =
            |keyword: &&String| !used.contains(&keyword.as_str()) && !ANNOTATIONS.contains(&keyword.as_str());
        if let Some(keyword) = object.keys().find(foreign) {
            const TYPED: &[&str] = &[
                "properties",
                "required",
                "items",
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "maxLength",
                "maxItems",
                "additionalProperties",
                "prefixItems",
                "minItems",
            ];
            if TYPED.contains(&keyword.as_str()) && !object.contains_key("type") {
                return self
                    .refuse(format!("`{keyword}` without `type` says nothing of other types; add the type"));
            }
            return self.refuse(format!("there is no pattern for `{keyword}`"));
        }
        match parts.len() {
            0 => Ok(Pattern::any()),
            1 => Ok(parts.swap_remove(0)),
            _ => Ok(Pattern::and(parts)),
        }
    }

    fn literal<C: Reference>(&self, json: &Json) -> Outcome<Pattern<C>> {
        let value = match Value::<NoRef>::from_json(json) {
            Ok(value) => value.widen(),
            Err(error) => return self.refuse(error.to_string()),
        };
        if matches!(value, Value::Undefined) {
            return Ok(Pattern::undefined());
        }
        Pattern::literal(value).or_else(|complaint| self.refuse(complaint.to_string()))
    }

    fn reference<C: Reference>(&mut self, reference: &'a Json) -> Outcome<Pattern<C>> {
        let pointer = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
        let root = self.root;
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            // Steps of the path bound how often references may follow one another.
            Some(schema) => self.within("$ref", |reader| reader.within("", |reader| reader.schema(schema))),
            None => self.refuse("only references within the schema (`#/$defs/…`) can be followed"),
        }
    }

    fn combination<C: Reference>(&mut self, keyword: &'static str, schemas: &'a Json) -> Outcome<Pattern<C>> {
        let Some(schemas) = schemas.as_array() else { return self.refuse(format!("`{keyword}` is a list")) };
        // The arm for escapes of plain JSON is ours, and understood everywhere.
        let escape = serde_json::json!({ "type": "object", "required": ["@qclass"] });
        let schemas =
            schemas.iter().enumerate().filter(|(_, schema)| keyword != "anyOf" || **schema != escape);
        let arms = schemas
            .map(|(at, schema)| self.within(format!("{keyword}/{at}"), |reader| reader.schema(schema)))
            .collect::<Outcome<Vec<Pattern<C>>>>()?;
        if keyword == "allOf" {
            return Ok(Pattern::and(arms));
        }
        let disjoint = || {
            let tags: Vec<_> = arms.iter().map(json_type).collect();
            let literals = tags.iter().flatten().filter(|tag| tag.starts_with('=')).count();
            let unlike = |at: usize, tag: &Option<String>| {
                tag.is_some() && !tags.iter().take(at).any(|other| other == tag)
            };
            // A literal could lie within a type that stands beside it.
            (literals == 0 || literals == tags.len())
                && tags.iter().enumerate().all(|(at, tag)| unlike(at, tag))
        };
        if keyword == "oneOf" && !disjoint() {
            return self.refuse("`oneOf` has a pattern only if its arms cannot overlap; write `anyOf`");
        }
        match <[Pattern<C>; 1]>::try_from(arms) {
            Ok([only]) => Ok(only),
            Err(arms) => Ok(Pattern::or(arms)),
        }
    }

    fn number(&self, object: &Map<String, Json>, keyword: &str) -> Outcome<Option<f64>> {
        match object.get(keyword) {
            None => Ok(None),
            Some(Json::Number(number)) => Ok(number.as_f64()),
            Some(_) => self.refuse(format!("`{keyword}` is a number")),
        }
    }

    fn count(&self, object: &Map<String, Json>, keyword: &str) -> Outcome<Option<usize>> {
        match self.number(object, keyword)? {
            None => Ok(None),
            Some(count) if count >= 0.0 && count.fract() == 0.0 && count <= 1e9 => Ok(Some(count as usize)),
            Some(_) => self.refuse(format!("`{keyword}` is a count")),
        }
    }

    fn limits(&self, object: &Map<String, Json>, keyword: &str, limit: Limit) -> Outcome<Limits> {
        let most = self.number(object, keyword)?;
        Ok(most.map_or_else(Limits::none, |most| Limits::of([(limit, most)])))
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
                used.extend([
                    "items",
                    "prefixItems",
                    "minItems",
                    "maxItems",
                    "uniqueItems",
                    "contains",
                    "minContains",
                ]);
                self.array(object)
            }
            "object" => {
                used.extend([
                    "properties",
                    "required",
                    "additionalProperties",
                    "propertyNames",
                    "maxProperties",
                ]);
                self.record(object)
            }
            other => self.refuse(format!("there is no type `{other}`")),
        }
    }

    fn string<C: Reference>(
        &self,
        object: &'a Map<String, Json>,
        used: &mut Vec<&'a str>,
    ) -> Outcome<Pattern<C>> {
        if object.get("contentEncoding").is_some_and(|encoding| encoding == "base64") {
            return Ok(Pattern::bytes());
        }
        if object.contains_key("contentEncoding") {
            return self.refuse("of `contentEncoding` only base64 has a pattern");
        }
        match object.get("pattern").and_then(Json::as_str) {
            Some("^-?[0-9]+$") => {
                used.push("pattern");
                let most = self.number(object, "maxLength")?;
                let limits = most.map(|most| Limits::of([(Limit::DecimalDigits, (most - 1.0).max(0.0))]));
                return Ok(Pattern::bigint_within(limits.unwrap_or_default()));
            }
            Some("^[0-9]+$") => {
                used.push("pattern");
                return Ok(Pattern::nat_within(self.limits(object, "maxLength", Limit::DecimalDigits)?));
            }
            _ => {}
        }
        let mut parts =
            vec![Pattern::string_within(self.limits(object, "maxLength", Limit::StringLength)?)];
        match object.get("format").and_then(Json::as_str) {
            Some("almoner-petname") => return Ok(Pattern::any_remotable()),
            Some(format @ ("date" | "date-time" | "email" | "uri")) => {
                parts.extend(Refinement::from_name(format).map(Pattern::refine));
            }
            _ => {}
        }
        if object.get("writeOnly") == Some(&Json::Bool(true)) {
            parts.push(Pattern::refine(Refinement::Secret));
        }
        match self.count(object, "minLength")? {
            None | Some(0) => {}
            Some(1) => parts.push(Pattern::not(Pattern::text(""))),
            Some(_) => return self.refuse("there is no pattern for a `minLength` above 1"),
        }
        Ok(single_or_and(parts))
    }

    fn numeric<C: Reference>(&self, integer: bool, object: &Map<String, Json>) -> Outcome<Pattern<C>> {
        let mut parts = vec![Pattern::number()];
        let multiple = self.number(object, "multipleOf")?;
        if integer || multiple == Some(1.0) {
            parts.push(Pattern::refine(Refinement::Integer));
        }
        if multiple.is_some_and(|multiple| multiple != 1.0) {
            return self.refuse("there is no pattern for `multipleOf`");
        }
        for (keyword, comparison) in [
            ("minimum", Comparison::Gte),
            ("exclusiveMinimum", Comparison::Gt),
            ("maximum", Comparison::Lte),
            ("exclusiveMaximum", Comparison::Lt),
        ] {
            if let Some(bound) = self.number(object, keyword)? {
                parts.push(Pattern::new(super::Matcher::Compare(comparison, Value::Number(bound))));
            }
        }
        Ok(single_or_and(parts))
    }

    fn array<C: Reference>(&mut self, object: &'a Map<String, Json>) -> Outcome<Pattern<C>> {
        let items = match object.get("items") {
            None => None,
            Some(schema) => Some(self.within("items", |reader| reader.schema(schema))?),
        };
        let any_items = items.is_none();
        let (least, most) = (self.count(object, "minItems")?.unwrap_or(0), self.count(object, "maxItems")?);
        let limits = |most: Option<usize>| {
            most.map_or_else(Limits::none, |most| Limits::of([(Limit::ArrayLength, most as f64)]))
        };
        let element = items.clone().unwrap_or_else(Pattern::any);
        if object.get("uniqueItems") == Some(&Json::Bool(true)) {
            if least > 0 || object.contains_key("prefixItems") || object.contains_key("contains") {
                return self.refuse("a set has a pattern only with `items` and `maxItems`");
            }
            let limits = most.map(|most| Limits::of([(Limit::NumSetElements, most as f64)]));
            return Ok(Pattern::set_of_within(element, limits.unwrap_or_default()));
        }
        let pattern = match object.get("prefixItems") {
            None if least == 0 => Pattern::array_of_within(element.clone(), limits(most)),
            None if least > 1000 => return self.refuse("`minItems` is too large for a pattern"),
            None => {
                if most.is_some_and(|most| most < least) {
                    return Ok(Pattern::or([]));
                }
                let required = std::iter::repeat_n(element.clone(), least);
                let rest = Pattern::array_of_within(element.clone(), limits(most.map(|most| most - least)));
                Pattern::split_array(required, [], Some(rest))
            }
            Some(prefix) => self.tuple(prefix, object, items, least, most)?,
        };
        let Some(contains) = object.get("contains") else {
            return match object.contains_key("minContains") {
                true => self.refuse("`minContains` needs `contains`"),
                false => Ok(pattern),
            };
        };
        let part = self.within("contains", |reader| reader.schema(contains))?;
        let count = self.count(object, "minContains")?.unwrap_or(1);
        let has = Pattern::container_has(part, count as u64);
        if count == 0 {
            return Ok(pattern);
        }
        Ok(if least == 0 && any_items && most.is_none() && !object.contains_key("prefixItems") {
            Pattern::and([Pattern::kind("copyArray"), has])
        } else {
            Pattern::and([pattern, has])
        })
    }

    fn tuple<C: Reference>(
        &mut self,
        prefix: &'a Json,
        object: &'a Map<String, Json>,
        items: Option<Pattern<C>>,
        least: usize,
        most: Option<usize>,
    ) -> Outcome<Pattern<C>> {
        let Some(prefix) = prefix.as_array() else { return self.refuse("`prefixItems` is a list") };
        let parts = prefix
            .iter()
            .enumerate()
            .map(|(at, schema)| self.within(format!("prefixItems/{at}"), |reader| reader.schema(schema)))
            .collect::<Outcome<Vec<Pattern<C>>>>()?;
        if least > parts.len() {
            return self.refuse("there is no pattern for a `minItems` above the number of `prefixItems`");
        }
        let closed = object.get("items") == Some(&Json::Bool(false));
        if most.is_some_and(|most| most < parts.len() || !closed) {
            return self.refuse("there is no pattern for `maxItems` beside `prefixItems`");
        }
        if closed && least == parts.len() {
            return Ok(Pattern::tuple(parts));
        }
        let (required, optional) = parts.split_at_checked(least).unwrap_or((&parts, &[]));
        let optional = optional.iter().map(|part| part.as_optional().unwrap_or(part).clone());
        let rest = match (closed, items) {
            (true, _) => Some(Pattern::tuple([])),
            (false, items) => items.map(Pattern::array_of),
        };
        Ok(Pattern::split_array(required.iter().cloned(), optional, rest))
    }

    fn record<C: Reference>(&mut self, object: &'a Map<String, Json>) -> Outcome<Pattern<C>> {
        let further = match object.get("additionalProperties") {
            None | Some(Json::Bool(true)) => None,
            Some(schema) => Some(self.within("additionalProperties", |reader| reader.schema(schema))?),
        };
        let names: Vec<&str> = match object.get("required") {
            None => Vec::new(),
            Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
            Some(_) => return self.refuse("`required` is a list of names"),
        };
        let properties: Vec<(&'a String, &'a Json)> = match object.get("properties") {
            None => Vec::new(),
            Some(Json::Object(properties)) => properties.iter().collect(),
            Some(_) => return self.refuse("`properties` is an object"),
        };
        let bounded = object.contains_key("propertyNames") || object.contains_key("maxProperties");
        if properties.is_empty()
            && names.is_empty()
            && object.get("additionalProperties") != Some(&Json::Bool(false))
        {
            let name = match object.get("propertyNames") {
                None => Pattern::any(),
                Some(schema) => self.within("propertyNames", |reader| reader.schema(schema))?,
            };
            let limits = self.limits(object, "maxProperties", Limit::NumProperties)?;
            let open = object.contains_key("properties") && !bounded && further.is_none();
            return Ok(match open {
                true => Pattern::split_record::<Text, Text>([], [], None),
                false => Pattern::record_of_within(name, further.unwrap_or_else(Pattern::any), limits),
            });
        }
        if bounded {
            return self
                .refuse("there is no pattern for `propertyNames` or `maxProperties` beside `properties`");
        }
        let (mut required, mut optional) = (Vec::new(), Vec::new());
        for (name, schema) in &properties {
            let pattern = self.within(format!("properties/{name}"), |reader| reader.schema(schema))?;
            let fields = if names.contains(&name.as_str()) { &mut required } else { &mut optional };
            fields.push((Text::from(name.as_str()), pattern));
        }
        let listed = |name: &&&str| properties.iter().any(|(own, _)| own == *name);
        let unlisted = names.iter().filter(|name| !listed(name));
        required
            .extend(unlisted.map(|name| (Text::from(*name), further.clone().unwrap_or_else(Pattern::any))));
        Ok(match (object.get("additionalProperties"), further) {
            (Some(Json::Bool(false)), _) => Pattern::exact_record(required, optional),
            (_, None) => Pattern::split_record(required, optional, None),
            (_, Some(value)) => {
                Pattern::split_record(required, optional, Some(Pattern::record_of(Pattern::any(), value)))
            }
        })
    }
}

fn single_or_and<C: Reference>(mut parts: Vec<Pattern<C>>) -> Pattern<C> {
    if parts.len() == 1 { parts.swap_remove(0) } else { Pattern::and(parts) }
}

/// Whether everything that the first matches has the type that the second asks for. Only for literals.
fn implies<C: Reference>(first: &Pattern<C>, second: &Pattern<C>) -> bool {
    match first.matcher() {
        super::Matcher::Literal(value) => second.matches(value),
        super::Matcher::Or(parts) => !parts.is_empty() && parts.iter().all(|part| implies(part, second)),
        _ => false,
    }
}

/// What tells the values of an arm of `oneOf` from those of others: a literal, or a JSON type.
fn json_type<C: Reference>(pattern: &Pattern<C>) -> Option<String> {
    use super::Matcher;
    Some(match pattern.matcher() {
        Matcher::Literal(value) => match value {
            Value::String(text) => format!("={}", crate::keys::quoted(text)),
            Value::Number(number) => format!("={number}"),
            Value::Bool(value) => format!("={value}"),
            Value::Null => "null".to_owned(),
            _ => return None,
        },
        Matcher::Kind(kind) => match kind.as_str()? {
            kind @ ("boolean" | "number" | "undefined") => kind.to_owned(),
            _ => return None,
        },
        Matcher::String(_) => "string".to_owned(),
        Matcher::Array(_) | Matcher::ArrayOf(..) | Matcher::SplitArray(_) => "array".to_owned(),
        Matcher::Record(_) | Matcher::RecordOf(..) | Matcher::SplitRecord(_) => "object".to_owned(),
        Matcher::And(parts) => return parts.iter().find_map(json_type),
        _ => return None,
    })
}
