//! JSON Schema from elsewhere: a schema that is read means the same, and any other is refused with a way out.
//!
//! The judges are the published validator and the published types of elicitation.

use std::collections::BTreeMap;

use passable::{Elicitation, NoRef, Pattern};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use crate::arbitrary::{P, cases};

/// Returns whether a schema accepts the JSON.
pub(crate) fn accepts(schema: &Json, json: &Json) -> bool {
    jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{error} in {schema}")).is_valid(json)
}

/// Numbers as JSON Schema compares them, and objects in one order.
fn settled(json: &Json) -> Json {
    match json {
        Json::Number(number) => json!(number.as_f64()),
        Json::Array(items) => items.iter().map(settled).collect(),
        Json::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().map(|(name, value)| (name, settled(value))).collect();
            fields.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        other => other.clone(),
    }
}

/// Returns whether a schema is one of an elicitation, without anything that would not be understood.
pub(crate) fn is_elicitation(schema: &Json) -> bool {
    let read = serde_json::from_value::<rmcp::model::ElicitationSchema>(schema.clone());
    read.is_ok_and(|read| settled(&serde_json::to_value(read).unwrap()) == settled(schema))
}

/// Checks the schema of a conjunction: all its parts constrain the JSON that the first of them writes.
#[test]
fn conjunction_schema_keeps_expressible_constraints() {
    for (pattern, expected) in [
        ("M.and(M.string(), M.not(''))", json!({ "type": "string", "minLength": 1 })),
        ("M.and(M.number(), M.not(3))", json!({ "type": "number", "not": { "const": 3 } })),
        ("M.and(M.bigint(), M.not('3'))", json!({ "type": "string", "pattern": "^-?[0-9]+$" })),
        ("M.and(M.bigint(), M.gte(5n))", json!({ "type": "string", "pattern": "^-?[0-9]+$" })),
        (
            "M.and(M.bagOf(M.string()), makeCopyBag([]))",
            P::parse("M.bagOf(M.string())").unwrap().to_json_schema(),
        ),
        ("M.and(M.arrayOf(M.any()), M.arrayOf(M.bigint()))", json!({ "type": "array" })),
        (
            "M.and(M.arrayOf(M.number()), M.containerHas(M.any(), 2n))",
            json!({
                "type": "array", "items": { "type": "number" }, "minItems": 2,
            }),
        ),
        (
            "M.and({ a: M.any() }, M.recordOf(M.any(), M.any(), { numPropertiesLimit: 2 }))",
            json!({
                "type": "object", "properties": { "a": {} }, "required": ["a"], "additionalProperties": false,
                "maxProperties": 2,
            }),
        ),
        ("{ '\\ud83e': M.any(), '\\ud83f': M.any() }", json!({ "type": "object" })),
    ] {
        assert_eq!(P::parse(pattern).unwrap().to_json_schema(), expected, "{pattern}");
    }
}

/// Checks the pattern that is read from each schema.
#[test]
fn schemas_with_a_pattern_are_read() {
    for (schema, expected) in [
        (json!({ "type": "string", "minLength": 1 }), "M.and(M.string(), M.not(\"\"))"),
        (json!({ "type": "string", "pattern": "^\\d+$", "minLength": 1 }), "M.nat()"),
        (json!({ "type": "number", "multipleOf": 1.0 }), "M.and(M.number(), M.refine(\"integer\"))"),
        (json!({ "type": "array", "minItems": 2 }), "M.and(M.arrayOf(M.any()), M.containerHas(M.any(), 2n))"),
        (
            json!({ "type": "array", "contains": { "const": 1 }, "minContains": 0, "maxContains": 2 }),
            "M.and(M.arrayOf(M.any()), M.not(M.containerHas(1, 3n)))",
        ),
        (
            json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true, "maxItems": 3, "minItems": 1 }),
            "M.and(M.setOf(M.string(), { numSetElementsLimit: 4 }), M.containerHas(M.any(), 1n))",
        ),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "null" }, { "type": "boolean" }], "minItems": 1, "maxItems": 4 }),
            "M.splitArray([null], [M.boolean()], M.arrayOf(M.any(), { arrayLengthLimit: 2 }))",
        ),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "null" }, { "type": "boolean" }], "maxItems": 1 }),
            "M.splitArray([], [null], [])",
        ),
        (
            json!({ "type": "object", "properties": { "a": true }, "maxProperties": 2, "propertyNames": { "maxLength": 3 } }),
            "M.and(M.splitRecord({}, { a: M.any() }), \
             M.recordOf(M.string({ stringLengthLimit: 3 }), M.any(), { numPropertiesLimit: 2 }))",
        ),
        (json!({ "type": "object", "minProperties": 1 }), "M.and(M.recordOf(M.any(), M.any()), M.not({}))"),
        (
            json!({ "type": "object", "dependentRequired": { "a": ["b"] } }),
            "M.and(M.recordOf(M.any(), M.any()), \
             M.or(M.not(M.splitRecord({ a: M.any() })), M.splitRecord({ b: M.any() })))",
        ),
        (
            json!({ "if": { "type": "string" }, "then": { "const": "a" } }),
            "M.or(M.and(M.string(), \"a\"), M.not(M.string()))",
        ),
        (
            json!({ "oneOf": [{ "type": "number" }, { "type": "integer" }] }),
            "M.or(M.and(M.and(M.number(), M.refine(\"exact\")), M.not(M.or(M.and(M.number(), M.refine(\"integer\"))))), \
             M.and(M.and(M.number(), M.refine(\"integer\")), M.not(M.or(M.and(M.number(), M.refine(\"exact\"))))))",
        ),
        (
            json!({ "oneOf": [
                { "type": "object", "properties": { "is": { "const": "a" } }, "required": ["is"] },
                { "type": "object", "properties": { "is": { "enum": ["b", "c"] } }, "required": ["is"] },
            ] }),
            "M.or(M.splitRecord({ is: \"a\" }), M.splitRecord({ is: M.or(\"b\", \"c\") }))",
        ),
        (json!({ "allOf": [{ "type": "string", "pattern": "^[0-9]+$" }] }), "M.nat()"),
    ] {
        let pattern = Pattern::<NoRef>::from_json_schema(&schema).unwrap();
        assert_eq!(pattern.to_text(), expected, "{schema}");
    }
}

