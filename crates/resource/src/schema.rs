//! JSON Schema of the types whose text form is written by hand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::web::Origin;

/// Implements [`JsonSchema`] for types that are text of one form.
#[macro_export]
macro_rules! schema_as_text {
    ($($name:ident: $pattern:literal, $description:literal;)*) => {$(
        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({
                    "description": $description,
                    "type": "string",
                    "pattern": $pattern,
                })
            }
        }
    )*};
}

use crate::BlobHash;

schema_as_text! {
    BlobHash: "^[0-9a-f]{64}$", "The BLAKE3 hash of bytes that are kept beside the store.";
}

impl JsonSchema for Origin {
    fn schema_name() -> Cow<'static, str> {
        "Origin".into()
    }

    fn schema_id() -> Cow<'static, str> {
        concat!(module_path!(), "::Origin").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A server: scheme, host and port, such as `https://api.example.com:8443`.",
            "type": "string",
            "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://",
        })
    }
}
