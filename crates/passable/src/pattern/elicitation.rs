//! Questions to the user through MCP or ACP: a flat form of primitive fields, and the reader of its answers.
//!
//! Nested records and tuples are flattened to dotted names. Parts that no primitive can express become text that
//! holds JSON. Forms never ask for capabilities, secrets and bytes: names must not leave the host's own namespace,
//! and form mode forbids secrets. For such patterns, Almoner shows a page of its own.

use serde_json::{Map, Value as Json, json};

use super::mismatch::{Label, Mismatch};
use super::{Limit, Matcher, Pattern, Refinement};
use crate::text::Text;
use crate::value::{Reference, Value};
use crate::visible::visible_line;

/// The way to ask for a value of a pattern through a protocol that knows only flat forms of primitives.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicitation {
    /// A form with this schema. [`Pattern::read_elicitation`] reads its answer.
    Form(Json),
    /// A page of Almoner's own, for this reason.
    Page(String),
}

/// The name of the only field, if the pattern is not a record.
const SINGLE_FIELD: &str = "value";

/// The way to read the answer in one field.
enum Reading<C> {
    /// JSON of the shape of the field's pattern.
    Direct,
    /// The number of one of these literals.
    Index(Vec<Value<C>>),
    /// Lines of text, each an element of a list.
    Lines,
    /// Text that holds JSON.
    Json,
}

struct Field<C: Reference> {
    /// The names from the root of the value to this field.
    path: Vec<Text>,
    pattern: Pattern<C>,
    schema: Json,
    required: bool,
    reading: Reading<C>,
}

impl<C: Reference> Field<C> {
    fn name(&self) -> String {
        match self.path.is_empty() {
            true => SINGLE_FIELD.to_owned(),
            false => self.path.iter().map(Text::to_str_lossy).collect::<Vec<_>>().join("."),
        }
    }
}

impl<C: Reference> Pattern<C> {
    /// Returns the flat form that asks for this pattern, or a page with the reason if the pattern has no such form.
    ///
    /// ```
    /// use passable::{Elicitation, Pattern};
    /// let pattern: Pattern = Pattern::record([("name", Pattern::string()), ("age", Pattern::between(0.0, 150.0))])?;
    /// assert_eq!(pattern.to_elicitation(), Elicitation::Form(serde_json::json!({
    ///     "type": "object",
    ///     "properties": {
    ///         "age": { "type": "number", "minimum": 0, "maximum": 150, "title": "age", "description": "a number from 0 to 150" },
    ///         "name": { "type": "string", "title": "name", "description": "text" },
    ///     },
    ///     "required": ["age", "name"],
    /// })));
    /// # Ok::<(), passable::ValueError>(())
    /// ```
    pub fn to_elicitation(&self) -> Elicitation {
        let mut fields = Vec::new();
        if let Err(reason) = flatten(self, &mut Vec::new(), true, &mut fields) {
            return Elicitation::Page(reason);
        }
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for field in fields {
            let name = field.name();
            let mut schema = field.schema;
            if let Json::Object(schema) = &mut schema {
                schema.insert("title".to_owned(), Json::from(visible_line(&name)));
                let note = if matches!(field.reading, Reading::Json) { "JSON: " } else { "" };
                let note = if matches!(field.reading, Reading::Lines) { "one per line: " } else { note };
                let description = format!("{note}{}", field.pattern.describe());
                schema.insert("description".to_owned(), Json::from(description));
            }
            if field.required {
                required.push(Json::from(name.clone()));
            }
            if properties.insert(name.clone(), schema).is_some() {
                return Elicitation::Page(format!("two fields would be called {}", visible_line(&name)));
            }
        }
        let mut out = json!({ "type": "object", "properties": properties });
        if let (false, Json::Object(out)) = (required.is_empty(), &mut out) {
            out.insert("required".to_owned(), Json::Array(required));
        }
        Elicitation::Form(out)
    }

