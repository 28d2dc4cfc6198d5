//! JSON Schema of the types whose serde form is written by hand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::model::id::{FormulaId, Number};
use crate::model::name::{MAX_DEPTH, NamePath};

resource::schema_as_text! {
    FormulaId: "^[0-9a-f]{64}:[0-9a-f]{64}$", "The identifier of a formula: its number and its node.";
    Number: "^[0-9a-f]{64}$", "The number of a formula without its node.";
}

impl JsonSchema for NamePath {
    fn schema_name() -> Cow<'static, str> {
        "NamePath".into()
    }

    fn schema_id() -> Cow<'static, str> {
        concat!(module_path!(), "::NamePath").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One or more names, each looked up in the target of the one before it.",
            "type": "array",
            "items": { "type": "string", "minLength": 1, "pattern": "^[^/\\u0000]+$" },
            "minItems": 1,
            "maxItems": MAX_DEPTH,
        })
    }
}
