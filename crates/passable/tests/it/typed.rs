//! Forms as people fill them in: untouched controls, values beyond a limit, and values kept as they were typed.

use passable::{Pattern, Secrecy, Value};
use proptest::prelude::*;

use crate::arbitrary::{P, V, cases, matching, pattern};

fn body(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn resolve(part: &P, name: &str) -> Option<V> {
    let labelled = match part.matcher() {
        passable::Matcher::Remotable(label) | passable::Matcher::Promise(label) => {
            label.to_str_lossy().into_owned()
        }
        _ => String::new(),
    };
    // A capability fits a label that its name begins with.
    let fits = labelled.is_empty() || name.starts_with(&labelled);
    fits.then(|| Value::remotable(name.to_owned()))
}

fn said(pattern: &P, pairs: &[(&str, &str)]) -> Result<V, String> {
    pattern.read_form_with(&body(pairs), &mut resolve).map_err(|mismatch| mismatch.teach())
}

/// Returns a choice of 26 values, the first being `odd`.
fn many(odd: &str) -> String {
    let others = (1..26).map(|at| format!("'c{at}'")).collect::<Vec<_>>().join(", ");
    format!("M.or({odd}, {others})")
}

/// Checks that the text of an untouched control is no answer, where an answer is never empty.
#[test]
fn untouched_controls_are_not_filled_in() {
    let menu = many("''");
    let lacks = "found nothing";
    for (pattern, pairs, expected) in [
        ("M.byteArray()", &[("value", "")][..], lacks),
        ("M.byteArray()", &[("value", " \n")], lacks),
        ("M.byteArray()", &[("value", "hex:")], "bytes('')"),
        ("M.opt(M.byteArray())", &[("value", "")], "undefined"),
        ("M.opt(M.byteArray())", &[("value", ""), ("value:given", "yes")], lacks),
        ("M.symbol()", &[("value", "")], lacks),
        ("M.symbol()", &[("value:json", r#"{"@qclass":"symbol","name":""}"#)], "Symbol.for('')"),
        (&menu, &[("value", "")], lacks),
        (&menu, &[("value", "\"\"")], "''"),
        ("M.or('', 'a')", &[("value", "")], "''"),
        // Text may be empty, and no other text could express that.
        ("M.string()", &[("value", "")], "''"),
        ("M.splitRecord({}, { a: M.byteArray() })", &[("value/a", "")], "{}"),
        ("{ a: M.byteArray() }", &[("value/a", "")], lacks),
        ("M.arrayOf(M.symbol())", &[("value/0", ""), ("value/0:given", "yes")], lacks),
    ] {
        let pattern = P::parse(pattern).unwrap();
        match said(&pattern, pairs) {
            Ok(value) => assert_eq!(Ok(value), V::parse(expected), "{pattern:?} {pairs:?}"),
            Err(why) => assert!(why.ends_with(expected) && expected == lacks, "{pattern:?} {pairs:?}: {why}"),
        }
    }
}

/// Checks that a user types one of many choices as the form shows it, and that no two show alike.
#[test]
fn long_menu_choices_are_typed_as_shown() {
    for (odd, sent) in [
        ("''", "\"\""),
        ("' '", "\" \""),
        ("'a\\u200bb'", "a\\u{200B}b"),
        ("'a\\rb'", "a\\u{D}b"),
        ("'plain'", "plain"),
        ("1", "1"),
    ] {
        let pattern = P::parse(&many(odd)).unwrap();
        let passable::Widget::Menu { options } = pattern.controls().widget else { panic!("{odd}: a menu") };
        assert_eq!(options[0].sent, sent, "{odd}");
        let read = said(&pattern, &[("value", sent)]).unwrap();
        assert_eq!(Ok(read.clone()), V::parse(odd), "{odd}");
        assert_eq!(pattern.read_form(&pattern.write_form(&read)), Ok(read), "{odd}");
    }
    // Two that would show alike are told apart by their numbers.
    let options = (0..25).map(|at| format!("'c{at}'")).collect::<Vec<_>>().join(", ");
    let pattern = P::parse(&format!("M.or('a\\u200b', 'a\\\\u{{200B}}', {options})")).unwrap();
    assert_eq!(said(&pattern, &[("value", "0")]), Ok(V::string("a\u{200b}")));
}

/// Checks that the error of a value beyond a limit names the limit, also the default one.
#[test]
fn error_beyond_a_limit_names_the_limit() {
    let long = "x".repeat(100_001);
    let rows =
        |count: usize| (0..count).map(|at| (format!("value/{at}"), format!("\"{at}\""))).collect::<Vec<_>>();
    let single = |text: &str| vec![("value".to_owned(), text.to_owned())];
    let fields = |count: usize| {
        let row = |at: usize| {
            [(format!("value/{at}/key"), format!("k{at}")), (format!("value/{at}/value"), "1".to_owned())]
        };
        (0..count).flat_map(row).collect::<Vec<_>>()
    };
    for (pattern, pairs, expected) in [
        ("M.string()", single(&long), "text (at most 100000 characters), found a text of 100001 characters"),
        (
            "M.string({ stringLengthLimit: 2 })",
            single("abc"),
            "text (at most 2 characters), found a text of 3 characters",
        ),
        (
            "M.byteArray()",
            single(&format!("hex:{}", "00".repeat(100_001))),
            "bytes (at most 100000 bytes), found 100001 bytes",
        ),
        (
            "M.bigint()",
            single(&"9".repeat(101)),
            "a whole number (at most 100 digits), found a big integer of 101 digits",
        ),
        (
            "M.nat()",
            single(&"9".repeat(101)),
            "a whole number, 0 or more (at most 100 digits), found a big integer of 101 digits",
        ),
        (
            "M.symbol()",
            single(&"s".repeat(101)),
            "a symbol (at most 100 characters), found a symbol of 101 characters",
        ),
        (
            "M.arrayOf(M.string())",
            rows(10_001),
            "a list of texts (at most 10000 elements), found a list of 10001 elements",
        ),
        (
            "M.setOf(M.string())",
            rows(10_001),
            "a set of texts (at most 10000 elements), found a set of 10001 elements",
        ),
        (
            "M.recordOf(M.string(), M.number())",
            fields(81),
            "(at most 80 fields), found a record of 81 fields",
        ),
        (
            "M.mapOf(M.string(), M.number())",
            fields(5_001),
            "(at most 5000 entries), found a map of 5001 entries",
        ),
        ("M.refine('integer')", single("1.5"), "expected a whole number, found the number 1.5"),
    ] {
        let why = P::parse(pattern).unwrap().read_form(&pairs).unwrap_err().teach();
        assert!(why.contains(expected), "{pattern}: {why}");
    }
    let name = "n".repeat(101);
    let pairs = body(&[("value/0/key", &name), ("value/0/value", "1")]);
    let wrong = P::parse("M.recordOf(M.any(), M.number())").unwrap().form_problems_with(&pairs, &mut resolve);
    assert!(wrong[0].teach().contains("text (at most 100 characters), found a text of 101"), "{wrong:?}");
}

/// Checks that a typed number is kept exactly or refused: it never changes silently.
#[test]
fn typed_number_is_never_changed_silently() {
    for (pattern, text, expected) in [
        ("M.number()", "9007199254740993", Err("the nearest is 9007199254740992")),
        ("M.number()", "1e-400", Err("the nearest is 0")),
        ("M.number()", "1e400", Err("expected a number")),
        ("M.number()", "9007199254740992", Ok("9007199254740992")),
        ("M.number()", "0.1", Ok("0.1")),
        ("M.number()", "123456789012345680000", Ok("123456789012345680000")),
        ("M.refine('integer')", "9007199254740994", Ok("9007199254740994n")),
        ("M.key()", "[9007199254740993]", Ok("[9007199254740993n]")),
        ("M.key()", "{\"a\": 1e-400}", Err("the nearest is 0")),
        ("M.key()", "[\"9007199254740993\", 1]", Ok("['9007199254740993', 1]")),
        // As a big integer it has all its digits.
        (
            "makeCopyMap([['a', M.bigint()]])",
            "[[\"a\", 9007199254740993]]",
            Ok("makeCopyMap([['a', 9007199254740993n]])"),
        ),
    ] {
        let read = said(&P::parse(pattern).unwrap(), &[("value", text)]);
        match expected {
            Ok(value) => {
                assert_eq!(read, V::parse(value).map_err(|error| error.to_string()), "{pattern} {text}")
            }
            Err(words) => {
                assert!(read.as_ref().is_err_and(|why| why.contains(words)), "{pattern} {text}: {read:?}")
            }
        }
    }
    let Ok(Value::Number(zero)) = said(&P::number(), &[("value", "-0")]) else { panic!("a number") };
    assert!(zero == 0.0 && zero.is_sign_negative());
}

/// Checks that JSON resolves a capability with the pattern of its place, not with one of another place.
#[test]
fn json_capability_must_fit_its_place() {
    let say = |name: &str| format!(r#"{{"@qclass":"remotable","ref":"{name}"}}"#);
    let set = |name: &str| format!(r#"{{"@qclass":"tagged","tag":"copySet","payload":[{}]}}"#, say(name));
    let map = |key: &str, value: &str| {
        format!(r#"{{"@qclass":"tagged","tag":"copyMap","payload":{{"keys":[{key}],"values":[{value}]}}}}"#)
    };
    for (pattern, name, json, fits) in [
        ("M.remotable('c')", "value:json", say("c1"), true),
        ("M.remotable('c')", "value:json", say("l1"), false),
        ("M.any()", "value:json", say("l1"), true),
        (
            "{ a: M.remotable('c'), b: M.remotable('l') }",
            "value:json",
            format!(r#"{{"a":{},"b":{}}}"#, say("c1"), say("l1")),
            true,
        ),
        (
            "{ a: M.remotable('c'), b: M.remotable('l') }",
            "value:json",
            format!(r#"{{"a":{},"b":{}}}"#, say("l1"), say("c1")),
            false,
        ),
        ("{ a: M.opt(M.remotable('c')) }", "value:json", format!(r#"{{"a":{}}}"#, say("l1")), false),
        ("M.or(M.remotable('c'), M.remotable('l'))", "value:json", say("l1"), true),
        ("M.and(M.any(), M.remotable('c'))", "value:json", say("l1"), false),
        ("M.arrayOf(M.remotable('c'))", "value:json", format!("[{},{}]", say("c1"), say("l1")), false),
        ("[M.remotable('c')]", "value:json", format!("[{}]", say("l1")), false),
        ("M.setOf(M.remotable('c'))", "value:json", set("l1"), false),
        ("M.setOf(M.remotable('c'))", "value:json", set("c1"), true),
        ("M.mapOf(M.remotable('c'), M.any())", "value:json", map(&say("l1"), "1"), false),
        ("M.mapOf(M.string(), M.remotable('c'))", "value:json", map("\"k\"", &say("l1")), false),
        ("M.mapOf(M.string(), M.remotable('c'))", "value:json", map("\"k\"", &say("c1")), true),
        (
            "M.recordOf(M.string(), M.remotable('c'))",
            "value:json",
            format!(r#"{{"k":{}}}"#, say("l1")),
            false,
        ),
        ("M.splitRecord({ a: M.remotable('c') })", "value:json", format!(r#"{{"a":{}}}"#, say("l1")), false),
        (
            "M.splitRecord({}, { a: M.remotable('c') })",
            "value:json",
            format!(r#"{{"a":{}}}"#, say("l1")),
            false,
        ),
        (
            "M.splitRecord({}, {}, M.recordOf(M.any(), M.remotable('c')))",
            "value:json",
            format!(r#"{{"a":{}}}"#, say("l1")),
            false,
        ),
        (
            "M.splitArray([], [], M.arrayOf(M.remotable('c')))",
            "value:json",
            format!("[{}]", say("l1")),
            false,
        ),
        (
            "M.tagged('t', M.remotable('c'))",
            "value:json",
            format!(r#"{{"@qclass":"tagged","tag":"t","payload":{}}}"#, say("l1")),
            false,
        ),
        // The same holds where the control itself takes JSON.
        ("makeCopyMap([['k', M.remotable('c')]])", "value", map("\"k\"", &say("l1")), false),
        ("makeCopyMap([['k', M.remotable('c')]])", "value", map("\"k\"", &say("c1")), true),
    ] {
        let read = said(&P::parse(pattern).unwrap(), &[(name, &json)]);
        assert_eq!(read.is_ok(), fits, "{pattern} {json}: {read:?}");
        if let Err(why) = read {
            assert!(why.contains("can be picked here"), "{pattern} {json}: {why}");
        }
    }
}

/// Checks that the control for a record's names asks for their own pattern.
#[test]
fn record_names_are_asked_for_by_their_pattern() {
    for (pattern, asks, checks) in [
        ("M.recordOf(M.any(), M.nat())", "text (at most 100 characters)", ""),
        ("M.recordOf(M.string(), M.nat())", "text (at most 100 characters)", ""),
        ("M.recordOf(M.opt(M.string()), M.nat())", "text (at most 100 characters)", ""),
        ("M.recordOf(M.string({ stringLengthLimit: 3 }), M.nat())", "text (at most 3 characters)", ""),
        ("M.recordOf(M.or('a', 'b'), M.nat())", "one of \"a\" or \"b\"", ""),
        ("M.recordOf(M.refine('date'), M.nat())", "a date (YYYY-MM-DD)", ""),
        ("M.recordOf(M.gte('k'), M.nat())", "text (at most 100 characters)", "text that sorts from \"k\""),
    ] {
        let passable::Widget::Pairs { key, .. } = P::parse(pattern).unwrap().controls().widget else {
            panic!("{pattern}")
        };
        assert_eq!((key.asks.as_str(), key.checks.join("; ").as_str()), (asks, checks), "{pattern}");
    }
    let pattern = P::parse("M.recordOf(M.or('a', 'b'), M.nat())").unwrap();
    let wrong = pattern.form_problems_with(
        &body(&[("value/0/key", "c"), ("value/0/value", "1"), ("value/1/key", "a"), ("value/1/value", "-1")]),
        &mut resolve,
    );
    let told: Vec<String> = wrong.iter().map(passable::Mismatch::path_text).collect();
    assert_eq!(told, ["[0].key", "[1].value"]);
}

/// Checks that descriptions use the words of people.
#[test]
fn descriptions_use_plain_words() {
    for (pattern, said) in [
        ("M.bigint()", "a whole number"),
        ("M.nat()", "a whole number, 0 or more"),
        ("M.arrayOf(M.nat())", "a list of whole numbers, 0 or more"),
        ("M.or(M.string(), M.nat())", "text or a whole number, 0 or more"),
        // Beside numbers, which can be whole too.
        ("M.or(M.number(), M.bigint())", "a number or a big integer"),
        ("M.promise()", "a promise"),
        ("M.remotable()", "a capability"),
        ("M.remotable('Counter')", "a capability (Counter)"),
        ("M.bagOf(M.string(), M.any())", "a bag of texts, each counted"),
        ("M.bagOf(M.string(), M.gte(2n))", "a bag of texts, each counted (at least 2)"),
    ] {
        assert_eq!(P::parse(pattern).unwrap().describe(), said, "{pattern}");
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Checks that a pattern without a secret has no control that hides the text typed.
    ///
    /// A pattern that asks for a secret as a part says so.
    #[test]
    fn only_secret_patterns_have_hidden_controls(pattern in pattern()) {
        let hides = |pattern: &P| {
            serde_json::to_string(&pattern.controls()).unwrap().contains("\"secret\":true")
        };
        match pattern.secrecy() {
            Secrecy::None => prop_assert!(!hides(&pattern), "{:?}", pattern),
            // The whole is asked for as one text, or may be left out.
            Secrecy::Full => prop_assert!(hides(&pattern), "{:?}", pattern),
            Secrecy::Partial => {}
        }
        let inner: P = Pattern::and([pattern.clone(), Pattern::refine(passable::Refinement::Secret)]);
        prop_assert_eq!(inner.secrecy(), Secrecy::Full);
        prop_assert_eq!(Pattern::<String>::array_of(inner).secrecy(), Secrecy::Partial);
    }

    /// Checks that a form returns records whose names match any pattern.
    #[test]
    fn records_with_any_name_pattern_round_trip((value, named) in (matching(), pattern())) {
        let pattern: P = Pattern::record_of(named, value.0);
        for names in [&[][..], &["a"], &["a", "b"]] {
            let record = V::record(names.iter().map(|name| (*name, value.1.clone()))).unwrap();
            let read = pattern.read_form(&pattern.write_form(&record));
            prop_assert_eq!(read.is_ok(), pattern.matches(&record), "{:?} {:?}", pattern, read);
        }
    }
}
