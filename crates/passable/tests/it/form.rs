//! Forms: the value of a body of names and texts, and that a form accepts exactly the values of its pattern.

use passable::{Pattern, Value};
use proptest::prelude::*;

use crate::arbitrary::{P, V, cases, matching, pattern, value};
use crate::laws::settled;

type Body = Vec<(String, String)>;

fn body(text: &str) -> Body {
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, text)) => (name.to_owned(), text.to_owned()),
        None => (pair.to_owned(), String::new()),
    };
    text.split('&').filter(|pair| !pair.is_empty()).map(pair).collect()
}

fn shown(body: &Body) -> String {
    body.iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join("&")
}

fn resolve(_: &P, name: &str) -> Option<V> {
    match name.strip_prefix('?') {
        Some(_) => Some(Value::promise(name.to_owned())),
        None => name.starts_with('r').then(|| Value::remotable(name.to_owned())),
    }
}

fn read(pattern: &P, pairs: &str) -> Result<V, String> {
    pattern.read_form_with(&body(pairs), &mut resolve).map_err(|mismatch| mismatch.teach())
}

/// Checks that each control writes its value as the expected body, and reads it back.
#[test]
fn every_control_writes_and_reads_its_texts() {
    for (pattern, value, expected) in [
        ("M.string()", "'a b'", "value=a b"),
        ("M.string()", "''", "value="),
        ("M.string()", "'a\\r\\nb'", "value:json=\"a\\r\\nb\""),
        ("M.string()", "'\\ud83e'", "value:json={\"@qclass\":\"utf16\",\"units\":\"d83e\"}"),
        ("M.and(M.string(), M.refine('date'))", "'2026-11-20'", "value=2026-11-20"),
        ("M.symbol()", "Symbol.iterator", "value=@@iterator"),
        ("M.number()", "-0.5", "value=-0.5"),
        ("M.number()", "NaN", "value=NaN"),
        ("M.number()", "-Infinity", "value=-Infinity"),
        ("M.and(M.number(), M.gte(1), M.lte(5))", "3", "value=3"),
        ("M.nat()", "12345678901234567890n", "value=12345678901234567890"),
        ("M.gte(-3n)", "-1n", "value=-1"),
        ("M.boolean()", "true", "value=true"),
        ("M.null()", "null", ""),
        ("M.eq('x')", "'x'", ""),
        ("M.opt(M.string())", "undefined", ""),
        ("M.opt(M.string())", "''", "value="),
        ("M.opt('x')", "'x'", "value:given=yes"),
        ("M.opt(M.arrayOf(M.string()))", "[]", "value:given=yes"),
        ("M.or('pass', 'fail')", "'fail'", "value=fail"),
        ("M.or(1, true, null)", "true", "value=1"),
        ("M.or(M.string(), M.bigint())", "12n", "value:kind=1&value/1=12"),
        ("M.or(M.string(), M.bigint())", "'12'", "value:kind=0&value/0=12"),
        ("M.any()", "false", "value:kind=2&value/2=false"),
        ("M.any()", "[1]", "value:kind=6&value/6=[1]"),
        ("M.scalar()", "5n", "value:kind=4&value/4=5"),
        ("M.byteArray()", "bytes('AQI=')", "value=AQI="),
        ("M.arrayOf(M.number())", "[]", ""),
        ("M.arrayOf(M.number())", "[1, 2]", "value/0=1&value/1=2"),
        ("M.arrayOf(M.opt(M.number()))", "[1, undefined]", "value/0=1&value/1:given=no"),
        ("M.arrayOf(M.or('a', 'b'))", "['b', 'a', 'b']", "value/0=b&value/1=a&value/2=b"),
        ("M.setOf(M.string())", "makeCopySet(['a', 'b'])", "value/0=b&value/1=a"),
        ("M.bagOf(M.string(), M.gte(2n))", "makeCopyBag([['a', 2n]])", "value/0/key=a&value/0/value=2"),
        ("M.mapOf(M.number(), M.boolean())", "makeCopyMap([[1, true]])", "value/0/key=1&value/0/value=true"),
        ("M.recordOf(M.string(), M.number())", "{ 'a/b': 1 }", "value/0/key=a/b&value/0/value=1"),
        ("{ a: M.string(), 'b/:~': M.number() }", "{ a: 'x', 'b/:~': 1 }", "value/a=x&value/b~1~2~0=1"),
        ("{ a: M.opt(M.string()) }", "{ a: undefined }", ""),
        ("{ a: { b: [M.string(), 7] } }", "{ a: { b: ['x', 7] } }", "value/a/b/0=x"),
        (
            "M.splitRecord({ a: M.string() }, { b: M.array() }, {})",
            "{ a: '', b: [] }",
            "value/a=&value/b:given=yes",
        ),
        (
            "M.splitRecord({ a: M.string() })",
            "{ a: '', z: 1 }",
            "value/a=&value:rest/0/key=z&value:rest/0/value:kind=1&value:rest/0/value/1=1",
        ),
        (
            "M.splitArray([M.string()], [M.number()], M.arrayOf(M.boolean()))",
            "['x', 1, true]",
            "value/0=x&value/1=1&value:rest/0=true",
        ),
        ("M.splitArray([], [M.number()])", "[undefined]", "value/0:json={\"@qclass\":\"undefined\"}"),
        // Only some of them must be so.
        ("M.containerHas(1)", "[1]", "value/0:kind=0"),
        (
            "M.containerHas(M.gte(3), 1n)",
            "[4, 'x', 2]",
            "value/0:kind=0&value/0/0=4&value/1:kind=1&value/1/1=x&value/2:kind=2&value/2/2=2",
        ),
        ("M.and(M.containerHas(M.gte(3)), M.arrayOf(M.number()))", "[4, 1]", "value/0=4&value/1=1"),
        ("M.or(M.string(), M.any())", "1", "value:kind=1&value/1=1"),
        (
            "M.containerHas(M.number())",
            "makeCopySet([1])",
            "value:json={\"@qclass\":\"tagged\",\"payload\":[1],\"tag\":\"copySet\"}",
        ),
        ("M.key()", "{ a: [1] }", "value={\"a\":[1]}"),
        ("M.pattern()", "'a'", "value=\"a\""),
        ("M.not(M.string())", "[null]", "value=[null]"),
    ] {
        let (pattern, value) = (P::parse(pattern).unwrap(), V::parse(value).unwrap());
        let written = pattern.write_form(&value);
        let sorted = |text: &str| {
            // Another crate of the build may make objects keep their order.
            let mut parts: Vec<_> = text.split(['{', ',', '}']).map(str::to_owned).collect();
            parts.sort();
            parts
        };
        assert_eq!(sorted(&shown(&written)), sorted(expected), "{pattern:?} {value:?}");
        assert_eq!(pattern.read_form(&written), Ok(value), "{pattern:?} {expected}");
    }
}