    /// Reads the answers to the form of [`Pattern::to_elicitation`] and checks them.
    pub fn read_elicitation(&self, content: &Json) -> Result<Value<C>, Mismatch> {
        let mut fields = Vec::new();
        if let Err(reason) = flatten(self, &mut Vec::new(), true, &mut fields) {
            return Err(Mismatch::new(reason, self.describe(), "a form"));
        }
        let nothing = Map::new();
        let answers = content.as_object().unwrap_or(&nothing);
        let known = |name: &&String| fields.iter().any(|field| field.name() == **name);
        if let Some(unknown) = answers.keys().find(|name| !known(name)) {
            let found = format!("the unknown field `{}`", visible_line(unknown));
            return Err(Mismatch::new("unknown field", self.describe(), found));
        }
        let mut values = Vec::new();
        for field in &fields {
            let Some(json) = answers.get(&field.name()).filter(|json| !json.is_null()) else { continue };
            let label = |mismatch: Mismatch| {
                field.path.iter().rev().fold(mismatch, |mismatch, name| mismatch.within(Label::name(name)))
            };
            values.push((field.path.as_slice(), read(field, json).map_err(label)?));
        }
        let value = assemble(self, &values, 0)?.unwrap_or(Value::Undefined);
        self.check(&value)?;
        Ok(value)
    }
}

/// Adds the fields that ask for a pattern. An error is the reason why a form cannot ask for the pattern.
fn flatten<C: Reference>(
    pattern: &Pattern<C>,
    path: &mut Vec<Text>,
    required: bool,
    fields: &mut Vec<Field<C>>,
) -> Result<(), String> {
    if let Some(inner) = pattern.as_optional() {
        return flatten(inner, path, false, fields);
    }
    match parts(pattern) {
        Some(parts) => {
            for (name, part, part_required) in parts {
                path.push(name);
                flatten(&part, path, required && part_required, fields)?;
                path.pop();
            }
            Ok(())
        }
        None => {
            if let Some((schema, reading)) = leaf(pattern)? {
                let (path, pattern) = (path.clone(), pattern.clone());
                fields.push(Field { path, pattern, schema, required, reading });
            }
            Ok(())
        }
    }
}

type NamedPart<C> = (Text, Pattern<C>, bool);

/// Returns the parts of a pattern that has one form field for each part: the fields of a record or the elements of a
/// tuple. Returns `None` for any other pattern.
fn parts<C: Reference>(pattern: &Pattern<C>) -> Option<Vec<NamedPart<C>>> {
    let dotted = |name: &Text| name.is_empty() || name.as_bytes().contains(&b'.') || !name.is_well_formed();
    let fields = |fields: &[(Text, Pattern<C>)], required: bool| {
        fields.iter().map(|(name, part)| (name.clone(), part.clone(), required)).collect::<Vec<_>>()
    };
    let parts = match pattern.matcher() {
        Matcher::Record(own) => fields(own, true),
        Matcher::SplitRecord(split) => {
            let closed = split.rest.as_ref().is_none_or(|rest| {
                matches!(rest.matcher(), Matcher::Any)
                    || rest.as_literal().and_then(Value::as_record).is_some_and(|rest| rest.is_empty())
            });
            if !closed {
                return None;
            }
            let optional = fields(split.optional.as_deref().unwrap_or_default(), false);
            fields(&split.required, true).into_iter().chain(optional).collect()
        }
        Matcher::Array(own) => {
            let part = |(at, part): (usize, &Pattern<C>)| (Text::from(at.to_string()), part.clone(), true);
            own.iter().enumerate().map(part).collect()
        }
        _ => return None,
    };
    (!parts.iter().any(|(name, _, _)| dotted(name))).then_some(parts)
}

/// Returns the reason why a form must not ask for a pattern: a capability, a secret or bytes occur in the pattern.
/// Returns `None` if none of them occurs.
fn sensitive<C: Reference>(pattern: &Pattern<C>) -> Option<&'static str> {
    let all = |parts: &[Pattern<C>]| parts.iter().find_map(sensitive);
    let fields = |fields: &[(Text, Pattern<C>)]| fields.iter().find_map(|(_, part)| sensitive(part));
    match pattern.matcher() {
        Matcher::Remotable(_) | Matcher::Promise(_) => Some("a capability is asked for"),
        Matcher::Kind(kind) if kind == "remotable" || kind == "promise" => Some("a capability is asked for"),
        Matcher::Refine(Refinement::Secret) => Some("a secret is asked for"),
        Matcher::Bytes(_) => Some("a file is asked for"),
        Matcher::And(parts) | Matcher::Or(parts) | Matcher::Array(parts) => all(parts),
        Matcher::Record(own) => fields(own),
        Matcher::ArrayOf(part, _) | Matcher::SetOf(part, _) | Matcher::ContainerHas(part, ..) => {
            sensitive(part)
        }
        Matcher::RecordOf(one, two, _)
        | Matcher::BagOf(one, two, _)
        | Matcher::MapOf(one, two, _)
        | Matcher::Tagged(one, two) => sensitive(one).or_else(|| sensitive(two)),
        Matcher::Map(entries) => entries.iter().find_map(|(_, part)| sensitive(part)),
        Matcher::SplitArray(split) => all(&split.required)
            .or_else(|| all(split.optional.as_deref().unwrap_or_default()))
            .or_else(|| split.rest.as_ref().and_then(sensitive)),
        Matcher::SplitRecord(split) => fields(&split.required)
            .or_else(|| fields(split.optional.as_deref().unwrap_or_default()))
            .or_else(|| split.rest.as_ref().and_then(sensitive)),
        _ => None,
    }
}

