//! JSON Schema of the types whose serde form is written by hand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::secret::Secret;

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn schema_id() -> Cow<'static, str> {
        concat!(module_path!(), "::Secret").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A secret. The daemon takes it and never sends it back.",
            "type": "string",
            "writeOnly": true,
        })
    }
}
