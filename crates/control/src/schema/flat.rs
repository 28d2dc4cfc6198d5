//! Flat objects in place of objects that refer to others.
//!
//! Schemars describes a flattened field, or the content of a tagged variant, as a schema beside the own fields of the
//! object. Such a schema cannot refuse unknown fields, and few generators of code understand it. So each object gets
//! all of its fields in one place.

use serde_json::{Map, Value as Json};

use super::{DEFINITIONS, Definitions, visit};

/// Makes all objects flat.
pub(super) fn flatten(definitions: &mut Definitions) {
    let before = definitions.clone();
    for schema in definitions.values_mut() {
        visit(schema, &mut |fields| flatten_object(fields, &before));
    }
}

fn flatten_object(fields: &mut Map<String, Json>, definitions: &Definitions) {
    while fields.contains_key("properties") && fields.contains_key("$ref") {
        let target = resolve(fields.shift_remove("$ref"), definitions);
        for (key, value) in target {
            match (key.as_str(), fields.get_mut(&key)) {
                ("properties", Some(Json::Object(own))) => merge(own, value),
                ("required", Some(Json::Array(own))) => {
                    own.extend(value.as_array().cloned().unwrap_or_default())
                }
                (_, Some(_)) => {}
                (_, None) => drop(fields.insert(key, value)),
            }
        }
    }
    if fields.contains_key("properties") && fields.contains_key("oneOf") {
        let Some(Json::Array(variants)) = fields.shift_remove("oneOf") else { return };
        let properties = fields.shift_remove("properties").unwrap_or_default();
        let required = fields.shift_remove("required");
        fields.shift_remove("type");
        let variants = variants.into_iter().map(|variant| {
            let mut variant = match variant {
                Json::Object(variant) => variant,
                other => return other,
            };
            let own = variant.entry("properties").or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(own) = own {
                let mut all = properties.as_object().cloned().unwrap_or_default();
                merge(&mut all, Json::Object(std::mem::take(own)));
                *own = all;
            }
            if let Some(Json::Array(required)) = &required {
                let own = variant.entry("required").or_insert_with(|| Json::Array(vec![]));
                own.as_array_mut().into_iter().for_each(|own| own.extend(required.iter().cloned()));
            }
            flatten_object(&mut variant, definitions);
            Json::Object(variant)
        });
        let variants = variants.collect();
        fields.insert("oneOf".to_owned(), Json::Array(variants));
    }
}

/// Returns the definition to which a reference leads, in its flat form.
fn resolve(reference: Option<Json>, definitions: &Definitions) -> Map<String, Json> {
    let name = reference.as_ref().and_then(Json::as_str).and_then(|r| r.strip_prefix(DEFINITIONS));
    let mut target = name.and_then(|name| definitions.get(name)).cloned().unwrap_or_default();
    visit(&mut target, &mut |fields| flatten_object(fields, definitions));
    target.as_object().cloned().unwrap_or_default()
}

/// Adds properties that are not there yet.
fn merge(own: &mut Map<String, Json>, others: Json) {
    let Json::Object(others) = others else { return };
    for (key, value) in others {
        own.entry(key).or_insert(value);
    }
}