/// Checks that every refusal has a place, a reason and a way out.
#[test]
fn schemas_without_a_pattern_are_refused() {
    for (schema, path, message, help) in [
        (json!({ "type": "string", "pattern": "^a" }), "#", "there is no pattern for `pattern`", "`enum`"),
        (
            json!({ "type": "object", "properties": { "a": { "type": "string", "minLength": 2 } } }),
            "#/properties/a",
            "there is no pattern for a `minLength` above 1",
            "\"minLength\": 1",
        ),
        (
            json!({ "type": "array", "items": { "type": "number", "multipleOf": 2 } }),
            "#/items",
            "there is no pattern for `multipleOf` but 1",
            "`enum`",
        ),
        (
            json!({ "properties": {} }),
            "#",
            "`properties` without `type` says nothing of other types",
            "\"type\": \"object\"",
        ),
        (
            json!({ "type": "string", "minimum": 2 }),
            "#",
            "`minimum` says nothing of the types that are given",
            "add the type",
        ),
        (
            json!({ "type": "object", "patternProperties": {} }),
            "#",
            "there is no pattern for `patternProperties`",
            "`additionalProperties`",
        ),
        (
            json!({ "type": "object", "minProperties": 2 }),
            "#",
            "there is no pattern for a `minProperties` above 1",
            "`required`",
        ),
        (json!({ "$ref": "https://x" }), "#", "only references within the schema can be followed", "`$defs`"),
        (json!({ "type": "text" }), "#", "there is no type `text`", "string, number"),
        (
            json!({ "type": "object", "required": [1] }),
            "#",
            "`required` is a list of names",
            "[\"a\", \"b\"]",
        ),
        (
            json!({ "allOf": [{ "type": "string" }, { "type": "string", "pattern": "^[0-9]+$" }] }),
            "#/allOf/1",
            "`pattern` says a big integer, which has a pattern only where no other schema looks at the same value",
            "leave one of the two out",
        ),
        (
            json!({ "type": "array", "contains": { "type": "array", "uniqueItems": true } }),
            "#/contains",
            "`uniqueItems` says a set, which has a pattern only where no other schema looks at the same value",
            "leave one of the two out",
        ),
        (
            json!({ "type": "string", "contentEncoding": "base64", "maxLength": 3 }),
            "#",
            "`maxLength` would count text that stands for something else",
            "leave it out",
        ),
        (json!({ "type": "array", "minContains": 2 }), "#", "`minContains` needs `contains`", "`contains`"),
        (json!({ "anyOf": [] }), "#", "`anyOf` is a list of schemas", "at least one"),
        (
            json!({ "unevaluatedProperties": false }),
            "#",
            "there is no pattern for `unevaluatedProperties`",
            "`properties`",
        ),
        (json!({ "x-own": 1 }), "#", "there is no pattern for `x-own`", "leave it out"),
        (json!(3), "#", "a schema is an object or a boolean", "`{}`"),
    ] {
        let error = Pattern::<NoRef>::from_json_schema(&schema).unwrap_err();
        assert_eq!((error.path.as_str(), error.message.as_str()), (path, message), "{schema}");
        assert!(error.help.contains(help), "{}", error.help);
    }
    let endless = json!({ "$defs": { "a": { "type": "array", "items": { "$ref": "#/$defs/a" } } }, "$ref": "#/$defs/a" });
    let error = Pattern::<NoRef>::from_json_schema(&endless).unwrap_err();
    assert_eq!(error.message, "the schema nests too deep, or refers to itself");
    let wide: Vec<Json> = (0..30).map(|at| json!({ "type": "string", "maxLength": at })).collect();
    let error = Pattern::<NoRef>::from_json_schema(&json!({ "oneOf": wide })).unwrap_err();
    assert_eq!(error.message, "more than 20 arms of `oneOf` may overlap");
}

