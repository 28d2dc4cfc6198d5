//! Pattern text, shorthand and schemas: their meaning, and their errors.

use passable::{InterfaceGuard, MethodGuard, NoRef, Node, Pattern, Value};
use serde_json::json;

/// Returns a neutral tree from JSON; every span is that of its place in the list of all nodes, which is enough here.
fn node(json: &serde_json::Value, at: &mut usize) -> Node {
    *at += 1;
    let span = *at..*at + 1;
    match json {
        serde_json::Value::Null => Node::Null(span),
        serde_json::Value::Bool(value) => Node::Bool(*value, span),
        serde_json::Value::Number(number) => Node::Number(number.as_f64().unwrap(), span),
        serde_json::Value::String(text) => Node::Text(text.clone(), span),
        serde_json::Value::Array(parts) => {
            Node::List(parts.iter().map(|part| node(part, at)).collect(), span)
        }
        serde_json::Value::Object(fields) => {
            let field =
                |(name, value): (&String, &serde_json::Value)| (name.clone(), span.clone(), node(value, at));
            Node::Map(fields.iter().map(field).collect(), span)
        }
    }
}

#[test]
fn shorthand_compiles_to_the_expected_pattern() {
    for (short, expected) in [
        (json!("string"), "M.string()"),
        (json!("number?"), "M.opt(M.number())"),
        (json!("int"), "M.and(M.number(), M.refine(\"integer\"))"),
        (json!("pass|maybe|fail"), "M.or(\"pass\", \"maybe\", \"fail\")"),
        (json!("string|number"), "M.or(M.string(), M.number())"),
        (json!("\"string\"|'a|b'|3"), "M.or(\"string\", \"a|b\", 3)"),
        (json!("1..5"), "M.and(M.number(), M.refine(\"integer\"), M.gte(1), M.lte(5))"),
        (json!("-0.5..1"), "M.and(M.number(), M.gte(-0.5), M.lte(1))"),
        (json!("0.."), "M.and(M.number(), M.refine(\"integer\"), M.gte(0))"),
        (json!(["string"]), "M.arrayOf(M.string())"),
        (json!(["string", "number"]), "[M.string(), M.number()]"),
        (json!("date"), "M.and(M.string(), M.refine(\"date\"))"),
        (json!("dir"), "M.remotable(\"dir\")"),
        (json!("dir rw"), "M.remotable(\"dir rw\")"),
        (json!("outbox"), "M.remotable(\"outbox\")"),
        (json!("worker"), "M.remotable(\"worker\")"),
        (json!("M.recordOf(M.string(), M.any())"), "M.recordOf(M.string(), M.any())"),
        (json!(true), "true"),
        (json!(null), "null"),
        (json!({}), "{}"),
        (
            json!({ "a": "string", "b?": "int", "c": "date?" }),
            concat!(
                "M.splitRecord({ a: M.string() }, { b: M.and(M.number(), M.refine(\"integer\")), ",
                "c: M.and(M.string(), M.refine(\"date\")) }, {})",
            ),
        ),
        (
            json!({ "verdict": "pass|fail", "scores": { "team": "1..5" }, "red_flags": ["string"] }),
            concat!(
                "{ red_flags: M.arrayOf(M.string()), scores: { team: M.and(M.number(), M.refine(\"integer\"), ",
                "M.gte(1), M.lte(5)) }, verdict: M.or(\"pass\", \"fail\") }",
            ),
        ),
    ] {
        let pattern = Pattern::<NoRef>::from_shorthand(&node(&short, &mut 0)).unwrap();
        assert_eq!(pattern.to_text(), expected, "{short}");
    }
}

#[test]
fn shorthand_errors_have_message_and_help() {
    for (short, expected) in [
        (
            json!("strng"),
            "there is no type `strng` (did you mean string? For exactly this text write '\"strng\"')",
        ),
        (json!("5..1"), "this range is empty (a range looks like 1..5, 0.. or ..9.5)"),
        (json!([]), "an empty list says nothing about its elements (write [string], [any] or list)"),
        (
            json!("a||b"),
            "an alternative is empty (write what stands between two `|`, or leave one of them out)",
        ),
        (json!("M.nope()"), "there is no matcher M.nope (did you mean M.not?)"),
        (
            json!({ "a": "string", "a?": "int" }),
            "this name occurs twice (keep one of the two; `?` marks a field, it is no part of its name)",
        ),
    ] {
        let error = Pattern::<NoRef>::from_shorthand(&node(&short, &mut 0)).unwrap_err();
        assert_eq!(error.to_string(), expected, "{short}");
    }
}

/// Checks the spans of errors in a scalar that begins at byte 100 of its file.
#[test]
fn shorthand_errors_have_spans() {
    for (text, span, message) in [
        (" strng ?", 101..106, "there is no type `strng`"),
        ("'a|b'|5..1|x", 106..110, "this range is empty"),
        ("1|..|2", 102..104, "a range needs an end"),
        ("a||b", 101..103, "an alternative is empty"),
        ("a|b|", 103..104, "an alternative is empty"),
        ("a|\"b|c", 102..106, "this quote does not end"),
        (" M.or(M.any(), M.strng())", 117..122, "there is no matcher M.strng"),
    ] {
        let node = Node::Text(text.to_owned(), 100..100 + text.len());
        let error = Pattern::<NoRef>::from_shorthand(&node).unwrap_err();
        assert_eq!((error.message.as_str(), error.span), (message, span), "{text}");
    }
}