fn text_options<C: Reference>(parts: &[Pattern<C>]) -> Option<Vec<&str>> {
    parts.iter().map(|part| part.as_literal()?.as_str()).collect()
}

/// Returns the schema of a list of texts from a fixed choice, perhaps with a minimum length. Returns `None` if the
/// parts are something else.
fn choices<C: Reference>(parts: &[Pattern<C>]) -> Option<Json> {
    let mut schema = Map::new();
    for part in parts {
        match part.matcher() {
            Matcher::ArrayOf(part, limits) if schema.get("type").is_none() => {
                let Matcher::Or(options) = part.matcher() else { return None };
                let options = text_options(options).filter(|options| !options.is_empty())?;
                schema.insert("type".to_owned(), json!("array"));
                schema.insert("items".to_owned(), json!({ "type": "string", "enum": options }));
                if let Some(most) = limits.own(Limit::ArrayLength) {
                    schema.insert("maxItems".to_owned(), Json::from(most.max(0.0) as u64));
                }
            }
            Matcher::ContainerHas(part, least, _) if matches!(part.matcher(), Matcher::Any) => {
                schema.insert("minItems".to_owned(), Json::from(u64::try_from(least).ok()?));
            }
            _ => return None,
        }
    }
    schema.contains_key("type").then_some(Json::Object(schema))
}

/// Returns the primitive field that asks for a pattern, or `None` if only one value matches.
fn leaf<C: Reference>(pattern: &Pattern<C>) -> Result<Option<(Json, Reading<C>)>, String> {
    if let Some(reason) = sensitive(pattern) {
        return Err(reason.to_owned());
    }
    let direct = |schema| Ok(Some((schema, Reading::Direct)));
    if let Matcher::And(parts) = pattern.matcher()
        && let Some(schema) = choices(parts)
    {
        return direct(schema);
    }
    let schema = pattern.to_json_schema();
    match pattern.matcher() {
        Matcher::Literal(_) => return Ok(None),
        _ if pattern.is_undefined() => return Ok(None),
        Matcher::Kind(kind) if kind == "boolean" || kind == "number" => return direct(schema),
        Matcher::String(_) | Matcher::BigInt(_) | Matcher::Nat(_) => {
            // The protocols know no regular expressions. The value is checked against the pattern later.
            let mut schema = schema;
            if let Json::Object(schema) = &mut schema {
                schema.remove("pattern");
            }
            return direct(schema);
        }
        Matcher::And(_) | Matcher::Refine(_) | Matcher::Compare(..) => {
            const KNOWN: &[&str] = &["type", "minimum", "maximum", "maxLength", "minLength", "format"];
            let flat = schema.as_object().is_some_and(|schema| {
                matches!(schema.get("type").and_then(Json::as_str), Some("string" | "number" | "integer"))
                    && !schema.contains_key("allOf")
            });
            if flat {
                let mut schema = schema;
                if let Json::Object(schema) = &mut schema {
                    schema.retain(|keyword, _| KNOWN.contains(&keyword.as_str()));
                }
                return direct(schema);
            }
        }
        Matcher::Or(parts) => {
            if let Some(options) = text_options(parts).filter(|options| !options.is_empty()) {
                return direct(json!({ "type": "string", "enum": options }));
            }
            let literals: Option<Vec<Value<C>>> =
                parts.iter().map(|part| part.as_literal().cloned()).collect();
            if let Some(literals) = literals.filter(|literals| !literals.is_empty()) {
                let option = |(at, part): (usize, &Pattern<C>)| json!({ "const": at.to_string(), "title": part.describe() });
                let options: Vec<Json> = parts.iter().enumerate().map(option).collect();
                return Ok(Some((json!({ "type": "string", "oneOf": options }), Reading::Index(literals))));
            }
        }
        Matcher::ArrayOf(part, _) => match part.matcher() {
            Matcher::Or(_) => {
                if let Some(schema) = choices(std::slice::from_ref(pattern)) {
                    return direct(schema);
                }
            }
            Matcher::String(_) => return Ok(Some((json!({ "type": "string" }), Reading::Lines))),
            _ => {}
        },
        _ => {}
    }
    Ok(Some((json!({ "type": "string" }), Reading::Json)))
}

