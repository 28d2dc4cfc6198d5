//! The protocol as JSON Schema (draft 2020-12), generated from the types.
//!
//! The schema holds three kinds of frames: `Hello`, `Request` and `Response`. Types that occur in requests and in
//! responses have two definitions if they differ, and the one of requests ends with `Param`: a request may leave out
//! fields with a default, and the daemon refuses fields that it does not know. A response may have more fields than its
//! schema, so that a client must ignore them.

pub mod exchanges;
mod flat;

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value as Json, json};

use crate::protocol::{Hello, OnBehalf, Response};
use exchanges::{ACTS, Exchange, QUERIES, REQUESTS};

/// The annotation of a request with the tags of the responses that may answer it.
pub const RESPONSES: &str = "x-responses";

/// The prefix of references to definitions.
const DEFINITIONS: &str = "#/$defs/";

/// The name of the definition of a request with its agent.
const REQUEST: &str = "Request";

/// A request, query or act that has no row in [`exchanges`].
#[derive(Debug)]
pub struct MissingExchange {
    /// The tag.
    pub tag: String,
}

impl std::fmt::Display for MissingExchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot generate the schema: `{}` has no row in schema/exchanges.rs", self.tag)
    }
}

impl std::error::Error for MissingExchange {}

/// Returns the schema of the protocol in its present version.
///
/// # Errors
/// When a request has no row in [`exchanges`].
pub fn protocol_schema(version: u32) -> Result<Json, MissingExchange> {
    let mut requests = definitions(SchemaSettings::draft2020_12().for_deserialize(), |generator| {
        add::<Hello>(generator);
        add::<OnBehalf>(generator);
    });
    let mut responses = definitions(SchemaSettings::draft2020_12().for_serialize(), add::<Response>);
    flat::flatten(&mut requests);
    flat::flatten(&mut responses);
    // The enum without the agent is part of no frame.
    requests.shift_remove(REQUEST);
    rename(&mut requests, &|name| (name == "OnBehalf").then(|| REQUEST.to_owned()));
    remove_unused(&mut requests, &["Hello", REQUEST]);
    remove_unused(&mut responses, &["Response"]);
    for schema in requests.values_mut() {
        visit(schema, &mut |schema| {
            if schema.contains_key("properties") && !schema.contains_key("additionalProperties") {
                schema.insert("additionalProperties".to_owned(), json!(false));
            }
        });
    }
    annotate(&mut requests, REQUEST, "request", REQUESTS)?;
    annotate(&mut requests, "Look", "look", QUERIES)?;
    annotate(&mut requests, "AgentAct", "do", ACTS)?;
    let shared = differing(&requests, &responses);
    rename(&mut requests, &|name| shared.contains(&name.to_owned()).then(|| format!("{name}Param")));
    let mut all: Vec<(String, Json)> = responses.into_iter().collect();
    all.extend(requests.into_iter().filter(|(name, _)| !shared.contains(name)));
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.dedup_by(|a, b| a.0 == b.0);
    for (_, schema) in &mut all {
        visit(schema, &mut bound_integer);
    }
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("https://almoner.invalid/protocol/{version}.schema.json"),
        "title": format!("Almoner control protocol, version {version}"),
        "description": "One frame on `control.sock`. A client sends one `Hello`, and then one `Request` after the \
                        other. The daemon sends a `Response` for each. `x-responses` of a request names the responses \
                        that may answer it. `docs/control.md` describes the protocol.",
        "x-protocol-version": version,
        "anyOf": [
            { "$ref": "#/$defs/Hello" },
            { "$ref": "#/$defs/Request" },
            { "$ref": "#/$defs/Response" },
        ],
        "$defs": Json::Object(all.into_iter().collect()),
    }))
}

type Definitions = Map<String, Json>;

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    let _ = generator.subschema_for::<T>();
}

fn definitions(settings: SchemaSettings, add: impl FnOnce(&mut SchemaGenerator)) -> Definitions {
    let mut generator = settings.into_generator();
    add(&mut generator);
    generator.take_definitions(true)
}