#[test]
fn browser_bodies_are_read() {
    for (pattern, pairs, expected) in [
        ("M.boolean()", "value=false&value=on", "true"),
        ("M.boolean()", "value=false", "false"),
        ("M.string()", "value=a\r\nb\rc", "'a\\nb\\nc'"),
        ("M.number()", "value= 1e3 ", "1000"),
        ("M.bigint()", "value= -7 ", "-7n"),
        ("M.arrayOf(M.string())", "value/10=b&value/9=a", "['a', 'b']"),
        ("M.opt(M.string())", "value=draft&value:given=no", "undefined"),
        ("M.or(M.string(), M.number())", "value/0=draft&value:kind=1&value/1=2", "2"),
        ("M.splitArray([], [M.number(), M.number()])", "value/1=2", "[undefined, 2]"),
        ("M.tagged('t', M.string())", "value/payload=x", "null"),
        ("M.error()", "value/name=E&value/message=m", "null"),
        ("M.pattern()", "value=M.any()", "null"),
    ] {
        let read = read(&P::parse(pattern).unwrap(), pairs).unwrap();
        let expected = match (pattern, V::parse(expected).unwrap()) {
            ("M.error()", _) => Value::error("E", "m"),
            ("M.pattern()", _) => P::any().to_value(),
            (_, Value::Null) => Value::tagged("t", Value::string("x")),
            (_, value) => value,
        };
        assert_eq!(read, expected, "{pattern} {pairs}");
    }
}