fn word() -> impl Strategy<Value = Json> {
    prop::sample::select(vec!["", "a", "b", "ab", "abc", "7", "12", "-3"]).prop_map(Json::from)
}

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-2..5i64).prop_map(Json::from),
        prop::sample::select(vec![0.5, 1.0, -1.5]).prop_map(Json::from),
        word(),
        word(),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "12"]).prop_map(str::to_owned)
}

fn any_json() -> BoxedStrategy<Json> {
    let nested = |inner: BoxedStrategy<Json>| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
        ]
    };
    scalar().prop_recursive(3, 12, 3, move |inner| nested(inner.boxed())).boxed()
}

/// Returns some of the keywords, each as often as not.
fn some(keywords: Vec<(&'static str, BoxedStrategy<Json>)>) -> BoxedStrategy<Json> {
    let each = keywords.into_iter().map(|(keyword, value)| {
        prop::option::weighted(0.3, value).prop_map(move |value| Some((keyword.to_owned(), value?)))
    });
    let keywords: Vec<_> = each.collect();
    keywords.prop_map(|fields| fields.into_iter().flatten().collect::<Map<_, _>>().into()).boxed()
}

fn with(schema: Json, more: Json) -> Json {
    let (Json::Object(mut all), Json::Object(more)) = (schema, more) else { return Json::Null };
    all.extend(more);
    Json::Object(all)
}

fn count() -> BoxedStrategy<Json> {
    (0..4u8).prop_map(Json::from).boxed()
}

fn names() -> BoxedStrategy<Json> {
    prop::collection::btree_set(name(), 0..3).prop_map(|names| json!(names)).boxed()
}

/// Schemas as others write them, of all keywords that are understood and some that are not.
fn any_schema() -> BoxedStrategy<Json> {
    // How digits are counted is one of the differences that are accepted.
    let text = prop_oneof![
        some(vec![("minLength", (0..3u8).prop_map(Json::from).boxed()), ("maxLength", count())]),
        prop::sample::select(vec!["^[0-9]+$", "^-?\\d+$", "b"]).prop_map(|text| json!({ "pattern": text })),
    ];
    let bound = || prop::sample::select(vec![-1.0, 0.5, 2.0, 3.0]).prop_map(Json::from).boxed();
    let number = some(vec![
        ("minimum", bound()),
        ("exclusiveMinimum", bound()),
        ("maximum", bound()),
        ("exclusiveMaximum", bound()),
        ("multipleOf", Just(json!(1)).boxed()),
    ]);
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Json::from),
        text.prop_map(|rest| with(json!({ "type": "string" }), rest)),
        (any::<bool>(), number).prop_map(|(whole, rest)| {
            with(json!({ "type": if whole { "integer" } else { "number" } }), rest)
        }),
        prop::sample::select(vec!["null", "boolean", "string", "array", "object"])
            .prop_map(|name| json!({ "type": name })),
        Just(json!({ "type": ["string", "null"] })),
        any_json().prop_map(|value| json!({ "const": value })),
        prop::collection::vec(any_json(), 0..4).prop_map(|values| json!({ "enum": values })),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4).prop_map(Json::from).boxed();
        let fields = prop::collection::btree_map(name(), inner.clone(), 0..3)
            .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into())
            .boxed();
        let array = some(vec![
            ("items", inner.clone().boxed()),
            ("prefixItems", list.clone()),
            ("minItems", count()),
            ("maxItems", count()),
            ("uniqueItems", any::<bool>().prop_map(Json::from).boxed()),
            ("contains", inner.clone().boxed()),
            ("minContains", count()),
            ("maxContains", count()),
        ]);
        let dependent = prop::collection::btree_map(name(), names(), 0..2)
            .prop_map(|cases| cases.into_iter().collect::<Map<_, _>>().into())
            .boxed();
        let object = some(vec![
            ("properties", fields.clone()),
            ("required", names()),
            ("additionalProperties", inner.clone().boxed()),
            ("propertyNames", prop_oneof![inner.clone(), Just(json!({ "maxLength": 1 }))].boxed()),
            ("minProperties", (0..2u8).prop_map(Json::from).boxed()),
            ("maxProperties", count()),
            ("dependentRequired", dependent),
            ("dependentSchemas", fields),
        ]);
        let combined = some(vec![
            ("anyOf", list.clone()),
            ("oneOf", list.clone()),
            ("allOf", list),
            ("not", inner.clone().boxed()),
            ("if", inner.clone().boxed()),
            ("then", inner.clone().boxed()),
            ("else", inner.clone().boxed()),
            ("const", any_json()),
        ]);
        prop_oneof![
            3 => array.prop_map(|rest| with(json!({ "type": "array" }), rest)),
            3 => object.prop_map(|rest| with(json!({ "type": "object" }), rest)),
            2 => combined.clone(),
            1 => (inner, combined).prop_map(|(one, other)| match one {
                Json::Object(_) => with(one, other),
                _ => other,
            }),
        ]
    })
    .boxed()
}