/// Calls `change` for a schema and all schemas in it, from the inside out.
fn visit(schema: &mut Json, change: &mut impl FnMut(&mut Map<String, Json>)) {
    match schema {
        Json::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match key.as_str() {
                    // Data, and no schema.
                    "default" | "const" | "enum" | "examples" => {}
                    // The keys are names of properties, and not keywords.
                    "properties" | "patternProperties" | "$defs" => {
                        value
                            .as_object_mut()
                            .into_iter()
                            .flatten()
                            .for_each(|(_, value)| visit(value, change));
                    }
                    _ => visit(value, change),
                }
            }
            change(fields);
        }
        Json::Array(all) => all.iter_mut().for_each(|one| visit(one, change)),
        _ => {}
    }
}

/// Renames definitions, and the references to them.
fn rename(definitions: &mut Definitions, name: &impl Fn(&str) -> Option<String>) {
    let renamed = std::mem::take(definitions).into_iter().map(|(key, mut schema)| {
        visit(&mut schema, &mut |fields| {
            let new =
                fields.get("$ref").and_then(Json::as_str).and_then(|r| name(r.strip_prefix(DEFINITIONS)?));
            if let Some(new) = new {
                fields.insert("$ref".to_owned(), json!(format!("{DEFINITIONS}{new}")));
            }
        });
        (name(&key).unwrap_or(key), schema)
    });
    *definitions = renamed.collect();
}

/// Removes the definitions that no root reaches.
fn remove_unused(definitions: &mut Definitions, roots: &[&str]) {
    let mut kept: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
    let mut next = 0;
    while let Some(name) = kept.get(next).cloned() {
        next += 1;
        let Some(schema) = definitions.get_mut(&name) else { continue };
        visit(schema, &mut |fields| {
            if let Some(name) =
                fields.get("$ref").and_then(Json::as_str).and_then(|r| r.strip_prefix(DEFINITIONS))
                && !kept.iter().any(|known| known == name)
            {
                kept.push(name.to_owned());
            }
        });
    }
    definitions.retain(|name, _| kept.contains(name));
}

/// Returns the names of definitions that are not the same in requests and in responses, with all that refer to them.
fn differing(requests: &Definitions, responses: &Definitions) -> Vec<String> {
    let differs = |(name, schema): (&String, &Json)| {
        responses.get(name).is_some_and(|other| other != schema).then(|| name.clone())
    };
    let mut found: Vec<String> = requests.iter().filter_map(differs).collect();
    loop {
        let mut more = Vec::new();
        for (name, schema) in requests {
            if found.contains(name) || !responses.contains_key(name) {
                continue;
            }
            let mut refers = false;
            visit(&mut schema.clone(), &mut |fields| {
                let name =
                    fields.get("$ref").and_then(Json::as_str).and_then(|r| r.strip_prefix(DEFINITIONS));
                refers |= name.is_some_and(|name| found.iter().any(|one| one == name));
            });
            if refers {
                more.push(name.clone());
            }
        }
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Adds to each variant of a tagged enum the responses from its row.
fn annotate(
    definitions: &mut Definitions,
    definition: &str,
    tag: &str,
    rows: &[Exchange],
) -> Result<(), MissingExchange> {
    let variants = definitions.get_mut(definition).and_then(|schema| schema["oneOf"].as_array_mut());
    for variant in variants.into_iter().flatten() {
        let name = variant["properties"][tag]["const"].as_str().unwrap_or_default().to_owned();
        let row = rows.iter().find(|row| row.tag == name).ok_or(MissingExchange { tag: name })?;
        variant[RESPONSES] = json!(row.responses);
    }
    Ok(())
}

/// Adds the bounds of a machine's integers, which their format only names.
fn bound_integer(fields: &mut Map<String, Json>) {
    let (least, most) = match fields.get("format").and_then(Json::as_str) {
        Some("uint64" | "uint") => (json!(0), json!(u64::MAX)),
        Some("int64" | "int") => (json!(i64::MIN), json!(i64::MAX)),
        Some("uint32") => (json!(0), json!(u32::MAX)),
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("uint16") => (json!(0), json!(u16::MAX)),
        Some("uint8") => (json!(0), json!(u8::MAX)),
        _ => return,
    };
    fields.entry("minimum").or_insert(least);
    fields.entry("maximum").or_insert(most);
}
