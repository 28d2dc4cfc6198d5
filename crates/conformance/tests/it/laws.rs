//! Laws of the translations of patterns, with the published implementations as judges.

use passable::{Elicitation, Value};
use proptest::prelude::*;

use crate::arbitrary::{V, any_part, beyond_json, cases, matching, pattern};
use crate::schemas::{accepts, is_elicitation};

/// Returns whether a value has parts that JSON Schema cannot describe: non-finite numbers, lone surrogates, fields
/// called `@qclass`.
fn beyond_schema(value: &V) -> bool {
    any_part(value, &|part| match part {
        Value::Number(number) => !number.is_finite(),
        Value::String(text) => !text.is_well_formed(),
        Value::Record(record) => record.names().any(|name| !name.is_well_formed() || name == "@qclass"),
        Value::Tagged(tagged) => !tagged.tag().is_well_formed(),
        _ => false,
    })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn elicitation_of_a_pattern_is_valid_for_rmcp(pattern in pattern()) {
        if let Elicitation::Form(schema) = pattern.to_elicitation() {
            prop_assert!(is_elicitation(&schema), "{}", schema);
        }
    }

    #[test]
    fn json_of_a_pattern_fits_its_schema((pattern, value) in matching()) {
        prop_assume!(!beyond_json(&value) && !beyond_schema(&value));
        let (json, schema) = (pattern.write_json(&value), pattern.to_json_schema());
        prop_assert!(accepts(&schema, &json), "{:?}\n{}\n{}", pattern, schema, json);
    }
}