fn read<C: Reference>(field: &Field<C>, json: &Json) -> Result<Value<C>, Mismatch> {
    let found = || crate::pattern::found_json(json);
    let text = || match json.as_str() {
        Some(text) => Ok(text),
        None => Err(Mismatch::new("must be text", field.pattern.describe(), found())),
    };
    match &field.reading {
        Reading::Direct => field.pattern.read_json(json),
        Reading::Index(literals) => {
            let at = text()?.parse::<usize>().ok();
            let literal = at.and_then(|at| literals.get(at));
            literal.cloned().ok_or_else(|| Mismatch::new("no such option", field.pattern.describe(), found()))
        }
        Reading::Lines => {
            let lines = text()?.lines().map(Json::from).collect();
            field.pattern.read_json(&Json::Array(lines))
        }
        Reading::Json => match serde_json::from_str::<Json>(text()?) {
            Ok(json) => field.pattern.read_json(&json),
            Err(error) => {
                let message = format!("not JSON: {error}");
                Err(Mismatch::new(message, field.pattern.describe(), found()))
            }
        },
    }
}

type Answers<'a, C> = [(&'a [Text], Value<C>)];

/// Puts the answers back into the shape of the pattern. Returns `None` if there is no answer for the pattern.
fn assemble<C: Reference>(
    pattern: &Pattern<C>,
    answers: &Answers<'_, C>,
    depth: usize,
) -> Result<Option<Value<C>>, Mismatch> {
    if let Some(inner) = pattern.as_optional() {
        return match answers.is_empty() {
            true => Ok(None),
            false => assemble(inner, answers, depth),
        };
    }
    if let Some(literal) = pattern.as_literal() {
        return Ok(Some(literal.clone()));
    }
    let Some(parts) = parts(pattern) else {
        return Ok(answers.first().map(|(_, value)| value.clone()));
    };
    let mut values = Vec::new();
    for (name, part, required) in parts {
        let own: Vec<_> =
            answers.iter().filter(|(path, _)| path.get(depth) == Some(&name)).cloned().collect();
        if own.is_empty() && !required {
            continue;
        }
        let value = assemble(&part, &own, depth + 1)?;
        // A required field that may be `undefined` is kept, with the value `undefined`.
        let value = value.or_else(|| part.matches(&Value::Undefined).then_some(Value::Undefined));
        values.extend(value.map(|value| (name, value)));
    }
    let too_deep = |error: crate::ValueError| Mismatch::new(error.to_string(), pattern.describe(), "a form");
    let value = match pattern.matcher() {
        Matcher::Array(_) => Value::try_array(values.into_iter().map(|(_, value)| value).collect()),
        _ => Value::try_record(values),
    };
    value.map(Some).map_err(too_deep)
}

/// Returns whether an elicitation may carry a JSON Schema. This is for tests, and for schemas that others wrote.
pub fn is_elicitation_schema(schema: &Json) -> bool {
    let primitive = |schema: &Json| {
        let kind = schema.get("type").and_then(Json::as_str);
        let nested =
            ["properties", "anyOf", "allOf", "not", "prefixItems"].iter().any(|k| schema.get(k).is_some());
        match kind {
            Some("string" | "number" | "integer" | "boolean") => !nested,
            Some("array") => schema.get("items").is_some_and(|items| items.get("enum").is_some()),
            _ => false,
        }
    };
    schema.get("type").is_some_and(|kind| kind == "object")
        && schema.get("properties").and_then(Json::as_object).is_some_and(|p| p.values().all(primitive))
}