#[test]
fn expression_errors_have_spans() {
    for (text, span, expected) in [
        ("M.string(", 9..9, "expected data or a pattern, but the text ends"),
        ("M.arrayOf(M.strng())", 12..17, "there is no matcher M.strng (did you mean M.string?)"),
        (
            "M.string({ stringLengthLimit: 'x' })",
            9..35,
            "every limit is a number (limits look like { stringLengthLimit: 200 })",
        ),
        ("{ a: 1, a: 2 }", 8..9, "this name occurs twice in one record"),
        ("M.any() M.any()", 8..9, "expected the end here"),
        ("M.any(1)", 6..7, "too many arguments"),
        (
            "string",
            0..6,
            "`string` is neither data nor a pattern (text stands in quotes: \"string\"; a matcher begins with M.)",
        ),
        ("\"abc", 0..4, "this string does not end"),
        ("M.containerHas(M.any(), 0n)", 24..26, "the count is a big integer of at least 1 (write 1n)"),
        ("M.call(M.string())", 0..18, "expected a pattern, not a method without .returns()"),
        ("\u{1F9D9}", 0..4, "`\u{1F9D9}` cannot stand here"),
        (
            "{ [Symbol.iterator]: 1 }",
            2..19,
            "only methods can be named by symbols (the names of fields are text)",
        ),
        (
            "{ [1]: M.call().returns() }",
            3..4,
            "expected a symbol here (write [Symbol.iterator] or [Symbol.for(\"name\")])",
        ),
    ] {
        let error = Pattern::<NoRef>::parse(text).unwrap_err();
        assert_eq!((error.to_string().as_str(), &error.span), (expected, &span), "{text}");
    }
    let deep = format!("{}1{}", "M.not(".repeat(5000), ")".repeat(5000));
    assert_eq!(Pattern::<NoRef>::parse(&deep).unwrap_err().message, "nested deeper than 80 levels");
}

#[test]
fn guards_round_trip_and_check_calls() {
    let text = "M.interface(\"Counter\", { incr: M.callWhen(M.await(M.nat()), M.raw()).optional(M.string())\
                .rest(M.arrayOf(M.number())).returns(M.number()), reset: M.call().returns() })";
    let guard = InterfaceGuard::<NoRef>::parse(text).unwrap();
    assert_eq!(guard.to_text(), text);
    let value = guard.to_value();
    assert_eq!(passable::kind_of(&value), Some("guard:interfaceGuard"));
    assert_eq!(InterfaceGuard::from_value(&value).unwrap().to_value(), value);
    let incr = guard.method("incr").unwrap();
    assert_eq!(MethodGuard::<NoRef>::parse(&incr.to_text()).unwrap(), *incr);
    let args = |text: &str| match Value::<NoRef>::parse(text).unwrap() {
        Value::Array(array) => array.to_vec(),
        _ => panic!("{text}"),
    };
    let check = |method: &str, given: &str| {
        let guard = guard.method(method).unwrap();
        guard.check_arguments("Counter", method, &args(given)).map_err(|mismatch| mismatch.to_string())
    };
    assert_eq!(check("incr", "[1n, 2]"), Ok(()));
    assert_eq!(check("incr", "[1n, 2, undefined, 3, 4]"), Ok(()));
    for (method, given, expected) in [
        ("incr", "[]", "In \"incr\" method of (Counter): Expected at least 2 arguments: (an object)"),
        ("incr", "[-1n, 2]", "In \"incr\" method of (Counter): arg 0: (a bigint) - Must be non-negative"),
        (
            "incr",
            "[1n, 2, 3]",
            "In \"incr\" method of (Counter): arg 2?: number (a number) - Must be a string",
        ),
        (
            "incr",
            "[1n, 2, 'x', 3, 'y']",
            "In \"incr\" method of (Counter): ...rest: [1]: string (a string) - Must be a number",
        ),
        (
            "reset",
            "[1]",
            "\"In \\\"reset\\\" method of (Counter)\" accepts at most 0 arguments, not 1: (an object)",
        ),
    ] {
        assert_eq!(check(method, given), Err(expected.to_owned()), "{method}{given}");
    }
    let result = incr.check_result("Counter", "incr", &Value::string("x")).unwrap_err();
    assert_eq!(
        result.to_string(),
        "In \"incr\" method of (Counter): result: string (a string) - Must be a number"
    );
}

#[test]
fn symbol_named_methods_round_trip() {
    let text = concat!(
        "M.interface(\"List\", { size: M.call().returns(M.nat()), ",
        "[Symbol.for(\"@@own\")]: M.call().returns(), [Symbol.asyncIterator]: M.callWhen().returns(M.any()), ",
        "[Symbol.iterator]: M.call(M.nat()).returns(M.string()), [Symbol.for(\"a \\\"b\\\"\")]: M.call().returns() }, ",
        "{ defaultGuards: \"raw\" })",
    );
    let guard = InterfaceGuard::<NoRef>::parse(text).unwrap();
    assert_eq!(guard.to_text(), text);
    assert_eq!(guard.symbol_methods.len(), 4);
    // Written as a value, they are a map, which has an order of its own.
    assert_eq!(InterfaceGuard::from_value(&guard.to_value()).unwrap(), guard);
    let symbol = passable::Symbol::from_passable_name("@@iterator").unwrap();
    let method = guard.symbol_method(&symbol).unwrap();
    let result = method.check_result("List", &symbol.label(), &Value::number(1.0)).unwrap_err();
    assert_eq!(
        result.to_string(),
        "In \"[Symbol(Symbol.iterator)]\" method of (List): result: number (a number) - Must be a string"
    );
    let twice =
        "M.interface('I', { [Symbol.iterator]: M.call().returns(), [Symbol.iterator]: M.call().returns() })";
    let error = InterfaceGuard::<NoRef>::parse(twice).unwrap_err();
    assert_eq!((error.message.as_str(), error.span), ("this name occurs twice in one record", 58..75));
}
