//! The parsers of patterns, in each of the ways in which they are written.

use passable::{InterfaceGuard, Node, Pattern, Value, pattern_check, pattern_check_line};

const EXPRESSIONS: &[&str] = &[
    "M.splitRecord({ a: M.string({ stringLengthLimit: 3 }) }, { 'b c': M.opt(M.nat()) }, {})",
    "M.or(1, -2n, \"x\\u{1F9D9}\\ud83e\", [null, undefined], makeCopySet([1, 2]), Symbol.iterator)",
    "M.and(M.gte(0.5), M.containerHas(M.key(), 2n), makeCopyMap([['a', M.remotable('x')]]), bytes('AQI='))",
    "M.splitArray([M.any()], [M.not(M.null())], M.arrayOf(M.tagged('x', M.undefined())))",
];

target!(pattern_text, EXPRESSIONS, |text: &str| {
    match Pattern::<String>::parse(text) {
        Ok(pattern) => {
            let again = Pattern::<String>::parse(&pattern.to_text()).unwrap();
            assert_eq!(again.to_text(), Pattern::<String>::parse(&again.to_text()).unwrap().to_text());
            let _ = (pattern.describe(), pattern.to_json_schema(), pattern.controls());
        }
        Err(error) => lies_within(&error.span, text),
    }
    let _ = Value::<String>::parse(text);
    let _ = pattern_check(text, text);
});

const GUARDS: &[&str] = &[
    "M.interface(\"I\", { m: M.callWhen(M.await(M.any())).optional(M.raw()).rest(M.array()).returns() })",
    "M.interface('I', { [Symbol.iterator]: M.call().returns(M.any()) }, { sloppy: true })",
    "M.interface('I', { a: M.call(M.string()).returns(M.promise()) }, { defaultGuards: 'passable' })",
];

target!(interface_text, GUARDS, |text: &str| match InterfaceGuard::<String>::parse(text) {
    Ok(guard) => {
        let written = guard.to_text();
        assert_eq!(InterfaceGuard::<String>::parse(&written).unwrap().to_text(), written);
    }
    Err(error) => lies_within(&error.span, text),
});

const SHORTHAND: &[&str] = &[
    "pass|maybe|'a|b'|\"c\"",
    "1..5",
    "-0.5..",
    "dir rw",
    "number?",
    "M.arrayOf(M.any())",
    "[string]",
    "date|time",
];

target!(shorthand, SHORTHAND, |text: &str| {
    let node = Node::Text(text.to_owned(), 0..text.len());
    match Pattern::<String>::from_shorthand(&node) {
        Ok(pattern) => drop(Pattern::<String>::parse(&pattern.to_text()).unwrap()),
        Err(error) => lies_within(&error.span, text),
    }
    let map = Node::Map(vec![(text.to_owned(), 0..1, node.clone()), ("b?".to_owned(), 0..1, node)], 0..1);
    let _ = Pattern::<String>::from_shorthand(&map);
});

const SCHEMAS: &[&str] = &[
    r##"{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"const":1}],"minItems":1},"b":{"anyOf":[{"type":"integer","minimum":0},{"enum":["x",null]}]}},"required":["a"],"additionalProperties":{"$ref":"#/properties/a"}}"##,
    r##"{"$defs":{"n":{"type":["string","null"],"maxLength":3,"pattern":"^a"}},"oneOf":[{"$ref":"#/$defs/n"},{"type":"boolean"}]}"##,
    r##"{"allOf":[{"type":"number","exclusiveMinimum":0},{"not":{"const":2}}],"title":"t","description":"d","default":1}"##,
    r##"{"type":"array","items":{"$ref":"#"},"uniqueItems":true,"contains":{"type":"string"}}"##,
];

target!(json_schema, SCHEMAS, |text: &str| {
    let Ok(json) = serde_json::from_str(text) else { return };
    if let Ok(pattern) = Pattern::<String>::from_json_schema(&json) {
        let _ = (pattern.describe(), pattern.read_json(&json), pattern.controls(), pattern.to_elicitation());
        let schema = pattern.to_json_schema();
        let again = Pattern::<String>::from_json_schema(&schema).unwrap().to_json_schema();
        assert_eq!(undescribed(again), undescribed(schema));
    }
});

/// Removes descriptions, which are for people and are not read back.
fn undescribed(schema: serde_json::Value) -> serde_json::Value {
    match schema {
        serde_json::Value::Object(mut fields) => {
            if fields.get("description").is_some_and(serde_json::Value::is_string) {
                fields.remove("description");
            }
            fields.into_iter().map(|(name, value)| (name, undescribed(value))).collect()
        }
        serde_json::Value::Array(all) => all.into_iter().map(undescribed).collect(),
        other => other,
    }
}

const LINES: &[&str] = &[
    r##"{"pattern":{"body":"#{\"#tag\":\"match:string\",\"payload\":[]}","slots":[]},"specimen":{"body":"#7","slots":[1]},"label":null}"##,
    r##"{"pattern":{"body":"#\"$0\"","slots":["a"]},"specimen":{"body":"#\"$0\"","slots":["b"]}}"##,
];

target!(check_lines, LINES, |text: &str| {
    let answer: serde_json::Value = serde_json::from_str(&pattern_check_line(text)).unwrap();
    assert!(answer["matches"].is_boolean());
    assert!(answer["matches"] == false || answer["message"].is_null());
});

/// Checks that the place of an error can be shown.
fn lies_within(span: &std::ops::Range<usize>, text: &str) {
    assert!(span.start <= span.end && span.end <= text.len(), "{span:?} in {text:?}");
    assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end), "{span:?} in {text:?}");
}