/// Forms as others ask for them, as far as patterns can say them.
fn any_elicitation() -> impl Strategy<Value = Json> {
    let options = || prop::collection::btree_set("[a-z]{1,3}", 1..4);
    let text = some(vec![
        ("minLength", Just(json!(1)).boxed()),
        ("maxLength", count()),
        (
            "format",
            prop::sample::select(vec!["email", "uri", "date", "date-time"]).prop_map(Json::from).boxed(),
        ),
    ]);
    let bounds = || {
        some(vec![
            ("minimum", (-9..9i8).prop_map(Json::from).boxed()),
            ("maximum", (-9..9i8).prop_map(Json::from).boxed()),
        ])
    };
    let primitive = prop_oneof![
        text.prop_map(|rest| with(json!({ "type": "string" }), rest)),
        bounds().prop_map(|rest| with(json!({ "type": "number" }), rest)),
        bounds().prop_map(|rest| with(json!({ "type": "integer" }), rest)),
        Just(json!({ "type": "boolean" })),
        options().prop_map(|options| json!({ "type": "string", "enum": options })),
        (options(), some(vec![("minItems", (1..4u8).prop_map(Json::from).boxed()), ("maxItems", count())]))
            .prop_map(|(options, rest)| {
                with(json!({ "type": "array", "items": { "type": "string", "enum": options } }), rest)
            }),
    ];
    (prop::collection::btree_map("[a-e]", primitive, 0..4), any::<u8>()).prop_map(|(properties, required)| {
        let names = properties.keys().enumerate().filter(|(at, _)| required >> at & 1 == 1);
        let names: Vec<_> = names.map(|(_, name)| name.clone()).collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        if !names.is_empty() {
            schema["required"] = json!(names);
        }
        schema
    })
}

/// Returns a form without its texts for people.
fn bare(schema: &Json) -> Json {
    let mut schema = schema.clone();
    if let Some(properties) = schema["properties"].as_object_mut() {
        for property in properties.values_mut().filter_map(Json::as_object_mut) {
            property.retain(|keyword, _| !["title", "description"].contains(&keyword.as_str()));
        }
    }
    settled(&schema)
}

fn has_whole_number(json: &Json) -> bool {
    match json {
        Json::Number(number) => number.is_i64(),
        Json::Array(items) => items.iter().any(has_whole_number),
        Json::Object(fields) => fields.values().any(has_whole_number),
        _ => false,
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Checks that nothing is approximated: the pattern reads exactly the JSON that the schema accepts.
    #[test]
    fn foreign_schema_accepts_the_same_values(schema in any_schema(), values in prop::collection::vec(any_json(), 8)) {
        let Ok(pattern) = Pattern::<NoRef>::from_json_schema(&schema) else { return Ok(()) };
        let validator = jsonschema::validator_for(&schema).unwrap();
        // Where digits are asked for, a number is understood too: models write it so.
        let digits = schema.to_string().contains("+$");
        for json in values.into_iter().filter(|json| !digits || !has_whole_number(json)) {
            let read = pattern.read_json(&json);
            prop_assert_eq!(validator.is_valid(&json), read.is_ok(), "{}\n{}\n{:?}\n{:?}", schema, json, pattern, read);
        }
    }

    #[test]
    fn foreign_elicitation_form_round_trips(schema in any_elicitation()) {
        prop_assert!(is_elicitation(&schema), "{}", schema);
        let pattern = Pattern::<NoRef>::from_json_schema(&schema).unwrap();
        let Elicitation::Form(again) = pattern.to_elicitation() else {
            return Err(TestCaseError::fail(format!("no form: {schema}")));
        };
        prop_assert_eq!(bare(&again), bare(&schema), "{:?}", pattern);
        prop_assert!(is_elicitation(&again));
    }
}