#[test]
fn capabilities_are_picked_by_name() {
    let pattern = P::parse("{ dir: M.remotable('dir'), all: M.arrayOf(M.eref(M.remotable())) }").unwrap();
    let found = read(&pattern, "value/dir=r1&value/all/0=r2&value/all/1=?3");
    let all = Value::array([Value::remotable("r2".to_owned()), Value::promise("?3".to_owned())]);
    let value = Value::record([("dir", Value::remotable("r1".to_owned())), ("all", all)]).unwrap();
    assert_eq!(found, Ok(value.clone()));
    let written = pattern.write_form_with(&value, &mut String::clone);
    assert_eq!(pattern.read_form_with(&written, &mut resolve), Ok(value));
    assert_eq!(
        read(&pattern, "value/dir=nobody"),
        Err("`dir`: expected a capability (dir), found the text \"nobody\"".to_owned())
    );
}

/// Checks that JSON names capabilities as plain JSON does, at any place, and only if they can be picked there.
#[test]
fn json_controls_resolve_capabilities_at_any_place() {
    let labelled = |part: &P, name: &str| match part.matcher() {
        // No capability has a label other than `it`.
        passable::Matcher::Remotable(label) if *label != "it" => None,
        _ => resolve(part, name),
    };
    let (r1, r2) = (|| V::remotable("r1".to_owned()), || V::remotable("r2".to_owned()));
    let say = |class: &str, name: &str| format!(r#"{{"@qclass":"{class}","ref":"{name}"}}"#);
    for (pattern, json, expected) in [
        ("M.key()", say("remotable", "r1"), Ok(r1())),
        (
            "M.key()",
            format!(r#"{{"a":[{},{}]}}"#, say("remotable", "r1"), say("remotable", "r2")),
            Ok(Value::record([("a", Value::array([r1(), r2()]))]).unwrap()),
        ),
        ("M.not(M.string())", say("promise", "?1"), Ok(V::promise("?1".to_owned()))),
        // A promise that has settled since is its outcome.
        ("M.not(M.string())", say("promise", "r1"), Ok(r1())),
        ("M.not(M.string())", say("remotable", "?1"), Err("the identifier of a capability")),
        ("M.key()", say("promise", "?1"), Err("a key (comparable, no promises or errors), found a promise")),
        (
            "M.key()",
            format!("[1,{}]", say("promise", "?1")),
            Err("a key (comparable, no promises or errors), found a list of 2 elements with a promise in it"),
        ),
        ("M.key()", say("remotable", "nobody"), Err("can be picked here, found the text \"nobody\"")),
        ("M.key()", r#"[{"@qclass":"remotable"}]"#.to_owned(), Err("can be picked here")),
        ("M.key()", r#"{"@qclass":"remotable","ref":["r1"]}"#.to_owned(), Err("can be picked here")),
        ("M.key()", r#"{"@qclass":"remotable","ref":"r1","x":1}"#.to_owned(), Err("cannot be read")),
        (
            "M.key()",
            format!(r#"{{"a":{},"b":1,"b":2}}"#, say("remotable", "r1")),
            Err("the name \"b\" occurs twice"),
        ),
        ("M.key()", format!("[{}", say("remotable", "r1")), Err("text that cannot be read")),
        // The pattern applies in each way of writing a value.
        (
            "makeCopyMap([['a', M.remotable('it')]])",
            format!(r#"[["a",{}]]"#, say("remotable", "r1")),
            Ok(Value::map([(V::string("a"), r1())]).unwrap()),
        ),
        (
            "makeCopyMap([['a', M.remotable('other')]])",
            format!(r#"[["a",{}]]"#, say("remotable", "r1")),
            Err("can be picked here"),
        ),
        (
            "makeCopyMap([['a', M.remotable('other')]])",
            r#"[["a",{"@qclass":"remotable","ref":"r1","iface":"Alleged: it"}]]"#.to_owned(),
            Err("can be picked here"),
        ),
        (
            "makeCopyMap([['a', M.or(M.string(), M.remotable('other'))]])",
            format!(r#"[["a",{}]]"#, say("remotable", "r1")),
            Err("can be picked here"),
        ),
        (
            "makeCopyMap([['a', M.or(M.string(), M.arrayOf(M.remotable('other')))]])",
            format!(r#"[["a",[{}]]]"#, say("remotable", "r1")),
            Err("can be picked here"),
        ),
    ] {
        let pattern = P::parse(pattern).unwrap();
        let read = pattern.read_form_with(&[("value".to_owned(), json.clone())], &mut labelled.clone());
        match (read, expected) {
            (Ok(read), Ok(value)) => {
                assert_eq!(read, value, "{json}");
                let written = pattern.write_form_with(&value, &mut String::clone);
                assert_eq!(pattern.read_form_with(&written, &mut labelled.clone()), Ok(value), "{written:?}");
            }
            (Err(mismatch), Err(words)) => {
                assert!(mismatch.teach().contains(words), "{json}: {}", mismatch.teach());
            }
            (read, expected) => panic!("{pattern:?} {json}: {read:?}, not {expected:?}"),
        }
    }
    // A resolver that finds nothing refuses the capability, also in plain JSON.
    for (name, pattern) in [("value", "M.key()"), ("value:json", "M.any()")] {
        let body = vec![(name.to_owned(), say("remotable", "r1"))];
        let pattern = P::parse(pattern).unwrap();
        assert!(pattern.read_form(&body).unwrap_err().teach().contains("can be picked here"));
        assert_eq!(pattern.read_form_with(&body, &mut resolve), Ok(r1()));
    }
}

#[test]
fn counts_of_matching_elements_agree_with_the_check() {
    let marks = "M.and(M.arrayOf(M.number()), M.containerHas(M.gte(3), 2n))";
    for (pattern, pairs, expected) in [
        (marks, "", "value: 0 of 2 needed rows are 3 or more"),
        (marks, "value/0=4&value/7=1&value/9=x", "value: 1 of 2 needed rows are 3 or more"),
        (marks, "value/0=4&value/1:given=yes", "value: 1 of 2 needed rows are 3 or more"),
        (
            "M.and(M.arrayOf(M.number()), M.not(M.containerHas(M.gte(3), 2n)))",
            "value/0=4",
            "value: 1 row is 3 or more; at most 1 may",
        ),
        (
            "M.containerHas(M.gte(3), 1n)",
            "value/0:kind=0&value/0/0=4&value/1:kind=1&value/1/1=9&value/2:kind=2&value/2/2=9&value/3:kind=0&value/3/0=1",
            "value: 2 rows are 3 or more; 1 needed",
        ),
        ("M.containerHas(1, 1n)", "value:json=[1,2,1]", "value: 2 rows are 1; 1 needed"),
        (
            "M.and(M.setOf(M.string()), M.containerHas('a', 1n))",
            "value/0=b&value/1=a",
            "value: 1 of 1 needed row is \"a\"",
        ),
        (
            "M.and(M.bagOf(M.string(), M.any()), M.containerHas('a', 4n))",
            "value/0/key=a&value/0/value=3&value/1/key=b&value/1/value=2",
            "value: 3 of 4 needed rows are \"a\"",
        ),
        (
            "M.and(M.arrayOf(M.or('a', 'b')), M.containerHas('a', 1n))",
            "value=b&value=a",
            "value: 1 of 1 needed row is \"a\"",
        ),
        (
            "M.and(M.splitArray([M.number()], [], M.arrayOf(M.number())), M.containerHas(M.gte(3), 2n))",
            "value/0=5&value:rest/0=1",
            "value: 1 of 2 needed rows are 3 or more",
        ),
        (
            "M.and(M.or(M.arrayOf(M.number()), M.setOf(M.number())), M.containerHas(1, 1n))",
            "value:kind=1&value/0/0=1&value/1/0=2",
            "value: 0 of 1 needed row is 1",
        ),
        (
            "{ 'a/b': M.opt(M.containerHas('x', 1n)), c: M.arrayOf(M.containerHas('y', 1n)) }",
            "value/c/4/0:kind=0&value/c/5:given=yes",
            "value/a~1b: 0 of 1 needed row is \"x\"|value/c/4: 1 of 1 needed row is \"y\"|value/c/5: 0 of 1 needed row is \"y\"",
        ),
        ("M.arrayOf(M.number())", "value/0=1", ""),
        // A body that is no form has no counts.
        (marks, "nonsense=1", ""),
    ] {
        let parsed = P::parse(pattern).unwrap();
        let counted = parsed.count_elements_with(&body(pairs), &mut resolve);
        let said: Vec<String> =
            counted.iter().map(|(name, tally)| format!("{name}: {}", tally.summary())).collect();
        assert_eq!(said.join("|"), expected, "{pattern} {pairs}");
    }
}

/// Checks that each wrong part of a body is reported by itself, and that right parts are not.
#[test]
fn each_wrong_part_of_a_body_is_reported() {
    for (pattern, pairs, expected) in [
        ("M.arrayOf(M.number())", "value/0=1&value/4=2", ""),
        ("M.arrayOf(M.number())", "value/0=a&value/1=2&value/4=b", "[0]|[2]"),
        ("M.arrayOf(M.arrayOf(M.nat()))", "value/0/0=1&value/0/1=-1&value/1/0=x", "[0][1]|[1][0]"),
        ("{ a: M.number(), b: M.string(), c: M.opt(M.nat()) }", "value/a=x&value/c=y", "a|b|c"),
        ("M.splitRecord({ a: M.nat() }, { b: M.nat() })", "value/a=x&value/b=y", "a|b"),
        ("M.splitRecord({ a: M.nat() }, { b: M.nat() })", "value/a=1&value/b:given=no", ""),
        (
            "M.recordOf(M.string(), M.nat())",
            "value/0/key=k&value/0/value=x&value/1/key=l",
            "[0]value|[1]value",
        ),
        ("M.or(M.nat(), M.arrayOf(M.nat()))", "value:kind=1&value/1/0=x&value/1/1=y", "[0]|[1]"),
        (
            "M.splitArray([M.nat()], [], M.arrayOf(M.nat()))",
            "value/0=x&value:rest/0=y&value:rest/1=2",
            "[0]|[1]",
        ),
        // Where each part fits, the whole may not.
        ("M.setOf(M.nat())", "value/0=1&value/1=1", "[1]"),
        ("M.and(M.arrayOf(M.nat()), M.containerHas(3n, 1n))", "value/0=1", ""),
        ("{ a: M.nat() }", "value/a=1&value/b=2", ""),
    ] {
        let parsed = P::parse(pattern).unwrap();
        let wrong = parsed.form_problems_with(&body(pairs), &mut resolve);
        assert_eq!(wrong.is_empty(), read(&parsed, pairs).is_ok(), "{pattern} {pairs}");
        let at = |one: &passable::Mismatch| {
            let told = one.teach();
            told.strip_prefix('`')
                .and_then(|told| told.split_once('`'))
                .map_or(String::new(), |(at, _)| at.replace('.', ""))
        };
        let told: Vec<String> = wrong.iter().map(at).collect();
        assert_eq!(told.join("|"), expected, "{pattern} {pairs}");
    }
}

#[test]
fn invalid_body_is_refused_with_its_place() {
    for (pattern, pairs, expected) in [
        ("M.string()", "", "expected text, found nothing"),
        ("M.number()", "value=x", "expected a number, found the text \"x\""),
        ("M.number()", "value=inf", "expected a number, found the text \"inf\""),
        ("M.string()", "value=a&value=b", "expected one text here, found 2 texts"),
        ("M.string()", "other=a", "expected only fields of the form, found the field `other`"),
        ("{ a: M.string() }", "value/a=x&value/b=y", "expected only fields of the form, found the field `b`"),
        (
            "{ a: M.string() }",
            "value/a=x&value:rest/0=y",
            "expected only marks that say something here, found `:rest`",
        ),
        (
            "{ a: M.arrayOf(M.nat()) }",
            "value/a/0=1&value/a/2=-1",
            "`a[1]`: expected a whole number, 0 or more, found the big integer -1",
        ),
        ("M.or('a', 'b')", "value=c", "expected one of \"a\" or \"b\", found the text \"c\""),
        ("M.or(M.string(), M.number())", "value=c", "expected no text of its own here, found 1 text"),
        ("M.or(M.string(), M.number())", "value:kind=1&value/1=x", "expected a number, found the text \"x\""),
        (
            "M.or(M.string(), M.arrayOf(M.number()))",
            "value:kind=1&value/1/0=1&value/1/4=x",
            "`[1]`: expected a number, found the text \"x\"",
        ),
        ("M.or(M.string(), M.number())", "value:kind=2", "expected text or a number, found the text \"2\""),
        (
            "M.or(M.string(), M.number())",
            "value/0=x",
            "expected the number of a variant as `:kind`, found answers without it",
        ),
        (
            "M.setOf(M.string())",
            "value/0=a&value/1=b&value/2=a",
            "`[2]`: expected each element once, found the same once more",
        ),
        (
            "M.recordOf(M.string(), M.number())",
            "value/0/key=a&value/0/value=1&value/1/key=a&value/1/value=2",
            "`[1]`: expected each key once, found the same once more",
        ),
        ("M.arrayOf(M.string())", "value/01=a", "expected only fields of the form, found the field `01`"),
        (
            "M.key()",
            "value={\"a\":1,\"a\":2}",
            "expected JSON, found text that cannot be read (the name \"a\" occurs twice in one record)",
        ),
        (
            "M.string()",
            "value:json=[",
            "expected plain JSON, found text that cannot be read (at [0]: expected a JSON value at byte 1)",
        ),
        (
            "M.pattern()",
            "value=M.strng()",
            "expected a pattern, found text that cannot be read (there is no matcher M.strng (did you mean M.string?))",
        ),
        (
            "M.string()",
            "value:given=perhaps&value=x",
            "expected `yes` or `no` as `:given`, found another answer",
        ),
        ("M.string()", "value:nope=1", "expected only fields of the form, found the field `value:nope`"),
    ] {
        let error = read(&P::parse(pattern).unwrap(), pairs).unwrap_err();
        assert_eq!(error, expected, "{pattern} {pairs}");
    }
    let deep = format!("value{}=x", "/0".repeat(5_000));
    assert_eq!(
        read(&P::any(), &deep).unwrap_err(),
        "expected a form, found names with more steps than any form has"
    );
}

/// Values that a form could take for others.
#[test]
fn value_without_prefilled_parts_is_written_as_json() {
    for (pattern, value, expected) in [
        ("{ a: M.undefined() }", "{}", "value:json={}"),
        ("{ a: M.arrayOf(M.string()) }", "{}", "value:json={}"),
        ("{ a: M.opt(M.string()) }", "{}", "value:json={}"),
        ("[M.opt(M.string())]", "[]", "value:json=[]"),
        ("{ a: 1 }", "{ a: 2 }", "value:json={\"a\":2}"),
        ("M.nat()", "3", "value:json=3"),
        ("M.arrayOf(M.undefined())", "[undefined, 1]", "value/0:given=yes&value/1:json=1"),
    ] {
        let (pattern, value) = (P::parse(pattern).unwrap(), V::parse(value).unwrap());
        let written = pattern.write_form(&value);
        assert_eq!(shown(&written), expected);
        assert!(pattern.read_form(&written).is_err(), "{pattern:?} {value:?}");
    }
    let pattern = P::parse("M.mapOf(M.and(M.undefined()), M.and(M.opt(M.nat())))").unwrap();
    let value = V::parse("makeCopyMap([[undefined, undefined]])").unwrap();
    let written = pattern.write_form(&value);
    assert_eq!(shown(&written), "value/0/key:given=yes&value/0/value:given=no");
    assert_eq!(pattern.read_form(&written), Ok(value));
}

/// Returns a body with edits: names and texts that people or attackers might send.
fn edited(mut body: Body, edits: &[(u8, u8, u16)]) -> Body {
    const NAMES: [&str; 10] = [
        "value",
        "value/0",
        "value/a",
        "value/0/key",
        "value/0/value",
        "value:kind",
        "value:rest/0",
        "value:given",
        "value:json",
        "value/1:given",
    ];
    const TEXTS: [&str; 10] =
        ["", "0", "1", "true", "yes", "no", "a", "NaN", "[1,{\"a\":\"1\"}]", "{\"@qclass\":\"undefined\"}"];
    for (what, name, at) in edits {
        let (name, text) = (NAMES[usize::from(*name) % 10], TEXTS[usize::from(*at) % 10]);
        let at = usize::from(*at) % body.len().max(1);
        match (what % 5, body.get_mut(at)) {
            (0, Some(pair)) => pair.1 = text.to_owned(),
            (1, Some(pair)) => pair.0 = name.to_owned(),
            (2, Some(_)) => drop(body.remove(at)),
            (3, Some(pair)) => {
                let pair = pair.clone();
                body.push(pair);
            }
            _ => body.push((name.to_owned(), text.to_owned())),
        }
    }
    body
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn written_form_reads_back_as_the_same_value((pattern, value) in matching()) {
        let body = pattern.write_form(&value);
        match pattern.read_form(&body) {
            Ok(read) => prop_assert_eq!(settled(&read), settled(&value), "{:?} {}", pattern, shown(&body)),
            Err(error) => prop_assert!(false, "{:?}\n{}\n{}", pattern, shown(&body), error),
        }
    }

    /// Checks that the body of any value, matching or not, is accepted exactly if the value matches.
    #[test]
    fn form_accepts_exactly_the_matching_values(pattern in pattern(), other in matching(), any in value(false)) {
        for value in [&other.1, &any] {
            let body = pattern.write_form(value);
            let read = pattern.read_form(&body);
            prop_assert_eq!(read.is_ok(), pattern.matches(value), "{:?} {:?}\n{}", pattern, value, shown(&body));
            if let Ok(read) = read {
                prop_assert_eq!(settled(&read), settled(value), "{:?} {}", pattern, shown(&body));
            }
        }
    }

    /// Checks that a random body is accepted exactly if its value matches.
    ///
    /// A narrower pattern with the same control accepts exactly those of the same bodies whose value matches it too.
    #[test]
    fn edited_body_is_accepted_exactly_if_its_value_matches(
        (pattern, value) in matching(),
        edits in prop::collection::vec(any::<(u8, u8, u16)>(), 0..6),
        narrower in pattern(),
    ) {
        let body = edited(pattern.write_form(&value), &edits);
        let read = pattern.read_form(&body);
        if let Ok(read) = &read {
            prop_assert!(pattern.matches(read));
            let again = pattern.read_form(&pattern.write_form(read));
            prop_assert_eq!(again.as_ref().map(settled), Ok(settled(read)), "{:?} {}", pattern, shown(&body));
        }
        if matches!(pattern.controls().widget, passable::Widget::Json { .. }) {
            return Ok(());
        }
        let both: P = Pattern::and([pattern.clone(), Pattern::not(narrower.clone())]);
        let expected = read.as_ref().is_ok_and(|read| both.matches(read));
        // A refinement or a bound beside it would be another control.
        if both.controls().widget == pattern.controls().widget {
            prop_assert_eq!(both.read_form(&body).is_ok(), expected, "{:?}\n{}", both, shown(&body));
        }
    }
}
