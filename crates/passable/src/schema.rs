//! JSON Schema of the types whose serde form is written by hand.
//!
//! The derived schemas of all other types lie beside the types. `control` tests each schema here against values that
//! serde has written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::pattern::Pattern;
use crate::value::{NoRef, Reference, Value};
use crate::visible::Untrusted;

impl JsonSchema for Untrusted {
    fn schema_name() -> Cow<'static, str> {
        "Untrusted".into()
    }

    fn schema_id() -> Cow<'static, str> {
        concat!(module_path!(), "::Untrusted").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Text that a model, a file, a guest or a user may have written. It is shown only after \
                            control characters and look-alikes were made visible.",
            "type": "string",
        })
    }
}

impl JsonSchema for NoRef {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NoRef".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        false.into()
    }
}

/// Returns the schema of smallcaps with slots.
fn smallcaps<C: JsonSchema>(generator: &mut SchemaGenerator, description: &str) -> Schema {
    let slots = generator.subschema_for::<Vec<C>>();
    json_schema!({
        "description": description,
        "type": "object",
        "properties": {
            "body": {
                "description": "The encoding in smallcaps: `#`, and then JSON.",
                "type": "string",
                "pattern": "^#",
            },
            "slots": slots,
        },
        "required": ["body", "slots"],
    })
}

impl<C: Reference + JsonSchema> JsonSchema for Value<C> {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{}::Value<{}>", module_path!(), C::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        smallcaps::<C>(generator, "A passable value in smallcaps, with its references as slots.")
    }
}

impl<C: Reference + JsonSchema> JsonSchema for Pattern<C> {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{}::Pattern<{}>", module_path!(), C::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        smallcaps::<C>(generator, "A pattern for values, as a value in smallcaps.")
    }
}
